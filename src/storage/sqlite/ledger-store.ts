// The ledger's rows of one process: in memory, read from SQLite when first needed, and written through a writer. This
// process is the only one that writes them.

import type { Database } from 'bun:sqlite';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import {
  type Bundle,
  type Changes,
  type Ending,
  type HoldRow,
  ResidentRows,
  type ResidentStore,
  type Rows,
  type StoredRows,
} from '../../ledger/ledger.ts';
import { withPayers } from '../co-committed.ts';
import { type HoldsTable, readHold } from '../stored-hold.ts';
import {
  type AccountMetersTable,
  accountColumns,
  type Cell,
  type ClaimsTable,
  type Column,
  claimColumns,
  entryColumns,
  holdColumns,
  type KeyMetersTable,
  keyColumns,
  leaseColumns,
  monthColumns,
  type PersonMetersTable,
  personColumns,
  readAccountRow,
  readIdempotencyRow,
  readKeyRow,
  readLeaseRow,
  readPersonRow,
  readUsageRecord,
  totalColumns,
  type UsageTable,
  unitColumns,
  usageColumns,
} from '../tables.ts';
import type { LedgerWriter, RowCommit, RowWrites } from './ledger-writer.ts';
import { type LedgerReads, prepareLedgerReads } from './statements.ts';

export class SqliteLedgerStore implements ResidentStore {
  readonly rows: ResidentRows;
  readonly #clock: Clock;
  readonly #writer: LedgerWriter;
  readonly #run = randomUUID();
  #commits = 0;
  #isDoubtful = false;

  /** Reads over `database`, on this thread. */
  constructor(database: Database, clock: Clock, writer: LedgerWriter) {
    this.#clock = clock;
    this.#writer = writer;
    this.rows = new ResidentRows(storedRows(prepareLedgerReads(database)));
  }

  get isDoubtful(): boolean {
    return this.#isDoubtful;
  }

  readClock(): void {
    this.rows.nowMs = this.#clock.nowMs();
  }

  reload(): void {
    this.rows.reload();
    this.#isDoubtful = false;
  }

  /** Only while the rows are not ahead of the disk. */
  async transact(_bundles: readonly Bundle[], decide: (rows: Rows) => Changes): Promise<void> {
    if (this.#isDoubtful) this.reload();
    this.readClock();
    const changes = decide(this.rows);
    if (changes.isEmpty) return;
    try {
      await this.#writer.write({ name: null, rows: rowsOf(changes), coCommitted: withPayers(changes) });
    } catch (failure) {
      this.#isDoubtful = true;
      throw failure;
    }
    this.rows.remember(changes);
  }

  prepareWrite(changes: Changes): () => Promise<void> {
    const name = `${this.#run} ${++this.#commits}`;
    const commit: RowCommit = { name, rows: rowsOf(changes), coCommitted: withPayers(changes) };
    return async () => this.#writer.write(commit);
  }
}

function storedRows(statements: LedgerReads): StoredRows {
  const { readAccount, readKey, readPerson, readUsage, findCredit, checkIdempotency, readHolds, readLeases } =
    statements;
  return {
    readAccount: (id) => mapFound(readAccount.get(id) as AccountMetersTable | null, readAccountRow),
    readKey: (id) => mapFound(readKey.get(id) as KeyMetersTable | null, readKeyRow),
    readPerson: (id) => mapFound(readPerson.get(id) as PersonMetersTable | null, readPersonRow),
    readEnding: (requestId) => mapFound(readUsage.get(requestId) as UsageTable | null, readEnding),
    readCredit: (account, reference) =>
      (findCredit.get(account, reference) as { change: number } | null)?.change ?? null,
    readClaim: (key, name) => mapFound(checkIdempotency.get(key, name) as ClaimsTable | null, readIdempotencyRow),
    readHolds: () => (readHolds.all() as HoldsTable[]).map(readHold),
    readLeases: () => (readLeases.all() as Parameters<typeof readLeaseRow>[0][]).map(readLeaseRow),
  };
}

function mapFound<Table, Row>(row: Table | null, read: (row: Table) => Row): Row | undefined {
  return row === null ? undefined : read(row);
}

function readEnding(row: UsageTable): Ending {
  const { seq: _, ...record } = readUsageRecord(row);
  return { record, endedBy: row.ended_by };
}

function rowsOf(changes: Changes): RowWrites[] {
  const ended: Cell[][] = [];
  const held: HoldRow[] = [];
  for (const [requestId, hold] of changes.holds) {
    if (hold === null) ended.push([requestId]);
    else held.push(hold);
  }
  const writes: RowWrites[] = [
    writesOf('writeAccount', accountColumns, changes.accounts.values()),
    writesOf('writeKey', keyColumns, changes.keys.values()),
    writesOf('writePerson', personColumns, changes.people.values()),
    ['deleteHold', ended],
    writesOf('writeHold', holdColumns, held),
    writesOf('writeLease', leaseColumns, changes.leases.values()),
    writesOf('writeClaim', claimColumns, changes.claims.values()),
    writesOf('writeEntry', entryColumns, changes.entries),
    writesOf('writeUsage', usageColumns, changes.endings),
    writesOf('replaceUsage', usageColumns, changes.corrections),
    writesOf('writeTotal', totalColumns, changes.totals.values()),
    writesOf('addUnits', unitColumns, changes.unitTotals),
    writesOf('addMonthChange', monthColumns, changes.months),
  ];
  return writes.filter(([, rows]) => rows.length > 0);
}

function writesOf<Row>(statement: RowWrites[0], columns: readonly Column<Row>[], rows: Iterable<Row>): RowWrites {
  const writes: Cell[][] = [];
  for (const row of rows) {
    const cells: Cell[] = [];
    for (let at = 0; at < columns.length; at++) cells.push((columns[at] as Column<Row>).of(row));
    writes.push(cells);
  }
  return [statement, writes];
}
