// The decisions of operators and of owners above those who act: nothing that these do may change them.

import type { Account, Key } from '../../../../src/accounts/accounts.ts';
import { parseId } from '../../../../src/base/ids.ts';
import type { AccountRow, KeyRow } from '../../../../src/ledger/ledger.ts';
import {
  type AccountName,
  accountNames,
  type Coalition,
  company,
  isWithin,
  type PersonName,
  people,
  personNames,
} from './company.ts';
import type { CompanyWorld } from './world.ts';

/** By the name of the object: its terms as JSON. */
export type Terms = ReadonlyMap<string, string>;

type Readable = Pick<CompanyWorld, 'tables' | 'accounts' | 'people' | 'keys'>;

export function readTerms(world: Readable, coalition: Coalition): Terms {
  const terms = new Map<string, string>();
  for (const name of accountNames) addAccount(terms, world, coalition, name);
  for (const name of personNames) addPerson(terms, world, coalition, name);
  for (const key of world.keys) addKey(terms, world, coalition, key.id, key.person);
  const { accounts, people: rows, tokens, destinations, exports } = world.tables;
  // Members make nothing but keys.
  if (coalition.rules === null)
    terms.set('counts', JSON.stringify([accounts, rows, tokens, destinations, exports].map(({ size }) => size)));
  return terms;
}

function isRuled({ rules }: Coalition, name: AccountName): boolean {
  return rules !== null && isWithin(name, rules);
}

function addAccount(
  terms: Map<string, string>,
  { tables, accounts }: Readable,
  coalition: Coalition,
  name: AccountName,
): void {
  const id = parseId('acct', accounts[name]) ?? 0;
  const account = tables.accounts.get(id);
  const meters = tables.accountMeters.get(id);
  if (account === undefined || meters === undefined) throw new Error(`the account ${name} is missing`);
  terms.set(`account ${name}`, JSON.stringify(fixedTerms(account, meters, ruleOver(coalition, name))));
}

/** As the table of rights in docs/companies.md has it. */
function fixedTerms({ autoRecharge, ...account }: Account, meters: AccountRow, rule: Rule) {
  const { enabled, company, creditLine, plan, lowBalances, allowance, allowancePeriod } = meters;
  const { groups, tags, tagRules } = account;
  const ofOperators = { paysFrom: company.paysFrom, creditLine, tags, tagRules };
  if (rule === 'pays for it') return ofOperators;
  const ofWallet = { ...ofOperators, enabled, groups, plan, allowance, allowancePeriod };
  if (rule === 'is above') return ofWallet;
  const fixed = { ...ofWallet, account, parent: company.parent };
  return rule === 'owns it' ? fixed : { ...fixed, company, lowBalances, autoRecharge };
}

/** The rights of those who act over an account. */
type Rule = 'none' | 'owns it' | 'is above' | 'pays for it';

function ruleOver(coalition: Coalition, name: AccountName): Rule {
  if (!isRuled(coalition, name)) return 'none';
  if (name === coalition.rules) return 'owns it';
  return company[name].paysFrom === 'own' ? 'is above' : 'pays for it';
}

function addPerson(
  terms: Map<string, string>,
  { tables, people: ids, accounts }: Readable,
  coalition: Coalition,
  name: PersonName,
): void {
  const id = parseId('person', ids[name]) ?? 0;
  const person = tables.people.get(id)?.person;
  if (!isRuled(coalition, people[name].account)) {
    const { status, disabledBy, ...others } = person ?? { status: null, disabledBy: null };
    // The directory may deactivate whom it manages.
    terms.set(
      `person ${name}`,
      JSON.stringify(people[name].isOfDirectory ? others : { ...others, status, disabledBy }),
    );
  }
  const ruled = accountNames.filter((at) => isRuled(coalition, at)).map((at) => parseId('acct', accounts[at]));
  const budgets = tables.personMeters.get(id)?.budgets.filter(({ account }) => !ruled.includes(account)) ?? [];
  // Owners decide about budgets at accounts that they made.
  const known = Object.values(accounts).map((one) => parseId('acct', one));
  const fixed = budgets.filter(({ account }) => known.includes(account));
  terms.set(`budgets of ${name}`, JSON.stringify(fixed.toSorted((one, other) => one.account - other.account)));
}

function addKey(
  terms: Map<string, string>,
  { tables, accounts }: Readable,
  coalition: Coalition,
  id: number,
  person: PersonName | null,
): void {
  const key = tables.keys.get(id);
  const row = tables.keyMeters.get(id);
  if (key === undefined || row === undefined) throw new Error('a key of the company is missing');
  const account = accountNames.find((name) => parseId('acct', accounts[name]) === key.accountId);
  if (account !== undefined && isRuled(coalition, account)) return;
  const isTheirs = person !== null && coalition.people.includes(person);
  const words = `key of ${person ?? account}, ${isTheirs ? 'theirs' : 'not theirs'}`;
  terms.set(`${words} ${terms.size}`, JSON.stringify(isTheirs ? lockedTerms(key, row) : allTerms(key, row)));
}

function allTerms({ prefix, ...key }: Key, { status, quota, quotaPeriod, limits, person, expiresAtMs }: KeyRow) {
  return { key, prefix, status, quota, quotaPeriod, limits, person, expiresAtMs };
}

/** Limits that a member cannot lift, at least as strict as they were: a lower number is written as the first one. */
function lockedTerms({ locked, models, groups, tags, personId }: Key, { quotaPeriod, person }: KeyRow) {
  const fixed = { person, personId, tags, locked: locked?.toSorted() };
  const lists = { ...(locked?.includes('models') && { models }), ...(locked?.includes('groups') && { groups }) };
  return { ...fixed, ...lists, ...(locked?.includes('quota') && { quotaPeriod }) };
}
