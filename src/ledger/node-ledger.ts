// The ledger as one node uses it: admissions, extensions and endings of its messages, changes, and the node's lease.

import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { machineTimers, type Timers, within } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type {
  Admit,
  Answer,
  Bundle,
  Expire,
  Extend,
  Leave,
  Operation,
  Owner,
  Refusal,
  Release,
  Settle,
  Settlement,
  StuckHold,
  Take,
} from './operation.ts';
import { QueuedLedger } from './queued-ledger.ts';
import { Refusals } from './refusals.ts';
import type { LedgerGate, MessageGate } from './store.ts';
import { isStoreUnavailable, LockedForLong, storeIsSilent } from './store-failure.ts';

const GAP_MS = bounds.leaseMs - bounds.leaseRenewMs; // after a longer outage of the store, leases may have lapsed

export type Admitted = Extract<Answer, { kind: 'admitted' }>;
/** The idempotency key belongs to another message. */
export type IdempotencyRefusal = Extract<Answer, { reason: 'claim_running' | 'claim_answered' | 'claim_mismatch' }>;
export type Admission = Admitted | Refusal | IdempotencyRefusal;
/** `ended`: the hold was ended elsewhere, so no success may be reported to the client. */
export type Extension = Extract<Answer, { kind: 'extended' }> | { ok: false; reason: 'ended' };

export class NodeLedger implements LedgerGate {
  /** Called with the error when the store becomes unavailable, and with null when it recovers. */
  onStoreChange: (failure: unknown) => void = () => {};
  /** Called with the number of holds of other nodes that this node ended. */
  onExpired: (holds: number) => void = () => {};
  /** A lapsed hold cannot be ended. Called once for each. */
  onStuck: (hold: StuckHold) => void = () => {};
  /** A renewal failed for another reason than an unavailable store. */
  onFault: (fault: unknown) => void = () => {};
  readonly #gate: LedgerGate;
  readonly #clock: Clock;
  readonly #node: string;
  readonly #timers: Timers;
  readonly #hasPeers: boolean;
  readonly #refusals = new Refusals();
  readonly #messages: MessageGate;
  #owner: Owner | null = null;
  #endRenewals: (() => void) | null = null;
  #isRenewing = false;
  /** Cancels the early renewal scheduled after a failed one. */
  #endAgain: (() => void) | null = null;
  /** Time of the last renewal, and the start of the current run of renewals without a gap. */
  #renewals = { lastMs: Number.NEGATIVE_INFINITY, sinceMs: 0 };
  #isAvailable = true;
  /** Request ids of lapsed holds that cannot be ended. */
  readonly #stuck = new Set<string>();

