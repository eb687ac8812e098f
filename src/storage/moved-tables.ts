// What moves from one database to another: its tables in the order in which rows name one another, and the texts by which both
// sides are summed up and compared. The same for every database.

/** Whole numbers exactly, however they come. */
export type MovedCell = bigint | string | null;
export type MovedRow = Record<string, MovedCell>;

export interface MovedColumn {
  name: string;
  isText: boolean;
}

/** Accounts before keys, tokens and people, which refer to them. */
export const movedTables = [
  'installation',
  'catalog',
  'accounts',
  'keys',
  'key_secrets',
  'tokens',
  'people',
  'account_meters',
  'key_meters',
  'leases',
  'holds',
  'claims',
  'entries',
  'carried_credits',
  'usage_records',
  'daily_totals',
  'month_changes',
  'audit_records',
  'creations',
  'answers',
  'learned',
] as const;

export type MovedTable = (typeof movedTables)[number];

/** These make themselves: the first is empty but in the midst of a transaction, the second is counted as answers come. */
export const leftTables: readonly string[] = ['carried_entries', 'answers_stored'];

/** Where all that moves is read, as of one moment. */
export interface MovedSource {
  columns(table: MovedTable): MovedColumn[];
  /** In the order in which the table keeps them. */
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
  return Number(sums[ROWS]);
}

/** The name of the sum of a text's bytes. */
export function bytesName(column: string): string {
  return `${column}_bytes`;
}

/** The names of those sums that are not the same. */
export function differencesOf(here: TableSums, there: TableSums): string[] {
  return [...new Set([...Object.keys(here), ...Object.keys(there)])].filter((name) => here[name] !== there[name]);
}

function total(expression: string): string {
  return `COALESCE(SUM(${expression}), 0)`;
}
