// An admitted message: its hold, its usage, and its single ending. It may be ended in many ways (answered,
// disconnected, upstream failure, revoked key); the first one counts.

import { payingAccountOf, topOf } from '../accounts/accounts.ts';
import { assert } from '../base/assert.ts';
import { ABSENT, type Placed } from '../base/roster.ts';
import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import { type Admitted, type Outcome, type Settlement, type UsageRecord, withoutItsEnd } from '../ledger/ledger.ts';
import type { ProviderFault } from '../providers/providers.ts';
import type { CountedUsage, Ending, MessageCounter } from '../usage/usage.ts';
import { type MessageRequest, PlainDeltas, type StreamEvent, servesOf } from '../wire/wire.ts';
import { correctBill, countForBill } from './count-after-end.ts';
import type { Gateway } from './dependencies.ts';
import { GuardedTrace } from './guarded-trace.ts';
import type { ResponseCollector } from './idempotency-records.ts';
import { clientTooSlow, moneyError, type StopReason, stopError } from './message-errors.ts';
import {
  billMessage,
  type EndedMessage,
  endHold,
  makeRecord,
  makeReport,
  NOTHING_SENT,
  releaseHold,
} from './message-record.ts';
import type { AnyReply, OpenAttempt } from './open-attempt.ts';
import { type AdmissionRequest, type AdmittedRequest, payableMaxTokens } from './plan-message.ts';
import { noteWallet } from './recharges.ts';
import type { CutReason, Slot } from './running-messages.ts';
import { SilenceWatch, type WatchEvent, watchBounds } from './silence-watch.ts';
import { StreamHold } from './stream-hold.ts';

const STATUS_CALLER_GONE = 499; // never sent; the status that proxies log

/** How a broken stream ends, by whose fault it is. */
export type CutOutcome = Extract<Outcome, 'upstream_cut' | 'client_gone' | 'service_cut'>;

/**
 * `opening`: attempts are being made. `streaming`: status 200 of a stream was sent. `settling`: the hold is being ended.
 * `settled`: it has ended, or its ending is left to the ledger.
 */
type Phase = 'opening' | 'streaming' | 'settling' | 'settled';

