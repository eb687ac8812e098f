// The money meters of the ledger's model.

import type { WindowLength } from '../../../../src/ledger/ledger.ts';
import { covers, planHeldOf, planLeft } from './model-plans.ts';
import type { Model, ModelAccount, ModelHold, ModelKey, ModelPerson, Period, Spending } from './model-rows.ts';

/** Held by messages of the account and of those below it. */
export function heldOf(model: Model, account: number): number {
  return sumOf(model, ({ accounts }) => accounts.includes(account));
}

/** Held by messages that the account pays for. */
export function paidHeldOf(model: Model, account: number): number {
  return sumOf(model, ({ payer }) => payer === account);
}

export function heldOfKey(model: Model, key: number): number {
  return sumOf(model, (hold) => hold.key === key);
}

export function heldOfPerson(model: Model, person: number): number {
  return sumOf(model, (hold) => hold.person === person);
}

function sumOf({ holds }: Model, isCounted: (hold: ModelHold) => boolean): number {
  return [...holds.values()].filter(isCounted).reduce((sum, { amount }) => sum + amount, 0);
}

/** The rows that a message takes from. */
export interface Who {
  own: ModelAccount;
  accounts: ModelAccount[];
  payer: ModelAccount;
  key: ModelKey;
  person: ModelPerson | null;
}

/** Amount used in the current period. */
export function usedOf(model: Model, spending: Spending): number {
  return spending.periodName === nameOfPeriod(spending.period, model.nowMs) ? spending.used : 0;
}

export function nameOfPeriod(period: Period, atMs: number): string {
  const day = new Date(atMs);
  if (period === 'total') return 'total';
  if (period === 'day') return day.toISOString().slice(0, 10);
  if (period === 'month') return day.toISOString().slice(0, 7);
  const daysSinceMonday = (day.getUTCDay() + 6) % 7;
  return `week of ${new Date(atMs - daysSinceMonday * 86_400_000).toISOString().slice(0, 10)}`;
}

interface Room {
  name: string;
  now: number;
  later: number;
  /** The account above whose meter it is. */
  above: number | null;
}

/** Available amount of each money meter, now and if every hold were released without a charge. */
export function roomsOf(model: Model, who: Who, group: string): Room[] {
  const { own, accounts, payer, key } = who;
  const aboveOf = ({ id }: { id: number }) => (id === own.id ? null : id);
  const left = (limit: number | null, used: number) => (limit === null ? Number.POSITIVE_INFINITY : limit - used);
  const ofKey = left(key.limit, usedOf(model, key));
  return [
    { ...fundsOf(model, payer, group), above: aboveOf(payer) },
    ...accounts.map((account) => {
      const later = left(account.limit, usedOf(model, account));
      return { name: 'allowance', now: later - heldOf(model, account.id), later, above: aboveOf(account) };
    }),
    ...budgetsOf(who)
      .filter(({ stops }) => stops)
      .map(({ account, person, length, limit }) => {
        const later = limit - useOf(model, person, length);
        return { name: 'budget', now: later - heldOfPerson(model, person.id), later, above: aboveOf(account) };
      }),
    { name: 'quota', now: ofKey - heldOfKey(model, key.id), later: ofKey, above: null },
  ];
}

/** The limits of the person: at each account their own budget, or the default. */
export function budgetsOf({ accounts, person }: Who) {
  if (person === null) return [];
  return accounts.flatMap((account) => {
    const own = person.budgets.get(account.id);
    const terms = own === undefined ? account.personBudget : own;
    return (terms?.limits ?? []).map((one) => ({ account, person, ...one, stops: terms?.stops === true }));
  });
}

/** The use of the person in the present window. */
export function useOf(model: Model, { uses }: ModelPerson, length: WindowLength): number {
  const use = uses.get(length);
  return use !== undefined && use.name === presentName(model, length, use.name) ? use.used : 0;
}

/** The name of the present window; "" for one of 5 hours that has not begun. */
export function presentName(model: Model, length: WindowLength, last: string): string {
  if (length !== '5h') return nameOfPeriod(length, model.nowMs);
  return last !== '' && model.nowMs - Number(last) < 5 * 3_600_000 ? last : '';
}

/** The wallet, after a plan that pays for the group first, or that plan alone. */
function fundsOf(model: Model, account: ModelAccount, group: string): Omit<Room, 'above'> {
  const later = account.balance + account.creditLine - account.debt;
  const now = walletNow(model, account);
  if (!covers(model, account, group)) return { name: 'wallet', now, later };
  const plan = planLeft(model, account, group);
  if (!account.plan?.overflow) return { name: 'plan', ...plan };
  return { name: 'wallet', now: plan.now + Math.max(0, now), later: plan.later + Math.max(0, later) };
}

/** Negative while the debt is larger than what is left. */
export function walletNow(model: Model, { id, balance, creditLine, debt }: ModelAccount): number {
  return balance + creditLine - debt - (paidHeldOf(model, id) - planHeldOf(model, id));
}

/** The most that is available to a message now. */
export function roomOf(model: Model, who: Who, group: string): number {
  return Math.max(0, Math.min(...roomsOf(model, who, group).map(({ now }) => now)));
}
