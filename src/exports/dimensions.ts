// The dimensions by which costs are added up: how a charge belongs to a group, and the columns that show the group.

import { DAY_MS } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { type AnyColumn, columnsFor } from './columns.ts';
import type { Names } from './names.ts';
import type { Charge } from './read-charges.ts';

export const dimensions = ['account', 'key', 'model', 'provider', 'day'] as const;
export type Dimension = (typeof dimensions)[number];

/** A group of one dimension: its value, and the name of an object that the value is the id of. */
export interface Member {
  value: string | null;
  name: string | null;
}

interface DimensionRow {
  /** Its members belong to one account each, so that their sums are complete when the account has been read. */
  isOfAccount: boolean;
  /** Whether members have a name besides their id. */
  isNamed: boolean;
  valueOf(charge: Charge): number | string | null;
  memberOf(value: number | string, names: Names): Promise<Member>;
}

const plain = async (value: number | string): Promise<Member> => ({ value: String(value), name: null });

const rows: Readonly<Record<Dimension, DimensionRow>> = {
  account: {
    isOfAccount: true,
    isNamed: true,
    valueOf: ({ account }) => account,
    memberOf: async (id, names) => ({ value: formatId('acct', id as number), name: await names.account(id as number) }),
  },
  key: {
    isOfAccount: true,
    isNamed: true,
    valueOf: ({ record }) => record?.key ?? null,
    memberOf: async (id, names) => ({ value: formatId('key', id as number), name: await names.key(id as number) }),
  },
  model: { isOfAccount: false, isNamed: false, valueOf: ({ record }) => record?.model ?? null, memberOf: plain },
  provider: { isOfAccount: false, isNamed: false, valueOf: ({ record }) => record?.provider ?? null, memberOf: plain },
  day: {
    isOfAccount: false,
    isNamed: false,
    valueOf: ({ atMs }) => Math.floor(atMs / DAY_MS) * DAY_MS,
    memberOf: (dayMs) => plain(new Date(dayMs).toISOString().slice(0, 10)),
  },
};

/** The values of a charge, in the order of the dimensions. */
export function valuesOf(by: readonly Dimension[], charge: Charge): (number | string | null)[] {
  return by.map((dimension) => rows[dimension].valueOf(charge));
}

export async function memberOf(dimension: Dimension, value: number | string | null, names: Names): Promise<Member> {
  return value === null ? { value: null, name: null } : await rows[dimension].memberOf(value, names);
}

/** Whether every group has charges of one account only. */
export function isByAccount(by: readonly Dimension[]): boolean {
  return by.some((dimension) => rows[dimension].isOfAccount);
}

const { text } = columnsFor<{ members: readonly Member[] }>();

/** "key" has the id, "key_name" the name. */
export function memberColumns(by: readonly Dimension[]): AnyColumn[] {
  return by.flatMap((dimension, at) => [
    text(dimension, ({ members }) => members[at]?.value ?? null),
    ...(rows[dimension].isNamed ? [text(`${dimension}_name`, ({ members }) => members[at]?.name ?? null)] : []),
  ]);
}
