// The ledger as a node uses it: admission with remembered refusals and bounded queues, endings
// that are tried again until the store has them, and the node's lease.

import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { machineTimers, sleep, type Timers, within } from '../base/timers.ts';
import { bounds } from '../config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import { DoubtfulAdmissions } from './doubtful-admissions.ts';
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

const RETRY_MS_FIRST = 50;
const RETRY_MS_MAX = 2_000;
const GAP_MS = bounds.leaseMs - bounds.leaseRenewMs; // a store that was away for longer may have let leases lapse

export type Admitted = Extract<Answer, { kind: 'admitted' }>;
/** Its claim stands for another message. */
export type ClaimRefusal = Extract<Answer, { reason: 'claim_running' | 'claim_answered' | 'claim_mismatch' }>;
export type Admission = Admitted | Refusal | ClaimRefusal;
/** `ended`: someone else ended the hold, so that no success may be reported to the caller. */
export type Extension = { ok: true; amount: number } | { ok: false; reason: 'ended' };
/** `ended`: someone else ended the hold, so that no success may be reported to the caller. */
export type Settlement = { ok: true; cost: number; writtenOff: number } | { ok: false; reason: 'ended' };

export class NodeLedger implements LedgerGate {
  /** Told when the store fails, with why, and with null when it takes what is written again. */
  onStoreChange: (failure: unknown) => void = () => {};
  /** Told how many holds this node has ended of others that are gone. */
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
  /** Takes back the renewal that is to come soon, after one that failed. */
  #endAgain: (() => void) | null = null;
  /** When the lease was renewed last, and since when without a gap. */
  #renewals = { lastMs: Number.NEGATIVE_INFINITY, sinceMs: 0 };
  #isAvailable = true;
  /** Endings that the store does not have yet. */
  readonly #unfinished = new Set<Promise<Settlement>>();
  readonly #doubtful = new DoubtfulAdmissions((release) => this.#endAtLast(release, []));

  /** `hasPeers`: other nodes go by the same store, which may have been away for all of them. */
  constructor(gate: LedgerGate, clock: Clock, node: string, timers: Timers = machineTimers, hasPeers = false) {
    this.#hasPeers = hasPeers;
    this.#gate = gate;
    this.#clock = clock;
    this.#node = node;
    this.#timers = timers;
  }

  /** Takes the node's lease and ends what earlier runs left open. Resolves to how many holds that were; with peers, they are ended later. */
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

  /** False from the moment that the store fails until it takes what is written. */
  get isAvailable(): boolean {
    return this.#isAvailable;
  }

  /** How many admissions wait for their answer. */
  get queued(): number {
    return this.#queued;
  }

  /** How many endings the store does not have yet. */
  get unfinished(): number {
    return this.#unfinished.size;
  }

