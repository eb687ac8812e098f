// The dimensions by which costs are added up: how a charge belongs to a group, and the columns that show the group.

import { DAY_MS } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { type AnyColumn, columnsFor } from './columns.ts';
import type { ExportQuestion } from './export-question.ts';
import type { Names } from './names.ts';
import type { Charge } from './read-charges.ts';

export const dimensions = ['account', 'payer', 'key', 'person', 'model', 'provider', 'tag', 'day'] as const;
export type Dimension = (typeof dimensions)[number];

/** A group of one dimension: its value, and the name of an object that the value is the id of. */
export interface Member {
  value: string | null;
  name: string | null;
}

interface DimensionRow {
  /** Its members belong to one account each, so that their sums are complete when the account has been read. */
  isOfAccount: boolean;
  /** The column of the name besides the id; null: members are names themselves. */
  nameColumn: string | null;
  /** `tagName` is the tag that was asked for. */
  valueOf(charge: Charge, tagName: string | null): number | string | null;
  memberOf(value: number | string, names: Names): Promise<Member>;
}

const plain = async (value: number | string): Promise<Member> => ({ value: String(value), name: null });

const accountMember = async (id: number | string, names: Names): Promise<Member> => ({
  value: formatId('acct', id as number),
  name: await names.account(id as number),
});

const rows: Readonly<Record<Dimension, DimensionRow>> = {
  account: {
    isOfAccount: true,
    nameColumn: 'account_name',
    valueOf: ({ account }) => account,
    memberOf: accountMember,
  },
  payer: {
    isOfAccount: false,
    nameColumn: 'payer_name',
    valueOf: ({ payer }) => payer,
    memberOf: async (id, names) =>
      (await names.isShown(id as number)) ? await accountMember(id, names) : { value: null, name: null },
  },
  key: {
    isOfAccount: true,
    nameColumn: 'key_name',
    valueOf: ({ record }) => record?.key ?? null,
    memberOf: async (id, names) => ({ value: formatId('key', id as number), name: await names.key(id as number) }),
  },
  person: {
    isOfAccount: false,
    nameColumn: 'person_email',
    valueOf: ({ record }) => record?.person ?? null,
    memberOf: async (id, names) => ({
      value: formatId('person', id as number),
      name: await names.person(id as number),
    }),
  },
  model: { isOfAccount: false, nameColumn: null, valueOf: ({ record }) => record?.model ?? null, memberOf: plain },
  provider: {
    isOfAccount: false,
    nameColumn: null,
    valueOf: ({ record }) => record?.provider ?? null,
    memberOf: plain,
  },
  tag: {
    isOfAccount: false,
    nameColumn: null,
    valueOf: ({ record }, tagName) =>
      record !== null && tagName !== null && Object.hasOwn(record.tags, tagName)
        ? (record.tags[tagName] ?? null)
        : null,
    memberOf: plain,
  },
  day: {
    isOfAccount: false,
    nameColumn: null,
    valueOf: ({ atMs }) => Math.floor(atMs / DAY_MS) * DAY_MS,
    memberOf: (dayMs) => plain(new Date(dayMs).toISOString().slice(0, 10)),
  },
};

/** The values of a charge, in the order of the dimensions. */
export function valuesOf(
  { by, tagName }: Pick<ExportQuestion, 'by' | 'tagName'>,
  charge: Charge,
): (number | string | null)[] {
  return by.map((dimension) => rows[dimension].valueOf(charge, tagName));
}

export async function memberOf(dimension: Dimension, value: number | string | null, names: Names): Promise<Member> {
  return value === null ? { value: null, name: null } : await rows[dimension].memberOf(value, names);
}

/** Whether every group has charges of one account only. */
export function isByAccount(by: readonly Dimension[]): boolean {
  return by.some((dimension) => rows[dimension].isOfAccount);
}

const { text } = columnsFor<{ members: readonly Member[] }>();

/** "key" has the id, "key_name" the name. The column of a tag is "tag". */
export function memberColumns(by: readonly Dimension[]): AnyColumn[] {
  return by.flatMap((dimension, at) => {
    const { nameColumn } = rows[dimension];
    const id = text(dimension, ({ members }) => members[at]?.value ?? null);
    return nameColumn === null ? [id] : [id, text(nameColumn, ({ members }) => members[at]?.name ?? null)];
  });
}
