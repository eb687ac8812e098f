// Meters of accounts, keys and people, recomputed from all writes and compared with their rows.

import {
  type AccountRow,
  budgetLimits,
  type Changes,
  type HoldRow,
  type KeyRow,
  type NewEntry,
  type PersonRow,
  rolledPerson,
  usedIn,
} from '../../../src/ledger/ledger.ts';

const DEBTS = 8;

/** By the id of an account, key or person; no two ids are the same. */
export interface MeterSums {
  /** Amounts held; of an account by its messages and those of accounts below. */
  held: Map<number, number>;
  /** Amounts held by the messages that an account pays for, and the part of them that its plan holds. */
  heldPaid: Map<number, number>;
  heldByPlan: Map<number, number>;
  debts: Map<number, number>;
  /** By the key's id, or the account's id and a group. */
  running: Map<string, number>;
  /** Credits less debits, the system's own accounts among them. */
  balances: Map<number, number>;
}

export function noSums(): MeterSums {
  const [held, heldPaid, heldByPlan] = [new Map(), new Map(), new Map()];
  return { held, heldPaid, heldByPlan, debts: new Map(), running: new Map(), balances: new Map() };
}

/** Adds the sides of an entry. */
export function countEntry({ balances, debts }: MeterSums, { account, debit, credit, amount, kind }: NewEntry): void {
  add(balances, debit, -amount);
  add(balances, credit, amount);
  if (kind === 'debt') add(debts, account, debit === DEBTS ? amount : -amount);
}

/** Adds what a hold takes of the meters, or with −1 takes it out. */
export function countHold({ held, heldPaid, heldByPlan, running }: MeterSums, hold: HoldRow, sign: 1 | -1): void {
  const { account, above, payer, key, person, group, amount, fromPlan } = hold;
  add(heldPaid, payer, sign * amount);
  add(heldByPlan, payer, sign * fromPlan);
  for (const id of [account, ...above, key]) add(held, id, sign * amount);
  if (person !== null) add(held, person, sign * amount);
  if (hold.left) return;
  for (const id of [account, ...above]) add(running, `${id} ${group}`, sign);
  add(running, `${key}`, sign);
}

/** Violations in the rows that a batch wrote. */
export function findBrokenMeters(sums: MeterSums, changes: Pick<Changes, 'accounts' | 'keys' | 'people'>): string[] {
  const faults: string[] = [];
  const expect = (what: string, is: number, should: number | undefined) => {
    if (is !== (should ?? 0)) faults.push(`${what} is ${is}, and the sum is ${should ?? 0}`);
  };
  for (const account of changes.accounts.values()) {
    const { id } = account;
    expect(`balance of ${id}`, account.balance, sums.balances.get(id));
    const heldByPlan = sums.heldByPlan.get(id) ?? 0;
    expect(`debt of ${id}`, account.debt, sums.debts.get(id));
    expect(`held of ${id}`, account.held, (sums.heldPaid.get(id) ?? 0) - heldByPlan);
    expect(`held of the plan of ${id}`, account.plan?.held ?? 0, heldByPlan);
    expect(`held of the allowance of ${id}`, account.spending.held, sums.held.get(id));
    if (account.balance - account.held < -account.creditLine)
      faults.push(`${id} is below its floor: ${account.balance} less ${account.held} held`);
    if (account.debt < 0) faults.push(`${id} has a debt of ${account.debt}`);
    for (const { length, used } of account.plan?.windows ?? [])
      if (used < 0) faults.push(`${id} has used ${used} of its window of ${length}`);
    if (account.spending.used < 0) faults.push(`${id} has used ${account.spending.used}`);
    for (const [group, rates] of Object.entries(account.groups))
      expect(`running of ${id} in ${group}`, rates.running, sums.running.get(`${id} ${group}`));
  }
  for (const key of changes.keys.values()) {
    expect(`held of the quota of ${key.id}`, key.spending.held, sums.held.get(key.id));
    expect(`running of ${key.id}`, key.rates.running, sums.running.get(`${key.id}`));
    if (key.spending.used < 0) faults.push(`${key.id} has used ${key.spending.used}`);
  }
  for (const { id, held, windows } of changes.people.values()) {
    expect(`held of the person ${id}`, held, sums.held.get(id));
    for (const { length, used } of windows) if (used < 0) faults.push(`${id} has used ${used} in ${length}`);
  }
  return faults;
}

/** By how much more is used and held than a budget permits that stops. `accounts`: those of the person's keys. */
export function budgetOverrun(person: PersonRow, accounts: readonly AccountRow[], nowMs: number): number {
  const { windows, held } = rolledPerson(person, nowMs);
  let overrun = 0;
  for (const { length, limit, stops } of budgetLimits(person, accounts))
    if (stops) overrun = Math.max(overrun, usedIn(windows, length) + held - limit);
  return overrun;
}

/** By how much more is used and held than the allowance permits. */
export function accountOverrun({ allowance, spending }: AccountRow): number {
  return allowance === null ? 0 : Math.max(0, spending.used + spending.held - allowance);
}

/** By how much more is used and held than the plan's windows permit together. */
export function planOverrun({ plan }: AccountRow): number {
  let overrun = 0;
  for (const { limit, used } of plan?.windows ?? []) overrun = Math.max(overrun, used + (plan?.held ?? 0) - limit);
  return overrun;
}

/** By how much more is used and held than the quota permits. */
export function keyOverrun({ quota, spending }: KeyRow): number {
  return quota === null ? 0 : Math.max(0, spending.used + spending.held - quota);
}

function add<Name>(sums: Map<Name, number>, name: Name, more: number): void {
  sums.set(name, (sums.get(name) ?? 0) + more);
}
