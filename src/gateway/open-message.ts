// A message that was admitted: what it holds, what it has used, and its one ending. However many
// ways there are for it to end (answered, caller gone, upstream cut, revoked), the first one counts.

import type { Caller } from '../accounts/accounts.ts';
import { ABSENT } from '../base/roster.ts';
import type { Offer, Route, Settings, Speed } from '../catalog/catalog.ts';
import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import type { Admitted, Outcome, Settlement, UsageRecord } from '../ledger/ledger.ts';
import type { Attempt } from '../providers/providers.ts';
import { type CountedUsage, MessageCounter } from '../usage/usage.ts';
import { type JsonObject, type MessageRequest, promptTokens, type StreamEvent } from '../wire/wire.ts';
import type { Asked } from './admit-message.ts';
import { type Billed, countBilled } from './billed-usage.ts';
import { completeEvents, completeText } from './complete-usage.ts';
import { Cover, type Covered } from './cover.ts';
import type { Gateway } from './dependencies.ts';
import type { CollectedAnswer } from './kept-answers.ts';
import { makeRecord, type Recorded } from './message-record.ts';
import type { MessageTrace } from './message-trace.ts';
import { type MessagePlan, payableMaxTokens } from './plan-message.ts';
import { releaseHold } from './release-hold.ts';
import type { Candidate, Passage } from './routes/routes.ts';
import type { CutReason, Running } from './running-messages.ts';
import type { Seat } from './seats.ts';
import { SilenceWatch, type WatchBounds, type WatchHooks } from './silence-watch.ts';
import { moneyError, type StopReason, stopError } from './stop-error.ts';
import type { MessageReport, Submission } from './submission.ts';

const STATUS_CALLER_GONE = 499; // nobody sees it; logs of proxies use it so
const LATE_WORDS = 'no answer in time';

export class OpenMessage implements Running, Covered, Recorded, Billed, WatchHooks {
  place = ABSENT; // among the running messages
  readonly submission: Submission;
  readonly caller: Caller;
  readonly isStream: boolean;
  /** Null once a route has begun to answer: a stream may last much longer than its request need be kept. */
  request: MessageRequest | null;
  readonly offer: Offer;
  readonly plan: MessagePlan;
  /** The max_tokens for the provider. */
  readonly maxTokens: number;
  /** Of the attempt that is under way, or has answered. */
  counter: MessageCounter;
  /** Of a stream. */
  readonly cover: Cover | null;
  readonly attempts: UsageRecord['attempts'] = [];
  readonly watch: SilenceWatch;
  /** Null when nothing is traced. */
  trace: MessageTrace | null = null;
  /** The route that answered, or was tried last. */
  route: Route | null = null;
  /** Its way over that route; null before one was tried. */
  passage: Passage | null = null;
  /** What a time limit says of the attempt that it ended. */
  lateWords = LATE_WORDS;
  /** The kind of that route's provider. */
  providerKind: string | null = null;
  upstreamRequestId: string | null = null;
  firstTokenMs: number | null = null;
  stopReason: StopReason | null = null;
  /** What it is answered, where it has a claim: kept for who repeats it. */
  readonly answer: CollectedAnswer | null;
  /** The caller will not read what comes. */
  callerHasLeft = false;
  /** Its 200 went out: what becomes of it is told in the stream. */
  hasReply = false;
  /** The relay waits for the upstream, or for the ledger: it will see that the caller has left. */
  isRelaying = false;
  /** It is read to its end without its caller. */
  isFinishing = false;
  /** What is being read of the upstream, counted when it comes. */
  pulling: Promise<StreamEvent[] | null> | null = null;
  readonly #gateway: Gateway;
  readonly #seat: Seat;
  /** The last that was begun. */
  #attempt: { controller: AbortController; baseUrl: string } | null = null;
  #finishTimer: ReturnType<typeof setTimeout> | null = null;
  #ending: Promise<Settlement> | null = null;
  /** Its hold is the ledger's to end now, whatever becomes of the message. */
  #isLedgerAsked = false;

  constructor(
    gateway: Gateway,
    { submission, caller, request, offer, claim }: Asked,
    plan: MessagePlan,
    admitted: Admitted,
    seat: Seat,
  ) {
    this.#gateway = gateway;
    this.#seat = seat;
    this.submission = submission;
    this.caller = caller;
    this.request = request;
    this.isStream = request.stream;
    this.offer = offer;
    this.plan = plan;
    this.maxTokens = request.stream ? payableMaxTokens(plan, offer, admitted.available) : plan.maxTokens;
    this.counter = this.#makeCounter();
    this.answer = claim === null ? null : gateway.answers.collect(caller.account.id);
    this.cover = request.stream ? new Cover(gateway.ledger, this, admitted) : null;
    const { settings } = gateway.catalogue();
    this.watch = new SilenceWatch(gateway.silence, watchBounds(settings, request.stream), this);
  }

