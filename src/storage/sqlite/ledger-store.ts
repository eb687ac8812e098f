// The ledger's store in SQLite: the only writer of the database, in the ledger's thread. Rows that
// it read or wrote stay in memory, which is sound because nobody else writes; they are dropped
// and read again after a commit that failed.

import type { Database, Statement } from 'bun:sqlite';
import { BrokenInvariant } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { bounds } from '../../config.ts';
import {
  type AccountRow,
  type Bundle,
  type Changes,
  type ClaimRow,
  type DailyTotal,
  type Ending,
  type HoldRow,
  InDoubt,
  type KeyRow,
  type LeaseRow,
  type LedgerStore,
  type NewEntry,
  type Rows,
} from '../../ledger/ledger.ts';
import {
  type AccountMetersTable,
  type ClaimsTable,
  type KeyMetersTable,
  readAccountRow,
  readClaimRow,
  readHoldRow,
  readKeyRow,
  readLeaseRow,
  readUsageRecord,
  type UsageTable,
  writeDetails,
} from '../row-codec.ts';
import { writeAlongside } from './alongside.ts';
import { type LedgerStatements, prepareLedgerStatements } from './statements.ts';

export class SqliteLedgerStore implements LedgerStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #statements: LedgerStatements;
  readonly #accounts = new Map<number, AccountRow>();
  readonly #keys = new Map<number, KeyRow>();
  /** All open holds and all leases: few, and asked for by every settlement. */
  #holds = new Map<string, HoldRow>();
  #leases = new Map<string, LeaseRow>();
  /** A commit failed: nothing in memory is trusted, and whether it reached the disk is read from the disk. */
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
      // Before rows are read, or each read would be a transaction of its own; it writes when the first row is written.
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

  #loadClaim(key: number, name: string): ClaimRow | undefined {
    const row = this.#statements.readClaim.get(key, name) as ClaimsTable | null;
    return row === null ? undefined : readClaimRow(row);
  }

  #write(changes: Changes): void {
    for (const account of changes.accounts.values()) writeAccount(this.#statements.writeAccount, account);
    for (const key of changes.keys.values()) writeKey(this.#statements.writeKey, key);
    for (const [requestId, hold] of changes.holds) {
      if (hold === null) this.#statements.deleteHold.run(requestId);
      else this.#statements.writeHold.run(requestId, hold.account, hold.key, hold.amount, JSON.stringify(hold));
    }
    for (const lease of changes.leases.values())
      this.#statements.writeLease.run(lease.node, lease.epoch, lease.expiresAtMs);
    for (const claim of changes.claims.values()) writeClaim(this.#statements.writeClaim, claim);
    for (const entry of changes.entries) writeEntry(this.#statements.writeEntry, entry);
    for (const ending of changes.endings) writeUsage(this.#statements.writeUsage, ending);
    for (const ending of changes.corrections) writeUsage(this.#statements.replaceUsage, ending);
    for (const total of changes.totals.values()) writeTotal(this.#statements.writeTotal, total);
    for (const { account, startMs, change } of changes.months)
      this.#statements.addMonthChange.run(account, startMs, change);
    for (const row of changes.alongside) writeAlongside(this.#database, row);
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

/** Whether a row was refused for what it is, so that its bundle is at fault and not the store. */
function isRowAtFault(failure: unknown): boolean {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  return /^SQLITE_(?:CONSTRAINT|MISMATCH|TOOBIG)/.test(code);
}

function writeAccount(statement: Statement, account: AccountRow): void {
  const { spending } = account;
  statement.run(
    account.id,
    account.enabled ? 1 : 0,
    account.creditLine,
    account.balance,
    account.held,
    account.allowance,
    account.allowancePeriod,
    spending.used,
    spending.held,
    spending.periodStartMs,
    JSON.stringify(account.groups),
    account.month.startMs,
    account.month.opening,
  );
}

function writeKey(statement: Statement, key: KeyRow): void {
  const { spending } = key;
  statement.run(
    key.id,
    key.account,
    key.status,
    key.expiresAtMs,
    key.quota,
    key.quotaPeriod,
    spending.used,
    spending.held,
    spending.periodStartMs,
    JSON.stringify(key.limits),
    JSON.stringify(key.rates),
    key.lastUsedAtMs,
  );
}

function writeClaim(statement: Statement, claim: ClaimRow): void {
  statement.run(claim.key, claim.name, claim.requestId, claim.requestHash, claim.atMs, claim.isAnswered ? 1 : 0);
}

function writeEntry(statement: Statement, entry: NewEntry): void {
  statement.run(
    entry.account,
    entry.atMs,
    entry.debit,
    entry.credit,
    entry.amount,
    entry.kind,
    entry.reference,
    entry.note,
  );
}

function writeUsage(statement: Statement, { record, endedBy }: Ending): void {
  statement.run(
    record.requestId,
    record.atMs,
    record.account,
    record.key,
    endedBy,
    record.group,
    record.model,
    record.outcome,
    record.status,
    record.inputTokens,
    record.outputTokens,
    record.cacheReadTokens,
    record.cacheWrite5mTokens,
    record.cacheWrite1hTokens,
    record.webSearches,
    record.cost,
    record.writtenOff,
    record.providerCost,
    writeDetails(record),
  );
}

function writeTotal(statement: Statement, total: DailyTotal): void {
  statement.run(
    total.dayMs,
    total.account,
    total.key,
    total.model,
    total.messages,
    total.inputTokens,
    total.outputTokens,
    total.cacheReadTokens,
    total.cacheWriteTokens,
    total.cost,
    total.writtenOff,
    total.providerCost,
    total.costedMessages,
    total.costedRevenue,
  );
}
