// Which types of events the patterns of a destination choose, and the patterns after a click. Pure.

import type { EventTypeShape } from '../../../src/admin-api/shapes.ts';

export const ALL = '*';

export interface TypeGroup {
  /** The pattern that chooses all types of the group: "key.*". */
  pattern: string;
  label: string;
  types: EventTypeShape[];
}

const groupLabels = {
  balance: 'Balance',
  allowance: 'Allowance',
  quota: 'Quotas of keys',
  budget: 'Budgets of users',
  plan_window: 'Plan allowances',
  spend: 'Spend',
  message: 'Requests',
  requests: 'Rejected requests',
  payment: 'Payments',
  recharge: 'Automatic recharges',
  code: 'Codes',
  plan: 'Plan',
  subscription: 'Subscriptions',
  key: 'API keys',
  batch: 'Batches',
  token: 'Admin tokens',
  person: 'Users',
  password: 'Passwords',
  account: 'Accounts',
  sign_up: 'Sign-up',
  price: 'Prices',
  provider: 'Providers',
  incident: 'Incidents',
  export: 'Exports',
  provider_bill: 'Provider bills',
  backup: 'Backups',
  upkeep: 'Maintenance',
  destination: 'Notifications',
} as Readonly<Record<string, string>>;

/** In the order of the catalog. A test is sent to its destination in any case. */
export function groupTypes(types: readonly EventTypeShape[]): TypeGroup[] {
  const groups = new Map<string, TypeGroup>();
  for (const one of types) {
    if (one.type === 'destination.tested') continue;
    const name = one.type.slice(0, one.type.indexOf('.'));
    const group = groups.get(name) ?? { pattern: `${name}.*`, label: groupLabels[name] ?? name, types: [] };
    group.types.push(one);
    groups.set(name, group);
  }
  return [...groups.values()];
}

export function isChosen(patterns: readonly string[], type: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === type || pattern === ALL || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  );
}

/** A whole group is chosen by its pattern, which includes types of later versions. */
export function toggleGroup(patterns: readonly string[], { pattern, types }: TypeGroup): string[] {
  const isWhole = types.every(({ type }) => isChosen(patterns, type));
  const others = patterns.filter((one) => one !== pattern && !types.some(({ type }) => type === one));
  return isWhole ? others : [...others, pattern];
}

export function toggleType(patterns: readonly string[], { pattern, types }: TypeGroup, toggled: string): string[] {
  const others = patterns.filter((one) => one !== pattern && !types.some(({ type }) => type === one));
  const chosen = types.map(({ type }) => type).filter((type) => isChosen(patterns, type) !== (type === toggled));
  return [...others, ...chosen];
}
