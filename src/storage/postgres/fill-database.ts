// Fills an empty database with what another store has, and finds out that all of it is there, before it is committed.

import type { LedgerSums } from '../../ledger/ledger.ts';
import {
  bytesName,
  differencesOf,
  leftTables,
  type MovedSource,
  type MovedTable,
  movedTables,
  rowsOf,
  sumTableText,
  type TableSums,
} from '../moved-tables.ts';
import type { MoveSession } from './move-session.ts';
import { refuseRows } from './move-target.ts';
import { type Received, receiveTables } from './receive-tables.ts';
import { sumReader } from './sum-ledger.ts';

export interface Filled {
  /** How many of each table. */
  rows: Record<MovedTable, number>;
  /** Where a text could not stand as it was: "entries 17: note". */
  replaced: string[];
  /** What the ledger is checked by, of what is to be committed. */
  sums: LedgerSums;
}

/** Leaves the transaction open, to be committed. Throws where a table did not come as it was. */
export async function fillDatabase(
  session: MoveSession,
  source: MovedSource,
  onTable: (table: MovedTable, rows: number) => void = () => {},
): Promise<Filled> {
  // Before anything begins: a transaction is not to wait for them.
  const sums = new Map(movedTables.map((table) => [table, source.sums(table)]));
  await begin(session);
  await refuseRows(session);
  const received = await receiveTables(session, source, onTable);
  for (const [table, expected] of sums) await compare(session, source, table, withGrown(table, expected, received));
  // So that plans are made for what there is, from the first message on.
  await session.askLong(`ANALYZE ${movedTables.join(', ')}`);
  return {
    rows: Object.fromEntries([...sums].map(([table, of]) => [table, rowsOf(of)])) as Filled['rows'],
    replaced: received.replaced,
    sums: await sumReader({ read: (text, ...values) => session.askLong(text, values) }),
  };
}

/** Nobody else writes from here on, and who starts a service on the database waits at its door. */
async function begin(session: MoveSession): Promise<void> {
  await session.ask('BEGIN');
  await session.ask('SELECT pg_advisory_xact_lock(7416, 0)'); // of those who make tables
  await session.ask(`LOCK TABLE ${[...movedTables, ...leftTables].join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
}

async function compare(session: MoveSession, source: MovedSource, table: MovedTable, expected: TableSums) {
  const text = sumTableText(table, source.columns(table), (column) => `octet_length(${column})`);
  const [received] = await session.askLong<TableSums>(text);
  const differences = differencesOf(expected, { ...received });
  if (differences.length === 0) return;
  throw new Error(
    `${table} did not come as it was: ${differences.map((name) => `${name} is ${received?.[name]}, not ${expected[name]}`).join('; ')}`,
  );
}

/** The sums as they are to be where texts were replaced. */
function withGrown(table: MovedTable, sums: TableSums, { grown }: Received): TableSums {
  const adjusted = { ...sums };
  for (const [place, bytes] of grown) {
    const [of, column = ''] = place.split('.');
    const name = bytesName(column);
    if (of === table) adjusted[name] = String(BigInt(adjusted[name] ?? 0) + BigInt(bytes));
  }
  return adjusted;
}
