// The sums that the ledger's invariants are checked by, in one consistent read, exact beyond 2^53.

import type { Database } from 'bun:sqlite';
import { formatId } from '../../base/ids.ts';
import type { LedgerSums } from '../../ledger/ledger.ts';
import { openForReading } from './open-database.ts';

const FAULTS_MAX = 100;

/** Sums up the database at `path`, with a server running on it or not. */
export function sumLedger(path: string): LedgerSums {
  const database = openForReading(path, { exact: true });
  try {
    return database.transaction(() => sum(database))();
  } finally {
    database.close();
  }
}

function sum(database: Database): LedgerSums {
  const all = <Row>(text: string) => database.query(text).all() as Row[];
  const count = (table: string) =>
    Number((database.query(`SELECT COUNT(*) AS n FROM ${table}`).get() as { n: bigint }).n);
  return {
    accounts: all<Record<string, bigint>>(ACCOUNTS).map((row) => ({
      id: formatId('acct', Number(row['id'])),
      balance: row['balance'] as bigint,
      held: row['held'] as bigint,
      creditLine: row['credit_line'] as bigint,
      allowanceHeld: row['allowance_held'] as bigint,
      entries: row['entries'] as bigint,
      holds: row['holds'] as bigint,
      recordsCost: row['records_cost'] as bigint,
      totalsCost: row['totals_cost'] as bigint,
    })),
    keys: all<Record<string, bigint>>(KEYS).map((row) => ({
      id: formatId('key', Number(row['id'])),
      quotaHeld: row['quota_held'] as bigint,
      holds: row['holds'] as bigint,
    })),
    entries: count('entries'),
    openHolds: count('holds'),
    unbalancedRequests: all<{ request_id: string }>(UNBALANCED).map((row) => row.request_id),
    strangeEntries: all<{ seq: bigint }>(STRANGE).map(
      (row) => `entry ${row.seq}: it moves nothing sensible, or nobody's money`,
    ),
  };
}

const ACCOUNTS = `
  SELECT m.id, m.balance, m.held, m.credit_line, m.allowance_held,
    COALESCE(e.total, 0) AS entries, COALESCE(h.total, 0) AS holds,
    COALESCE(r.total, 0) AS records_cost, COALESCE(d.total, 0) AS totals_cost
  FROM account_meters m
  LEFT JOIN (SELECT account_id,
      SUM(CASE WHEN credit = account_id THEN amount WHEN debit = account_id THEN -amount ELSE 0 END) AS total
    FROM entries GROUP BY account_id) e ON e.account_id = m.id
  LEFT JOIN (SELECT account_id, SUM(amount) AS total FROM holds GROUP BY account_id) h ON h.account_id = m.id
  LEFT JOIN (SELECT account_id, SUM(cost) AS total FROM usage_records GROUP BY account_id) r ON r.account_id = m.id
  LEFT JOIN (SELECT account_id, SUM(cost) AS total FROM daily_totals GROUP BY account_id) d ON d.account_id = m.id`;

const KEYS = `
  SELECT k.id, k.quota_held, COALESCE(h.total, 0) AS holds
  FROM key_meters k
  LEFT JOIN (SELECT key_id, SUM(amount) AS total FROM holds GROUP BY key_id) h ON h.key_id = k.id`;

// What a message's entries moved to revenue (3), from its account or from write-offs, against its record's cost.
const MOVED = `
  SELECT reference, SUM(CASE WHEN credit = 3 THEN amount ELSE -amount END) AS total
  FROM entries WHERE kind IN ('usage', 'write_off', 'correction') GROUP BY reference`;

const UNBALANCED = `
  SELECT r.request_id FROM usage_records r LEFT JOIN (${MOVED}) e ON e.reference = r.request_id
  WHERE r.cost <> COALESCE(e.total, 0)
  UNION ALL
  SELECT e.reference FROM (${MOVED}) e LEFT JOIN usage_records r ON r.request_id = e.reference
  WHERE r.request_id IS NULL
  LIMIT ${FAULTS_MAX}`;

const STRANGE = `
  SELECT seq FROM entries e
  WHERE amount < 0 OR debit = credit OR NOT EXISTS (SELECT 1 FROM account_meters m WHERE m.id = e.account_id)
  LIMIT ${FAULTS_MAX}`;