  get requestId(): string {
    return this.submission.requestId;
  }

  /** Since it was received. */
  get admittedMs(): number | null {
    const { startedMs, admittedMs } = this.submission.times;
    return admittedMs === null ? null : Math.round(admittedMs - startedMs);
  }

  get speedAsked(): Speed {
    return this.plan.firstCase.speed;
  }

  get settleWaitMs(): number {
    return this.#gateway.catalogue().settings.settleWaitSeconds * 1000;
  }

  /** More was asked for than could be paid, and the provider was told so. */
  get isLowered(): boolean {
    return this.maxTokens < this.plan.maxTokens;
  }

  get keyId(): number {
    return this.caller.key.id;
  }

  get hasEnded(): boolean {
    return this.#ending !== null;
  }

  /** Not done when it is made: until then nobody owns its hold, and a tracer may throw. */
  beginTrace(): void {
    const { requestId, receivedAtMs, times, trace: parent } = this.submission;
    this.trace = this.#gateway.trace?.({ requestId, receivedAtMs, startedMs: times.startedMs, parent }) ?? null;
  }

  /** For the next attempt: what aborts it, and what its provider is told of the trace. */
  beginAttempt({ route, settings }: Candidate): Pick<Attempt, 'signal' | 'trace'> {
    const { kind, baseUrl } = settings;
    const attempt = { controller: new AbortController(), baseUrl };
    this.#attempt = attempt;
    this.lateWords = LATE_WORDS;
    this.providerKind = kind;
    this.upstreamRequestId = null;
    const { provider, upstreamModel: model } = route;
    const told = this.#traced((trace) => trace.beginAttempt({ provider, kind, baseUrl, model }));
    return { signal: attempt.controller.signal, trace: told ?? this.submission.trace };
  }

  /** It failed, or has begun to answer. */
  endTraceOfAttempt(result: string, status: number | null): void {
    this.#traced((trace) => trace.endAttempt(result, status));
  }

