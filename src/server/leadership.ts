// Which node runs the background jobs: the one named in the store, as long as its lease on the ledger is valid. Every
// transaction of a job is refused if another node leads by then, so that a suspended node changes nothing.

import { bounds } from '../config/config.ts';
import { type LedgerGate, type NodeLedger, Outpaced } from '../ledger/ledger.ts';
import { takeLead } from '../storage/storage.ts';

export class Leadership {
  readonly #gate: LedgerGate;
  readonly #ledger: Pick<NodeLedger, 'owner'>;
  readonly #nowMs: () => number;
  /** The lease under which this node leads; null if it does not. */
  #held: string | null = null;
  #triedMs = Number.NEGATIVE_INFINITY;

  constructor(gate: LedgerGate, ledger: Pick<NodeLedger, 'owner'>, nowMs: () => number) {
    this.#gate = gate;
    this.#ledger = ledger;
    this.#nowMs = nowMs;
  }

  /** The node and its lease, as the store names them. Throws store_unavailable without a lease. */
  get name(): string {
    const { node, epoch } = this.#ledger.owner;
    return `${node} ${epoch}`;
  }

  /** Tries to lead now and then. Resolves to whether this node leads. Throws store_unavailable. */
  async isHeld(): Promise<boolean> {
    if (this.#held !== null && this.#held === this.name) return true;
    this.#held = null;
    const nowMs = performance.now();
    if (nowMs - this.#triedMs < bounds.leaseRenewMs) return false;
    this.#triedMs = nowMs;
    const { name } = this;
    try {
      await takeLead(this.#gate, name, this.#nowMs());
    } catch (failure) {
      if (failure instanceof Outpaced) return false;
      throw failure;
    }
    this.#held = name;
    return true;
  }

  /** Another node leads, as a refused transaction has shown. */
  lose(): void {
    this.#held = null;
  }
}
