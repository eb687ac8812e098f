// Everything that one message takes money and rates from: its key, the person whose key it is, its account, and the accounts
// above. One of the accounts pays; the allowances of all of them, budgets and the quota limit it.

import { assert } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { budgetAvailable, chargedPerson, rolledPerson, withPersonHeld } from './budgets.ts';
import {
  type Charge,
  charged,
  type EndedHold,
  fundsFor,
  fundsLeft,
  rolledAccount,
  rolledKey,
  spendingAvailable,
  spent,
  walletAvailable,
  withHeld,
  withHoldOf,
  withKeyMeters,
  withMeters,
} from './meters.ts';
import type { UsageRecord } from './operation.ts';
import type { AccountRow, Chain, Effect, KeyRow, PersonRow, RateMeters, Rows } from './rows.ts';

/** Rows in their current periods. */
export interface Payers {
  key: KeyRow;
  /** The message's account, then those above it, nearest first. */
  accounts: readonly AccountRow[];
  /** The place in `accounts` of the one that pays. */
  payer: number;
  person: PersonRow | null;
}

/** The payers of a new message. Accounts above must exist. */
export function payersNow(rows: Rows, account: AccountRow, key: KeyRow): Payers {
  const { nowMs } = rows;
  const own = rolledAccount(account, nowMs);
  const person = key.person === null ? null : personOf(rows, key.person);
  const current = rolledKey(key, nowMs);
  const accounts = [own];
  if (own.company.parent === null) return { key: current, accounts, payer: 0, person };
  let payer = own.company.paysFrom === 'own' ? 0 : -1;
  for (let above = own.company.parent; above !== null; ) {
    assert(accounts.length < bounds.accountChainMax, 'the accounts above an account have an end');
    const row = accountOf(rows, above);
    if (payer < 0 && (row.company.paysFrom === 'own' || row.company.parent === null)) payer = accounts.length;
    accounts.push(row);
    above = row.company.parent as number;
  }
  return { key: current, accounts, payer, person };
}

type MeterRows = Pick<Rows, 'nowMs' | 'account' | 'key' | 'person'>;

/** The payers of an admitted message, as its hold or record names them. */
export function payersOf(rows: MeterRows, chain: Chain): Payers {
  const key = rows.key(chain.key);
  assert(key !== undefined, 'a message has a key');
  const own = accountOf(rows, chain.account);
  const accounts = chain.above.length === 0 ? [own] : [own, ...chain.above.map((id) => accountOf(rows, id))];
  const payer = chain.payer === own.id ? 0 : accounts.findIndex(({ id }) => id === chain.payer);
  assert(payer >= 0, 'the account that pays for a message is its own or one above');
  const person = chain.person === null ? null : personOf(rows, chain.person);
  return { key: rolledKey(key, rows.nowMs), accounts, payer, person };
}

function accountOf(rows: MeterRows, id: number): AccountRow {
  const account = rows.account(id);
  assert(account !== undefined, 'a message has an account');
  return rolledAccount(account, rows.nowMs);
}

function personOf(rows: MeterRows, id: number): PersonRow {
  const person = rows.person(id);
  assert(person !== undefined, 'the person of a key has meters');
  return rolledPerson(person, rows.nowMs);
}

/** As a hold and a record name them. */
export function chainOf({ key, accounts, payer, person }: Payers): Chain {
  const [own] = accounts as [AccountRow];
  return {
    account: own.id,
    above: accounts.length === 1 ? NONE : accounts.slice(1).map(({ id }) => id),
    payer: accounts[payer]?.id ?? own.id,
    key: key.id,
    person: person?.id ?? null,
  };
}

const NONE: readonly number[] = Object.freeze([]);

export function payingAccount({ accounts, payer }: Payers): AccountRow {
  return accounts[payer] as AccountRow;
}

/**
 * The most that a message holding `amount` can be charged: its hold plus what all money meters have left. Lowering a
 * limit does not take back what is already held.
 */
