// Copies all tables of another store into an empty database in one transaction, and compares sums of every column
// before the commit. Memory is bounded by the pieces that are read.

import type { ReservedSQL } from 'bun';
import { integerOf } from '../../base/checked-number.ts';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config/config.ts';
import type { LedgerSums } from '../../ledger/ledger.ts';
import {
  bytesName,
  differencesOf,
  leftTables,
  type MovedColumn,
  type MovedRow,
  type MovedSource,
  type MovedTable,
  movedTables,
  moveNames,
  rowsOf,
  sumTableText,
  type TableSums,
} from '../move.ts';
import { type HoldsTable, readHold } from '../stored-hold.ts';
import { arrayOf, makeMonthText, monthOf, suitDocument, suitText } from './columns.ts';
import { isLoss } from './connection.ts';
import { refuseLending } from './examine-database.ts';
import { describeDatabaseFailure } from './failure-words.ts';
import { openClient } from './read-pool.ts';
import { sumReader } from './survey-store.ts';

const LOCK = 'pg_advisory_lock(7416, 2)';
const LOCK_NOT_HAD = '55P03';
const VERSION_LEAST = 140_000;

/** The connection was lost: the last statement may or may not have been executed. */
export class MoveCut extends Error {
  override name = 'MoveCut';
}

export interface MoveSession extends AsyncDisposable {
  /** Runs a bounded statement. Closes the connection when the server does not answer in time. */
  ask<Row>(text: string, values?: readonly (string | number | null)[]): Promise<Row[]>;
  /** Runs a statement that reads whole tables. */
  askLong<Row>(text: string, values?: readonly (string | number | null)[]): Promise<Row[]>;
}

/** Throws an Error for the operator when the database is unavailable, is unsuitable, or another move uses it. */
export async function openMoveSession(url: string): Promise<MoveSession> {
  await inWords(url, refuseLending(url));
  const client = openClient(url, { application_name: 'turnpike move', timezone: 'UTC' });
  const close = () => client.close({ timeout: 0 }).catch(() => {}); // it is closed either way
  try {
    // Reserved, because a client continues on another connection after losing one, even within a transaction.
    const session = sessionOver(await inWords(url, client.reserve()), url, close);
    await refuseServer(session);
    await session.ask(SETTINGS);
    await takeLock(session);
    return session;
  } catch (failure) {
    await close();
    throw failure;
  }
}

function sessionOver(reserved: ReservedSQL, url: string, close: () => Promise<void>): MoveSession {
  const askFor = <Row>(msMax: number, text: string, values?: readonly (string | number | null)[]) => {
    // Without parameters by the simple protocol: statements used once are not cached.
    const asked = values === undefined ? reserved.unsafe(text).simple() : reserved.unsafe(text, [...values]);
    const answer = asked as Promise<Row[]>;
    return inWords(url, within(machineTimers, msMax + bounds.storeSilenceMsMax, answer, silent));
  };
  return {
    ask: (text, values) => askFor(bounds.moveStatementMsMax, text, values),
    askLong: (text, values) => askFor(bounds.snapshotStatementMsMax, text, values),
    [Symbol.asyncDispose]: close,
  };
}

async function inWords<Value>(url: string, answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof MoveCut) throw cause;
    const { words } = describeDatabaseFailure(cause, url);
    throw isLoss(cause) ? new MoveCut(words, { cause }) : new Error(words, { cause });
  }
}

async function refuseServer(session: MoveSession): Promise<void> {
  const [is] = await session.ask<{ version: string; number: string; encoding: string }>(`
    SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS number,
      current_setting('server_encoding') AS encoding`);
  if (integerOf(is?.number) < VERSION_LEAST)
    throw new Error(`it is PostgreSQL ${is?.version}: version 14 or later is required`);
  if (is?.encoding !== 'UTF8') throw new Error(`it has the encoding ${is?.encoding}: UTF8 is required`);
}

