// An admitted message: its hold, its usage, and its single ending. It may be ended in many ways (answered,
// disconnected, upstream failure, revoked key); the first one counts.

import type { Caller } from '../accounts/accounts.ts';
import { assert } from '../base/assert.ts';
import { parseUsd } from '../base/money.ts';
import { ABSENT } from '../base/roster.ts';
import { type Catalog, MESSAGES_KIND, type Offer, type Route } from '../catalog/catalog.ts';
import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import { type Admitted, type Outcome, type Settlement, type UsageRecord, withoutItsEnd } from '../ledger/ledger.ts';
import type { ProviderFault, WholeReply } from '../providers/providers.ts';
import {
  type CacheLifetime,
  type CountedUsage,
  type MadeCounts,
  MessageCounter,
  NOTHING_COUNTED,
} from '../usage/usage.ts';
import type { MessageRequest, PlainDeltas, ServiceTier, StreamEvent, TokenCounts } from '../wire/wire.ts';
import type { ClientRequest, MessageReport, WholeAnswer } from './client-request.ts';
import { countAfterEnd, countForCorrection, countPromptAfterEnd, lacks } from './count-after-end.ts';
import type { Gateway } from './dependencies.ts';
import { GuardedTrace } from './guarded-trace.ts';
import type { ResponseCollector } from './idempotency-records.ts';
import { clientTooSlow, moneyError, type StopReason, stopError } from './message-errors.ts';
import {
  type BilledMessage,
  billMessage,
  completeEvents,
  completeMessage,
  estimateUsage,
  makeRecord,
  needsCounts,
  type RecordedMessage,
  releaseHold,
  unknownIn,
  withOutputCount,
  writeOffReason,
} from './message-record.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { type AdmissionRequest, type MessagePlan, payableMaxTokens } from './plan-message.ts';
import { noteWallet } from './recharges.ts';
import type { CutReason, Running, Slot } from './running-messages.ts';
import { SilenceWatch, type WatchHooks, watchBounds } from './silence-watch.ts';
import { type HeldStream, StreamHold } from './stream-hold.ts';

const STATUS_CALLER_GONE = 499; // never sent; the status that proxies log

/** How a broken stream ends, by whose fault it is. */
export type CutOutcome = Extract<Outcome, 'upstream_cut' | 'client_gone' | 'service_cut'>;

/**
 * `opening`: attempts are being made. `streaming`: status 200 of a stream was sent. `settling`: the hold is being ended.
 * `settled`: it has ended, or its ending is left to the ledger.
 */
type Phase = 'opening' | 'streaming' | 'settling' | 'settled';

const NEXT_PHASES: Readonly<Record<Phase, readonly Phase[]>> = {
  opening: ['streaming', 'settling'],
  streaming: ['settling'],
  settling: ['settled'],
  settled: [],
};

export class OpenMessage implements Running, HeldStream, RecordedMessage, BilledMessage, WatchHooks {
  place = ABSENT; // position in RunningMessages
  readonly clientRequest: ClientRequest;
  readonly caller: Caller;
  readonly catalog: Catalog;
  readonly isStream: boolean;
  /** null once a target has begun to answer: a long stream must not keep its request in memory. */
  request: MessageRequest | null;
  readonly offer: Offer;
  readonly plan: MessagePlan;
  /** The max_tokens sent to the provider. */
  readonly maxTokens: number;
  /** Counter of the current attempt, or of the one that answered. */
  counter: MessageCounter;
  /** null if the message is not streamed. */
  readonly streamHold: StreamHold | null;
  readonly attempts: UsageRecord['attempts'] = [];
  readonly watch: SilenceWatch;
  /** null if tracing is off. */
  readonly trace: GuardedTrace | null;
  /** The attempt that answered, or the last one; null before the first. */
  attempt: OpenAttempt | null = null;
  /** Fields of the request that the last provider did not get. */
  leftOut: readonly string[] = [];
  firstTokenMs: number | null = null;
  stopReason: StopReason | null = null;
  /** The time limit of the whole attempt was exceeded. */
  isOverlong = false;
  /** Collects the response if the message has an idempotency key. */
  readonly answer: ResponseCollector | null;
  /** The client disconnected or stopped reading. */
  hasDisconnected = false;
  /** The model left no usable answer: what it produced is billed, and no other target is tried. */
  isUnusable = false;
  /** The request while its provider has not counted the prompt; null before it answers, and once it is not needed. */
  uncountedPrompt: MessageRequest | null = null;
  /** Called when the key is revoked before the answer begins: the client gets the error, and the upstream continues. */
  onCutOff: ((error: TurnpikeError) => void) | null = null;
  isCutOff = false;
  readonly #gateway: Gateway;
  readonly #slot: Slot;
  #phase: Phase = 'opening';
  /** Status 200 was sent: errors are sent in the stream. */
  #hasReply = false;
  #finishTimer: ReturnType<typeof setTimeout> | null = null;
  /** Set if the prompt is counted during the stream, because there is no room to keep the request. */
  #promptCount: Promise<number | null> | null = null;
  /** Counts made for a whole message, which its client sees. */
  #made: MadeCounts | null = null;
  #correcting: Promise<void> | null = null;
  /** The upstream was stopped, because it did not finish in time without its client. */
  #isOverdue = false;
  #isReadUnread = false; // has a share of `running.unread`
  #ending: Promise<Settlement> | null = null;
  /**
   * The hold covers the worst case of an uncounted prompt: other messages of the account may wait for it to be
   * lowered.
   */
  #isUncounted: boolean;

