// What several nodes decided at once over one database, in the order in which they decided it. Whoever decides holds the locks of what
// he decided by until he has committed: so this is an order in which all of it could have been done one after the other.

import {
  type Answer,
  applyBatch,
  type Bundle,
  type Changes,
  type HoldRow,
  type LeaseRow,
  type LedgerStore,
} from '../../../src/ledger/ledger.ts';

/** One decision of a batch; a batch that was begun again has several. */
export interface Decision {
  bundles: readonly Bundle[];
  /** By the database's time. */
  nowMs: number;
  /** What it saw, beyond what it asked for by name. */
  leases: LeaseRow[];
  holds: HoldRow[];
  answers: Answer[][];
  changes: Changes;
  /** When its batch was begun, and when its outcome was known: by a count of all that happened, and by the machine's clock. */
  begun: number;
  begunAtMs: number;
  ended: number;
  /** `made`: told so, of the last decision of a batch. A batch that changes nothing is made too. */
  isMade: boolean;
}

export class History {
  readonly decisions: Decision[] = [];
  #events = 0;

  /** The store, with all that is decided over it written down. */
  watch(store: LedgerStore): LedgerStore {
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
            last = { bundles, ...seen, ...applyBatch(rows, bundles), begun, begunAtMs, ended: Infinity, isMade: false };
            this.decisions.push(last);
            return decide(rows);
          });
          end(true);
        } catch (failure) {
          end(false);
          throw failure;
        }
      },
    };
  }
}