// The server ends the session of a client that disconnected or stopped, and rolls back its transaction.
const SETTINGS = `
  SET default_transaction_isolation = 'read committed';
  SET synchronous_commit = 'on';
  SET jit = 'off';
  SET idle_session_timeout = 0;
  SET lock_timeout = ${bounds.moveWaitMsMax};
  SET statement_timeout = ${bounds.snapshotStatementMsMax};
  SET idle_in_transaction_session_timeout = ${bounds.moveIdleMsMax};
  SET client_connection_check_interval = ${bounds.writeCallerCheckMs};
  SET tcp_user_timeout = ${bounds.moveUnacknowledgedMsMax};
  SET tcp_keepalives_idle = ${bounds.moveUnacknowledgedMsMax / 1000}`;

/** Waits a short time for the session of a move that was just killed. */
async function takeLock(session: MoveSession): Promise<void> {
  try {
    await session.ask(`SELECT ${LOCK}`);
  } catch (failure) {
    const { cause } = failure as { cause?: { errno?: unknown } };
    if (cause?.errno !== LOCK_NOT_HAD) throw failure;
    throw new Error('another move to it is in progress', { cause });
  }
}

function silent(): MoveCut {
  return new MoveCut('the database does not answer');
}

/** Throws if any table has rows. */
export async function refuseRows(session: MoveSession): Promise<void> {
  const found: string[] = [];
  for (const table of movedTables) {
    if (!(await hasTable(session, table))) continue;
    const [row] = await session.ask<{ is: string }>(`SELECT (EXISTS (SELECT 1 FROM ${table}))::text AS is`);
    if (row?.is === 'true') found.push(table);
  }
  if (found.length === 0) return;
  throw new Error(`it is not empty (${found.join(', ')}): use a new database (CREATE DATABASE)`);
}

/** The id of the move that filled the database; null if none did. */
export async function findMove(session: MoveSession): Promise<string | null> {
  if (!(await hasTable(session, 'installation'))) return null;
  const [row] = await session.ask<{ value: string }>(`SELECT value FROM installation WHERE name = '${moveNames.from}'`);
  return row?.value ?? null;
}

/** Commits the copy under the id of the move. Throws MoveCut if the outcome is unknown; any other error means that nothing was committed. */
export async function commitMove(session: MoveSession, id: string): Promise<void> {
  // COMMIT of a failed transaction succeeds as a rollback. This statement fails first.
  await session.ask(`INSERT INTO installation (name, value) VALUES ('${moveNames.from}', $1)`, [id]);
  await session.ask('COMMIT');
}

async function hasTable(session: MoveSession, table: string): Promise<boolean> {
  const [row] = await session.ask<{ has: string }>(`SELECT (to_regclass('${table}') IS NOT NULL)::text AS has`);
  return row?.has === 'true';
}

export interface Filled {
  /** Row counts by table. */
  rows: Record<MovedTable, number>;
  /** Texts with characters that PostgreSQL cannot store and that were replaced: "entries 17: note". */
  replaced: string[];
  /** The sums for the ledger check, before the commit. */
  sums: LedgerSums;
}

/** Leaves the transaction open for the commit. Throws if a table differs from its source. */
export async function fillDatabase(
  session: MoveSession,
  source: MovedSource,
  onTable: (table: MovedTable, rows: number) => void = () => {},
): Promise<Filled> {
  // Before the transaction begins, which would otherwise stay open while they are computed.
  const sums = new Map(movedTables.map((table) => [table, source.sums(table)]));
  await begin(session);
  await refuseRows(session);
  const received = await receiveTables(session, source, onTable);
  for (const [table, expected] of sums) await compare(session, source, table, withGrown(table, expected, received));
  // Gives the planner statistics before the first message.
  await session.askLong(`ANALYZE ${movedTables.join(', ')}, attributed_totals, grouped_totals`);
  return {
    rows: Object.fromEntries([...sums].map(([table, of]) => [table, rowsOf(of)])) as Filled['rows'],
    replaced: received.replaced,
    sums: await sumReader({ read: (text, ...values) => session.askLong(text, values) }),
  };
}

