// The sums that the ledger's invariants are checked by, in one consistent read, exact beyond 2^53.

import type { Database } from 'bun:sqlite';
import { earliestRequestId, formatId } from '../../base/ids.ts';
import { type Kept, keptSinceNames, type LedgerSums } from '../../ledger/ledger.ts';
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
  const all = <Row>(text: string, ...values: (bigint | string)[]) => database.query(text).all(...values) as Row[];
  const since = (kept: Kept) => {
    const [row] = all<{ value: string }>('SELECT value FROM installation WHERE name = ?1', keptSinceNames[kept]);
    return row === undefined ? null : BigInt(row.value);
  };
  const usageSince = since('usage');
  const journalSince = since('journal');
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
    })),
    keys: all<Record<string, bigint>>(KEYS).map((row) => ({
      id: formatId('key', Number(row['id'])),
      quotaHeld: row['quota_held'] as bigint,
      holds: row['holds'] as bigint,
    })),
    entries: count('entries'),
    openHolds: count('holds'),
    usageSinceMs: usageSince === null ? null : Number(usageSince),
    journalSinceMs: journalSince === null ? null : Number(journalSince),
    unbalancedRequests: all<{ request_id: string }>(UNBALANCED, usageSince ?? 0n, earliestKeptId(usageSince)).map(
      (row) => row.request_id,
    ),
    strangeEntries: [
      ...all<{ seq: bigint }>(STRANGE_ENTRIES, journalSince ?? 0n).map(
        (row) => `entry ${row.seq}: it moves nothing sensible, or nobody's money`,
      ),
      ...(carriedForward(database) === 0n ? [] : ['the entries that carry others forward do not add up to nothing']),
    ],
    unequalTotals: all<{ day_ms: bigint; account_id: bigint; key_id: bigint; model: string }>(
      UNEQUAL_TOTALS,
      usageSince ?? 0n,
    ).map(
      (row) =>
        `${formatId('acct', Number(row.account_id))} ${formatId('key', Number(row.key_id))} ${row.model}: the total of ${formatDay(row.day_ms)} is not the sum of its usage records`,
    ),
    strangeHolds: all<{ request_id: string }>(STRANGE_HOLDS).map(
      (row) => `${row.request_id}: its hold has no account or key, is of an ended message, or is at odds with itself`,
    ),
    miscountedRunning: all<{ kind: 'acct' | 'key'; id: bigint; running: bigint; open: bigint }>(MISCOUNTED).map(
      (row) =>
        `${formatId(row.kind, Number(row.id))} running messages: ${row.running} are stored, ${row.open} have open holds`,
    ),
    withoutMeters: all<{ kind: 'acct' | 'key'; id: bigint }>(WITHOUT_METERS).map(
      (row) => `${formatId(row.kind, Number(row.id))}: it has no meters, or they have no account`,
    ),
  };
}

/** Ids of messages that began before it may be of records that were dropped; before all ids where none ever was. */
function earliestKeptId(usageSinceMs: bigint | null): string {
  return usageSinceMs === null ? '' : earliestRequestId(Number(usageSinceMs));
}

/** What all entries that carry others forward moved from the system's account for it, in two halves that no sum is too large for. */
function carriedForward(database: Database): bigint {
  const { high, low } = database.query(CARRIED).get() as { high: bigint; low: bigint };
  return high * 2n ** 32n + low;
}

function formatDay(dayMs: bigint): string {
  return new Date(Number(dayMs)).toISOString().slice(0, 10);
}

const ACCOUNTS = `
  SELECT m.id, m.balance, m.held, m.credit_line, m.allowance_held,
    COALESCE(e.total, 0) AS entries, COALESCE(h.total, 0) AS holds
  FROM account_meters m
  LEFT JOIN (SELECT account_id,
      SUM(CASE WHEN credit = account_id THEN amount WHEN debit = account_id THEN -amount ELSE 0 END) AS total
    FROM entries GROUP BY account_id) e ON e.account_id = m.id
  LEFT JOIN (SELECT account_id, SUM(amount) AS total FROM holds GROUP BY account_id) h ON h.account_id = m.id`;

const KEYS = `
  SELECT k.id, k.quota_held, COALESCE(h.total, 0) AS holds
  FROM key_meters k
  LEFT JOIN (SELECT key_id, SUM(amount) AS total FROM holds GROUP BY key_id) h ON h.key_id = k.id`;

// What a message's entries moved to revenue (3), from its account or from write-offs (5), against its record.
const MOVED = `
  SELECT reference, account_id, SUM(CASE WHEN credit = 3 THEN amount ELSE -amount END) AS total,
    SUM(CASE WHEN debit = 5 THEN amount WHEN credit = 5 THEN -amount ELSE 0 END) AS written_off,
    MAX(CASE WHEN kind IN ('usage', 'write_off') THEN at_ms END) AS ended_at_ms
  FROM entries WHERE kind IN ('usage', 'write_off', 'correction', 'refund') GROUP BY reference, account_id`;

// Where a record may have been dropped by its age, its entries stay for a while: unless they say that it ended later.
const UNBALANCED = `
  SELECT r.request_id FROM usage_records r
  LEFT JOIN (${MOVED}) e ON e.reference = r.request_id AND e.account_id = r.account_id
  WHERE r.cost <> COALESCE(e.total, 0) OR r.written_off <> COALESCE(e.written_off, 0)
  UNION ALL
  SELECT e.reference FROM (${MOVED}) e
  LEFT JOIN usage_records r ON r.request_id = e.reference AND r.account_id = e.account_id
  WHERE r.request_id IS NULL AND (e.ended_at_ms >= ?1 OR COALESCE(e.reference, '') >= ?2)
  LIMIT ${FAULTS_MAX}`;

