// Shared by both sides of a move: the tables in reference order, the sums that compare them, and the mark that records
// where an installation was moved.

import { integerOf } from '../base/checked-number.ts';

/** Integers are exact: bigint. */
export type MovedCell = bigint | string | null;
export type MovedRow = Record<string, MovedCell>;

export interface MovedColumn {
  name: string;
  isText: boolean;
}

/** Referenced tables come before those that reference them: accounts before keys, batches before codes. */
export const movedTables = [
  'installation',
  'catalog',
  'accounts',
  'keys',
  'key_secrets',
  'tokens',
  'people',
  'directory_groups',
  'account_meters',
  'key_meters',
  'person_meters',
  'leases',
  'holds',
  'claims',
  'entries',
  'carried_credits',
  'usage_records',
  'daily_totals',
  'unit_totals',
  'month_changes',
  'audit_records',
  'creations',
  'answers',
  'learned',
  'payments',
  'billing',
  'payment_events',
  'code_batches',
  'codes',
  'events',
  'destinations',
  'deliveries',
  'mails',
  'mailed_links',
  'sign_ups',
  'scim_users',
  'scim_groups',
  'scim_members',
  'refusals',
  'route_hours',
  'exports',
  'export_runs',
  'provider_bill_sources',
  'provider_bills',
  'incidents',
  'files',
  'batches',
  'batch_results',
  'batch_parts',
  'agent_grants',
  'agent_keys',
  'device_codes',
  'tag_sets',
  'saved_views',
] as const;

export type MovedTable = (typeof movedTables)[number];

/** Not copied: carried_entries is empty between transactions, triggers maintain others, and days are rolled up anew. */
export const leftTables: readonly string[] = [
  'carried_entries',
  'answers_stored',
  'answer_shares',
  'rolled_days',
  'untagged_totals',
  'tag_totals',
  'model_totals',
  'account_totals',
  'key_totals',
  'rolled_spans',
  'key_weeks',
  'key_four_weeks',
  'tag_value_totals',
  'untagged_weeks',
  'untagged_four_weeks',
  'total_weeks',
  'total_four_weeks',
  'model_unit_totals',
  'unit_weeks',
  'unit_four_weeks',
];

/** A snapshot of the tables to copy. */
export interface MovedSource {
  columns(table: MovedTable): MovedColumn[];
  /** In storage order. */
  pieces(table: MovedTable): Iterable<MovedRow[]>;
  sums(table: MovedTable): TableSums;
}

/** Rows and columns of a table, added up: by a name for each sum, exactly, as texts of whole numbers. */
export type TableSums = Record<string, string>;

/**
 * Adds up a table, in one row: its rows, and of each column how many have a value, and their sum, or their bytes. Numbers in two halves
 * that no sum is too large for. `bytesOf`: how the database writes the bytes of a text.
 */
export function sumTableText(
  table: string,
  columns: readonly MovedColumn[],
  bytesOf: (column: string) => string,
): string {
  const sums = columns.flatMap(({ name, isText }) => [
    [`${name}_values`, `COUNT(${name})`],
    ...(isText
      ? [[bytesName(name), total(bytesOf(name))]]
      : [
          [`${name}_high`, total(`${name} / 4294967296`)],
          [`${name}_low`, total(`${name} % 4294967296`)],
        ]),
  ]);
  const all = [[ROWS, 'COUNT(*)'], ...sums].map(([name, sum]) => `CAST(${sum} AS text) AS ${name}`);
  return `SELECT ${all.join(', ')} FROM ${table}`;
}

const ROWS = 'rows_in_all';

export function rowsOf(sums: TableSums): number {
  return integerOf(sums[ROWS]);
}

/** The name of the sum of a text's bytes. */
export function bytesName(column: string): string {
  return `${column}_bytes`;
}

/** The names of the sums that differ. */
export function differencesOf(here: TableSums, there: TableSums): string[] {
  return [...new Set([...Object.keys(here), ...Object.keys(there)])].filter((name) => here[name] !== there[name]);
}

function total(expression: string): string {
  return `COALESCE(SUM(${expression}), 0)`;
}

/** Names in the table `installation`. */
export const moveNames = { to: 'moved_to', from: 'moved_from' } as const;

/** The mark in the source database, written just before the commit of the target. */
export interface MoveMark {
  id: string;
  atMs: number;
  /** The target: "turnpike at 127.0.0.1:5432". */
  to: string;
  /** False until the commit of the target is confirmed. */
  isDone: boolean;
}

const TAKE_BACK = '"turnpike move --take-back" makes this data directory usable again';

/** The error for an attempt to open a source database. */
export function describeMark({ atMs, to, isDone }: MoveMark): string {
  const when = new Date(atMs).toISOString();
  return isDone
    ? `this installation was moved to the database ${to} at ${when}: serve it from there, with --database or TURNPIKE_DATABASE_URL. ${TAKE_BACK}, without the changes made there since`
    : `a move of this installation to the database ${to} was interrupted at ${when} and may have been committed: run the same "turnpike move" again to find out and complete it. ${TAKE_BACK}; first make sure that no node serves it from the database`;
}