/** From now on no other client can write, and a service that starts on the database waits for the lock. */
async function begin(session: MoveSession): Promise<void> {
  await session.ask('BEGIN');
  await session.ask('SELECT pg_advisory_xact_lock(7416, 0)'); // the lock of migrations
  await session.ask(`LOCK TABLE ${[...movedTables, ...leftTables].join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
}

async function compare(session: MoveSession, source: MovedSource, table: MovedTable, expected: TableSums) {
  const text = sumTableText(table, source.columns(table), (column) => `octet_length(${column})`);
  const [received] = await session.askLong<TableSums>(text);
  const differences = differencesOf(expected, { ...received });
  if (differences.length === 0) return;
  throw new Error(
    `${table} was not copied correctly: ${differences.map((name) => `${name} is ${received?.[name]}, not ${expected[name]}`).join('; ')}`,
  );
}

/** The expected sums, adjusted for replaced texts. */
function withGrown(table: MovedTable, sums: TableSums, { grown }: Received): TableSums {
  const adjusted = { ...sums };
  for (const [place, bytes] of grown) {
    const [of, column = ''] = place.split('.');
    const name = bytesName(column);
    if (of === table) adjusted[name] = String(BigInt(adjusted[name] ?? 0) + BigInt(bytes));
  }
  return adjusted;
}

interface Received {
  /** By how many bytes replacements lengthened a text column: "entries.note". */
  grown: Map<string, number>;
  /** Where text was replaced: "entries 17: note". */
  replaced: string[];
}

const REPLACED_LISTED_MAX = 1_000;

/** JSON documents whose members statements read. */
const DOCUMENTS = ['document', 'group_rates', 'limits', 'rates'];

/** Columns that only PostgreSQL has. */
const more: Partial<Record<MovedTable, { columns: readonly MovedColumn[]; of(row: MovedRow): MovedRow }>> = {
  holds: {
    columns: [
      { name: 'node', isText: true },
      { name: 'epoch', isText: false },
      { name: 'claim', isText: true },
    ],
    of(row) {
      const { requestId, unreadable, owner, claim } = readHold(row as unknown as HoldsTable);
      if (unreadable !== undefined) throw new Error(`the hold of ${requestId} cannot be read: ${unreadable}`);
      return { node: owner.node, epoch: BigInt(owner.epoch), claim };
    },
  },
  usage_records: {
    columns: [{ name: 'month', isText: false }],
    of: (row) => ({ month: BigInt(monthOf(integerOf(row['at_ms']))) }),
  },
  answers: {
    columns: [{ name: 'slot', isText: false }],
    of: (row) => ({ slot: BigInt(row['account_id'] as bigint) % 64n }),
  },
};

/** Copies all tables. Calls `onTable` after each. */
async function receiveTables(
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
  const text = insertText(table === 'daily_totals' ? 'grouped_totals' : table, columns);
  const months = new Set<bigint>();
  let count = 0;
  // Reads the next piece while the previous one is written.
  let inProgress: Promise<unknown> = Promise.resolve();
  for (const piece of source.pieces(table)) {
    const rows = piece.map((row) => suitRow(table, read, row, received));
    const values = columns.map(({ name }) => arrayOf(rows.map((row) => textOf(row[name]))));
    await inProgress;
    for (const month of newMonths(rows, months)) await session.ask(makeMonthText(integerOf(month)));
    inProgress = session.ask(text, values);
    inProgress.catch(() => {}); // the next iteration awaits it
    count += rows.length;
  }
  await inProgress;
  if (columns.some(({ name }) => name === 'seq')) await session.ask(setSequenceText(table));
  return count;
}

/** The row with replaced characters and with the columns that only PostgreSQL has. */
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

/** Continues the sequence after the highest number. */
function setSequenceText(table: string): string {
  const sequence = `COALESCE(pg_get_serial_sequence('${table}', 'seq'), '${table}_seq')`;
  return `SELECT setval(${sequence}::regclass, MAX(seq)) FROM ${table} HAVING MAX(seq) IS NOT NULL`;
}

function textOf(cell: MovedRow[string] | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}
