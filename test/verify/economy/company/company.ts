// The company of the economy as operators made it: a tree of accounts with their limits, its people, and another company beside it.

import type { WindowLength } from '../../../../src/ledger/ledger.ts';

export const NANO_PER_DOLLAR = 1_000_000_000;

export interface Limit {
  window: WindowLength | 'total';
  /** Dollars. */
  most: number;
}

export interface CastAccount {
  parent: AccountName | null;
  paysFrom: 'own' | 'parent';
  /** Dollars. */
  credit: number;
  allowance: Limit | null;
  /** The default budget of people. */
  personBudget: Limit | null;
  groups: readonly string[];
}

export const accountNames = ['harbour', 'north', 'quay', 'south', 'dock', 'rival'] as const;
export type AccountName = (typeof accountNames)[number];

const below = { paysFrom: 'parent', credit: 0, allowance: null, personBudget: null, groups: ['default'] } as const;
const payer = { ...below, paysFrom: 'own', parent: null } as const;

export const company: Readonly<Record<AccountName, CastAccount>> = {
  harbour: {
    ...payer,
    credit: 8,
    personBudget: { window: 'month', most: 1.6 },
    groups: ['default', 'dear'],
  },
  north: { ...below, parent: 'harbour', allowance: { window: 'month', most: 4 }, groups: ['default', 'dear'] },
  quay: {
    ...below,
    parent: 'north',
    allowance: { window: 'day', most: 2 },
    personBudget: { window: 'day', most: 1.2 },
  },
  south: { ...payer, parent: 'harbour', credit: 2.5, allowance: { window: 'month', most: 2.2 } },
  dock: { ...below, parent: 'south', allowance: { window: 'total', most: 2 } },
  rival: { ...payer, credit: 1_000, groups: ['default', 'dear', 'gold'] },
};

/** Tags that operators gave, and that nobody else may. */
export const costCentres: Partial<Record<AccountName, string>> = { north: 'cc-north', rival: 'cc-rival' };

/** Where an account has a cost centre, no client may name this tag, either. */
export const PINNED = 'project';

export interface CastPerson {
  account: AccountName;
  role: 'owner' | 'member';
  /** Instead of the default of that account. */
  budgets: readonly { at: AccountName; limit: Limit }[];
  /** Their directory manages them, and may deactivate them. */
  isOfDirectory: boolean;
  /** The key that an owner gave them; null: none. */
  given: { quota: number; concurrency: number; models: readonly string[] } | null;
}

const plain = { budgets: [], isOfDirectory: false, given: null } as const;

export const people = {
  hugo: { ...plain, account: 'harbour', role: 'owner' },
  nora: { ...plain, account: 'north', role: 'owner' },
  quinn: { ...plain, account: 'quay', role: 'owner', isOfDirectory: true },
  sam: { ...plain, account: 'south', role: 'owner' },
  max: {
    ...plain,
    account: 'quay',
    role: 'member',
    budgets: [{ at: 'north', limit: { window: 'week', most: 0.9 } }],
    isOfDirectory: true,
    given: { quota: 0.4, concurrency: 2, models: ['quarters', 'kinds'] },
  },
  mia: {
    ...plain,
    account: 'quay',
    role: 'member',
    budgets: [{ at: 'quay', limit: { window: '5h', most: 0.7 } }],
  },
  dan: {
    ...plain,
    account: 'dock',
    role: 'member',
    budgets: [{ at: 'harbour', limit: { window: 'month', most: 0.8 } }],
    isOfDirectory: true,
    given: { quota: 0.5, concurrency: 2, models: ['quarters', 'late'] },
  },
  rita: { ...plain, account: 'rival', role: 'owner' },
  rob: { ...plain, account: 'rival', role: 'member' },
} as const satisfies Record<string, CastPerson>;
export type PersonName = keyof typeof people;
export const personNames = Object.keys(people) as PersonName[];

/** People who act together. They decide about everything below an account, and about the account what its owners may. */
export interface Coalition {
  people: readonly PersonName[];
  /** The account; null: they are members, who decide nothing. */
  rules: AccountName | null;
}

export const coalitions = {
  members: { people: ['max', 'mia', 'dan'], rules: null },
  team: { people: ['quinn', 'max', 'mia'], rules: 'quay' },
  department: { people: ['nora', 'quinn', 'max', 'mia'], rules: 'north' },
  branch: { people: ['sam', 'dan'], rules: 'south' },
  company: { people: ['hugo', 'nora', 'quinn', 'sam', 'max', 'mia', 'dan'], rules: 'harbour' },
  outsiders: { people: ['rita', 'rob'], rules: 'rival' },
} as const satisfies Record<string, Coalition>;
export type CoalitionName = keyof typeof coalitions;
export const coalitionNames = Object.keys(coalitions) as CoalitionName[];

/** The account and those above it. */
export function pathOf(name: AccountName): AccountName[] {
  const { parent } = company[name];
  return parent === null ? [name] : [name, ...pathOf(parent)];
}

export function isWithin(name: AccountName, top: AccountName): boolean {
  return pathOf(name).includes(top);
}

/** The account whose balance pays for its messages. */
export function payerOf(name: AccountName): AccountName {
  const { parent, paysFrom } = company[name];
  return paysFrom === 'own' || parent === null ? name : payerOf(parent);
}

/** A word that occurs in the names of this account or person, and nowhere else. */
export function markOf(name: AccountName | PersonName): string {
  return `${name}-mark`;
}
