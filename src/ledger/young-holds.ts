// Young holds, which are in memory only. The rows of accounts and keys are written without them.

import { groupRates } from './meters.ts';
import type { AccountRow, GroupRates, HoldRow, KeyRow } from './rows.ts';

/** Sums over the young holds of an account or key. */
interface Sum {
  holds: number;
  amount: number;
  fromPlan: number;
  running: number;
}

export class YoungHolds {
  /** In order of admission. */
  readonly #holds = new Map<string, HoldRow>();
  /** Those to write at once: bound to an idempotency key, or with a checkpoint. */
  readonly #urgent = new Map<string, HoldRow>();
  readonly #byAccount = new Map<number, Map<string, Sum>>();
  readonly #byKey = new Map<number, Sum>();

  get size(): number {
    return this.#holds.size;
  }

  get(requestId: string): HoldRow | undefined {
    return this.#holds.get(requestId);
  }

  values(): Iterable<HoldRow> {
    return this.#holds.values();
  }

  hasAccount(id: number): boolean {
    return this.#byAccount.has(id);
  }

  hasKey(id: number): boolean {
    return this.#byKey.has(id);
  }

  /** Adds or replaces it. */
  put(hold: HoldRow): void {
    const before = this.#holds.get(hold.requestId);
    if (before !== undefined) this.#count(before, -1);
    this.#count(hold, 1);
    this.#holds.set(hold.requestId, hold);
    if (hold.claim !== null || hold.checkpoint !== null) this.#urgent.set(hold.requestId, hold);
  }

  /** False if it is not one of these. */
  remove(requestId: string): boolean {
    const hold = this.#holds.get(requestId);
    if (hold === undefined) return false;
    this.#count(hold, -1);
    this.#holds.delete(requestId);
    this.#urgent.delete(requestId);
    return true;
  }

  /** Removes and returns those to write: urgent, or opened until `untilMs`. */
  takeDue(untilMs: number): HoldRow[] {
    const due = [...this.#urgent.values()];
    for (const hold of this.#holds.values()) {
      if (hold.openedAtMs > untilMs) break;
      if (!this.#urgent.has(hold.requestId)) due.push(hold);
    }
    for (const { requestId } of due) this.remove(requestId);
    return due;
  }

  /** The row as it is without these holds. */
  subtractFromAccount(row: AccountRow): AccountRow {
    const sums = this.#byAccount.get(row.id);
    if (sums === undefined) return row;
    let amount = 0;
    let fromPlan = 0;
    const groups: Record<string, GroupRates> = { ...row.groups };
    for (const [group, sum] of sums) {
      const rates = groupRates(row, group);
      groups[group] = { ...rates, running: rates.running - sum.running };
      amount += sum.amount;
      fromPlan += sum.fromPlan;
    }
    const { held, spending } = row;
    const plan = row.plan && { ...row.plan, held: row.plan.held - fromPlan };
    const spendingLeft = { ...spending, held: spending.held - amount };
    return { ...row, held: held - (amount - fromPlan), plan, spending: spendingLeft, groups };
  }

  /** The row as it is without these holds. */
  subtractFromKey(row: KeyRow): KeyRow {
    const sum = this.#byKey.get(row.id);
    if (sum === undefined) return row;
    const { spending, rates } = row;
    return {
      ...row,
      spending: { ...spending, held: spending.held - sum.amount },
      rates: { ...rates, running: rates.running - sum.running },
    };
  }

  #count(hold: HoldRow, sign: 1 | -1): void {
    let groups = this.#byAccount.get(hold.account);
    if (groups === undefined) {
      groups = new Map();
      this.#byAccount.set(hold.account, groups);
    }
    if (addTo(groups, hold.group, hold, sign) && groups.size === 0) this.#byAccount.delete(hold.account);
    addTo(this.#byKey, hold.key, hold, sign);
  }
}

/** True if the sum is of no hold any more, and was removed. */
function addTo<Name>(sums: Map<Name, Sum>, name: Name, { amount, fromPlan, left }: HoldRow, sign: 1 | -1): boolean {
  let sum = sums.get(name);
  if (sum === undefined) {
    sum = { holds: 0, amount: 0, fromPlan: 0, running: 0 };
    sums.set(name, sum);
  }
  sum.holds += sign;
  sum.amount += sign * amount;
  sum.fromPlan += sign * fromPlan;
  if (!left) sum.running += sign;
  return sum.holds === 0 && sums.delete(name);
}
