// The ledger's rows of one process, in memory: read from SQLite when first needed, and written through a writer. This
// process is the only one that writes them. Memory may be ahead of the disk by what was taken over and not written
// yet, and by young holds. The disk is consistent at every commit: its rows do not contain holds that it does not have.

import type { Database } from 'bun:sqlite';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { bounds } from '../../config.ts';
import type {
  AccountRow,
  Bundle,
  Changes,
  Ending,
  HoldRow,
  IdempotencyRow,
  KeyRow,
  LeaseRow,
  ResidentStore,
  Rows,
} from '../../ledger/ledger.ts';
import {
  type AccountMetersTable,
  accountColumns,
  type ClaimsTable,
  type Column,
  claimColumns,
  entryColumns,
  holdColumns,
  type KeyMetersTable,
  keyColumns,
  leaseColumns,
  monthColumns,
  readAccountRow,
  readHoldRow,
  readIdempotencyRow,
  readKeyRow,
  readLeaseRow,
  readUsageRecord,
  totalColumns,
  type UsageTable,
  usageColumns,
} from '../tables.ts';
import type { LedgerWriter, RowCommit, RowWrite } from './ledger-writer.ts';
import { type LedgerReads, prepareLedgerReads } from './statements.ts';
import { UnwrittenHolds } from './unwritten-holds.ts';

export class SqliteLedgerStore implements ResidentStore, Rows {
  /** One time for all reads of a decision. */
  nowMs = 0;
  readonly #clock: Clock;
  readonly #statements: LedgerReads;
  readonly #writer: LedgerWriter;
  readonly #accounts = new Map<number, AccountRow>();
  readonly #keys = new Map<number, KeyRow>();
  /** All open holds and leases: few, and needed by every settlement. */
  #holds = new Map<string, HoldRow>();
  #leases = new Map<string, LeaseRow>();
  readonly #unwritten = new UnwrittenHolds();
  /** Taken over, and not known to be on the disk. */
  #ahead: Changes | null = null;
  /** A bundle's commit failed: its outcome is read from the disk. */
  #isDoubtful = true;
  readonly #run = randomUUID();
  #commits = 0;

  /** Reads over `database`, on this thread. */
  constructor(database: Database, clock: Clock, writer: LedgerWriter) {
    this.#clock = clock;
    this.#writer = writer;
    this.#statements = prepareLedgerReads(database);
    this.#reload();
  }

  get rows(): Rows {
    return this;
  }

  get unwrittenHolds(): number {
    return this.#unwritten.size;
  }

  readClock(): void {
    this.nowMs = this.#clock.nowMs();
  }

