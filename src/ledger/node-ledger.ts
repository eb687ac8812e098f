// The ledger as one node uses it: admissions with remembered refusals and bounded queues, endings that are retried
// until the store accepts them, and the node's lease.

import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { machineTimers, sleep, type Timers, within } from '../base/timers.ts';
import { bounds } from '../config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type {
  Admit,
  Answer,
  Bundle,
  Extend,
  Leave,
  Operation,
  Owner,
  Refusal,
  Release,
  Settle,
  Take,
} from './operation.ts';
import { Refusals } from './refusals.ts';
import type { LedgerGate } from './store.ts';
import { LockedForLong, NothingTaken } from './store-failure.ts';
import { emptyRecord } from './usage-record.ts';

class DoubtfulAdmissions {
  readonly #end: (release: Release) => Promise<unknown>;
  readonly #releases = new Map<string, Release>();
  #isReleasing = false;

  /** `end` must retry until the store accepts the release. */
  constructor(end: (release: Release) => Promise<unknown>) {
    this.#end = end;
  }

  /** Whether `more` further admissions would exceed the bound. */
  isFullWith(more: number): boolean {
    return this.#releases.size + more >= bounds.doubtfulAdmissionsMax;
  }

  add({ requestId, account, key, group, draft }: Admit): void {
    const record = {
      ...emptyRecord({ requestId, account, key, group, ...draft }),
      outcome: 'failed' as const,
      status: 503,
    };
    this.#releases.set(requestId, { kind: 'release', requestId, record });
    if (!this.#isReleasing) void this.#releaseAll();
  }

  /** In chunks: while the store is unavailable, the first chunk waits for it and the rest wait behind. */
  async #releaseAll(): Promise<void> {
    this.#isReleasing = true;
    while (this.#releases.size > 0) {
      const piece = this.#releases.values().take(bounds.rowsAtOnce);
      await Promise.all([...piece].map((release) => this.#release(release)));
    }
    this.#isReleasing = false;
  }

  async #release(release: Release): Promise<void> {
    await this.#end(release).catch(() => {}); // only an invariant violation rejects: retrying would not help
    this.#releases.delete(release.requestId);
  }
}

const RETRY_MS_FIRST = 50;
const RETRY_MS_MAX = 2_000;
const GAP_MS = bounds.leaseMs - bounds.leaseRenewMs; // after a longer outage of the store, leases may have lapsed

export type Admitted = Extract<Answer, { kind: 'admitted' }>;
/** The idempotency key belongs to another message. */
export type IdempotencyRefusal = Extract<Answer, { reason: 'claim_running' | 'claim_answered' | 'claim_mismatch' }>;
export type Admission = Admitted | Refusal | IdempotencyRefusal;
/** `ended`: the hold was ended elsewhere, so no success may be reported to the client. */
export type Extension = { ok: true; amount: number } | { ok: false; reason: 'ended' };
/** `ended`: the hold was ended elsewhere, so no success may be reported to the client. */
export type Settlement = { ok: true; cost: number; writtenOff: number } | { ok: false; reason: 'ended' };

export class NodeLedger implements LedgerGate {
  /** Called with the error when the store becomes unavailable, and with null when it recovers. */
  onStoreChange: (failure: unknown) => void = () => {};
  /** Called with the number of holds of other nodes that this node ended. */
  onExpired: (holds: number) => void = () => {};
  readonly #gate: LedgerGate;
  readonly #clock: Clock;
  readonly #node: string;
  readonly #timers: Timers;
  readonly #hasPeers: boolean;
  readonly #refusals = new Refusals();
  readonly #queuedByAccount = new Map<number, number>();
  #queued = 0;
  #owner: Owner | null = null;
  #endRenewals: (() => void) | null = null;
  #isRenewing = false;
  /** Cancels the early renewal scheduled after a failed one. */
  #endAgain: (() => void) | null = null;
  /** Time of the last renewal, and the start of the current run of renewals without a gap. */
  #renewals = { lastMs: Number.NEGATIVE_INFINITY, sinceMs: 0 };
  #isAvailable = true;
  /** Endings that the store has not accepted yet. */
  readonly #unfinished = new Set<Promise<Settlement>>();
  readonly #doubtful = new DoubtfulAdmissions((release) => this.#endAtLast(release, []));

