// Decisions of several nodes on one database, in the order in which they were made. A node holds the locks of its
// inputs until it has committed, so this order is a possible serial execution.

import {
  type Answer,
  applyBatch,
  type Bundle,
  type Changes,
  type HoldRow,
  InDoubt,
  type LeaseRow,
  type LedgerStore,
} from '../../../../src/ledger/ledger.ts';

/** One decision of a batch; a batch that was begun again has several. */
export interface Decision {
  bundles: readonly Bundle[];
  /** By the database's time. */
  nowMs: number;
  /** Rows that it saw beyond those that it requested by name. */
  leases: LeaseRow[];
  holds: HoldRow[];
  answers: Answer[][];
  changes: Changes;
  /** When its batch was begun, and when its outcome was known: by a count of all that happened, and by the machine's clock. */
  begun: number;
  begunAtMs: number;
  /** By the machine's clock, when it had its locks and its rows. */
  decidedAtMs: number;
  ended: number;
  /**
   * Whether the database committed the last decision of a batch, whatever the node learned. A batch without changes
   * counts as committed.
   */
  isMade: boolean;
}

export class History {
  readonly decisions: Decision[] = [];
  #events = 0;

  /** The store, with all that is decided over it written down. `wasMade` finds out what the store itself could not. */
  watch(store: LedgerStore, wasMade: (failure: InDoubt) => Promise<boolean>): LedgerStore {
    return {
      transact: async (bundles, decide) => {
        const begun = ++this.#events;
        const begunAtMs = Date.now();
        let last: Decision | undefined;
        const end = (isMade: boolean) => {
          if (last !== undefined) Object.assign(last, { isMade, ended: ++this.#events });
        };
        try {
          await store.transact(bundles, (rows) => {
            end(false);
            const seen = { nowMs: rows.nowMs, leases: [...rows.leases()], holds: [...rows.holds()] };
            const times = { begun, begunAtMs, decidedAtMs: Date.now(), ended: Infinity };
            last = { bundles, ...seen, ...applyBatch(rows, bundles), ...times, isMade: false };
            this.decisions.push(last);
            return decide(rows);
          });
          end(true);
        } catch (failure) {
          end(failure instanceof InDoubt && (await wasMade(failure)));
          throw failure;
        }
      },
    };
  }
}
