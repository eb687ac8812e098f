// Rows of sums over totals: their columns, how they are read, and the tags of their sets.

import { NO_TAG_SET, OTHER_VALUE } from '../base/tag-set-numbers.ts';
import { emptyTotal, NO_UNITS, type TagFilter, type UsageTotal } from '../reports/reports.ts';
import type { TotalsColumn } from './rolled-totals.ts';
import { numbers, type SqlReader } from './sql-reader.ts';
import { documents, readStored } from './stored-documents.ts';

// Counts stay below 2^53, where floating-point numbers are exact; sums of amounts may not, and are returned as texts.
const asNumber = (name: string) => `CAST(SUM(${name}) AS double precision) AS ${name}`;
const asText = (name: string) => `CAST(SUM(${name}) AS text) AS ${name}`;

/** The sums over rows of a table, over parts of them, and what makes rows and groups of rows such parts. */
interface SumTexts {
  sums: string;
  sumsOfParts: string;
  rowAsPart: string;
  parts: string;
}

function sumTexts(counts: readonly string[], amounts: readonly string[]): SumTexts {
  const all = [...counts, ...amounts];
  const sumsOf = (count: string) =>
    [`CAST(${count} AS double precision) AS count`, ...counts.map(asNumber), ...amounts.map(asText)].join(', ');
  return {
    sums: sumsOf('COUNT(*)'),
    sumsOfParts: sumsOf('SUM(count)'),
    rowAsPart: ['1 AS count', ...all].join(', '),
    parts: ['COUNT(*) AS count', ...all.map((name) => `SUM(${name}) AS ${name}`)].join(', '),
  };
}

export const TOTAL_SUMS = sumTexts(
  ['messages', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'costed_messages'],
  ['cost', 'written_off', 'provider_cost', 'costed_revenue'],
);
export const UNIT_SUMS = sumTexts(['quantity'], ['cost']);

/** A statement of the sums of the units of records, by columns: `shown` has their expressions, `names` their names. */
export function unitSumsOf(on: SqlReader, records: string, shown: string, names: string): string {
  const { from, quantity, cost } = on.unitsOf('r.details');
  return `SELECT ${names}, unit, ${UNIT_SUMS.sums}, 0 AS failed
    FROM (SELECT ${shown}, e.key AS unit, ${quantity} AS quantity, ${cost} AS cost
      FROM (SELECT r.* ${records}) r CROSS JOIN ${from}) u
    GROUP BY ${names}, unit`;
}

/** A group of a run; columns that it is not grouped by are missing. */
export interface TotalsRow {
  day_ms?: number;
  account_id?: number;
  key_id?: number;
  model?: string;
  provider?: string | null;
  group_name?: string | null;
  person_id?: number | null;
  tag_set?: number;
  /** The set of tags, as JSON; null: none, or one that is not stored. */
  tags?: string | null;
  /** The value of the tag. */
  tag?: string | null;
  session?: string | null;
  agent?: string | null;
  /** Has a value in totals of units, which have only a quantity and a cost. */
  unit?: string;
  quantity?: number;
  /** Number of daily totals in it. */
  count: number;
  messages: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  costed_messages: number;
  cost: string;
  written_off: string;
  provider_cost: string;
  costed_revenue: string;
}

export function readTotal(row: Omit<TotalsRow, 'count'>): UsageTotal {
  const names = {
    dayMs: row.day_ms ?? null,
    account: row.account_id ?? null,
    key: row.key_id ?? null,
    model: row.model ?? null,
    provider: row.provider || null,
    group: row.group_name || null,
    person: row.person_id || null,
    tag: row.tag ?? null,
    session: row.session ?? null,
    agent: row.agent ?? null,
  };
  if (row.unit !== undefined) {
    const units = { [row.unit]: { quantity: row.quantity ?? 0, cost: BigInt(row.cost) } };
    return { ...emptyTotal(), ...names, units };
  }
  return {
    ...names,
    messages: row.messages,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    costedMessages: row.costed_messages,
    cost: BigInt(row.cost),
    writtenOff: BigInt(row.written_off),
    providerCost: BigInt(row.provider_cost),
    costedRevenue: BigInt(row.costed_revenue),
    units: NO_UNITS,
  };
}

