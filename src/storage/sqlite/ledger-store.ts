// The ledger's store in SQLite: the only writer of the database, in the ledger's thread. Rows that
// it read or wrote stay in memory, which is sound because there is no other writer; they are dropped
// and read again after a commit that failed.

import type { Database, Statement } from 'bun:sqlite';
import { BrokenInvariant } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { bounds } from '../../config.ts';
import {
  type AccountRow,
  type Bundle,
  type Changes,
  type Ending,
  type HoldRow,
  type IdempotencyRow,
  InDoubt,
  type KeyRow,
  type LeaseRow,
  type LedgerStore,
  type Rows,
} from '../../ledger/ledger.ts';
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
import { writeCoCommitted } from './co-committed.ts';
import { type LedgerStatements, prepareLedgerStatements } from './statements.ts';

export class SqliteLedgerStore implements LedgerStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #statements: LedgerStatements;
  readonly #accounts = new Map<number, AccountRow>();
  readonly #keys = new Map<number, KeyRow>();
  /** All open holds and leases: few, and needed by every settlement. */
  #holds = new Map<string, HoldRow>();
  #leases = new Map<string, LeaseRow>();
  /** A commit failed: memory is not trusted, and the outcome is read from disk. */
  #isDoubtful = true;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.#statements = prepareLedgerStatements(database);
    this.#reload();
  }

  transact(_bundles: readonly Bundle[], decide: (rows: Rows) => Changes): void {
    if (this.#isDoubtful) this.#reload();
    if (this.#accounts.size + this.#keys.size > bounds.cachedLedgerRowsMax) this.#forgetRows();
    const { begin, commit } = this.#statements;
    let changes: Changes;
    let isCommitAsked = false;
    try {
      // Before rows are read, otherwise each read would be its own transaction. The write lock is taken by the first
      // write.
      begin.run();
      changes = decide(this.#rows());
      if (changes.isEmpty) {
        this.#rollBack();
        return;
      }
      this.#write(changes);
      isCommitAsked = true;
      commit.run();
    } catch (failure) {
      this.#isDoubtful = true;
      this.#rollBack();
      if (isRowAtFault(failure)) throw new BrokenInvariant(String(failure), { cause: failure });
      throw isCommitAsked ? new InDoubt('the commit failed', { cause: failure }) : failure;
    }
    this.#remember(changes);
  }

  #rows(): Rows {
    return {
      nowMs: this.#clock.nowMs(),
      account: (id) => this.#accounts.get(id) ?? this.#loadAccount(id),
      key: (id) => this.#keys.get(id) ?? this.#loadKey(id),
      hold: (requestId) => this.#holds.get(requestId),
      ending: (requestId) => this.#loadEnding(requestId),
      creditedAmount: (account, reference) => this.#loadCredit(account, reference),
      claim: (key, name) => this.#loadClaim(key, name),
      lease: (node) => this.#leases.get(node),
      leases: () => this.#leases.values(),
      holds: () => this.#holds.values(),
    };
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

  #loadEnding(requestId: string): Ending | undefined {
    const row = this.#statements.readUsage.get(requestId) as UsageTable | null;
    if (row === null) return undefined;
    const { seq: _, ...record } = readUsageRecord(row);
    return { record, endedBy: row.ended_by };
  }

  #loadCredit(account: number, reference: string): number | null {
    const row = this.#statements.findCredit.get(account, reference) as { change: number } | null;
    return row === null ? null : row.change;
  }

  #loadClaim(key: number, name: string): IdempotencyRow | undefined {
    const row = this.#statements.checkIdempotency.get(key, name) as ClaimsTable | null;
    return row === null ? undefined : readIdempotencyRow(row);
  }

  #write(changes: Changes): void {
    const statements = this.#statements;
    for (const account of changes.accounts.values()) write(statements.writeAccount, accountColumns, account);
    for (const key of changes.keys.values()) write(statements.writeKey, keyColumns, key);
    for (const [requestId, hold] of changes.holds) {
      if (hold === null) statements.deleteHold.run(requestId);
      else write(statements.writeHold, holdColumns, hold);
    }
    for (const lease of changes.leases.values()) write(statements.writeLease, leaseColumns, lease);
    for (const claim of changes.claims.values()) write(statements.writeClaim, claimColumns, claim);
    for (const entry of changes.entries) write(statements.writeEntry, entryColumns, entry);
    for (const ending of changes.endings) write(statements.writeUsage, usageColumns, ending);
    for (const ending of changes.corrections) write(statements.replaceUsage, usageColumns, ending);
    for (const total of changes.totals.values()) write(statements.writeTotal, totalColumns, total);
    for (const month of changes.months) write(statements.addMonthChange, monthColumns, month);
    for (const row of changes.coCommitted) writeCoCommitted(this.#database, row);
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

  #rollBack(): void {
    if (this.#database.inTransaction) this.#statements.rollback.run();
  }

  #reload(): void {
    this.#rollBack();
    this.#forgetRows();
    const holds = this.#statements.readHolds.all() as { document: string }[];
    this.#holds = new Map(holds.map(readHoldRow).map((hold) => [hold.requestId, hold]));
    const leases = this.#statements.readLeases.all() as Parameters<typeof readLeaseRow>[0][];
    this.#leases = new Map(leases.map(readLeaseRow).map((lease) => [lease.node, lease]));
    this.#isDoubtful = false;
  }
}

/** Whether a row violated a constraint, so that its bundle is at fault and not the store. */
function isRowAtFault(failure: unknown): boolean {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  return /^SQLITE_(?:CONSTRAINT|MISMATCH|TOOBIG)/.test(code);
}

function write<Row>(statement: Statement, columns: readonly Column<Row>[], row: Row): void {
  const cells: Cell[] = [];
  for (let at = 0; at < columns.length; at++) cells.push((columns[at] as Column<Row>).of(row));
  statement.run(...cells);
}
