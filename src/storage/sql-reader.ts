// Reads of a database by SQL that SQLite and PostgreSQL share, with the expressions that differ between them.

import { parseDigits } from '../base/checked-number.ts';

export type ReadValue = string | number | null;

/** The rows `r` of a table between two positions in the order of one index. */
export interface IndexRange {
  table:
    | 'usage_records'
    | 'entries'
    | 'audit_records'
    | 'daily_totals'
    | 'unit_totals'
    | 'model_unit_totals'
    | 'unit_weeks'
    | 'unit_four_weeks'
    | 'untagged_totals'
    | 'tag_totals'
    | 'tag_value_totals'
    | 'model_totals'
    | 'account_totals'
    | 'key_totals'
    | 'key_weeks'
    | 'key_four_weeks'
    | 'untagged_weeks'
    | 'untagged_four_weeks'
    | 'total_weeks'
    | 'total_four_weeks'
    | 'accounts'
    | 'keys'
    | 'people'
    | 'events'
    | 'deliveries'
    | 'refusals'
    | 'destinations';
  /** Null: the primary key. PostgreSQL finds the index by the order and the bounds. */
  index: string | null;
  /** The first columns of the index, each with the expression of its value. */
  equal: readonly (readonly [column: string, value: string])[];
  /** The columns that follow in the index. */
  order: readonly string[];
  direction: 'ASC' | 'DESC';
  /** Expressions of the position before the first row, exclusive. */
  after: readonly string[];
  /** Expressions of the last position, inclusive; may have only the first columns of the order. */
  upTo: readonly string[];
  /** Further conditions. They must include the condition of a partial index. */
  where?: readonly string[];
  /** The rows are added up: in any order. */
  isSum?: true;
  /** The times between which usage records are read: PostgreSQL stores them by month. */
  times?: readonly [sinceMs: number, untilMs: number];
}

/** Throws the driver's errors. Parameters in texts are $1, $2 … */
export interface SqlReader {
  /** Runs one statement on committed data. */
  read<Row>(text: string, ...values: readonly ReadValue[]): Promise<Row[]>;
  /** Runs one statement many times. */
  prepare<Row>(text: string): (...values: readonly ReadValue[]) => Promise<Row[]>;
  /** Runs one statement for each of the rows of numbers. `write` is given the expressions of a row's members. */
  readEach<Row>(
    rows: readonly (readonly number[])[],
    write: (members: string[], bindings: Bindings) => string,
  ): Promise<Row[]>;
  /** Called for a row whose document cannot be read, with its key. */
  onUnreadable(key: string, reason: string): void;
  /** Called between the statements of one report. */
  rest(): Promise<void>;
  /** The daily totals that one statement adds up. */
  totalsRunRows: number;
  /** The same if their sets of tags are added up. */
  taggedRunRows: number;
  /** Whether groups are sorted, so that rows in the order of an index are first added up in that order. */
  sortsGroups: boolean;
  /** An integer expression that is returned as a number. */
  number(expression: string): string;
  /** The FROM clause of a table's rows `r`. */
  from(table: IndexRange['table'], index: string | null): string;
  /** The FROM, WHERE and ORDER BY clauses of a range. */
  range(range: IndexRange, bindings: Bindings): string;
  /** The condition that finds a message's usage record `r`. */
  isRecordOf(requestId: string, bindings: Bindings): string;
  /** A number or text in a JSON document. */
  jsonNumber(document: string, path: JsonPath): string;
  jsonText(document: string, path: JsonPath): string;
  /** Whether a list of texts in a JSON document has one. */
  jsonHas(document: string, member: string, text: string): string;
  /** The units in the details of a record. */
  unitsOf(details: string): UnitRows;
  /** In lower case, A to Z only, and compared by code points. */
  lower(text: string): string;
  /** Whether a text has a part. */
  contains(text: string, part: string): string;
  /** Aggregates a number in JSON documents into a JSON list. */
  jsonNumbers(document: string, member: string): string;
}

