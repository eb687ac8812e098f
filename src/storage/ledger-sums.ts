// What the ledger's invariants are checked by: the texts that sum up its rows, and how those sums are told. The same for every
// database, which gives whole numbers exactly: as bigints, or as texts.

import { earliestRequestId, formatId } from '../base/ids.ts';
import { keptSinceNames, type LedgerSums } from '../ledger/ledger.ts';

export const FAULTS_MAX = 100;

type Whole = bigint | string;
type RowOf<Column extends string> = Record<Column, Whole>;

/** What the texts give, and three more that each database has in its own words. */
export interface SumRows {
  accounts: RowOf<'id' | 'balance' | 'held' | 'credit_line' | 'allowance_held' | 'entries' | 'holds'>[];
  keys: RowOf<'id' | 'quota_held' | 'holds'>[];
  counts: RowOf<'entries' | 'open_holds'>[];
  unbalanced: { request_id: string }[];
  strangeEntries: { seq: Whole }[];
  carried: RowOf<'high' | 'low'>[];
  unequalTotals: { day_ms: Whole; account_id: Whole; key_id: Whole; model: string }[];
  withoutMeters: { kind: 'acct' | 'key'; id: Whole }[];
  wrongMonths: { id: Whole; month_ms: Whole }[];
  strangeHolds: { request_id: string }[];
  miscounted: { kind: 'acct' | 'key'; id: Whole; running: Whole; open: Whole }[];
}

/** From when on usage records and journal are whole. */
export interface KeptTimes {
  usage: bigint | null;
  journal: bigint | null;
}

export const KEPT_TIMES = `
  SELECT name, value FROM installation WHERE name IN ('${keptSinceNames.usage}', '${keptSinceNames.journal}')`;

export function readKeptTimes(rows: readonly { name: string; value: string }[]): KeptTimes {
  const since = (name: string) => {
    const row = rows.find((one) => one.name === name);
    return row === undefined ? null : BigInt(row.value);
  };
  return { usage: since(keptSinceNames.usage), journal: since(keptSinceNames.journal) };
}

/** The values of the texts that have some. */
export function sumValues({ usage, journal }: KeptTimes) {
  return {
    // Ids of messages that began before it may be of records that were dropped; before all ids where none ever was.
    unbalanced: [usage ?? 0n, usage === null ? '' : earliestRequestId(Number(usage))],
    strangeEntries: [journal ?? 0n],
    unequalTotals: [usage ?? 0n],
    wrongMonths: [journal ?? 0n],
  } as const;
}

export function describeSums(rows: SumRows, kept: KeptTimes): LedgerSums {
  const { usage, journal } = kept;
  const [counts] = rows.counts;
  return {
    accounts: rows.accounts.map((row) => ({
      id: formatId('acct', Number(row.id)),
      balance: BigInt(row.balance),
      held: BigInt(row.held),
      creditLine: BigInt(row.credit_line),
      allowanceHeld: BigInt(row.allowance_held),
      entries: BigInt(row.entries),
      holds: BigInt(row.holds),
    })),
    keys: rows.keys.map((row) => ({
      id: formatId('key', Number(row.id)),
      quotaHeld: BigInt(row.quota_held),
      holds: BigInt(row.holds),
    })),
    entries: Number(counts?.entries),
    openHolds: Number(counts?.open_holds),
    usageSinceMs: usage === null ? null : Number(usage),
    journalSinceMs: journal === null ? null : Number(journal),
    unbalancedRequests: rows.unbalanced.map((row) => row.request_id),
    strangeEntries: [
      ...rows.strangeEntries.map((row) => `entry ${row.seq}: it moves nothing sensible, or nobody's money`),
      ...(carriedForward(rows) === 0n ? [] : ['the entries that carry others forward do not add up to nothing']),
    ],
    unequalTotals: rows.unequalTotals.map(
      (row) =>
        `${formatId('acct', Number(row.account_id))} ${formatId('key', Number(row.key_id))} ${row.model}: the total of ${formatDay(row.day_ms)} is not the sum of its usage records`,
    ),
    strangeHolds: rows.strangeHolds.map(
      (row) => `${row.request_id}: its hold has no account or key, is of an ended message, or is at odds with itself`,
    ),
    miscountedRunning: rows.miscounted.map(
      (row) =>
        `${formatId(row.kind, Number(row.id))} running messages: ${row.running} are stored, ${row.open} have open holds`,
    ),
    wrongMonths: rows.wrongMonths.map((row) => {
      const account = formatId('acct', Number(row.id));
      if (Number(row.month_ms) === 0)
        return `${account}: what its months changed is not what it began the last one with`;
      return `${account}: the change of its balance in ${formatDay(row.month_ms).slice(0, 7)} is not the sum of its entries`;
    }),
    withoutMeters: rows.withoutMeters.map(
      (row) => `${formatId(row.kind, Number(row.id))}: it has no meters, or they have no account`,
    ),
  };
}

