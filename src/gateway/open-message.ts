// A message that was admitted: what it holds, what it has used, and its one ending. However many
// ways there are for it to end (answered, caller gone, upstream cut, revoked), the first one counts.

import type { Caller } from '../accounts/accounts.ts';
import { ABSENT } from '../base/roster.ts';
import {
  type Offer,
  type ProviderSettings,
  priceMessage,
  priceRoute,
  type Route,
  rateRecord,
  type Speed,
} from '../catalog/catalog.ts';
import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import { emptyRecord, type Outcome, type Settlement, type UsageRecord } from '../ledger/ledger.ts';
import type { Attempt } from '../providers/providers.ts';
import { type CountedUsage, MessageCounter } from '../usage/usage.ts';
import { type MessageRequest, NO_TOKENS } from '../wire/wire.ts';
import type { Gateway } from './dependencies.ts';
import type { MessageTrace } from './message-trace.ts';
import type { MessagePlan } from './plan-message.ts';
import type { CutReason, Running } from './running-messages.ts';
import type { Seat } from './seats.ts';
import { SilenceWatch } from './silence-watch.ts';
import type { MessageReport, Submission } from './submission.ts';

/** Why the upstream was aborted by us. */
export type StopReason = CutReason | 'caller_left' | 'timeout';

const STATUS_CALLER_GONE = 499; // nobody sees it; logs of proxies use it so

export class OpenMessage implements Running {
  place = ABSENT; // among the running messages
  readonly submission: Submission;
  readonly caller: Caller;
  readonly isStream: boolean;
  /** Null once a route has begun to answer: a stream may last much longer than its request need be kept. */
  request: MessageRequest | null;
  readonly offer: Offer;
  readonly plan: MessagePlan;
  readonly counter = new MessageCounter();
  readonly attempts: UsageRecord['attempts'] = [];
  readonly watch: SilenceWatch;
  /** Null when nothing is traced. */
  trace: MessageTrace | null = null;
  /** The route that answered, or was tried last. */
  route: Route | null = null;
  /** The kind of that route's provider. */
  providerKind: string | null = null;
  upstreamRequestId: string | null = null;
  firstTokenMs: number | null = null;
  stopReason: StopReason | null = null;
  /** The caller will not read what comes. */
  callerHasLeft = false;
  readonly #gateway: Gateway;
  readonly #seat: Seat;
  #attempt: AbortController | null = null;
  #finishTimer: ReturnType<typeof setTimeout> | null = null;
  #ending: Promise<Settlement> | null = null;