/** Units as rows `e`, whose `key` is the unit, and expressions of their quantity and cost. */
export interface UnitRows {
  from: string;
  quantity: string;
  cost: string;
}

/** Members of objects and places in lists, from the outside. */
export type JsonPath = readonly (string | number)[];

/** The parameters of a statement in the making. */
export class Bindings {
  readonly values: ReadValue[] = [];

  /** Adds a value and returns its place in the text. */
  add(value: ReadValue): string {
    return `$${this.values.push(value)}`;
  }
}

/** The parameter after the last one of a text. */
export function nextParameter(text: string): string {
  return `$${Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, place]) => parseDigits(place ?? ''))) + 1}`;
}

/** Integer columns of `r`, under their own names. */
export function numbers(on: Pick<SqlReader, 'number'>, ...columns: readonly string[]): string {
  return columns.map((column) => `${on.number(`r.${column}`)} AS ${column}`).join(', ');
}

/**
 * Columns of the table or alias `of` under the names of their members, each with the prefix: `at_ms` as "atMs", `account_id` as
 * "account" or "accountId". Integers are returned as numbers.
 */
export function columnsAs(
  on: Pick<SqlReader, 'number'>,
  of: string,
  whole: readonly string[],
  texts: readonly string[],
  prefix = '',
): string {
  const integers = whole.map((member) => `${on.number(`${of}.${columnOf(member)}`)} AS "${prefix}${member}"`);
  return [...integers, ...texts.map((member) => `${of}.${columnOf(member)} AS "${prefix}${member}"`)].join(', ');
}

function columnOf(member: string): string {
  if (member === 'account' || member === 'key') return `${member}_id`;
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A row's position in a list that begins with the newest; later rows are older, or of the same time with a lower number. */
export type Position = readonly [atMs: number, seq: number];

export interface PositionRow {
  at_ms: number;
  seq: number;
}

/** Above every seq and every time. */
export const LAST = Number.MAX_SAFE_INTEGER;
const BEFORE_ALL: Position = [-1, 0];

/** Newest first. */
export function comparePositions(one: Position, other: Position): number {
  return other[0] - one[0] || other[1] - one[1];
}

/** A page: rows before the number `before`, not earlier than `sinceMs` and not later than `untilMs`. */
export interface Page {
  sinceMs: number | null;
  untilMs: number | null;
  before: number | null;
}

type PagedTable = 'usage_records' | 'entries' | 'audit_records' | 'events' | 'refusals';

/** Finds the position after which a page begins. */
export function pageStarts(on: SqlReader, table: PagedTable) {
  const upTo = on.prepare<PositionRow>(
    `SELECT ${numbers(on, 'at_ms', 'seq')} FROM ${table} r WHERE r.seq <= $1 ORDER BY r.seq DESC LIMIT 1`,
  );
  return async ({ before, untilMs }: Page): Promise<Position> => {
    if (before === null) return [untilMs ?? LAST, LAST];
    const [row] = await upTo(before);
    return row === undefined ? BEFORE_ALL : startOf(before, untilMs ?? LAST, row);
  };
}

/** `row` is the last one up to the number `before`: an earlier one if retention dropped that row, so that the list does not restart. */
function startOf(before: number, untilMs: number, row: PositionRow): Position {
  return row.at_ms > untilMs ? [untilMs, LAST] : [row.at_ms, row.seq === before ? before : row.seq + 1];
}

/** The part of a range that every list from the newest row shares. */
export function newestFirst(
  bindings: Bindings,
  { sinceMs, start }: { sinceMs: number | null; start: Position },
): Pick<IndexRange, 'order' | 'direction' | 'after' | 'upTo'> {
  return {
    order: ['at_ms', 'seq'],
    direction: 'DESC',
    after: start.map((value) => bindings.add(value)),
    upTo: [bindings.add(sinceMs ?? 0)],
  };
}
