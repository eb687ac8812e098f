// Young holds, which are in memory only. The rows of accounts and keys are written without them.

import { bounds } from '../../config.ts';
import { type AccountRow, groupRates, type HoldRow, type KeyRow } from '../../ledger/ledger.ts';

interface HeldByAccount {
  amount: number;
  /** Running messages by group. */
  running: Map<string, number>;
}

interface HeldByKey {
  amount: number;
  running: number;
}

export class UnwrittenHolds {
  readonly #holds = new Map<string, HoldRow>();

  get size(): number {
    return this.#holds.size;
  }

  has(requestId: string): boolean {
    return this.#holds.has(requestId);
  }

  put(hold: HoldRow): void {
    this.#holds.set(hold.requestId, hold);
  }

  /** False if it is not one of these. */
  remove(requestId: string): boolean {
    return this.#holds.delete(requestId);
  }

  /** Removes and returns those to write: old enough, bound to an idempotency key, or with a checkpoint. */
  takeDue(nowMs: number): HoldRow[] {
    const due: HoldRow[] = [];
    for (const hold of this.#holds.values()) {
      const isOld = hold.openedAtMs + bounds.holdUnwrittenMs <= nowMs;
      if (isOld || hold.claim !== null || hold.checkpoint !== null) due.push(hold);
    }
    for (const { requestId } of due) this.#holds.delete(requestId);
    return due;
  }

  /** Rows as they are without these holds. */
  subtractor(): { account(row: AccountRow): AccountRow; key(row: KeyRow): KeyRow } {
    const byAccount = new Map<number, HeldByAccount>();
    const byKey = new Map<number, HeldByKey>();
    for (const { account, key, group, amount, left } of this.#holds.values()) {
      const running = left ? 0 : 1;
      const ofAccount = byAccount.get(account) ?? { amount: 0, running: new Map() };
      ofAccount.amount += amount;
      ofAccount.running.set(group, (ofAccount.running.get(group) ?? 0) + running);
      byAccount.set(account, ofAccount);
      const ofKey = byKey.get(key) ?? { amount: 0, running: 0 };
      ofKey.amount += amount;
      ofKey.running += running;
      byKey.set(key, ofKey);
    }
    return {
      account(row) {
        const held = byAccount.get(row.id);
        return held === undefined ? row : accountWithout(row, held);
      },
      key(row) {
        const held = byKey.get(row.id);
        if (held === undefined) return row;
        const { spending, rates } = row;
        return {
          ...row,
          spending: { ...spending, held: spending.held - held.amount },
          rates: { ...rates, running: rates.running - held.running },
        };
      },
    };
  }
}

function accountWithout(row: AccountRow, { amount, running }: HeldByAccount): AccountRow {
  const groups = { ...row.groups };
  for (const [group, count] of running) {
    const rates = groupRates(row, group);
    groups[group] = { ...rates, running: rates.running - count };
  }
  const { held, spending } = row;
  return { ...row, held: held - amount, spending: { ...spending, held: spending.held - amount }, groups };
}