  constructor(
    gateway: Gateway,
    { clientRequest, caller, catalog, request, offer, claim, plan }: AdmissionRequest,
    admitted: Admitted,
    slot: Slot,
  ) {
    this.#gateway = gateway;
    this.#slot = slot;
    this.clientRequest = clientRequest;
    this.trace = GuardedTrace.begin(gateway, clientRequest);
    this.caller = caller;
    this.catalog = catalog;
    this.request = request;
    this.isStream = request.stream;
    this.offer = offer;
    this.plan = plan;
    this.maxTokens = request.stream ? payableMaxTokens(plan, offer, admitted.available) : plan.maxTokens;
    const { settings } = catalog;
    this.watch = new SilenceWatch(gateway.silence, watchBounds(settings)[request.stream ? 'stream' : 'whole'], this);
    this.counter = this.#makeCounter();
    this.answer = claim === null ? null : gateway.answers.collect(caller.account.id);
    this.streamHold = request.stream ? new StreamHold(gateway, this, admitted) : null;
    this.#isUncounted = !plan.isCounted;
    if (this.#isUncounted) gateway.admissions.hold(caller.account.id);
  }

  get requestId(): string {
    return this.clientRequest.requestId;
  }

  /** Relative to the receipt of the request. */
  get admittedMs(): number | null {
    const { startedMs, admittedMs } = this.clientRequest.times;
    return admittedMs === null ? null : Math.round(admittedMs - startedMs);
  }

  get tierAsked(): ServiceTier {
    return this.plan.firstCase.tier;
  }

  get settleWaitMs(): number {
    return this.catalog.settings.settleWaitSeconds * 1000;
  }

  /** max_tokens was lowered to what could be paid. */
  get isLowered(): boolean {
    return this.maxTokens < this.plan.maxTokens;
  }

  /** The route that answered, or was tried last. */
  get route(): Route | null {
    return this.attempt?.target.route ?? null;
  }

  /** A refusal that the provider does not bill. */
  get isUnbilled(): boolean {
    return this.counter.isUnbilledRefusal && this.attempt?.target.settings.kind === MESSAGES_KIND;
  }

  /** The longest lifetime that was requested, where the provider was sent the request's own. */
  get #cacheLifetime(): CacheLifetime {
    return this.plan.firstCase.cacheWrites === '1h' && this.#keepsCacheLifetimes ? '1h' : '5m';
  }

