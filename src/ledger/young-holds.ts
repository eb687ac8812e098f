// Young holds, which are in memory only. The rows of accounts, keys and people are written without them.

import { groupRates } from './meters.ts';
import type { AccountRow, GroupRates, HoldRow, KeyRow, PersonRow } from './rows.ts';

/** Sums over young holds. */
interface Sum {
  holds: number;
  amount: number;
  running: number;
  /** The parts that the wallet and the plan of an account hold, which pays for these messages. */
  fromWallet: number;
  fromPlan: number;
}

export class YoungHolds {
  /** In order of admission. */
  readonly #holds = new Map<string, HoldRow>();
  /** Those to write at once: bound to an idempotency key, or with a checkpoint. */
  readonly #urgent = new Map<string, HoldRow>();
  /** By account and group. */
  readonly #byAccount = new Map<number, Map<string, Sum>>();
  readonly #byKey = new Map<number, Sum>();
  readonly #byPerson = new Map<number, Sum>();

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

  hasPerson(id: number): boolean {
    return this.#byPerson.has(id);
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
    let [amount, fromWallet, fromPlan] = [0, 0, 0];
    const groups: Record<string, GroupRates> = { ...row.groups };
    for (const [group, sum] of sums) {
      const rates = groupRates(row, group);
      groups[group] = { ...rates, running: rates.running - sum.running };
      amount += sum.amount;
      fromWallet += sum.fromWallet;
      fromPlan += sum.fromPlan;
    }
    const { held, spending } = row;
    const plan = row.plan && { ...row.plan, held: row.plan.held - fromPlan };
    const spendingLeft = { ...spending, held: spending.held - amount };
    return { ...row, held: held - fromWallet, plan, spending: spendingLeft, groups };
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

  /** The row as it is without these holds. */
  subtractFromPerson(row: PersonRow): PersonRow {
    const sum = this.#byPerson.get(row.id);
    return sum === undefined ? row : { ...row, held: row.held - sum.amount };
  }

  #count(hold: HoldRow, sign: 1 | -1): void {
    this.#countOfAccount(hold.account, hold, sign);
    for (const account of hold.above) this.#countOfAccount(account, hold, sign);
    addTo(this.#byKey, hold.key, hold, sign);
    if (hold.person !== null) addTo(this.#byPerson, hold.person, hold, sign);
  }

  #countOfAccount(account: number, hold: HoldRow, sign: 1 | -1): void {
    let groups = this.#byAccount.get(account);
    if (groups === undefined) {
      groups = new Map();
      this.#byAccount.set(account, groups);
    }
    const isLast = addTo(groups, hold.group, hold, sign, hold.payer === account);
    if (isLast && groups.size === 0) this.#byAccount.delete(account);
  }
}

/** True if the sum is of no hold any more, and was removed. */
function addTo<Name>(sums: Map<Name, Sum>, name: Name, hold: HoldRow, sign: 1 | -1, pays = false): boolean {
  const { amount, fromPlan, left } = hold;
  let sum = sums.get(name);
  if (sum === undefined) {
    sum = { holds: 0, amount: 0, running: 0, fromWallet: 0, fromPlan: 0 };
    sums.set(name, sum);
  }
  sum.holds += sign;
  sum.amount += sign * amount;
  if (!left) sum.running += sign;
  if (pays) {
    sum.fromWallet += sign * (amount - fromPlan);
    sum.fromPlan += sign * fromPlan;
  }
  return sum.holds === 0 && sums.delete(name);
}
