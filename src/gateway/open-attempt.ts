// One attempt of a message at one target: its upstream and the time limits, what it has counted, and why it was stopped. A time
// limit ends an attempt; every other reason ends its message.

import { assert } from '../base/assert.ts';
import { fetchFile } from '../base/fetch-file.ts';
import type { TraceContext } from '../base/trace-context.ts';
import { imageRate, MESSAGES_KIND } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { UsageRecord } from '../ledger/ledger.ts';
import {
  type Attempt,
  type ByteReply,
  type Exchange,
  type OtherReply,
  type Provider,
  ProviderFault,
  type ProviderReply,
  sendFor,
  type WholeReply,
} from '../providers/providers.ts';
import {
  type CacheLifetime,
  type CountedUsage,
  joinSound,
  type MadeCounts,
  MessageCounter,
  NOTHING_COUNTED,
  splitSound,
} from '../usage/usage.ts';
import { type MessageRequest, type StreamEvent, servesOf, type TokenCounts, type Units } from '../wire/wire.ts';
import type { DoneWork, WholeAnswer } from './client-request.ts';
import { countAfterEnd, countPromptAfterEnd, lacks } from './count-after-end.ts';
import type { Gateway } from './dependencies.ts';
import { type AnswerNames, answerNames, showAnswer, showEvents } from './hide-names.ts';
import { fetchOptions } from './inline-addresses.ts';
import type { StopReason } from './message-errors.ts';
import { billMessage, completeEvents, completeMessage, withOutputCount } from './message-record.ts';
import type { AdmittedRequest, MessagePlan } from './plan-message.ts';
import { makeAttempt, providerOfKind, sortExtraFields } from './provider-request.ts';
import type { Permit, Target } from './route-health.ts';
import type { SilenceWatch } from './silence-watch.ts';
import { SpokenIds } from './spoken-answers.ts';

export type AnyReply = ProviderReply | OtherReply;

export class OpenAttempt {
  readonly admitted: AdmittedRequest;
  readonly target: Target;
  readonly startedMs = performance.now();
  readonly #gateway: Gateway;
  readonly #permit: Pick<Permit, 'answered' | 'failed' | 'finish'>;
  readonly #watch: SilenceWatch;
  readonly #controller = new AbortController();
  readonly #names: AnswerNames | null;
  /** null: the answer is not spoken. */
  readonly #spokenIds: SpokenIds | null;
  #counter: MessageCounter;
  /** Has begun to answer, has failed, or belongs to a message that ended. */
  #isDecided = false;
  #stopReason: StopReason | null = null;
  #isOverlong = false;
  /** The text of the timeout error, by the limit that was exceeded. */
  #lateWords = 'no response within the time limit';
  #upstreamRequestId: string | null = null;
  #leftOut: readonly string[] = [];
  #firstTokenMs: number | null = null;
  #uncountedPrompt: MessageRequest | null = null;
  /** Set if the prompt is counted during the answer, because there is no room to keep the request. */
  #promptCount: Promise<number | null> | null = null;
  #made: MadeCounts | null = null;
  #units: Units | null = null;
  #bytes: Pick<ByteReply, 'used'> | null = null;

  /** The attempt finishes the permit. `watch` has the time limits of the message. */
  constructor(
    gateway: Gateway,
    admitted: AdmittedRequest,
    target: Target,
    permit: Pick<Permit, 'answered' | 'failed' | 'finish'>,
    watch: SilenceWatch,
  ) {
    this.#gateway = gateway;
    this.admitted = admitted;
    this.target = target;
    this.#permit = permit;
    this.#watch = watch;
    this.#counter = this.#makeCounter();
    const { catalog, offer, clientRequest, plan } = admitted;
    const { units, speaks } = plan.firstCase;
    const mayBeSpoken = offer.model.serves === 'messages' && (speaks === true || units !== undefined);
    this.#spokenIds = mayBeSpoken ? new SpokenIds(gateway, admitted, target) : null;
    this.#names = answerNames(catalog, offer.model.name, clientRequest.requestId);
  }

  get counter(): MessageCounter {
    return this.#counter;
  }

  /** The first reason, or the one that followed a time limit. */
  get stopReason(): StopReason | null {
    return this.#stopReason;
  }

  /** The time limit of the whole attempt was exceeded. */
  get isOverlong(): boolean {
    return this.#isOverlong;
  }

  /** As reported by the provider; null until then. */
  get upstreamRequestId(): string | null {
    return this.#upstreamRequestId;
  }

