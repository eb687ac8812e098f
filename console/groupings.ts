// Groupings of usage: their labels, and how a group is named and found. The address keeps the grouping. Pure.

import type { UsageTotalShape } from '../src/admin-api/shapes.ts';
import { formatUtcDate } from './times.ts';

export const groupingLabels = {
  model: 'Model',
  key: 'API key',
  account: 'Account',
  day: 'Day',
  session: 'Session',
  agent: 'Agent',
  provider: 'Provider',
  group: 'Group',
  person: 'User',
  tag: 'Tag',
} as const;

export type Grouping = keyof typeof groupingLabels;

/** The grouping in the address; null if it is missing or not one of these. */
export function groupingIn<Among extends Grouping>(
  { group_by: name = '' }: Readonly<Record<string, string>>,
  among: Readonly<Partial<Record<Among, string>>>,
): Among | null {
  return Object.hasOwn(among, name) ? (name as Among) : null;
}

/** The label within a sentence. */
export function groupingNoun(grouping: Grouping): string {
  return grouping === 'key' ? 'API key' : groupingLabels[grouping].toLowerCase();
}

export interface GroupNames {
  account: (id: string) => string;
  key: (id: string) => string;
  person: (id: string | null) => string;
}

type Group = Partial<Pick<UsageTotalShape, Grouping>>;

export function groupName(row: Group, grouping: Grouping, names: GroupNames): string {
  const value = row[grouping] ?? null;
  if (grouping === 'person') return value === null ? 'Service keys' : names.person(value);
  if (value === null) return 'None';
  if (grouping === 'day') return formatUtcDate(value);
  return grouping === 'account' || grouping === 'key' ? names[grouping](value) : value;
}

/** The filter of a list or report that leaves only the group; of a day, the time range is the filter. */
export function groupFilter(
  row: Group,
  grouping: Exclude<Grouping, 'day'>,
  { tag_name: tagName = '' }: Readonly<Record<string, string>>,
): Record<string, string> {
  const value = row[grouping] ?? '';
  return { [grouping]: grouping === 'tag' ? `${tagName.toLowerCase()}:${value}` : value };
}