  get owner(): Owner {
    if (this.#owner === null)
      throw new TurnpikeError('store_unavailable', 'This node has no lease on the ledger at the moment.');
    return this.#owner;
  }

  batches(): number {
    return this.#gate.batches();
  }

  /** One decision over all meters. Throws overloaded when the queue is full, store_unavailable when the store is gone or silent. */
  async admit(operation: Admit | Take): Promise<Admission> {
    const remembered = this.#refusals.find(operation, this.#clock.nowMs());
    if (remembered !== null) return remembered;
    const { timesForgotten } = this.#refusals;
    this.#enter(operation.account);
    let answer: Answer;
    try {
      answer = await within(this.#timers, bounds.admissionWaitMsMax, this.#ask(operation), storeIsSilent);
    } catch (failure) {
      if (isStoreGone(failure)) {
        this.#note(failure); // also where it failed by its silence
        if (operation.kind === 'admit' && !(failure instanceof NothingTaken)) this.#doubtful.add(operation);
      }
      throw failure;
    } finally {
      this.#exit(operation.account);
    }
    if (answer.ok && answer.kind === 'admitted') return answer;
    if (isClaimRefusal(answer)) return answer;
    if (!('meter' in answer)) throw asError(answer);
    // A lease that was taken since is not meant.
    if (answer.reason === 'not_owner' && operation.kind === 'admit' && operation.owner.epoch === this.#owner?.epoch)
      this.#owner = null;
    // What was decided before a credit must not be remembered after it.
    if (this.#refusals.timesForgotten === timesForgotten)
      this.#refusals.remember(operation, answer, this.#clock.nowMs());
    return answer;
  }

  /**
   * Ends a hold. A store that is gone is asked again, and one that does not answer is waited for, until
   * `waitMs` have passed: then this throws store_unavailable, and the ending goes on being tried behind it.
   * Rows alongside are written when it ends the hold, and again when that had no acknowledgement: they must bear it.
   */
  async end(operation: Settle | Release, waitMs: number, alongside: unknown[] = []): Promise<Settlement> {
    const ending = this.#endAtLast(operation, alongside);
    this.#unfinished.add(ending);
    const forget = () => this.#unfinished.delete(ending);
    ending.then(forget, forget);
    return within(this.#timers, waitMs, ending, storeIsSilent);
  }

  /** Changes what a message holds, and what a crash would bill. Throws store_unavailable. */
  async extend(operation: Extend): Promise<Extension> {
    const answer = await this.#ask(operation);
    return answer.ok && answer.kind === 'extended'
      ? { ok: true, amount: answer.amount }
      : { ok: false, reason: 'ended' };
  }

  /** Waits for endings that are still being tried. Resolves to how many the store does not have after `boundMs`. */
  async finishEndings(boundMs: number): Promise<number> {
    await within(this.#timers, boundMs, Promise.allSettled([...this.#unfinished]), storeIsSilent).catch(() => {});
    return this.#unfinished.size;
  }

  /** The caller has left: its concurrency is given back at once. Failing is no harm: the ending gives it back too. */
  async leave(operation: Leave, account: number, key: number, group: string): Promise<void> {
    await this.#ask(operation);
    this.#refusals.forget(account, key, group);
  }

  /** For changes of accounts, keys and credit. What it touches is asked anew afterwards. */
  async submit(bundle: Bundle): Promise<Answer[]> {
    const answers = await this.#guard(bundle);
    if (bundle.operations.some(givesBack)) this.#refusals.forgetAll();
    return answers;
  }

  /** The catalogue's limits changed. */
  forgetRefusals(): void {
    this.#refusals.forgetAll();
  }

  async #endOnce(operation: Settle | Release, alongside: unknown[]): Promise<Settlement> {
    const answer = await this.#ask(operation, alongside);
    const { account, key, group } = operation.record;
    this.#refusals.forget(account, key, group);
    if (answer.ok && answer.kind === 'ended') return { ok: true, cost: answer.cost, writtenOff: answer.writtenOff };
    return { ok: false, reason: 'ended' };
  }

  /** An ending that the ledger itself cannot take (our own mistake) must not leave its hold behind: it ends for nothing. */
  async #endAtLast(operation: Settle | Release, alongside: unknown[]): Promise<Settlement> {
    try {
      return await this.#endInStore(operation, alongside);
    } catch (failure) {
      const { requestId, account, key, group, model, stream } = operation.record;
      const record = { ...emptyRecord({ requestId, account, key, group, model, stream }), outcome: 'failed' as const };
      await this.#endInStore({ kind: 'release', requestId, record }, []).catch(() => {});
      throw failure;
    }
  }

  // Not bounded in time: an answered message is billed as soon as there is a store again. Its hold
  // bounds how many of these there can be.
  async #endInStore(operation: Settle | Release, alongside: unknown[]): Promise<Settlement> {
    for (let pauseMs = RETRY_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      try {
        return await this.#endOnce(operation, alongside);
      } catch (failure) {
        if (!isStoreGone(failure)) throw failure;
        await sleep(this.#timers, pauseMs);
      }
    }
  }

  async #ask(operation: Operation, alongside: unknown[] = []): Promise<Answer> {
    const operations = [operation];
    const answers = await this.#guard(alongside.length === 0 ? { operations } : { operations, alongside });
    return answers[0] as Answer;
  }

  async #guard(bundle: Bundle): Promise<Answer[]> {
    let answers: Answer[];
    try {
      answers = await this.#gate.submit(bundle);
    } catch (failure) {
      if (isStoreGone(failure)) this.#note(failure);
      throw failure;
    }
    // A store on a full disk still answers what writes nothing: only what was written tells that it is back.
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
   * Renews the lease; one that was lost is taken anew. Then ends what nodes left whose leases lapsed, if it may: in the
   * same bundle, so that a node that was suspended never takes itself for one of them.
   */
  async #renew(): Promise<void> {
    // One at a time: of two that take a lease, the second would give up what was admitted under the first.
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
      // Asked again, whatever it was: without a lease this node admits nothing, and others end what it holds.
      this.#renewSoon();
    } finally {
      this.#isRenewing = false;
    }
  }

  /** Not at the next turn only: a round trip that is given up has cost more than one of them. */
  #renewSoon(): void {
    if (this.#endRenewals === null || this.#endAgain !== null) return;
    this.#endAgain = this.#timers.after(bounds.leaseRenewAgainMs, () => {
      this.#endAgain = null;
      void this.#renew();
    });
  }

  /**
   * Whether the store has been there for a whole lease. Where it was not, all leases may have lapsed though their nodes are well:
   * each must have had the time to renew its own before anybody ends what it holds.
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

  /** How many holds were ended. What they held may be somebody's that was refused. */
  #expire(answer: Answer): number {
    const holds = answer.ok && answer.kind === 'expired' ? answer.holds : 0;
    if (holds > 0) this.#refusals.forgetAll();
    return holds;
  }

  #enter(account: number): void {
    const queued = this.#queuedByAccount.get(account) ?? 0;
    if (this.#queued >= bounds.ledgerQueueMax || queued >= bounds.ledgerQueuePerAccountMax)
      throw overloaded('The service has more work than it can take at the moment. Try again in a moment.');
    if (this.#doubtful.isFullWith(this.#queued)) throw storeIsSilent(); // each that waits may come to be in doubt
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
  return new TurnpikeError('store_unavailable', 'The ledger cannot be written at the moment.');
}

/** Lowering a hold does not: what it gives back was counted as behind holds, which is remembered for a moment only. */
function givesBack(operation: Operation): boolean {
  return operation.kind !== 'extend';
}

/** Whether it is written where it is not refused. Many others are not: a refusal, places that were free already. */
function isWrite({ kind }: Operation): boolean {
  return !['take', 'extend', 'leave', 'expire'].includes(kind);
}

function isClaimRefusal(answer: Answer): answer is ClaimRefusal {
  return !answer.ok && answer.reason.startsWith('claim_');
}

function asError(answer: Answer): TurnpikeError {
  assert(!answer.ok, 'an admission is admitted or refused');
  if (answer.reason === 'unknown_account' || answer.reason === 'unknown_key')
    return new TurnpikeError('key_invalid', 'This key is not known.');
  return new TurnpikeError('internal', 'The message was not admitted.', { cause: answer.reason });
}

function isStoreGone(failure: unknown): boolean {
  return failure instanceof TurnpikeError && failure.code === 'store_unavailable';
}