  /** Only while no hold is unwritten. */
  async transact(_bundles: readonly Bundle[], decide: (rows: Rows) => Changes): Promise<void> {
    if (this.#isDoubtful) this.#reload();
    if (this.#accounts.size + this.#keys.size > bounds.cachedLedgerRowsMax) this.#forgetRows();
    this.readClock();
    const changes = decide(this);
    if (changes.isEmpty) return;
    const rows: RowWrite[] = [];
    for (const account of changes.accounts.values()) rows.push(rowOf('writeAccount', accountColumns, account));
    for (const key of changes.keys.values()) rows.push(rowOf('writeKey', keyColumns, key));
    for (const [requestId, hold] of changes.holds)
      rows.push(hold === null ? ['deleteHold', requestId] : rowOf('writeHold', holdColumns, hold));
    addRecords(rows, changes);
    try {
      await this.#writer.write({ name: null, rows, coCommitted: changes.coCommitted });
    } catch (failure) {
      this.#isDoubtful = true;
      throw failure;
    }
    this.#remember(changes);
  }

  takeOver(changes: Changes, isAll: boolean): RowCommit | null {
    this.readClock();
    const rows: RowWrite[] = [];
    const accounts = new Set(changes.accounts.keys());
    const keys = new Set(changes.keys.keys());
    for (const [requestId, hold] of changes.holds) {
      if (hold === null) {
        if (!this.#unwritten.remove(requestId)) rows.push(['deleteHold', requestId]);
      } else if (this.#holds.has(requestId) && !this.#unwritten.has(requestId)) {
        rows.push(rowOf('writeHold', holdColumns, hold));
      } else this.#unwritten.put(hold);
    }
    this.#remember(changes);
    for (const hold of this.#unwritten.takeDue(isAll ? Number.POSITIVE_INFINITY : this.nowMs)) {
      rows.push(rowOf('writeHold', holdColumns, hold));
      accounts.add(hold.account);
      keys.add(hold.key);
    }
    if (rows.length === 0 && changes.isEmpty) return null;
    const without = this.#unwritten.subtractor();
    for (const id of accounts)
      rows.push(rowOf('writeAccount', accountColumns, without.account(this.account(id) as AccountRow)));
    for (const id of keys) rows.push(rowOf('writeKey', keyColumns, without.key(this.key(id) as KeyRow)));
    addRecords(rows, changes);
    this.#ahead = changes;
    return { name: `${this.#run} ${++this.#commits}`, rows, coCommitted: changes.coCommitted };
  }

  async write(commit: RowCommit): Promise<void> {
    await this.#writer.write(commit);
    this.#ahead = null;
  }

  account(id: number): AccountRow | undefined {
    return this.#accounts.get(id) ?? this.#loadAccount(id);
  }

  key(id: number): KeyRow | undefined {
    return this.#keys.get(id) ?? this.#loadKey(id);
  }

  hold(requestId: string): HoldRow | undefined {
    return this.#holds.get(requestId);
  }

  holds(): Iterable<HoldRow> {
    return this.#holds.values();
  }

  lease(node: string): LeaseRow | undefined {
    return this.#leases.get(node);
  }

  leases(): Iterable<LeaseRow> {
    return this.#leases.values();
  }

  ending(requestId: string): Ending | undefined {
    const isThis = ({ record }: Ending) => record.requestId === requestId;
    const ahead = this.#ahead?.corrections.findLast(isThis) ?? this.#ahead?.endings.find(isThis);
    if (ahead !== undefined) return ahead;
    const row = this.#statements.readUsage.get(requestId) as UsageTable | null;
    if (row === null) return undefined;
    const { seq: _, ...record } = readUsageRecord(row);
    return { record, endedBy: row.ended_by };
  }

  creditedAmount(account: number, reference: string): number | null {
    const row = this.#statements.findCredit.get(account, reference) as { change: number } | null;
    return row === null ? null : row.change;
  }

  claim(key: number, name: string): IdempotencyRow | undefined {
    const ahead = this.#ahead?.claims.get(`${key} ${name}`);
    if (ahead !== undefined) return ahead;
    const row = this.#statements.checkIdempotency.get(key, name) as ClaimsTable | null;
    return row === null ? undefined : readIdempotencyRow(row);
  }

  #loadAccount(id: number): AccountRow | undefined {
    const row = this.#statements.readAccount.get(id) as AccountMetersTable | null;
    if (row === null) return undefined;
    const account = readAccountRow(row);
    this.#accounts.set(id, account);
    return account;
  }

  #loadKey(id: number): KeyRow | undefined {
    const row = this.#statements.readKey.get(id) as KeyMetersTable | null;
    if (row === null) return undefined;
    const key = readKeyRow(row);
    this.#keys.set(id, key);
    return key;
  }

  #remember(changes: Changes): void {
    for (const [id, account] of changes.accounts) this.#accounts.set(id, account);
    for (const [id, key] of changes.keys) this.#keys.set(id, key);
    for (const [requestId, hold] of changes.holds) {
      if (hold === null) this.#holds.delete(requestId);
      else this.#holds.set(requestId, hold);
    }
    for (const [node, lease] of changes.leases) this.#leases.set(node, lease);
  }

  #forgetRows(): void {
    this.#accounts.clear();
    this.#keys.clear();
  }

  #reload(): void {
    this.#forgetRows();
    const holds = this.#statements.readHolds.all() as { document: string }[];
    this.#holds = new Map(holds.map(readHoldRow).map((hold) => [hold.requestId, hold]));
    const leases = this.#statements.readLeases.all() as Parameters<typeof readLeaseRow>[0][];
    this.#leases = new Map(leases.map(readLeaseRow).map((lease) => [lease.node, lease]));
    this.#isDoubtful = false;
  }
}

/** Everything but meters and holds. */
function addRecords(rows: RowWrite[], changes: Changes): void {
  for (const lease of changes.leases.values()) rows.push(rowOf('writeLease', leaseColumns, lease));
  for (const claim of changes.claims.values()) rows.push(rowOf('writeClaim', claimColumns, claim));
  for (const entry of changes.entries) rows.push(rowOf('writeEntry', entryColumns, entry));
  for (const ending of changes.endings) rows.push(rowOf('writeUsage', usageColumns, ending));
  for (const ending of changes.corrections) rows.push(rowOf('replaceUsage', usageColumns, ending));
  for (const total of changes.totals.values()) rows.push(rowOf('writeTotal', totalColumns, total));
  for (const month of changes.months) rows.push(rowOf('addMonthChange', monthColumns, month));
}

function rowOf<Row>(statement: RowWrite[0], columns: readonly Column<Row>[], row: Row): RowWrite {
  const write: RowWrite = [statement];
  for (let at = 0; at < columns.length; at++) write.push((columns[at] as Column<Row>).of(row));
  return write;
}
