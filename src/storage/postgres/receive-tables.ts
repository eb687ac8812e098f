// Takes the tables of another store into an empty database, in the transaction that is open: its rows as they are, with the columns
// that only this one has. Memory is bounded by the pieces that are read.

import { type MovedColumn, type MovedRow, type MovedSource, type MovedTable, movedTables } from '../moved-tables.ts';
import { readHoldRow } from '../row-codec.ts';
import { arrayOf } from './columns.ts';
import type { MoveSession } from './move-session.ts';
import { suitDocument, suitText } from './suit-text.ts';
import { monthOf } from './usage-months.ts';
import { makeMonthText } from './usage-partitions.ts';

export interface Received {
  /** By how many bytes a text column grew by what was replaced in it: "entries.note". */
  grown: Map<string, number>;
  /** Where something was replaced: "entries 17: note". */
  replaced: string[];
}

const REPLACED_LISTED_MAX = 1_000;

/** Documents that statements read members of. */
const DOCUMENTS = ['document', 'group_rates', 'limits', 'rates'];

/** Columns that stand here only. */
const more: Partial<Record<MovedTable, { columns: readonly MovedColumn[]; of(row: MovedRow): MovedRow }>> = {
  holds: {
    columns: [
      { name: 'node', isText: true },
      { name: 'epoch', isText: false },
      { name: 'claim', isText: true },
    ],
    of(row) {
      const { owner, claim } = readHoldRow({ document: String(row['document']) });
      return { node: owner.node, epoch: BigInt(owner.epoch), claim };
    },
  },
  usage_records: {
    columns: [{ name: 'month', isText: false }],
    of: (row) => ({ month: BigInt(monthOf(Number(row['at_ms']))) }),
  },
  // Which of them counts an answer is for speed alone.
  answers: { columns: [{ name: 'slot', isText: false }], of: (row) => ({ slot: BigInt(row['seq'] as bigint) % 64n }) },
};

/** Copies all tables. `onTable` hears of each that is done. */
export async function receiveTables(
  session: MoveSession,
  source: MovedSource,
  onTable: (table: MovedTable, rows: number) => void = () => {},
): Promise<Received> {
  const received: Received = { grown: new Map(), replaced: [] };
  for (const table of movedTables) onTable(table, await receiveTable(session, source, table, received));
  return received;
}

async function receiveTable(
  session: MoveSession,
  source: MovedSource,
  table: MovedTable,
  received: Received,
): Promise<number> {
  const read = source.columns(table);
  const columns = [...read, ...(more[table]?.columns ?? [])];
  const text = insertText(table, columns);
  const months = new Set<bigint>();
  let count = 0;
  // The next piece is read while the one before is written.
  let underWay: Promise<unknown> = Promise.resolve();
  for (const piece of source.pieces(table)) {
    const rows = piece.map((row) => suitRow(table, read, row, received));
    const values = columns.map(({ name }) => arrayOf(rows.map((row) => textOf(row[name]))));
    await underWay;
    for (const month of newMonths(rows, months)) await session.ask(makeMonthText(Number(month)));
    underWay = session.ask(text, values);
    underWay.catch(() => {}); // it is heard at the next turn
    count += rows.length;
  }
  await underWay;
  if (columns.some(({ name }) => name === 'seq')) await session.ask(setSequenceText(table));
  return count;
}

/** The row as it can stand here, with the columns of its own. */
function suitRow(table: MovedTable, columns: readonly MovedColumn[], row: MovedRow, received: Received): MovedRow {
  for (const { name, isText } of columns) {
    const cell = row[name];
    if (!isText || typeof cell !== 'string') continue;
    const suited = DOCUMENTS.includes(name) ? suitDocument(cell) : suitText(cell);
    if (suited === cell) continue;
    noteReplaced(received, table, name, row, Buffer.byteLength(suited) - Buffer.byteLength(cell));
    row[name] = suited;
  }
  const made = more[table];
  return made === undefined ? row : { ...row, ...made.of(row) };
}

function noteReplaced(received: Received, table: string, column: string, row: MovedRow, bytes: number): void {
  const place = `${table}.${column}`;
  received.grown.set(place, (received.grown.get(place) ?? 0) + bytes);
  const [named] = Object.values(row);
  if (received.replaced.length < REPLACED_LISTED_MAX) received.replaced.push(`${table} ${named}: ${column}`);
}

function newMonths(rows: readonly MovedRow[], known: Set<bigint>): bigint[] {
  const found = new Set(rows.flatMap(({ month }) => (typeof month === 'bigint' && !known.has(month) ? [month] : [])));
  for (const month of found) known.add(month);
  return [...found];
}

function insertText(table: string, columns: readonly MovedColumn[]): string {
  const names = columns.map(({ name }) => name).join(', ');
  const arrays = columns.map(({ isText }, at) => `$${at + 1}::text::${isText ? 'text' : 'bigint'}[]`);
  return `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${arrays.join(', ')})`;
}

/** What is written next has the next number. */
function setSequenceText(table: string): string {
  const sequence = `COALESCE(pg_get_serial_sequence('${table}', 'seq'), '${table}_seq')`;
  return `SELECT setval(${sequence}::regclass, MAX(seq)) FROM ${table} HAVING MAX(seq) IS NOT NULL`;
}

function textOf(cell: MovedRow[string] | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}