  /** `hasPeers`: other nodes share the store, and an outage affects all of them. */
  constructor(gate: LedgerGate, clock: Clock, node: string, timers: Timers = machineTimers, hasPeers = false) {
    this.#hasPeers = hasPeers;
    this.#gate = gate;
    gate.onFailure = (failure) => this.#note(failure);
    this.#clock = clock;
    this.#node = node;
    this.#timers = timers;
  }

  /**
   * Takes the node's lease and ends the holds of earlier runs. Resolves to their number; with peers, they are ended
   * later.
   */
  async open(): Promise<number> {
    await this.#takeLease();
    this.#endRenewals = this.#timers.every(bounds.leaseRenewMs, () => void this.#renew());
    return this.#hasPeers ? 0 : this.#expire(await this.#ask({ kind: 'expire' }));
  }

  close(): void {
    this.#endRenewals?.();
    this.#endRenewals = null;
    this.#endAgain?.();
  }

  /** False from a store failure until the next successful write. */
  get isAvailable(): boolean {
    return this.#isAvailable;
  }

  /** Number of admissions that wait for their answer. */
  get queued(): number {
    return this.#queued;
  }

  /** Number of endings that the store has not accepted yet. */
  get unfinished(): number {
    return this.#unfinished.size;
  }

  get owner(): Owner {
    if (this.#owner === null) throw new TurnpikeError('store_unavailable', 'This node has no lease on the ledger.');
    return this.#owner;
  }

  batches(): number {
    return this.#gate.batches();
  }

  /**
   * One decision over all meters. Throws overloaded if the queue is full, store_unavailable if the store fails or
   * does not respond.
   */
  async admit(operation: Admit | Take): Promise<Admission> {
    if (this.#gate.decide === undefined) return this.#admitInStore(operation);
    const deciding = this.#gate.decide(operation);
    const answer =
      deciding instanceof Promise
        ? await within(this.#timers, bounds.admissionWaitMsMax, deciding, storeIsSilent)
        : deciding;
    if (!answer.ok && answer.reason === 'claim_answered') await this.flush(); // told only once it is durable
    return this.#admissionOf(operation, answer);
  }

  async #admitInStore(operation: Admit | Take): Promise<Admission> {
    const remembered = this.#refusals.find(operation, this.#clock.nowMs());
    if (remembered !== null) return remembered;
    const { timesForgotten } = this.#refusals;
    this.#enter(operation.account);
    let answer: Answer;
    try {
      answer = await within(this.#timers, bounds.admissionWaitMsMax, this.#ask(operation), storeIsSilent);
    } catch (failure) {
      if (isStoreUnavailable(failure)) {
        this.#note(failure); // also after a timeout
        if (operation.kind === 'admit' && !(failure instanceof NothingTaken)) this.#doubtful.add(operation);
      }
      throw failure;
    } finally {
      this.#exit(operation.account);
    }
    const admission = this.#admissionOf(operation, answer);
    // A refusal decided before a credit must not be remembered after it.
    if ('meter' in admission && this.#refusals.timesForgotten === timesForgotten)
      this.#refusals.remember(operation, admission, this.#clock.nowMs());
    return admission;
  }

  #admissionOf(operation: Admit | Take, answer: Answer): Admission {
    if (answer.ok && answer.kind === 'admitted') return answer;
    if (isIdempotencyRefusal(answer)) return answer;
    if (!('meter' in answer)) throw asError(answer);
    // The lease may have been taken again since.
    if (answer.reason === 'not_owner' && operation.kind === 'admit' && operation.owner.epoch === this.#owner?.epoch)
      this.#owner = null;
    return answer;
  }

  /**
   * Ends a hold. Retries an unavailable store and waits for a silent one until `waitMs` have passed, then throws
   * store_unavailable and keeps retrying in the background. The co-committed rows may be written more than once if an
   * acknowledgement is lost, and must tolerate that.
   */
  async end(operation: Settle | Release, waitMs: number, coCommitted: unknown[] = []): Promise<Settlement> {
    const ending = this.#endAtLast(operation, coCommitted);
    this.#unfinished.add(ending);
    const forget = () => this.#unfinished.delete(ending);
    ending.then(forget, forget);
    return within(this.#timers, waitMs, ending, storeIsSilent);
  }

  /** Changes the amount held and the checkpoint that a crash would bill. Throws store_unavailable. */
  async extend(operation: Extend): Promise<Extension> {
    const answer = await this.#ask(operation);
    return answer.ok && answer.kind === 'extended'
      ? { ok: true, amount: answer.amount }
      : { ok: false, reason: 'ended' };
  }

  /** Waits for pending endings. Resolves to the number still pending after `boundMs`. */
  async finishEndings(boundMs: number): Promise<number> {
    await within(this.#timers, boundMs, Promise.allSettled([...this.#unfinished]), storeIsSilent).catch(() => {});
    return this.#unfinished.size;
  }

  /**
   * The client disconnected: frees its concurrency slots at once. A failure is harmless, because the ending frees
   * them too.
   */
  async leave(operation: Leave, account: number, key: number, group: string): Promise<void> {
    await this.#ask(operation);
    this.#refusals.forget(account, key, group);
  }

  /** For changes of accounts, keys and credit. Forgets remembered refusals that the change may affect. */
  async submit(bundle: Bundle): Promise<Answer[]> {
    const answers = await this.#guard(bundle);
    if (bundle.operations.some(givesBack)) this.#refusals.forgetAll();
    return answers;
  }

  async flush(): Promise<void> {
    await this.#gate.flush?.();
  }

  /** A hold of the account was lowered: the next admission must not be answered from memory. */
  askAnew(account: number, key: number): void {
    this.#refusals.forget(account, key, null);
  }

  /** The catalog's limits changed. */
  forgetRefusals(): void {
    this.#refusals.forgetAll();
  }

  async #endOnce(operation: Settle | Release, coCommitted: unknown[]): Promise<Settlement> {
    const answer = await this.#ask(operation, coCommitted);
    const { account, key, group } = operation.record;
    this.#refusals.forget(account, key, group);
    if (answer.ok && answer.kind === 'ended') return { ok: true, cost: answer.cost, writtenOff: answer.writtenOff };
    return { ok: false, reason: 'ended' };
  }

  /** An ending that violates an invariant must not leave its hold open: the hold is released without charge. */
  async #endAtLast(operation: Settle | Release, coCommitted: unknown[]): Promise<Settlement> {
    try {
      return await this.#endInStore(operation, coCommitted);
    } catch (failure) {
      const { requestId, account, key, group, model, stream } = operation.record;
      const record = { ...emptyRecord({ requestId, account, key, group, model, stream }), outcome: 'failed' as const };
      await this.#endInStore({ kind: 'release', requestId, record }, []).catch(() => {});
      throw failure;
    }
  }

  // Not bounded in time: an answered message is billed as soon as the store recovers. The number of open holds bounds
  // how many endings can be pending.
  async #endInStore(operation: Settle | Release, coCommitted: unknown[]): Promise<Settlement> {
    for (let pauseMs = RETRY_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      try {
        return await this.#endOnce(operation, coCommitted);
      } catch (failure) {
        if (!isStoreUnavailable(failure)) throw failure;
        await sleep(this.#timers, pauseMs);
      }
    }
  }

  async #ask(operation: Operation, coCommitted: unknown[] = []): Promise<Answer> {
    const operations = [operation];
    const answers = await this.#guard(coCommitted.length === 0 ? { operations } : { operations, coCommitted });
    return answers[0] as Answer;
  }

  async #guard(bundle: Bundle): Promise<Answer[]> {
    let answers: Answer[];
    try {
      answers = await this.#gate.submit(bundle);
    } catch (failure) {
      if (isStoreUnavailable(failure)) this.#note(failure);
      throw failure;
    }
    // A store on a full disk still answers reads: only a write shows that it has recovered.
    if (!this.#isAvailable && bundle.operations.some((operation, at) => isWrite(operation) && answers[at]?.ok))
      this.#note(null);
    return answers;
  }

  #note(failure: unknown): void {
    if (failure instanceof LockedForLong) return;
    const isAvailable = failure === null;
    if (isAvailable === this.#isAvailable) return;
    this.#isAvailable = isAvailable;
    this.onStoreChange(failure);
  }

  async #takeLease(): Promise<void> {
    const answer = await this.#ask({ kind: 'renew', node: this.#node, epoch: null, leaseMs: bounds.leaseMs });
    if (answer.ok && answer.kind === 'lease') this.#owner = { node: this.#node, epoch: answer.epoch };
    this.#noteRenewal();
  }

  /**
   * Renews the lease, or takes a new one if it was lost. In the same bundle, ends holds of nodes whose leases lapsed,
   * so that a suspended node never treats itself as lapsed.
   */
  async #renew(): Promise<void> {
    // One at a time: a second renewal would end the holds that were admitted under the first.
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    try {
      if (this.#owner === null) return await this.#takeLease();
      const { node, epoch } = this.#owner;
      const renewal = { kind: 'renew', node, epoch, leaseMs: bounds.leaseMs } as const;
      const mayExpire = !this.#hasPeers || this.#isSteady();
      let [renewed, expired] = await this.#guard({
        operations: mayExpire ? [{ ...renewal, unlessLapsed: this.#hasPeers }, { kind: 'expire' }] : [renewal],
      });
      if (renewed?.ok === false && renewed.reason === 'lapsed')
        [renewed, expired] = await this.#guard({ operations: [renewal] });
      if (renewed?.ok !== true) return await this.#takeLease();
      this.#noteRenewal();
      const holds = expired === undefined ? 0 : this.#expire(expired);
      if (holds > 0) this.onExpired(holds);
    } catch {
      // Retried after any failure: without a lease this node admits nothing, and others end its holds.
      this.#renewSoon();
    } finally {
      this.#isRenewing = false;
    }
  }

  /** Not immediately: an abandoned round trip costs more than one renewal. */
  #renewSoon(): void {
    if (this.#endRenewals === null || this.#endAgain !== null) return;
    this.#endAgain = this.#timers.after(bounds.leaseRenewAgainMs, () => {
      this.#endAgain = null;
      void this.#renew();
    });
  }