  get #keepsCacheLifetimes(): boolean {
    if (this.attempt === null) return false;
    const { settings, route } = this.attempt.target;
    const provider = this.#gateway.providers.get(settings.kind);
    return provider?.keepsCacheLifetimes?.(route.upstreamModel, route.protocol) ?? false;
  }

  get keyId(): number {
    return this.caller.key.id;
  }

  get hasEnded(): boolean {
    return this.#phase === 'settling' || this.#phase === 'settled';
  }

  #transition(to: Phase): void {
    assert(NEXT_PHASES[this.#phase].includes(to), `a message that is ${this.#phase} does not become ${to}`);
    this.#phase = to;
  }

  /** The stream's status 200 was sent. */
  beginReply(): void {
    this.#hasReply = true;
    if (this.#phase === 'opening') this.#transition('streaming');
  }

  onLate(isTotal: boolean): void {
    this.isOverlong = isTotal;
    this.stop('timeout');
  }

  /** The output produced so far is billed, as if the client had disconnected. */
  onClientLate(): void {
    this.stop('client_slow');
    this.endQuietly('client_gone', STATUS_CALLER_GONE, clientTooSlow());
  }

  /** Half of the connect timeout has passed; a connection must be possible within the other half. */
  onSlow(): void {
    void this.#checkConnection(this.catalog.settings.upstreamConnectSeconds * 500); // never rejects
  }

  /** Adjusting the socket costs as much as a header, so only long answers do it. */
  onLong(): void {
    if (!this.isStream) this.clientRequest.expect('slow-json');
  }

  async #checkConnection(msMax: number): Promise<void> {
    const { attempt } = this;
    if (attempt === null) return;
    // If the check fails, the other time limits of the attempt apply.
    const isThere = await this.#gateway.canConnect(attempt.target.settings.baseUrl, msMax).catch(() => true);
    const hasAnswered = this.request === null || this.counter.started;
    if (isThere || hasAnswered || attempt !== this.attempt || this.hasEnded) return;
    attempt.lateWords = 'no connection within the time limit';
    this.stop('timeout');
  }

  /** The attempt failed: aborts its upstream request. */
  dropAttempt(): void {
    this.attempt?.abort();
  }

  /** Aborts the upstream. A timeout ends one attempt; every other reason ends the message. */
  stop(reason: StopReason): void {
    if (this.stopReason === null || this.stopReason === 'timeout') this.stopReason = reason;
    this.attempt?.abort();
  }

  #makeCounter(): MessageCounter {
    const estimate = this.#gateway.estimates.output(this.offer.model.name, this.caller.account.id);
    const cacheLifetime = () => this.#cacheLifetime;
    if (!this.isStream) return new MessageCounter({ estimate, cacheLifetime }); // a whole message takes no time
    const elapsedMs = () => this.watch.activeMs();
    return new MessageCounter({
      estimate,
      cacheLifetime,
      thinks: this.plan.thinks,
      hasServerTools: this.plan.hasServerTools,
      isCompacted: this.plan.isCompacted,
      elapsedMs,
    });
  }

  /** The attempt failed before the client received anything: discards what it counted. */
  rewind(): void {
    if (!this.counter.started) return;
    this.counter = this.#makeCounter();
    this.streamHold?.rewind();
    this.firstTokenMs = null;
  }

  /** A target began to answer with a stream. */
  beginStream(): void {
    if (this.streamHold === null || this.hasEnded) return;
    this.streamHold.begin();
    if (!this.counter.finished) this.#gateway.streamHolds.add(this.streamHold);
  }

  /** Counts events and collects them for the idempotency record. Returns them as the client receives them. */
  take(events: StreamEvent[]): StreamEvent[] {
    const reported = this.see(events);
    this.answer?.addEvents(reported);
    return reported;
  }

  /** Counts and collects deltas that are not parsed. */
  takePlain(deltas: PlainDeltas): void {
    this.counter.observePlain(deltas);
    this.answer?.addText(deltas.text());
  }

  /** Counts events. Returns them as the client would receive them. */
  see(events: StreamEvent[]): StreamEvent[] {
    for (const event of events) this.counter.observe(event);
    return completeEvents(events, this);
  }

  /** Reported counts, and estimates of the others. */
  countsSoFar(): TokenCounts {
    return (this.#made === null ? estimateUsage(this) : billMessage(this, 'completed', this.#made)).counts;
  }

  /** A target has begun to answer: no other will be tried. */
  onAnswered(): void {
    this.#keepPrompt();
    this.request = null;
  }

  /** A provider may count the prompt only at the end, or never. */
  #keepPrompt(): void {
    if (this.request === null || this.uncountedPrompt !== null || this.counter.reportedPrompt() !== null) return;
    this.uncountedPrompt = this.request;
    if (this.#gateway.running.uncountedPrompts.take(this.caller.account.id, this.request.bytes) === null) return;
    this.#promptCount = countPromptAfterEnd(this.#gateway, this, this.request).catch(() => null);
    this.uncountedPrompt = null;
  }

  #dropPrompt(): void {
    if (this.uncountedPrompt === null) return;
    this.#gateway.running.uncountedPrompts.giveBack(this.caller.account.id, this.uncountedPrompt.bytes);
    this.uncountedPrompt = null;
  }

  /** Whether the bill of the complete answer needs counts that the provider did not report. */
  get lacksCounts(): boolean {
    return this.#made === null && lacks(this, NOTHING_COUNTED);
  }

  /** Makes these counts. Returns the last events with the output count that is billed. */
  async completeLast(events: StreamEvent[]): Promise<StreamEvent[]> {
    this.#made = await countAfterEnd(this.#gateway, this);
    return withOutputCount(events, this.countsSoFar().output);
  }

  /** The model left no usable answer. */
  takeUnusable(fault: ProviderFault): void {
    this.isUnusable = true;
    this.counter.observeUnusable(fault.usage);
  }

  /** Counts a whole message. Returns it as the client receives it. */
  async takeMessage({ message, text, isNative }: WholeReply): Promise<WholeAnswer> {
    this.counter.observeMessage(message);
    this.#keepPrompt();
    const counting = countAfterEnd(this.#gateway, this);
    this.#made = counting instanceof Promise ? await counting : counting;
    const reported = isNative === true ? { text, message: null } : completeMessage(message, text, this);
    this.answer?.addMessage(reported.text);
    return reported;
  }

  checkpoint(): UsageRecord {
    return this.#record('service_cut', 500, estimateUsage(this), null);
  }

  stopForMoney(): void {
    this.stop('money');
  }

  stopElsewhere(): void {
    this.stop('elsewhere');
  }

  onHoldLowered(): void {
    const { admissions } = this.#gateway;
    if (this.#isUncounted) admissions.counted(this.caller.account.id);
    else admissions.release(this.caller.account.id);
    this.#isUncounted = false;
  }

  /**
   * Ends the message early. A stream that has begun is stopped, and billed for the output so far. Before the answer begins, a
   * client whose key is revoked gets the error, and the upstream may finish, because its reported usage is billed.
   */
  cut(reason: CutReason): void {
    if (this.hasEnded) return;
    const isBegun = this.isStream && this.counter.started;
    if (reason === 'revoked' && !isBegun && this.attempt !== null) {
      if (this.hasDisconnected) return; // it is finishing for its bill already
      this.hasDisconnected = true;
      this.isCutOff = true;
      this.stopReason = 'revoked';
      this.#boundFinish();
      this.onCutOff?.(stopError(this) as TurnpikeError);
      return;
    }
    this.stop(reason);
    if (!isBegun) return;
    const error = stopError(this) as TurnpikeError;
    this.endQuietly('service_cut', this.#hasReply ? 200 : error.status, error);
  }

  /**
   * The client disconnected. A stream that has begun is stopped and billed as received, unless it has an idempotency
   * key, or only its end says what it costs. Otherwise the upstream may finish within a time limit, because its reported
   * usage is what is billed. Concurrency slots are freed when the upstream has ended.
   */
  leave(): void {
    if (this.hasDisconnected || this.hasEnded) return;
    this.hasDisconnected = true;
    if (this.isStream && this.counter.started && !this.#mayFinish()) {
      this.stop('caller_left');
      this.endQuietly('client_gone', STATUS_CALLER_GONE, null);
      return;
    }
    this.#boundFinish();
  }

  #boundFinish(): void {
    this.#gateway.running.addUnattended(this);
    const boundMs = this.catalog.settings.finishWithoutCallerSeconds * 1000;
    this.#finishTimer = setTimeout(() => {
      this.#isOverdue = true;
      this.stop('caller_left');
    }, boundMs);
  }

  /**
   * A retry with the same idempotency key gets the response, so the stream is finished. So is one whose bill only its end
   * reveals, as far as its account has a share of such streams.
   */
  #mayFinish(): boolean {
    if (this.answer !== null) return true;
    const { running } = this.#gateway;
    if (running.takeFinishing(this, this.catalog.settings.finishStreamsWithoutCallerMax)) return true;
    if (!this.counter.isHidden(this.plan.thinks)) return false;
    this.#isReadUnread = running.unread.take(this.caller.account.id, 1) === null;
    return this.#isReadUnread;
  }

  /** The answer ended where the money does: it is not the whole answer. */
  get isCutByMoney(): boolean {
    return this.isLowered && this.counter.stopReason === 'max_tokens';
  }

  /** Ends the message as answered, as disconnected, or as cut by its money. Resolves when durable. */
  complete(): Promise<Settlement> {
    if (this.stopReason === 'revoked') {
      const error = stopError(this) as TurnpikeError;
      return this.end('service_cut', error.status, error);
    }
    if (this.isCutByMoney) return this.endForMoney();
    if (this.hasDisconnected) return this.end('client_gone', STATUS_CALLER_GONE, null);
    return this.end('completed', 200, null);
  }

  /** Ends the message because its money is exhausted: the output produced so far is billed. */
  endForMoney(status = 200): Promise<Settlement> {
    return this.end('quota_cut', status, moneyError());
  }

  /** Ends a stream that broke, or never had content: the output produced so far is billed. */
  async cutShort(error: TurnpikeError, status: number, outcome: CutOutcome): Promise<void> {
    if (this.stopReason === 'money') await this.endForMoney(status);
    else if (this.hasDisconnected) await this.complete();
    else await this.end(outcome, status, error);
  }

  /**
   * Ends a message whose client saw no answer. Nothing is charged if no output began, with these exceptions: the model
   * produced output, but no answer; or the client disconnected or its key was revoked, and the upstream was stopped at the
   * time limit. A client that disconnected before the first attempt pays nothing.
   */
  async fail(error: TurnpikeError): Promise<void> {
    if (this.isUnusable) await this.end('failed', this.#hasReply ? 200 : error.status, error);
    else if (this.counter.started) await this.cutShort(error, error.status, 'service_cut');
    else if (this.#isOverdue || (this.hasDisconnected && this.route === null)) await this.complete();
    else if (this.stopReason === 'draining') await this.end('service_cut', error.status, error);
    else await this.end('failed', error.status, error);
  }

  /**
   * Settles or releases the hold once: the first call decides how, and every call gets its result. Rejects with
   * store_unavailable.
   */
  end(outcome: Outcome, status: number, error: TurnpikeError | null): Promise<Settlement> {
    this.#ending ??= this.#settle(outcome, status, error);
    return this.#ending;
  }

  /** Ends the message when no code awaits the result; the ledger retries in the background. */
  endQuietly(outcome: Outcome, status: number, error: TurnpikeError | null): void {
    this.end(outcome, status, error).catch(() => {});
  }

  async #settle(outcome: Outcome, status: number, error: TurnpikeError | null): Promise<Settlement> {
    const { times } = this.clientRequest;
    this.#transition('settling'); // possible in every phase before it
    let made = NOTHING_COUNTED;
    let usage: CountedUsage | null = null;
    let record: UsageRecord | null = null;
    let reported = error;
    let ending: Promise<Settlement> | null = null;
    try {
      this.watch.finish();
      if (this.#finishTimer !== null) clearTimeout(this.#finishTimer);
      this.streamHold?.close();
      this.#endPermit(outcome);
      const counting = this.#countMissing(outcome);
      made = counting instanceof Promise ? await counting : counting;
      usage = billMessage(this, outcome, made);
      record = this.#record(outcome, status, usage, error);
      times.endedMs = performance.now();
      ending = this.#endInLedger(record, usage);
      const settlement = await ending;
      times.settledMs = performance.now();
      if (settlement.ok) {
        record.writtenOff = settlement.writtenOff;
        noteWallet(this.#gateway, this.caller.account, settlement.walletLeft);
      } else record = withoutItsEnd(record);
      if (usage.source === 'reported') this.#addSample();
      if (settlement.ok && this.#takesCorrection(made, outcome)) this.#correcting = this.#correct(record, outcome);
      return settlement;
    } catch (thrown) {
      reported ??= asTurnpikeError(thrown); // sent to the client although the answer itself succeeded
      // An invariant violation before the ledger was asked; the ledger retries in the background.
      if (ending === null) await releaseHold(this.#gateway, this).catch(() => {});
      throw thrown;
    } finally {
      this.#close();
      if (record !== null && usage !== null) this.#report(record, usage, reported);
    }
  }

  /** Nobody could count in time, so that the upper bound was billed: returns the excess once it is known. */
  async #correct(billed: UsageRecord, outcome: Outcome): Promise<void> {
    try {
      const made = await countForCorrection(this.#gateway, this);
      if (made === null) return;
      const { cost } = this.#record(outcome, billed.status, billMessage(this, outcome, made), null);
      const amount = Math.min(billed.cost - cost, billed.cost - billed.writtenOff);
      const note = 'counted after the bill by an upper bound';
      if (amount > 0)
        await this.#gateway.ledger.submit({
          operations: [{ kind: 'refund', requestId: this.requestId, amount, note }],
        });
    } catch {
      // The bill by the upper bound stays.
    } finally {
      this.#dropPrompt();
      this.#gateway.running.corrections.giveBack(this.caller.account.id, 1);
    }
  }

  /** Whether the bill is by an upper bound and is to be corrected; then `corrections` has a share for it. */
  #takesCorrection(made: MadeCounts, outcome: Outcome): boolean {
    if (!needsCounts(this, outcome) || !lacks(this, made)) return false;
    return this.#gateway.running.corrections.take(this.caller.account.id, 1) === null;
  }

  /** Counts what the provider did not report and the bill needs. Frees the concurrency slots meanwhile: the upstream has ended. */
  #countMissing(outcome: Outcome): MadeCounts | Promise<MadeCounts> {
    if (this.#made !== null) return this.#made;
    if (!needsCounts(this, outcome)) return NOTHING_COUNTED;
    const counting = countAfterEnd(this.#gateway, this);
    if (this.#promptCount === null && !(counting instanceof Promise)) return counting;
    const { account, key } = this.caller;
    void this.#gateway.ledger.leave(
      { kind: 'leave', requestId: this.requestId },
      account.id,
      key.id,
      this.offer.group.name,
    );
    return this.#joinCounts(counting);
  }

  async #joinCounts(counting: MadeCounts | Promise<MadeCounts>): Promise<MadeCounts> {
    const [made, prompt] = await Promise.all([counting, this.#promptCount]);
    return { ...made, prompt: made.prompt ?? prompt };
  }

  #addSample(): void {
    const { clock, estimates } = this.#gateway;
    const model = this.offer.model.name;
    const account = this.caller.account.id;
    if (estimates.takeTurn(model, account, clock.nowMs())) estimates.addSample(model, account, this.counter);
  }

  #close(): void {
    this.#transition('settled');
    this.watch.close();
    if (this.#correcting === null) this.#dropPrompt();
    if (this.#isReadUnread) this.#gateway.running.unread.giveBack(this.caller.account.id, 1);
    if (this.streamHold !== null) this.#gateway.streamHolds.remove(this.streamHold);
    this.answer?.giveBack();
    this.#gateway.running.remove(this);
    this.#slot.giveBack();
    this.onHoldLowered();
  }

  /** An answer that its provider ended early counts as a failure of the target. */
  #endPermit(outcome: Outcome): void {
    if (outcome === 'upstream_cut')
      this.attempt?.permit.failed(this.stopReason === 'timeout' ? 'timeout' : 'failed', null);
    else this.attempt?.permit.finish();
  }

  /**
   * An answer that was delivered to its end, or would have been without the disconnect, answers the idempotency
   * record.
   */
  #endInLedger(record: UsageRecord, { source }: CountedUsage): Promise<Settlement> {
    const { ledger } = this.#gateway;
    const { answer, requestId } = this;
    if (answer !== null && (record.outcome === 'completed' || (record.outcome === 'client_gone' && answer.isWhole))) {
      const rows = this.#answerRows(answer);
      const reversalsMax = parseUsd(this.catalog.settings.reversalsPerAccountDay) ?? 0;
      return ledger.end({ kind: 'settle', requestId, record, isAnswer: true, reversalsMax }, this.settleWaitMs, rows);
    }
    return ledger.end({ kind: source === 'none' ? 'release' : 'settle', requestId, record }, this.settleWaitMs);
  }

  /** A response that cannot be sealed is not stored; the message is billed all the same. */
  #answerRows(answer: ResponseCollector): unknown[] {
    const { answers, clock } = this.#gateway;
    try {
      return answers.rowsOf(answer, this.requestId, clock.nowMs());
    } catch {
      return [];
    }
  }

  #record(outcome: Outcome, status: number, usage: CountedUsage, error: TurnpikeError | null): UsageRecord {
    const latencyMs = Math.max(0, this.#gateway.clock.nowMs() - this.clientRequest.receivedAtMs);
    return makeRecord(this, outcome, status, usage, latencyMs, error);
  }

  #report(record: UsageRecord, usage: CountedUsage, error: TurnpikeError | null): void {
    const report: MessageReport = {
      record,
      clientRequest: this.clientRequest,
      providerKind: this.attempt?.target.settings.kind ?? null,
      responseModel: this.counter.model,
      stopReason: this.counter.stopReason,
      code: error?.code ?? null,
      cause: error?.details.cause ?? null,
      upstreamRequestId: this.attempt?.upstreamRequestId ?? null,
      disbelieved: usage.disbelieved,
      unknown: unknownIn(this, usage),
      contradicted: usage.contradicted,
      leftOut: this.leftOut,
      writeOffReason: writeOffReason(this, record, usage),
    };
    this.trace?.end(report);
    this.#gateway.report(report);
  }
}
