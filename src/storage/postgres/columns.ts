// Parameters of a batch: one array per column, however many rows there are. Some tables have columns that only
// PostgreSQL needs.

import { assert } from '../../base/assert.ts';
import { DAY_MS } from '../../base/clock.ts';
import { beganAtMs } from '../../base/ids.ts';
import type { Ending, HoldRow } from '../../ledger/ledger.ts';
import {
  accountColumns,
  type Cell,
  type Column,
  holdColumns,
  json,
  keyColumns,
  personColumns,
  readText,
  text,
  usageColumns,
  whole,
} from '../tables.ts';

const REPLACEMENT = '\ufffd';
const UNREADABLE = /\\u(?:0000|d[89a-f])/i;

/** A text for a column, or for a comparison with one. */
export function suitText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', REPLACEMENT) : whole;
}

/** A value for a parameter. External text must not prevent a message from being billed or a list from being read. */
export function suitValue<Value>(value: Value): Value | string {
  return typeof value === 'string' ? suitText(value) : value;
}

/** A JSON document for a column. */
export function suitDocument(document: string): string {
  if (!UNREADABLE.test(document)) return suitText(document);
  const value: unknown = JSON.parse(document);
  const suited = JSON.stringify(suitMembers(value));
  return suited === JSON.stringify(value) ? document : suited; // escapes may have been a valid pair, or part of quoted text
}

function suitMembers(value: unknown): unknown {
  if (typeof value === 'string') return suitText(value);
  if (Array.isArray(value)) return value.map(suitMembers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [suitText(name), suitMembers(member)]));
}

/** The largest valid date. */
const DATE_MS_MAX = 8_640_000_000_000_000;
/** After all months. */
const NEVER = 999_999;

/** The month of a time, UTC. */
export function monthOf(atMs: number): number {
  if (atMs > DATE_MS_MAX) return NEVER;
  const date = new Date(atMs);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** The first month that may have the message's record: clocks of nodes may differ by a day. 0 for a foreign id. */
export function earliestMonthOf(requestId: string): number {
  const atMs = beganAtMs(requestId);
  return atMs === null ? 0 : monthOf(atMs - DAY_MS);
}

/** Creates the partition of a month unless it exists, with the rights of the owner of the tables. Waits for no writer. */
export function makeMonthText(month: number): string {
  assert(Number.isInteger(month) && month > 0 && month < 1_000_000, 'a month has the form YYYYMM');
  return `SELECT make_usage_month(${month})`;
}

/** Drops a month's partition if all of it is past retention. Fails while others use the table; retried later. */
export function dropMonthText(month: number): string {
  assert(Number.isInteger(month), 'a month is a whole number');
  return `SELECT drop_usage_month(${month})`;
}

/** The months that have a partition, as `month`. */
export const LIST_MONTHS = `
  SELECT right(c.relname::text, 6)::int AS month FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'usage_records'::regclass ORDER BY 1`;

/** The next month. */
export function nextMonth(month: number): number {
  return month % 100 === 12 ? month + 89 : month + 1;
}

/** Reversals change only with an idempotency record. */
const ACCOUNT_TERMS = [
  'enabled',
  'company',
  'credit_line',
  'allowance',
  'allowance_period',
  'debt',
  'low_balances',
  'reversals',
];
const KEY_TERMS = ['account_id', 'person_id', 'status', 'expires_at_ms', 'quota', 'quota_period', 'limits'];
const PERSON_TERMS = ['account_id', 'enabled', 'budgets'];
/** The columns that ordinary messages change. */
export const accountMeterColumns = accountColumns.filter(({ name }) => !ACCOUNT_TERMS.includes(name));
export const keyMeterColumns = keyColumns.filter(({ name }) => !KEY_TERMS.includes(name));
export const personMeterColumns = personColumns.filter(({ name }) => !PERSON_TERMS.includes(name));

/** With the columns by which other nodes find a hold. */
export const sharedHoldColumns: readonly Column<HoldRow>[] = [
  ...holdColumns.filter(({ name }) => name !== 'document'),
  text('node', (row) => row.owner.node),
  whole('epoch', (row) => row.owner.epoch),
  text('claim', (row) => row.claim),
  json('document', (row) => suitDocument(JSON.stringify(row))), // the database reads its members to compute sums
];

/** The first two identify the record: its partition is part of the key. */
export const partitionedUsageColumns: readonly Column<Ending>[] = [
  ...usageColumns.slice(0, 1),
  whole('month', ({ record }) => monthOf(record.atMs)),
  ...usageColumns.slice(1),
];

/** Separates JSON texts, which contain no control characters: nothing is escaped, neither here nor in the database. */
export const JSON_SEPARATOR = '\u001f';

/** A parameter for each column: an array, or JSON texts with a separator. */
export function columnsOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  return columns.map(({ isJson, of }) => (isJson ? rows.map(of).join(JSON_SEPARATOR) : arrayOf(rows.map(of))));
}

/** An array as PostgreSQL writes them: one text, for a parameter that is cast to its type. */
export function arrayOf(cells: readonly Cell[]): string {
  return `{${cells.map(printCell).join(',')}}`;
}

function printCell(cell: Cell): string {
  if (cell === null) return 'NULL';
  return typeof cell === 'number' ? String(cell) : `"${/["\\]/.test(cell) ? cell.replace(/["\\]/g, '\\$&') : cell}"`;
}

export function asFloat(expression: string): string {
  return `${expression}::float8`;
}

/** Integer columns of the table or alias `of`, under their own names. */
export function asNumbers(of: string, ...names: readonly string[]): string {
  return names.map((name) => `${asFloat(`${of}.${name}`)} AS ${name}`).join(', ');
}

/** As AccountMetersTable. */
export const ACCOUNT_COLUMNS = readText('m', accountColumns, asFloat);
/** As KeyMetersTable. */
export const KEY_COLUMNS = readText('m', keyColumns, asFloat);
/** As PersonMetersTable. */
export const PERSON_COLUMNS = readText('m', personColumns, asFloat);
/** As UsageTable. */
export const USAGE_COLUMNS = `${asNumbers('r', 'seq')}, ${readText('r', usageColumns, asFloat)}`;