export function payable(payers: Payers, amount: Nano, group: string, nowMs: number): Nano {
  const { key, accounts, person } = payers;
  const paying = payingAccount(payers);
  let least = paying.plan === null ? walletAvailable(paying) : fundsLeft(fundsFor(paying, group, nowMs));
  least = Math.min(least, spendingAvailable(key.quota, key.spending));
  for (const account of accounts) least = Math.min(least, spendingAvailable(account.allowance, account.spending));
  if (person !== null) least = Math.min(least, budgetAvailable(person, accounts));
  return amount + Math.max(0, least);
}

/** The most that the plan of the paying account has left for the message. */
export function planLeft(payers: Payers, group: string, nowMs: number): Nano {
  const paying = payingAccount(payers);
  return paying.plan === null ? 0 : fundsFor(paying, group, nowMs).plan;
}

/** New rate meters of each account, in order; absent: as they are. */
export type GroupsOf = (account: AccountRow, at: number) => AccountRow['groups'];
const AS_THEY_ARE: GroupsOf = ({ groups }) => groups;

/** The payers with `more` held (negative: less), of which the plan holds `fromPlan`. */
export function withHold(
  { key, accounts, payer, person }: Payers,
  more: Nano,
  fromPlan: Nano,
  nowMs: number,
  { groupsOf = AS_THEY_ARE, keyRates = key.rates, usedAtMs = key.lastUsedAtMs }: RatesAfter = {},
): Payers {
  return {
    key: withKeyMeters(key, withHeld(key.spending, more), keyRates, usedAtMs),
    accounts: accounts.map((account, at) => {
      const groups = groupsOf(account, at);
      if (at === payer) return withHoldOf(account, more, fromPlan, groups, nowMs);
      return withMeters(account, account.balance, account.held, withHeld(account.spending, more), groups);
    }),
    payer,
    person: person && withPersonHeld(person, more, nowMs),
  };
}

export interface RatesAfter {
  groupsOf?: GroupsOf;
  keyRates?: RateMeters;
  usedAtMs?: number | null;
}

/** The payers with other rates. */
export function withRates({ key, accounts, ...others }: Payers, { groupsOf, keyRates, usedAtMs }: RatesAfter): Payers {
  return {
    ...others,
    key: withKeyMeters(key, key.spending, keyRates ?? key.rates, usedAtMs ?? key.lastUsedAtMs),
    accounts: accounts.map((account, at) =>
      withMeters(account, account.balance, account.held, account.spending, (groupsOf ?? AS_THEY_ARE)(account, at)),
    ),
  };
}

/** The payers after a charge, and after its hold ended. */
export function withCharge(
  { key, accounts, payer, person }: Payers,
  charge: Charge,
  hold: EndedHold,
  nowMs: number,
  { groupsOf = AS_THEY_ARE, keyRates = key.rates }: RatesAfter = {},
): Payers {
  const { paid } = charge;
  const { amount, openedAtMs } = hold;
  return {
    key: withKeyMeters(key, spent(key.spending, paid, amount), keyRates),
    accounts: accounts.map((account, at) => {
      const groups = groupsOf(account, at);
      if (at === payer) return charged(account, charge, hold, groups, nowMs);
      return withMeters(account, account.balance, account.held, spent(account.spending, paid, amount), groups);
    }),
    payer,
    person: person && chargedPerson(person, paid, amount, openedAtMs, nowMs),
  };
}

/** The payers after a part of the charge of a record was returned, or more was charged. */
export function withRecharge(payers: Payers, charge: Charge, { atMs }: UsageRecord, nowMs: number): Payers {
  return withCharge(payers, charge, { amount: 0, fromPlan: 0, openedAtMs: atMs }, nowMs);
}

/** Their rows as the effect of an operation. */
export function rowsAfter({ key, accounts, person }: Payers): Required<Pick<Effect, 'accounts' | 'key' | 'people'>> {
  return { accounts, key, people: person === null ? NOBODY : [person] };
}

const NOBODY: readonly PersonRow[] = Object.freeze([]);