  /** A mistake in tracing leaves a gap in the trace, and changes nothing for the message. */
  #traced<Value>(tell: (trace: MessageTrace) => Value): Value | null {
    try {
      return this.trace === null ? null : tell(this.trace);
    } catch {
      return null;
    }
  }

  onLate(): void {
    this.stop('timeout');
  }

  /** Half of the time to connect in has passed, and in the other half it must be possible. */
  onSlow(): void {
    void this.#checkConnection(this.#gateway.catalogue().settings.upstreamConnectSeconds * 500); // it never rejects
  }

  /** The socket is told only of an answer that takes long: telling it costs as much as a header. */
  onLong(): void {
    if (!this.isStream) this.submission.expect('slow-json');
  }

  async #checkConnection(msMax: number): Promise<void> {
    const attempt = this.#attempt;
    // Where it cannot be found out the attempt's other limits hold.
    const isThere = await this.#gateway.canConnect(attempt?.baseUrl ?? '', msMax).catch(() => true);
    const hasAnswered = this.request === null || this.counter.started;
    if (isThere || hasAnswered || attempt !== this.#attempt || this.hasEnded) return;
    this.lateWords = 'no connection in time';
    this.stop('timeout');
  }

  /** The attempt failed: what its upstream still sends is for nobody. */
  dropAttempt(): void {
    this.#attempt?.controller.abort();
  }

  /** Aborts the upstream. A time limit ends one attempt; every other reason ends the message. */
  stop(reason: StopReason): void {
    if (this.stopReason === null || this.stopReason === 'timeout') this.stopReason = reason;
    this.#attempt?.controller.abort();
  }

  #makeCounter(): MessageCounter {
    const estimate = this.#gateway.estimates.output(this.offer.model.name);
    return new MessageCounter({ estimate, thinks: this.plan.thinks });
  }

  /** The attempt failed before its caller saw anything of it: what it began to count is not the caller's. */
  rewind(): void {
    if (!this.counter.started) return;
    this.counter = this.#makeCounter();
    this.cover?.rewind();
    this.firstTokenMs = null;
  }

  /** A route began to answer it with a stream. */
  beginStream(): void {
    if (this.cover === null || this.hasEnded) return;
    this.cover.begin();
    if (!this.counter.finished) this.#gateway.covers.add(this.cover);
  }

  /** Events of the answer have come, and go to the caller. Gives them as he gets them. */
  take(events: StreamEvent[]): StreamEvent[] {
    const told = this.see(events);
    this.answer?.keepEvents(told);
    return told;
  }

  /** Events of an answer have come: they are counted. Gives them as the caller will get them, if he does. */
  see(events: StreamEvent[]): StreamEvent[] {
    for (const event of events) this.counter.observe(event);
    return completeEvents(events, () => countBilled(this, 'completed').counts);
  }

  /** The whole answer has come, not streamed: it is counted. Gives its text as the caller gets it. */
  takeMessage(message: JsonObject, text: string): string {
    this.counter.observeMessage(message);
    const told = completeText(message, text, () => countBilled(this, 'completed').counts);
    this.answer?.keepMessage(told);
    return told;
  }

  checkpoint(): UsageRecord {
    return this.#record('service_cut', 500, countBilled(this, 'service_cut'));
  }

  stopForMoney(): void {
    this.stop('money');
  }

  stopElsewhere(): void {
    this.stop('elsewhere');
  }

  /** The service ends it before its time: what was produced is billed. */
  cut(reason: CutReason): void {
    this.stop(reason);
    if (!this.isStream || !this.counter.started) return;
    const error = stopError(this) as TurnpikeError;
    this.endQuietly('service_cut', this.hasReply ? 200 : error.status, error);
  }

  /**
   * The caller has left. A stream that has begun is stopped and billed as received, unless it has a claim, or such are
   * to be finished and not too many are already. Otherwise the upstream is let finish, bounded, since what it reports is what is
   * billed; its places are free at once.
   */
  leave(): void {
    if (this.callerHasLeft || this.hasEnded) return;
    this.callerHasLeft = true;
    if (this.isStream && this.counter.started && !this.#mayFinish()) {
      this.stop('caller_left');
      this.endQuietly('client_gone', STATUS_CALLER_GONE, null);
      return;
    }
    const { account, key } = this.caller;
    const { requestId } = this.submission;
    this.#gateway.ledger.leave({ kind: 'leave', requestId }, account.id, key.id, this.offer.group.name).catch(() => {}); // its ending gives the places back as well
    const boundMs = this.#gateway.catalogue().settings.finishWithoutCallerSeconds * 1000;
    this.#finishTimer = setTimeout(() => this.stop('caller_left'), boundMs);
  }

  /** Who repeats a message that has a claim gets the answer that it was left for. */
  #mayFinish(): boolean {
    const { finishStreamsWithoutCallerMax } = this.#gateway.catalogue().settings;
    return this.answer !== null || this.#gateway.running.takeFinishing(this, finishStreamsWithoutCallerMax);
  }

  /** Ends it as answered, or as left by its caller. Resolves when durable. */
  complete(): Promise<Settlement> {
    if (this.callerHasLeft) return this.end('client_gone', STATUS_CALLER_GONE, null);
    return this.end('completed', 200, null);
  }

  /** Ends it because its money is at an end: what was produced is billed. */
  endForMoney(status = 200): Promise<Settlement> {
    return this.end('quota_cut', status, moneyError());
  }

  /** Ends a stream that does not go on, or never came to its first content: what was produced is billed. */
  async cutShort(error: TurnpikeError, status: number, isOfUpstream: boolean): Promise<void> {
    if (this.stopReason === 'money') await this.endForMoney(status);
    else if (this.callerHasLeft) await this.complete();
    else await this.end(isOfUpstream ? 'upstream_cut' : 'service_cut', status, error);
  }

  /**
   * Ends it because the caller saw no answer. Where none began nothing is charged, unless the caller left and the upstream was
   * stopped at the bound of waiting for it. Then its prompt was worked on, and its estimate is charged.
   * A caller who left before any route was tried is gone, and pays nothing.
   */
  async fail(error: TurnpikeError): Promise<void> {
    if (this.counter.started) return this.cutShort(error, error.status, false);
    if (this.callerHasLeft && (this.stopReason === 'caller_left' || this.route === null))
      await this.end('client_gone', STATUS_CALLER_GONE, null);
    else if (this.stopReason === 'revoked' || this.stopReason === 'draining')
      await this.end('service_cut', error.status, error);
    else await this.end('failed', error.status, error);
  }

  /** Settles or releases, once: the first call decides how, every call gets its result. Rejects with store_unavailable. */
  end(outcome: Outcome, status: number, error: TurnpikeError | null): Promise<Settlement> {
    this.#ending ??= this.#settle(outcome, status, error);
    return this.#ending;
  }

  /** Ends it where nobody waits for the result; the ledger goes on trying by itself when the store is gone. */
  endQuietly(outcome: Outcome, status: number, error: TurnpikeError | null): void {
    this.end(outcome, status, error).catch(() => {});
  }

  async #settle(outcome: Outcome, status: number, error: TurnpikeError | null): Promise<Settlement> {
    this.watch.finish();
    if (this.#finishTimer !== null) clearTimeout(this.#finishTimer);
    this.cover?.close();
    try {
      this.#endPassage(outcome);
      const usage = countBilled(this, outcome);
      return await this.#endHold(this.#record(outcome, status, usage), usage, error);
    } catch (thrown) {
      if (!this.#isLedgerAsked) await this.#release();
      throw thrown;
    } finally {
      this.watch.close();
      if (this.cover !== null) this.#gateway.covers.remove(this.cover);
      this.answer?.giveBack();
      this.#gateway.running.remove(this);
      this.#seat.giveBack();
    }
  }

  /** An answer that its provider broke off is a failure of the route. */
  #endPassage(outcome: Outcome): void {
    if (outcome === 'upstream_cut') this.passage?.failed(this.stopReason === 'timeout' ? 'timeout' : 'failed', null);
    else this.passage?.finish();
  }

  async #endHold(record: UsageRecord, usage: CountedUsage, error: TurnpikeError | null): Promise<Settlement> {
    const { times } = this.submission;
    times.endedMs = performance.now();
    let told = error;
    try {
      const settlement = await this.#endInLedger(record, usage);
      times.settledMs = performance.now();
      if (settlement.ok) record.writtenOff = settlement.writtenOff;
      this.#learn(usage);
      return settlement;
    } catch (thrown) {
      told ??= asTurnpikeError(thrown); // what its caller is told where the answer itself went well
      throw thrown;
    } finally {
      this.#report(record, usage, told);
    }
  }

  /** What a caller had to the end, or would have had if he had stayed, is the answer to his claim. */
  #endInLedger(record: UsageRecord, { source }: CountedUsage): Promise<Settlement> {
    const { ledger } = this.#gateway;
    const { answer, requestId } = this;
    if (answer !== null && (record.outcome === 'completed' || (record.outcome === 'client_gone' && answer.isWhole))) {
      const rows = this.#answerRows(answer);
      this.#isLedgerAsked = true;
      return ledger.end({ kind: 'settle', requestId, record, isAnswer: true }, this.settleWaitMs, rows);
    }
    this.#isLedgerAsked = true;
    return ledger.end({ kind: source === 'none' ? 'release' : 'settle', requestId, record }, this.settleWaitMs);
  }

  /** An answer that cannot be sealed is not kept, and billed all the same. */
  #answerRows(answer: CollectedAnswer): unknown[] {
    const { answers, clock } = this.#gateway;
    try {
      return answers.rowsOf(answer, this.requestId, clock.nowMs());
    } catch {
      return [];
    }
  }

  /** A mistake of our own, before the ledger was asked: what is held goes back, and nothing is charged. */
  async #release(): Promise<void> {
    await releaseHold(this.#gateway, this).catch(() => {}); // the ledger goes on trying by itself
  }

  #record(outcome: Outcome, status: number, usage: CountedUsage): UsageRecord {
    const latencyMs = Math.max(0, this.#gateway.clock.nowMs() - this.submission.receivedAtMs);
    return makeRecord(this, outcome, status, usage, latencyMs);
  }

  /** What the provider reported teaches how to estimate the next ones. */
  #learn({ source }: CountedUsage): void {
    if (source !== 'reported') return;
    const { estimates } = this.#gateway;
    const prompt = this.counter.reportedPrompt();
    if (prompt !== null) estimates.learnPrompt(this.offer.model.name, this.plan.measure, promptTokens(prompt));
    estimates.learnOutput(this.offer.model.name, this.counter);
  }

  #report(record: UsageRecord, usage: CountedUsage, error: TurnpikeError | null): void {
    const report: MessageReport = {
      requestId: record.requestId,
      record,
      times: this.submission.times,
      providerKind: record.provider === null ? null : this.providerKind,
      responseModel: this.counter.model,
      stopReason: this.counter.stopReason,
      address: this.submission.address,
      code: error?.code ?? null,
      cause: error?.details.cause ?? null,
      upstreamRequestId: this.upstreamRequestId,
      disbelieved: usage.disbelieved,
      unknown: usage.unknown,
    };
    this.#traced((trace) => trace.end(report));
    this.#gateway.report(report);
  }
}

function watchBounds(settings: Settings, isStream: boolean): WatchBounds {
  return {
    firstMs: (isStream ? settings.upstreamFirstEventSeconds : settings.upstreamAnswerSeconds) * 1000,
    silenceMs: settings.upstreamSilenceSeconds * 1000,
    totalMs: isStream ? settings.upstreamStreamSeconds * 1000 : Number.POSITIVE_INFINITY,
    slowMs: (settings.upstreamConnectSeconds * 1000) / 2,
  };
}