// An entry is about one account: its sides are that account or the system's own (1 to 6). What carries others forward
// is about an account or one of the system's, moves money from or to the sixth, and stands where the journal is not kept.
const STRANGE_ENTRIES = `
  SELECT seq FROM entries e
  WHERE amount < 0 OR debit = credit
    OR (debit <> account_id AND debit NOT BETWEEN 1 AND 6) OR (credit <> account_id AND credit NOT BETWEEN 1 AND 6)
    OR kind NOT IN ('payment', 'promotion', 'adjustment', 'debt_write_off', 'usage', 'write_off', 'correction', 'refund',
      'carried_forward')
    OR (kind = 'carried_forward') <> (debit = 6 OR credit = 6)
    OR (kind = 'carried_forward' AND (account_id NOT IN (debit, credit) OR at_ms >= ?1))
    OR NOT (EXISTS (SELECT 1 FROM account_meters m WHERE m.id = e.account_id)
      OR (kind = 'carried_forward' AND account_id BETWEEN 1 AND 5))
  LIMIT ${FAULTS_MAX}`;

const CARRIED = `
  SELECT COALESCE(SUM(amount / 4294967296 * sign), 0) AS high, COALESCE(SUM(amount % 4294967296 * sign), 0) AS low
  FROM (SELECT amount, CASE WHEN credit = 6 THEN 1 ELSE -1 END AS sign FROM entries WHERE kind = 'carried_forward')`;

const TOTALS = `
  day_ms, account_id, key_id, model, messages, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
  cost, written_off, provider_cost, costed_messages, costed_revenue`;

// Totals are kept longer than records. Each group stands once on each side: what is on one side only differs. A total of no messages is left
// where a correction named another model.
const UNEQUAL_TOTALS = `
  WITH records AS (
    SELECT at_ms / 86400000 * 86400000 AS day_ms, account_id, key_id, model, COUNT(*) AS messages,
      SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
      SUM(cache_read_tokens) AS cache_read_tokens,
      SUM(cache_write_5m_tokens + cache_write_1h_tokens) AS cache_write_tokens, SUM(cost) AS cost,
      SUM(written_off) AS written_off, SUM(COALESCE(provider_cost, 0)) AS provider_cost,
      COUNT(provider_cost) AS costed_messages,
      SUM(CASE WHEN provider_cost IS NULL THEN 0 ELSE cost - written_off END) AS costed_revenue
    FROM usage_records WHERE at_ms >= ?1 GROUP BY 1, account_id, key_id, model),
  totals AS (SELECT * FROM daily_totals WHERE day_ms >= ?1 AND (messages <> 0 OR cost <> 0))
  SELECT DISTINCT day_ms, account_id, key_id, model FROM (
    SELECT * FROM (SELECT ${TOTALS} FROM records EXCEPT SELECT ${TOTALS} FROM totals)
    UNION ALL
    SELECT * FROM (SELECT ${TOTALS} FROM totals EXCEPT SELECT ${TOTALS} FROM records))
  LIMIT ${FAULTS_MAX}`;

const STRANGE_HOLDS = `
  SELECT h.request_id FROM holds h
  LEFT JOIN account_meters m ON m.id = h.account_id
  LEFT JOIN key_meters k ON k.id = h.key_id AND k.account_id = h.account_id
  LEFT JOIN usage_records r ON r.request_id = h.request_id
  WHERE m.id IS NULL OR k.id IS NULL OR r.request_id IS NOT NULL
    OR json_extract(h.document, '$.requestId') IS NOT h.request_id
    OR json_extract(h.document, '$.account') IS NOT h.account_id
    OR json_extract(h.document, '$.key') IS NOT h.key_id
    OR json_extract(h.document, '$.amount') IS NOT h.amount
  LIMIT ${FAULTS_MAX}`;

const MISCOUNTED = `
  WITH present AS (
    SELECT account_id, key_id, json_extract(document, '$.group') AS group_name FROM holds
    WHERE NOT json_extract(document, '$.left')),
  in_groups AS (
    SELECT m.id, g.key AS group_name, json_extract(g.value, '$.running') AS running
    FROM account_meters m, json_each(m.group_rates) g)
  SELECT 'acct' AS kind, g.id, g.running, COUNT(p.account_id) AS open FROM in_groups g
  LEFT JOIN present p ON p.account_id = g.id AND p.group_name = g.group_name
  GROUP BY g.id, g.group_name HAVING g.running IS NOT COUNT(p.account_id)
  UNION ALL
  SELECT 'key', k.id, json_extract(k.rates, '$.running'), COUNT(p.key_id) FROM key_meters k
  LEFT JOIN present p ON p.key_id = k.id
  GROUP BY k.id HAVING json_extract(k.rates, '$.running') IS NOT COUNT(p.key_id)
  LIMIT ${FAULTS_MAX}`;

// An account or key that nobody can show, but whose meters are sound, harms no money: the other way round does.
const WITHOUT_METERS = `
  SELECT 'acct' AS kind, id FROM accounts WHERE id NOT IN (SELECT id FROM account_meters)
  UNION ALL
  SELECT 'key', id FROM keys k
  WHERE NOT EXISTS (SELECT 1 FROM key_meters m WHERE m.id = k.id AND m.account_id = k.account_id)
  UNION ALL
  SELECT 'key', id FROM key_meters WHERE account_id NOT IN (SELECT id FROM account_meters)
  LIMIT ${FAULTS_MAX}`;