/** What all entries that carry others forward moved from the system's account for it, in two halves that no sum is too large for. */
function carriedForward({ carried: [row] }: SumRows): bigint {
  return row === undefined ? 0n : BigInt(row.high) * 2n ** 32n + BigInt(row.low);
}

function formatDay(dayMs: Whole): string {
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

const COUNTS = `
  SELECT (SELECT COUNT(*) FROM entries) AS entries, (SELECT COUNT(*) FROM holds) AS open_holds`;

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
  WHERE r.request_id IS NULL AND (e.ended_at_ms >= $1 OR COALESCE(e.reference, '') >= $2)
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
    OR (kind = 'carried_forward' AND (account_id NOT IN (debit, credit) OR at_ms >= $1))
    OR NOT (EXISTS (SELECT 1 FROM account_meters m WHERE m.id = e.account_id)
      OR (kind = 'carried_forward' AND account_id BETWEEN 1 AND 5))
  LIMIT ${FAULTS_MAX}`;

const CARRIED = `
  SELECT COALESCE(SUM(amount / 4294967296 * sign), 0) AS high, COALESCE(SUM(amount % 4294967296 * sign), 0) AS low
  FROM (SELECT amount, CASE WHEN credit = 6 THEN 1 ELSE -1 END AS sign FROM entries WHERE kind = 'carried_forward') moved`;

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
    FROM usage_records WHERE at_ms >= $1 GROUP BY 1, account_id, key_id, model),
  totals AS (SELECT * FROM daily_totals WHERE day_ms >= $1 AND (messages <> 0 OR cost <> 0))
  SELECT DISTINCT day_ms, account_id, key_id, model FROM (
    SELECT * FROM (SELECT ${TOTALS} FROM records EXCEPT SELECT ${TOTALS} FROM totals) recorded
    UNION ALL
    SELECT * FROM (SELECT ${TOTALS} FROM totals EXCEPT SELECT ${TOTALS} FROM records) added_up) unequal
  LIMIT ${FAULTS_MAX}`;

/**
 * What stands of each kept month against its entries, and all that stands against the balance; months of the latter are 0.
 * `monthOfDay`: how the database writes the beginning of the month of a day that is numbered `day`, in milliseconds.
 */
export function wrongMonthsText(monthOfDay: string): string {
  return `
  WITH days AS (
    SELECT account_id, at_ms / 86400000 AS day,
      SUM(CASE WHEN credit = account_id THEN amount WHEN debit = account_id THEN -amount ELSE 0 END) AS change
    FROM entries WHERE at_ms >= $1 GROUP BY account_id, at_ms / 86400000),
  changes AS (
    SELECT account_id, ${monthOfDay} AS month_ms, change FROM days
    UNION ALL SELECT account_id, month_ms, -change FROM month_changes WHERE month_ms >= $1
    UNION ALL SELECT id, month_start_ms, month_opening - balance FROM account_meters WHERE month_start_ms >= $1)
  SELECT account_id AS id, month_ms FROM changes GROUP BY account_id, month_ms HAVING SUM(change) <> 0
  UNION ALL
  SELECT m.id, 0 FROM account_meters m
  LEFT JOIN (SELECT account_id, SUM(change) AS total FROM month_changes GROUP BY account_id) c ON c.account_id = m.id
  WHERE m.month_opening <> COALESCE(c.total, 0)
  LIMIT ${FAULTS_MAX}`;
}

// An account or key that nobody can show, but whose meters are sound, harms no money: the other way round does.
const WITHOUT_METERS = `
  SELECT 'acct' AS kind, id FROM accounts WHERE id NOT IN (SELECT id FROM account_meters)
  UNION ALL
  SELECT 'key', id FROM keys k
  WHERE NOT EXISTS (SELECT 1 FROM key_meters m WHERE m.id = k.id AND m.account_id = k.account_id)
  UNION ALL
  SELECT 'key', id FROM key_meters WHERE account_id NOT IN (SELECT id FROM account_meters)
  LIMIT ${FAULTS_MAX}`;

/** Values are numbered $1, $2 …, as sumValues has them. */
export const sumTexts = {
  accounts: ACCOUNTS,
  keys: KEYS,
  counts: COUNTS,
  unbalanced: UNBALANCED,
  strangeEntries: STRANGE_ENTRIES,
  carried: CARRIED,
  unequalTotals: UNEQUAL_TOTALS,
  withoutMeters: WITHOUT_METERS,
} as const;