export class OpenMessage implements Placed {
  place = ABSENT; // position in RunningMessages
  readonly admitted: AdmittedRequest;
  /** null if the message is not streamed. */
  readonly streamHold: StreamHold | null;
  readonly watch: SilenceWatch;
  /** Collects the response if the message has an idempotency key. */
  readonly answer: ResponseCollector | null;
  /** null if tracing is off. */
  readonly #trace: GuardedTrace | null;
  readonly #gateway: Gateway;
  readonly #slot: Slot;
  readonly #attempts: UsageRecord['attempts'] = [];
  #attempt: OpenAttempt | null = null;
  #phase: Phase = 'opening';
  /** Why the message must end; a time limit ends an attempt. */
  #stopReason: StopReason | null = null;
  /** The client disconnected or stopped reading. */
  #hasDisconnected = false;
  /** The model left no usable answer: what it produced is billed, and no other target is tried. */
  #isUnusable = false;
  /** The key was revoked before the answer began. */
  #isCutOff = false;
  #onCutOff: ((error: TurnpikeError) => void) | null = null;
  #finishTimer: ReturnType<typeof setTimeout> | null = null;
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
    { clientRequest, caller, catalog, request, offer, claim, plan, attribution }: AdmissionRequest,
    hold: Admitted,
    slot: Slot,
  ) {
    const isStream = request.stream;
    const maxTokens = isStream ? payableMaxTokens(plan, offer, hold.available) : plan.maxTokens;
    this.#gateway = gateway;
    this.#slot = slot;
    this.admitted = { clientRequest, caller, catalog, offer, plan, attribution, isStream, maxTokens };
    this.#trace = GuardedTrace.begin(gateway, clientRequest);
    const limits = watchBounds(catalog.settings, isStream, servesOf(request.protocol));
    this.watch = new SilenceWatch(gateway.silence, limits, (event) => this.#onWatch(event));
    this.answer = claim === null ? null : gateway.answers.collect(caller.account.id);
    this.streamHold = isStream ? this.#openStreamHold(hold) : null;
    this.#isUncounted = !plan.isCounted;
    if (this.#isUncounted) gateway.admissions.hold(topOf(caller));
  }

  #openStreamHold(hold: Admitted): StreamHold {
    return new StreamHold(this.#gateway, this.admitted, hold, {
      checkpoint: () => makeRecord(this.#gateway, this.#ended('service_cut', 500, null), this.#current.estimate()),
      stop: (reason) => this.stop(reason),
      onLowered: () => this.#onHoldLowered(),
    });
  }

  get requestId(): string {
    return this.admitted.clientRequest.requestId;
  }

  /** The counter of the current attempt, or of the one that answered. */
  get counter(): MessageCounter {
    return this.#attempt?.counter ?? NOTHING_SENT;
  }

  /** Why the service stopped the message, or the current attempt; null if it did not. */
  get stopReason(): StopReason | null {
    return this.#stopReason ?? this.#attempt?.stopReason ?? null;
  }

  /** The error for the stop reason; null without one. */
  get stopError(): TurnpikeError | null {
    return stopError(this.stopReason, this.#attempt?.isOverlong);
  }

  /** The client got the error of a revoked key before the answer began; the upstream goes on for its bill. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** max_tokens was lowered to what could be paid. */
  get isLowered(): boolean {
    return this.admitted.maxTokens < this.admitted.plan.maxTokens;
  }

  /** The answer ended where the money does: it is not the whole answer. */
  get isCutByMoney(): boolean {
    return this.isLowered && this.counter.stopReason === 'max_tokens';
  }

  /** The service ends the message, or the model spoiled it: no further attempt is made. */
  get isOver(): boolean {
    return this.#stopReason !== null || this.#isUnusable;
  }

  /** The client disconnected, and cannot retry with an idempotency key. */
  get isAbandoned(): boolean {
    return this.#hasDisconnected && this.answer === null;
  }

  get hasEnded(): boolean {
    return this.#phase === 'settling' || this.#phase === 'settled';
  }

  /** The attempt that answered, or the last one; null before the first. */
  get attempt(): OpenAttempt | null {
    return this.#attempt;
  }

  get #current(): OpenAttempt {
    assert(this.#attempt !== null, 'an attempt has been made');
    return this.#attempt;
  }

  // ——— Attempts, one at a time.

  /** A target is tried. Resolves to its reply. */
  begin(attempt: OpenAttempt, request: MessageRequest): Promise<AnyReply> {
    assert(!this.hasEnded, 'a message that has ended makes no attempt');
    this.#attempt = attempt;
    this.streamHold?.observe(attempt.counter);
    return attempt.send(request, this.#trace?.beginAttempt(attempt.target) ?? this.admitted.clientRequest.trace);
  }

  /** The attempt began to answer with a stream. */
  beginStream(): void {
    if (this.streamHold === null || this.hasEnded) return;
    this.streamHold.begin();
    if (!this.counter.finished) this.#gateway.streamHolds.add(this.streamHold);
  }

  /** The attempt began to answer (null), or failed before the client received anything. */
  noteAttempt(fault: ProviderFault | null): void {
    const attempt = this.#current;
    const { times } = this.admitted.clientRequest;
    const end = attempt.describe(fault);
    times.upstreamMs += performance.now() - attempt.startedMs;
    if (fault === null) times.answeredMs = performance.now();
    this.#trace?.endAttempt(end.result, end.status);
    this.#attempts.push(end);
  }

  /** Another target may be tried: discards what the failed attempt counted. */
  rewind(): void {
    const attempt = this.#current;
    const hadBegun = attempt.counter.started;
    attempt.discard();
    this.streamHold?.observe(attempt.counter);
    if (hadBegun) this.streamHold?.rewind();
  }

  #onWatch(event: WatchEvent): void {
    if (event === 'client_slow') {
      this.stop('client_slow');
      // The output produced so far is billed, as if the client had disconnected.
      this.#endQuietly('client_gone', STATUS_CALLER_GONE, clientTooSlow());
    } else if (event === 'long') {
      // Adjusting the socket costs as much as a header, so only long answers do it.
      if (!this.admitted.isStream) this.admitted.clientRequest.expect('slow-json');
    } else if (event === 'slow')
      void this.#attempt?.checkConnection(); // never rejects
    else this.#attempt?.onLate(event === 'overlong');
  }

  // ——— The answer.

  /** The stream's status 200 was sent. */
  beginReply(): void {
    if (this.#phase === 'opening') this.#phase = 'streaming';
  }

  /** Counts what arrived, and collects it for the idempotency record. Returns it as the client receives it. */
  take<Output extends StreamEvent[] | PlainDeltas>(arrived: Output): Output | StreamEvent[] {
    if (arrived instanceof PlainDeltas) {
      this.#current.counter.observePlain(arrived);
      this.answer?.addText(arrived.text());
      return arrived;
    }
    const events = this.#current.see(arrived);
    this.answer?.addEvents(events);
    return events;
  }

  /** The model left no usable answer. */
  takeUnusable(fault: ProviderFault): void {
    this.#isUnusable = true;
    this.#current.counter.observeUnusable(fault.usage);
  }

  #onHoldLowered(): void {
    const { admissions } = this.#gateway;
    const account = topOf(this.admitted.caller);
    if (this.#isUncounted) admissions.counted(account);
    else admissions.release(account);
    this.#isUncounted = false;
  }

  // ——— The end.

  /** Ends the message for this reason: aborts its upstream. */
  stop(reason: Exclude<StopReason, 'timeout'>): void {
    this.#stopReason ??= reason;
    this.#attempt?.stop(reason);
  }

  /** `onCutOff` is called when the key is revoked before the answer begins, at once if it was; it replaces an earlier one. */
  whenCutOff(onCutOff: (error: TurnpikeError) => void): void {
    this.#onCutOff = onCutOff;
    if (this.#isCutOff) onCutOff(this.stopError as TurnpikeError);
  }

  /**
   * Ends the message early. A stream that has begun is stopped, and billed for the output so far. Before the answer begins, a
   * client whose key is revoked gets the error, and the upstream may finish, because its reported usage is billed.
   */
  cut(reason: CutReason): void {
    if (this.hasEnded) return;
    const isBegun = this.admitted.isStream && this.counter.started;
    if (reason === 'revoked' && !isBegun && this.#attempt !== null) {
      if (this.#hasDisconnected) return; // it is finishing for its bill already
      this.#hasDisconnected = true;
      this.#isCutOff = true;
      this.#stopReason = 'revoked';
      this.#boundFinish();
      this.#onCutOff?.(this.stopError as TurnpikeError);
      return;
    }
    this.stop(reason);
    if (!isBegun) return;
    const error = this.stopError as TurnpikeError;
    this.#endQuietly('service_cut', this.#statusOf(error), error);
  }

  /**
   * The client disconnected. A stream that has begun is stopped and billed as received, unless it has an idempotency
   * key, or only its end says what it costs. Otherwise the upstream may finish within a time limit, because its reported
   * usage is what is billed. Concurrency slots are freed when the upstream has ended.
   */
  leave(): void {
    if (this.#hasDisconnected || this.hasEnded) return;
    this.#hasDisconnected = true;
    if (this.admitted.isStream && this.counter.started && !this.#mayFinish()) {
      this.stop('caller_left');
      this.#endQuietly('client_gone', STATUS_CALLER_GONE, null);
      return;
    }
    this.#boundFinish();
  }

  #boundFinish(): void {
    this.#gateway.running.addUnattended(this);
    const boundMs = this.admitted.catalog.settings.finishWithoutCallerSeconds * 1000;
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
    const { catalog, caller, plan } = this.admitted;
    const { running } = this.#gateway;
    if (running.takeFinishing(this, catalog.settings.finishStreamsWithoutCallerMax)) return true;
    if (!this.counter.isHidden(plan.thinks)) return false;
    this.#isReadUnread = running.unread.take(caller.account.id, 1) === null;
    return this.#isReadUnread;
  }

  /** Ends the message as answered, as disconnected, or as cut by its money. Resolves when durable. */
  complete(): Promise<Settlement> {
    if (this.stopReason === 'revoked') {
      const error = this.stopError as TurnpikeError;
      return this.#end('service_cut', error.status, error);
    }
    if (this.isCutByMoney) return this.#end('quota_cut', 200, moneyError());
    if (this.#hasDisconnected) return this.#end('client_gone', STATUS_CALLER_GONE, null);
    return this.#end('completed', 200, null);
  }

  /**
   * Ends a message that failed. The output produced so far is billed, by the outcome `cut`. Without output nothing is charged,
   * with these exceptions: the model produced output, but no answer; or the client disconnected or its key was revoked, and the
   * upstream was stopped at the time limit. A client that disconnected before the first attempt pays nothing.
   */
  async fail(error: TurnpikeError, cut: CutOutcome = 'service_cut'): Promise<void> {
    const hasBegun = this.counter.started;
    if (this.#isUnusable) await this.#end('failed', this.#statusOf(error), error);
    else if (hasBegun && this.stopReason === 'money') await this.#end('quota_cut', this.#statusOf(error), moneyError());
    else if (hasBegun && !this.#hasDisconnected) await this.#end(cut, this.#statusOf(error), error);
    else if (hasBegun || this.#isOverdue || (this.#hasDisconnected && this.#attempt === null)) await this.complete();
    else if (this.stopReason === 'draining') await this.#end('service_cut', error.status, error);
    else await this.#end('failed', error.status, error);
  }

  /** Errors are sent in the stream after its status 200. */
  #statusOf({ status }: TurnpikeError): number {
    return this.#phase === 'streaming' ? 200 : status;
  }

  /**
   * Settles or releases the hold once: the first call decides how, and every call gets its result. Rejects with
   * store_unavailable.
   */
  #end(outcome: Outcome, status: number, error: TurnpikeError | null): Promise<Settlement> {
    this.#ending ??= this.#settle(outcome, status, error);
    return this.#ending;
  }

  /** Ends the message when no code awaits the result; the ledger retries in the background. */
  #endQuietly(outcome: Outcome, status: number, error: TurnpikeError | null): void {
    this.#end(outcome, status, error).catch(() => {});
  }

  async #settle(outcome: Outcome, status: number, error: TurnpikeError | null): Promise<Settlement> {
    const { caller, clientRequest } = this.admitted;
    const { times } = clientRequest;
    assert(!this.hasEnded, 'a message ends once');
    this.#phase = 'settling';
    let usage: CountedUsage | null = null;
    let record: UsageRecord | null = null;
    let reported = error;
    let ending: Promise<Settlement> | null = null;
    try {
      this.watch.finish();
      if (this.#finishTimer !== null) clearTimeout(this.#finishTimer);
      this.streamHold?.close();
      const isCut = outcome === 'upstream_cut';
      this.#attempt?.finish(isCut ? (this.stopReason === 'timeout' ? 'timeout' : 'failed') : null);
      const counting = countForBill(this.#gateway, this.#ended(outcome, status, error));
      const made = counting instanceof Promise ? await counting : counting;
      const ended = this.#ended(outcome, status, error);
      usage = billMessage(ended, made);
      record = makeRecord(this.#gateway, ended, usage);
      times.endedMs = performance.now();
      ending = endHold(this.#gateway, this.admitted, this.answer, record);
      const settlement = await ending;
      times.settledMs = performance.now();
      if (settlement.ok) {
        record.writtenOff = settlement.writtenOff;
        noteWallet(this.#gateway, payingAccountOf(caller), settlement.walletLeft);
        this.#correcting = correctBill(this.#gateway, ended, record, made);
      } else record = withoutItsEnd(record);
      if (usage.source === 'reported') this.#attempt?.addSample();
      return settlement;
    } catch (thrown) {
      reported ??= asTurnpikeError(thrown); // sent to the client although the answer itself succeeded
      // An invariant violation before the ledger was asked; the ledger retries in the background.
      if (ending === null) await releaseHold(this.#gateway, this.admitted, this.admitted.isStream).catch(() => {});
      throw thrown;
    } finally {
      this.#close();
      if (record !== null && usage !== null) {
        const report = makeReport(this.#ended(outcome, status, reported), record, usage);
        this.#trace?.end(report);
        this.#gateway.report(report);
      }
    }
  }

  #ended(outcome: Outcome, status: number, error: TurnpikeError | null): EndedMessage {
    const { admitted, streamHold } = this;
    const [attempt, attempts] = [this.#attempt, this.#attempts];
    const coveredTokens = streamHold?.coveredTokens ?? null;
    return { admitted, attempt, attempts, outcome, ending: this.#endedBy(outcome), status, error, coveredTokens };
  }

  #endedBy(outcome: Outcome): Ending {
    if (this.#isUnusable) return 'unusable';
    if (outcome === 'failed' || this.#attempt === null) return 'refused';
    if (outcome === 'quota_cut') return 'money';
    if (outcome === 'completed' || this.counter.finished) return 'answered';
    if (outcome === 'client_gone') return this.streamHold?.isExhausted === true ? 'money' : 'client';
    if (outcome === 'upstream_cut') return 'provider';
    return this.stopReason === 'revoked' ? 'revoked' : 'service';
  }

  #close(): void {
    const { running, streamHolds } = this.#gateway;
    assert(this.#phase === 'settling', 'a message that is closed has been settled');
    this.#phase = 'settled';
    this.watch.close();
    if (this.#correcting === null) this.#attempt?.dropPrompt();
    if (this.#isReadUnread) running.unread.giveBack(this.admitted.caller.account.id, 1);
    if (this.streamHold !== null) streamHolds.remove(this.streamHold);
    this.answer?.giveBack();
    running.remove(this);
    this.#slot.giveBack();
    this.#onHoldLowered();
  }
}