const TEXTS: readonly TotalsColumn[] = ['model', 'provider', 'group_name', 'tag_name', 'tag', 'unit'];

/** Columns of totals, integers as numbers. */
export function shown(on: Pick<SqlReader, 'number'>, columns: readonly TotalsColumn[]): string {
  return columns.map((column) => (TEXTS.includes(column) ? `r.${column}` : numbers(on, column))).join(', ');
}

/** Sets of tags by account and number, which runs repeat; null: it is not stored. */
export type TagSets = Map<string, StoredTags | null>;

type TagQuestion = { tagName?: string | null; tag?: TagFilter | null };

type StoredTags = Readonly<Record<string, string>>;

function setName({ account_id, tag_set }: TotalsRow): string {
  return `${account_id} ${tag_set}`;
}

/** Reads the sets of rows that are not known yet. A set is the same in every month. */
export async function findSets(on: SqlReader, rows: readonly TotalsRow[], sets: TagSets): Promise<void> {
  const unknown = new Map<string, [account: number, tagSet: number]>();
  for (const row of rows) {
    const name = setName(row);
    if (!sets.has(name)) unknown.set(name, [row.account_id ?? 0, row.tag_set ?? NO_TAG_SET]);
  }
  for (const name of unknown.keys()) sets.set(name, null);
  const found = await on.readEach<{ account_id: number; tag_set: number; tags: string }>(
    [...unknown.values()],
    ([account = '', tagSet = '']) =>
      `SELECT ${on.number('s.account_id')} AS account_id, ${on.number('s.id')} AS tag_set, s.tags FROM tag_sets s
       WHERE s.account_id = ${account} AND s.id = ${tagSet} ORDER BY s.month_ms LIMIT 1`,
  );
  for (const { tags, ...row } of found) sets.set(setName(row as TotalsRow), readStored(documents.tagSet, tags));
}

/** The accounts whose messages have this tag; null: more than `accountsMax`, or not known, because their sets are not stored. */
export async function accountsOfTag(
  on: SqlReader,
  { name, value }: TagFilter,
  accountsMax: number,
): Promise<number[] | null> {
  if (value === OTHER_VALUE) return null;
  const rows = await on.read<{ account_id: number }>(
    `SELECT DISTINCT ${numbers(on, 'account_id')} FROM tag_sets r WHERE ${on.jsonText('r.tags', [name])} = $1 LIMIT $2`,
    value,
    accountsMax + 1,
  );
  return rows.length > accountsMax ? null : rows.map((row) => row.account_id);
}

/** A row of one set. Nothing if the question asks for another tag. */
export function readTagged(row: TotalsRow, question: TagQuestion, sets: TagSets): UsageTotal[] {
  return readWithTags(row, question, sets.get(setName(row)) ?? null);
}

/** The tags of the group `g`, whose numbers may be floating-point ones. A set is the same in every month. */
export const TAGS = `SELECT s.tags FROM tag_sets s
  WHERE s.account_id = CAST(g.account_id AS bigint) AND s.id = CAST(g.tag_set AS bigint) LIMIT 1`;

/** Sums by this tag, if any, of rows that have the text of their tags. */
export function readByTag(rows: readonly TotalsRow[], tagName: string | null): UsageTotal[] {
  if (tagName === null) return rows.map(readTotal);
  const sets = new Map<string, StoredTags>();
  return rows.flatMap((row) => {
    const { tags: text = null } = row;
    const tags = text === null ? null : (sets.get(text) ?? readStored(documents.tagSet, text));
    if (text !== null && tags !== null) sets.set(text, tags);
    return readWithTags(row, { tagName }, tags);
  });
}

/** A set that is not stored (null) is one beyond their number. */
function readWithTags(
  row: TotalsRow,
  { tagName = null, tag = null }: TagQuestion,
  tags: StoredTags | null,
): UsageTotal[] {
  const valueNamed = (name: string) => {
    if (tags === null) return row.tag_set === NO_TAG_SET ? null : OTHER_VALUE;
    return Object.hasOwn(tags, name) ? (tags[name] ?? null) : null;
  };
  if (tag !== null && valueNamed(tag.name) !== tag.value) return [];
  return [readTotal({ ...row, tag: tagName === null ? null : valueNamed(tagName) })];
}