  /**
   * A gate that decides the operations of messages itself is asked directly, others through queues. `hasPeers`: other
   * nodes share the store, and an outage affects all of them.
   */
  constructor(
    gate: LedgerGate | (LedgerGate & MessageGate),
    clock: Clock,
    node: string,
    timers: Timers = machineTimers,
    hasPeers = false,
  ) {
    this.#hasPeers = hasPeers;
    this.#gate = gate;
    gate.onFailure = (failure) => this.#note(failure);
    this.#clock = clock;
    this.#node = node;
    this.#timers = timers;
    const note = (failure: unknown) => this.#note(failure);
    const submit = (bundle: Bundle) => this.#guard(bundle);
    this.#messages =
      'admit' in gate ? gate : new QueuedLedger({ submit, refusals: this.#refusals, clock, timers, note });
  }

  /**
   * Takes the node's lease and ends the holds of earlier runs. Resolves to their number; with peers, they are ended
   * later.
   */
  async open(): Promise<number> {
    await this.#takeLease();
    this.#endRenewals = this.#timers.every(bounds.leaseRenewMs, () => void this.#renew());
    return this.#hasPeers ? 0 : this.#expire(await this.#ask(this.#expiry()));
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
    return this.#messages.queued;
  }

  /** Number of lapsed holds that cannot be ended. */
  get stuckHolds(): number {
    return this.#stuck.size;
  }

  /** Number of endings that the store has not accepted yet. */
  get unfinished(): number {
    return this.#messages.unfinished;
  }

  get owner(): Owner {
    if (this.#owner === null) throw new TurnpikeError('store_unavailable', 'This node has no lease on the ledger.');
    return this.#owner;
  }

  batches(): number {
    return this.#gate.batches();
  }

  /**
   * One decision over all meters. Throws overloaded if too many wait, store_unavailable if the store fails or does not
   * respond. A promise only if the answer must be waited for.
   */
  admit(operation: Admit | Take): Admission | Promise<Admission> {
    const answer = this.#messages.admit(operation);
    if (answer instanceof Promise) return answer.then((later) => this.#admissionOf(operation, later));
    return this.#admissionOf(operation, answer);
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
   * Ends a hold. Resolves when that is durable. After `waitMs` without it, throws store_unavailable, and the ending
   * becomes durable in the background.
   */
  end(operation: Settle | Release, waitMs: number, coCommitted: unknown[] = []): Promise<Settlement> {
    return this.#messages.end(operation, waitMs, coCommitted);
  }

  /** Changes the amount held and the checkpoint that a crash would bill. Throws store_unavailable. */
  extend(operation: Extend): Extension | Promise<Extension> {
    const answer = this.#messages.change(operation);
    return answer instanceof Promise ? answer.then(extensionOf) : extensionOf(answer);
  }

  /** Waits for pending endings. Resolves to the number still pending after `boundMs`. */
  async finishEndings(boundMs: number): Promise<number> {
    await within(this.#timers, boundMs, this.#messages.finish(), storeIsSilent).catch(() => {});
    return this.unfinished;
  }

  /**
   * The client disconnected: frees its concurrency slots at once. A failure is harmless, because the ending frees
   * them too.
   */
  leave(operation: Leave, account: number, key: number, group: string): void | Promise<void> {
    const leaving = this.#messages.change(operation);
    const forget = () => this.#refusals.forget(account, key, group);
    if (leaving instanceof Promise) return leaving.then(forget, () => {});
    forget();
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

  async #ask(operation: Operation): Promise<Answer> {
    const answers = await this.#guard({ operations: [operation] });
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

  /** Ends holds of this node that are none of its messages, at their checkpoints. Resolves to their number. Throws store_unavailable. */
  async endLost(requestIds: readonly string[]): Promise<number> {
    return this.#expire(await this.#ask({ ...this.#expiry(), lost: requestIds }));
  }

  /** Known ones are spared: they would fill the room of others. */
  #expiry(): Expire {
    return { kind: 'expire', except: [...this.#stuck] };
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
        operations: mayExpire ? [{ ...renewal, unlessLapsed: this.#hasPeers }, this.#expiry()] : [renewal],
      });
      if (renewed?.ok === false && renewed.reason === 'lapsed')
        [renewed, expired] = await this.#guard({ operations: [renewal] });
      if (renewed?.ok !== true) return await this.#takeLease();
      this.#noteRenewal();
      const holds = expired === undefined ? 0 : this.#expire(expired);
      if (holds > 0) this.onExpired(holds);
    } catch (fault) {
      if (!isStoreUnavailable(fault)) this.onFault(fault);
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
    if (!answer.ok || answer.kind !== 'expired') return 0;
    const { holds, stuck } = answer;
    if (holds > 0) this.#refusals.forgetAll();
    for (const hold of stuck) {
      if (!this.#stuck.has(hold.requestId)) this.onStuck(hold);
      this.#stuck.add(hold.requestId);
    }
    return holds;
  }
}

function extensionOf(answer: Answer): Extension {
  return answer.ok && answer.kind === 'extended' ? answer : { ok: false, reason: 'ended' };
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