  /** Fields of the request that the provider did not get. */
  get leftOut(): readonly string[] {
    return this.#leftOut;
  }

  get firstTokenMs(): number | null {
    return this.#firstTokenMs;
  }

  /** The request while its provider has not counted the prompt; null before it answers, and once it is not needed. */
  get uncountedPrompt(): MessageRequest | null {
    return this.#uncountedPrompt;
  }

  /** Units that the provider has reported so far; null: none. An image costs at most as much as the one that was requested. */
  get units(): Units | null {
    const reported = this.#units ?? this.#bytes?.used().units ?? null;
    const { offer, plan } = this.admitted;
    const [price, most] = [offer.model.price.units ?? null, plan.firstCase.units];
    if (reported === null || most === undefined || price === null) return reported;
    const isDearer = (imageRate(price, reported.image) ?? 0n) > (imageRate(price, most.image) ?? 0n);
    return isDearer ? { ...reported, image: most.image } : reported;
  }

  /** Counts made before the end, which the client sees; null: none. */
  get made(): MadeCounts | null {
    return this.#made;
  }

  /** A refusal that the provider does not bill. */
  get isUnbilled(): boolean {
    return this.#counter.isUnbilledRefusal && this.target.settings.kind === MESSAGES_KIND;
  }

  #makeCounter(): MessageCounter {
    const { offer, caller, plan, isStream } = this.admitted;
    const estimate = this.#gateway.estimates.output(offer.model.name, caller.account.id);
    const cacheLifetime = () => this.#cacheLifetime();
    if (!isStream) return new MessageCounter({ estimate, cacheLifetime }); // a whole message takes no time
    const { thinks, hasServerTools, isCompacted } = plan;
    const elapsedMs = () => this.#watch.activeMs();
    return new MessageCounter({ estimate, cacheLifetime, thinks, hasServerTools, isCompacted, elapsedMs });
  }

  /** The longest lifetime that was requested, where the provider was sent the request's own. */
  #cacheLifetime(): CacheLifetime {
    if (this.admitted.plan.firstCase.cacheWrites !== '1h') return '5m';
    const { settings, route } = this.target;
    const provider = this.#gateway.providers.get(settings.kind);
    return provider?.keepsCacheLifetimes?.(route.upstreamModel, route.protocol) === true ? '1h' : '5m';
  }

  /** Sends the request. Throws or rejects with ProviderFault, and with whatever a provider throws. */
  async send(request: MessageRequest, trace: TraceContext | null): Promise<AnyReply> {
    const { settings } = this.target;
    const provider = providerOfKind(this.#gateway, settings);
    const { clientRequest, maxTokens, isStream } = this.admitted;
    const sent = makeAttempt({ request, clientRequest, maxTokens }, this.target, this.#controller.signal, trace);
    const { passed, leftOut } = sortExtraFields(sent, settings, provider);
    this.#leftOut = leftOut;
    sent.extra = passed;
    const done = clientRequest.item?.done ?? null;
    if (done !== null) sent.exchange = answerOf(done);
    this.#watch.beginAttempt();
    const use = servesOf(request.protocol);
    const { lookup } = this.#gateway;
    if (use === 'images' && lookup !== undefined) {
      const options = fetchOptions(lookup, settings.fetchUrls === 'any');
      sent.fetchFile = (url) =>
        fetchFile(url, options, AbortSignal.any([sent.signal, AbortSignal.timeout(bounds.fetchedFilesMsMax)]));
    }
    if (use === 'messages') requireAble(sent, provider, this.admitted.plan);
    const reply = await (use === 'messages' ? provider.submit(sent) : sendFor(use, provider, sent));
    this.#upstreamRequestId = reply.upstreamRequestId;
    if ((reply.form === 'stream') === isStream) return reply;
    throw new ProviderFault('failed', 'the provider answered in a form that was not requested');
  }

  /** A time limit was exceeded. */
  onLate(isTotal: boolean): void {
    this.#isOverlong = isTotal;
    this.stop('timeout');
  }

  /** Half of the connect timeout has passed; a connection must be possible within the other half. */
  async checkConnection(): Promise<void> {
    const msMax = this.admitted.catalog.settings.upstreamConnectSeconds * 500;
    // If the check fails, the other time limits of the attempt apply.
    const isThere = await this.#gateway.canConnect(this.target.settings.baseUrl, msMax).catch(() => true);
    if (isThere || this.#isDecided || this.#counter.started) return;
    this.#lateWords = 'no connection within the time limit';
    this.stop('timeout');
  }

  /** Aborts the upstream. */
  stop(reason: StopReason): void {
    if (this.#stopReason === null || this.#stopReason === 'timeout') this.#stopReason = reason;
    this.abort();
  }

  /** The upstream is no longer needed. */
  abort(): void {
    this.#controller.abort();
  }

  /** The first content of a stream arrived. */
  noteFirstToken(): void {
    this.#firstTokenMs = Math.max(0, this.#gateway.clock.nowMs() - this.admitted.clientRequest.receivedAtMs);
  }

  /** The target has begun to answer, or has sent a whole answer. */
  answered(request: MessageRequest): void {
    if (this.#isDecided) return; // its message ended meanwhile
    this.#isDecided = true;
    this.#keepPrompt(request);
    this.#permit.answered(!this.admitted.isStream);
  }

  /** The attempt failed before the client received anything. */
  failed(fault: ProviderFault): void {
    this.#isDecided = true;
    this.abort();
    this.#permit.failed(fault.kind, fault.retryAfterMs);
    this.#watch.endAttempt();
    this.#upstreamRequestId = fault.upstreamRequestId ?? this.#upstreamRequestId;
  }

  /** Discards what a failed attempt counted and why it was stopped: another may answer. */
  discard(): void {
    assert(this.#isDecided, 'an attempt that goes on is not discarded');
    this.#counter = this.#makeCounter();
    this.#firstTokenMs = null;
    this.#stopReason = null;
    this.#made = null;
    this.#units = null;
    this.#bytes = null;
    this.dropPrompt();
  }

  /** The message ends. An answer that its provider ended early counts as a failure of the target. */
  finish(cut: 'timeout' | 'failed' | null): void {
    this.#isDecided = true;
    if (cut === null) this.#permit.finish();
    else this.#permit.failed(cut, null);
  }

  /**
   * A fault of the provider as it is, an exceeded time limit as a timeout, anything else as a failed provider with its
   * cause.
   */
  faultOf(thrown: unknown, isLate: boolean): ProviderFault {
    if (isLate) return new ProviderFault('timeout', this.#lateWords, { cause: thrown });
    if (thrown instanceof ProviderFault) return thrown;
    return new ProviderFault('failed', 'the provider failed unexpectedly', { cause: thrown });
  }

  /** Counts events. Returns them as the client receives them. */
  see(events: StreamEvent[]): StreamEvent[] {
    for (const event of events) this.#counter.observe(event);
    const complete = completeEvents(events, () => this.#countsSoFar());
    return showEvents(this.#spokenIds?.sealEvents(complete) ?? complete, this.#names);
  }

  /** Counts a whole message. Returns it as the client receives it. */
  async takeMessage(request: MessageRequest, { message, text, isNative, units }: WholeReply): Promise<WholeAnswer> {
    this.#counter.observeMessage(message);
    this.#units = units ?? null;
    this.#keepPrompt(request);
    const counting = this.countMissing();
    this.#made = counting instanceof Promise ? await counting : counting;
    const answer =
      isNative === true ? { text, message: null } : completeMessage(message, text, () => this.#countsSoFar());
    const sealed = this.#spokenIds?.sealMessage(answer, this.#counter.reportedSound().output) ?? answer;
    return showAnswer(sealed, this.#names);
  }

  /** An answer of bytes begins. */
  beginBytes(request: MessageRequest, reply: Pick<ByteReply, 'used'>): void {
    this.#bytes = reply;
    this.#counter.observeBegin();
    this.#keepPrompt(request);
    this.noteFirstToken();
  }

  /** It has ended: counts what the provider reported. `isWhole`: nothing is missing. */
  observeBytesEnd({ used }: Pick<ByteReply, 'used'>, isWhole: boolean): void {
    const { usage } = used();
    if (isWhole) this.#counter.observeMessage({ content: [], stop_reason: 'end_turn', usage: usage ?? {} });
    else this.#counter.observeUsage(usage);
  }

  /** Whether the bill of the complete answer needs counts that the provider did not report. */
  get lacksCounts(): boolean {
    return lacks(this, NOTHING_COUNTED);
  }

  /** Makes these counts. Returns the last events with the output count that is billed. */
  async completeLast(events: StreamEvent[]): Promise<StreamEvent[]> {
    this.#made = await this.countMissing();
    return withOutputCount(events, this.#countsSoFar().output);
  }

  /** As a client sees them: tokens of sound are among the others. */
  #countsSoFar(): TokenCounts {
    const { admitted } = this;
    if (this.#made === null) return joinSound(this.estimate().counts);
    const billed = billMessage({ attempt: this, admitted, coveredTokens: null, ending: 'answered' }, this.#made);
    return joinSound(billed.counts);
  }

  /** Estimates of what was not reported, made without waiting. */
  estimate(): CountedUsage {
    const { plan, maxTokens } = this.admitted;
    const { inputEstimate, firstCase } = plan;
    const usage = this.#counter.estimate({ inputEstimate, outputTokensMax: maxTokens });
    return { ...usage, counts: splitSound(usage.counts, firstCase, this.#counter.reportedSound()) };
  }

  /** For the usage record: the time until it began to answer, or failed. */
  describe(fault: ProviderFault | null): UsageRecord['attempts'][number] {
    const { route, credential } = this.target;
    return {
      provider: route.provider,
      model: route.upstreamModel,
      credential: credential?.name ?? null,
      result: fault?.kind ?? 'answered',
      status: fault === null ? 200 : fault.status,
      reason: fault?.message.slice(0, bounds.attemptReasonCharactersMax) ?? null,
      startedMs: Math.round(this.startedMs - this.admitted.clientRequest.times.startedMs),
      ms: Math.round(performance.now() - this.startedMs),
    };
  }

  /** The estimator learns from a reported answer. */
  addSample(): void {
    const { clock, estimates } = this.#gateway;
    const { offer, caller } = this.admitted;
    const [model, account] = [offer.model.name, caller.account.id];
    if (estimates.takeTurn(model, account, clock.nowMs())) estimates.addSample(model, account, this.#counter);
  }

  /** A provider may count the prompt only at the end, or never. Without room to keep it, it is counted now. */
  #keepPrompt(request: MessageRequest): void {
    if (servesOf(request.protocol) !== 'messages' && this.#isPromptFree()) return; // its tokens are estimated
    if (this.#uncountedPrompt !== null || this.#promptCount !== null || this.#counter.reportedPrompt() !== null) return;
    const { uncountedPrompts } = this.#gateway.running;
    if (uncountedPrompts.take(this.admitted.caller.account.id, request.bytes) === null) this.#uncountedPrompt = request;
    else this.#promptCount = countPromptAfterEnd(this.#gateway, this, request).catch(() => null);
  }

  #isPromptFree(): boolean {
    const prices = [this.admitted.offer.model.price, this.target.route.cost];
    return prices.every((price) => (price?.standard.input ?? 0n) === 0n);
  }

  dropPrompt(): void {
    const kept = this.#uncountedPrompt;
    if (kept === null) return;
    this.#gateway.running.uncountedPrompts.giveBack(this.admitted.caller.account.id, kept.bytes);
    this.#uncountedPrompt = null;
  }

  /** Makes the counts that the provider did not report, once. Never rejects; a promise only if something must be counted. */
  countMissing(): MadeCounts | Promise<MadeCounts> {
    if (this.#made !== null) return this.#made;
    const counting = countAfterEnd(this.#gateway, this);
    return this.#promptCount === null ? counting : joinCounts(counting, this.#promptCount);
  }
}

function answerOf({ status, body }: DoneWork): Exchange {
  return async () => new Response(body, { status, headers: { 'content-type': 'application/json' } });
}

/** Throws ProviderFault (rejected) for what the provider cannot take: sound, in the request or asked for, and compaction. */
function requireAble({ upstreamModel, protocol }: Attempt, provider: Provider, plan: MessagePlan): void {
  const { sound, compacted, firstCase } = plan;
  const { speaks = false } = firstCase;
  if (sound === null && compacted === null && !speaks) return;
  const has = provider.sound?.(upstreamModel, protocol ?? null) ?? NO_SOUND;
  const refuse = (path: string, words: string) => {
    const facts = { status: 400, errorType: 'invalid_request_error', isUnsupported: true };
    throw new ProviderFault('rejected', `${path}: the provider of this model ${words}`, facts);
  };
  if (sound !== null && !has.input) refuse(sound, 'takes no sound');
  if (speaks && !has.output) refuse('audio', 'does not answer in sound');
  if (compacted !== null && provider.compacts?.(upstreamModel, protocol ?? null) !== true)
    refuse(compacted, 'does not compact conversations');
}

const NO_SOUND = { input: false, output: false };

async function joinCounts(
  counting: MadeCounts | Promise<MadeCounts>,
  counted: Promise<number | null>,
): Promise<MadeCounts> {
  const [made, prompt] = await Promise.all([counting, counted]);
  return { ...made, prompt: made.prompt ?? prompt };
}