  constructor(
    gateway: Gateway,
    submission: Submission,
    caller: Caller,
    request: MessageRequest,
    offer: Offer,
    plan: MessagePlan,
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
    const settings = gateway.catalogue().settings;
    const boundSeconds = request.stream ? settings.upstreamSilenceSeconds : settings.upstreamAnswerSeconds;
    // The socket is told only of an answer that takes long: telling it costs as much as a header.
    const onLong = request.stream ? null : () => submission.expect('slow-json');
    this.watch = new SilenceWatch(gateway.silence, boundSeconds * 1000, () => this.stop('timeout'), onLong);
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
  beginAttempt(route: Route, { kind, baseUrl }: ProviderSettings): Pick<Attempt, 'signal' | 'trace'> {
    this.#attempt = new AbortController();
    this.providerKind = kind;
    const { provider, upstreamModel: model } = route;
    const trace = this.trace?.beginAttempt({ provider, kind, baseUrl, model }) ?? this.submission.trace;
    return { signal: this.#attempt.signal, trace };
  }

  /** The attempt failed: what its upstream still sends is for nobody. */
  dropAttempt(): void {
    this.#attempt?.abort();
  }

  /** Aborts the upstream. A time limit ends one attempt; every other reason ends the message. */
  stop(reason: StopReason): void {
    if (this.stopReason === null || this.stopReason === 'timeout') this.stopReason = reason;
    this.#attempt?.abort();
  }

  /** The service ends it before its time: what was produced is billed. */
  cut(reason: CutReason): void {
    this.stop(reason);
    if (this.isStream && this.counter.started) this.endQuietly('service_cut', 200, null);
  }

  /**
   * The caller has left. A stream that has begun is stopped and billed as received. Otherwise the
   * upstream is let finish, bounded, since what it reports is what is billed; its places are free at once.
   */
  leave(): void {
    if (this.callerHasLeft || this.hasEnded) return;
    this.callerHasLeft = true;
    if (this.isStream && this.counter.started) {
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

  /** Ends it as answered, or as left by its caller. Resolves when durable. */
  complete(): Promise<Settlement> {
    if (this.callerHasLeft) return this.end('client_gone', STATUS_CALLER_GONE, null);
    return this.end('completed', 200, null);
  }

  /**
   * Ends it because no answer began: nothing is charged, unless the caller left and the upstream was
   * stopped at the bound of waiting for it. Then its prompt was worked on, and its estimate is charged.
   * A caller who left before any route was tried is gone, and pays nothing.
   */
  async fail(error: TurnpikeError): Promise<void> {
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
    try {
      const usage = this.#countUsage(outcome);
      return await this.#endHold(this.#record(outcome, status, usage), usage, error);
    } finally {
      this.watch.close();
      this.#gateway.running.remove(this);
      this.#seat.giveBack();
    }
  }

  async #endHold(record: UsageRecord, usage: CountedUsage, error: TurnpikeError | null): Promise<Settlement> {
    const kind = usage.source === 'none' ? 'release' : 'settle';
    const waitMs = this.#gateway.catalogue().settings.settleWaitSeconds * 1000;
    const { times } = this.submission;
    times.endedMs = performance.now();
    let told = error;
    try {
      const settlement = await this.#gateway.ledger.end({ kind, requestId: record.requestId, record }, waitMs);
      times.settledMs = performance.now();
      if (settlement.ok) record.writtenOff = settlement.writtenOff;
      return settlement;
    } catch (thrown) {
      told ??= asTurnpikeError(thrown); // what its caller is told where the answer itself went well
      throw thrown;
    } finally {
      this.#report(record, usage, told);
    }
  }

  #countUsage(outcome: Outcome): CountedUsage {
    const { inputEstimate, maxTokens } = this.plan;
    const usage = this.counter.total({ inputEstimate, outputTokensMax: maxTokens });
    // Nothing of it was seen, but the upstream worked on it until we stopped waiting.
    if (usage.source === 'none' && outcome === 'client_gone' && this.stopReason === 'caller_left') {
      return { ...usage, counts: { ...NO_TOKENS, input: inputEstimate }, source: 'estimated' };
    }
    if (outcome === 'failed') return { ...usage, counts: { ...NO_TOKENS }, source: 'none' };
    return usage;
  }

  #record(outcome: Outcome, status: number, usage: CountedUsage): UsageRecord {
    const { model, group } = this.offer;
    const speed = this.#speed(usage.speed);
    const latencyMs = Math.max(0, this.#gateway.clock.nowMs() - this.submission.receivedAtMs);
    return {
      ...emptyRecord({
        requestId: this.submission.requestId,
        account: this.caller.account.id,
        key: this.caller.key.id,
        group: group.name,
        model: model.name,
        stream: this.isStream,
      }),
      provider: this.route?.provider ?? null,
      upstreamModel: this.route?.upstreamModel ?? null,
      outcome,
      status,
      inputTokens: usage.counts.input,
      outputTokens: usage.counts.output,
      cacheReadTokens: usage.counts.cacheRead,
      cacheWrite5mTokens: usage.counts.cacheWrite5m,
      cacheWrite1hTokens: usage.counts.cacheWrite1h,
      webSearches: usage.counts.webSearches,
      usageSource: usage.source,
      cost: usage.source === 'none' ? 0 : priceMessage(model.price, usage.counts, group.multiplierMillionths, speed),
      providerCost: this.route === null ? null : priceRoute(this.route, usage.counts, speed),
      rates: usage.source === 'none' ? {} : rateRecord(model.price, usage.counts, group.multiplierMillionths, speed),
      attempts: this.attempts,
      latencyMs,
      firstTokenMs: this.firstTokenMs,
    };
  }

  /** The speed that the provider says it served; one that has no rates was not asked for, and is sold as standard. */
  #speed(reported: Speed | null): Speed {
    const speed = reported ?? this.plan.worstCase.speed;
    return speed === 'fast' && this.offer.model.price.fast === null ? 'standard' : speed;
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
    this.trace?.end(report);
    this.#gateway.report(report);
  }
}