  /**
   * Whether the store has been available for a whole lease. After an outage all leases may have lapsed although their
   * nodes are healthy: each node gets the time to renew before any hold is ended.
   */
  #isSteady(): boolean {
    const nowMs = this.#clock.nowMs();
    return nowMs - this.#renewals.lastMs < GAP_MS && nowMs - this.#renewals.sinceMs >= bounds.leaseMs;
  }

  #noteRenewal(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#renewals.lastMs >= GAP_MS) this.#renewals.sinceMs = nowMs;
    this.#renewals.lastMs = nowMs;
  }

  /**
   * Returns the number of holds ended. The released amounts may satisfy refused messages, so remembered refusals are
   * forgotten.
   */
  #expire(answer: Answer): number {
    const holds = answer.ok && answer.kind === 'expired' ? answer.holds : 0;
    if (holds > 0) this.#refusals.forgetAll();
    return holds;
  }

  #enter(account: number): void {
    const queued = this.#queuedByAccount.get(account) ?? 0;
    if (this.#queued >= bounds.ledgerQueueMax || queued >= bounds.ledgerQueuePerAccountMax)
      throw overloaded('The service is overloaded. Try again shortly.');
    if (this.#doubtful.isFullWith(this.#queued)) throw storeIsSilent(); // each queued admission may end up in doubt
    this.#queued++;
    this.#queuedByAccount.set(account, queued + 1);
  }

  #exit(account: number): void {
    this.#queued--;
    const queued = (this.#queuedByAccount.get(account) ?? 1) - 1;
    if (queued === 0) this.#queuedByAccount.delete(account);
    else this.#queuedByAccount.set(account, queued);
  }
}

function storeIsSilent(): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'The ledger cannot be written.');
}

/** Lowering a hold does not count: a refusal behind holds is remembered only briefly. */
function givesBack(operation: Operation): boolean {
  return operation.kind !== 'extend';
}

/** Whether the operation writes if it is not refused. A refusal, or freeing slots twice, writes nothing. */
function isWrite({ kind }: Operation): boolean {
  return !['take', 'extend', 'leave', 'expire'].includes(kind);
}

function isIdempotencyRefusal(answer: Answer): answer is IdempotencyRefusal {
  return !answer.ok && answer.reason.startsWith('claim_');
}

function asError(answer: Answer): TurnpikeError {
  assert(!answer.ok, 'an admission is admitted or refused');
  if (answer.reason === 'unknown_account' || answer.reason === 'unknown_key')
    return new TurnpikeError('key_invalid', 'This key does not exist.');
  return new TurnpikeError('internal', 'The message was not admitted.', { cause: answer.reason });
}

function isStoreUnavailable(failure: unknown): boolean {
  return failure instanceof TurnpikeError && failure.code === 'store_unavailable';
}
