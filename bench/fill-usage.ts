// Fills a SQLite database with usage by direct SQL: consistent records, journal entries and daily totals, which pass
// `turnpike check`.

import { Database } from 'bun:sqlite';

export const DAY_MS = 86_400_000;
export const BALANCE_LEAST = 100_000 * 1_000_000_000; // in nanodollars, for the busiest account
const filledTables = ['usage_records', 'entries', 'daily_totals'];

/** Details of every record, as src/storage/usage-details.ts writes them. */
const details = JSON.stringify({
  firstTokenMs: 1000,
  others: [
    'sandbox',
    'sandbox-echo',
    1,
    'reported',
    { tier: 'standard', multiplier: '1', input: '1', output: '5' },
    [['sandbox', 'sandbox-echo', null, 'answered', 200, null, 3, 812]],
    2,
    2310,
    null,
  ],
});
const failedDetails = details.replace(
  'null]}',
  'null,0,["upstream_overloaded","The provider of this model is overloaded."]]}',
);

const FAILED = 'chance % 100 <= 1 AND chance % 3 = 1';

/** SQL over `chance`: the details, with their own times, and the status. One percent failed because of an overloaded provider. */
export const detailsText = `replace(replace(CASE WHEN ${FAILED} THEN '${failedDetails}' ELSE '${details}' END,
  ':1000', ':' || (200 + chance % 2000)), ',2310,', ',' || (300 + chance % 9000) || ',')`;
export const statusText = `CASE WHEN ${FAILED} THEN 529 ELSE 200 END`;

/** Which records are kept, as SQL over `at_ms` and `lot` (0 to 99): more on working days and by day. */
export const weeklyCourse = `lot < 65
  * CASE WHEN (at_ms / ${DAY_MS} + 4) % 7 IN (0, 6) THEN 0.45 ELSE 1 END
  * CASE WHEN at_ms % ${DAY_MS} / 3600000 BETWEEN 7 AND 17 THEN 1.4 WHEN at_ms % ${DAY_MS} / 3600000 > 20 THEN 0.4 ELSE 0.7 END`;

export interface FilledUsage {
  /** By default 90. */
  days?: number | undefined;
  /** Which records are kept; by default all. */
  course?: string;
  /** How many models there are; by default four. */
  models?: number | undefined;
}

/** SQL over `chance` and the `number` of the key: the model. A key uses four. */
export function modelText(models: number | undefined): string {
  if (models !== undefined) return `'model-' || ((number * 7 + chance % 5 % 4) % ${models})`;
  return `CASE chance % 5 WHEN 0 THEN 'claude-haiku' WHEN 1 THEN 'claude-opus' WHEN 2 THEN 'llama' ELSE 'claude-sonnet' END`;
}

/**
 * Adds `records` usage records, spread over the keys of funded accounts: a few have most. Their cost is taken from
 * the balances. The database must have no records, and no server may have it open.
 */
export function fillUsage(path: string, records: number, nowMs: number, usage: FilledUsage = {}): void {
  fillDatabase(path, (database) => {
    insertRecords(database, records, nowMs, usage);
    insertEntries(database);
    insertTotals(database);
    payForThem(database);
    for (const text of monthTexts(
      "CAST(strftime('%s', day_ms / 1000, 'unixepoch', 'start of month') AS INTEGER) * 1000",
    ))
      database.run(text);
  });
}

/** Calls `fill` in a transaction, without the indexes of the filled tables. */
export function fillDatabase(path: string, fill: (database: Database) => void): void {
  const database = new Database(path, { readwrite: true });
  // Durability is not needed: a half-filled database is created again.
  for (const setting of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -500000', 'temp_store = MEMORY'])
    database.run(`PRAGMA ${setting}`);
  const indexes = dropIndexes(database);
  database.transaction(() => fill(database))();
  for (const index of indexes) database.run(index);
  database.run('PRAGMA journal_mode = WAL');
  database.close();
}

/** Drops the indexes, because rebuilding them at the end is faster. Returns the statements that create them. */
function dropIndexes(database: Database): string[] {
  const places = filledTables.map(() => '?').join(', ');
  const indexes = database
    .query(`SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (${places})`)
    .all(...filledTables) as { name: string; sql: string }[];
  for (const { name } of indexes) database.run(`DROP INDEX ${name}`);
  return indexes.map(({ sql }) => sql);
}

function insertRecords(database: Database, records: number, nowMs: number, usage: FilledUsage): void {
  const { days = 90, course = 'TRUE', models } = usage;
  database.run(`CREATE TEMP TABLE numbered_keys AS
    SELECT ROW_NUMBER() OVER (ORDER BY k.id) - 1 AS number, k.id, k.account_id
    FROM keys k JOIN account_meters m ON m.id = k.account_id WHERE m.balance >= ${BALANCE_LEAST}`);
  database.run('CREATE UNIQUE INDEX temp.keys_by_number ON numbered_keys (number)');
  const { keys } = database.query('SELECT COUNT(*) AS keys FROM numbered_keys').get() as { keys: number };
  const firstMs = nowMs - days * DAY_MS;
  // `chance` is the same in every run; its square makes the first keys the busiest.
  database.run(
    `WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${records - 1}),
      drawn AS (SELECT n, (n * 2654435761) % 1000003 AS chance, (n * 40503) % 9973 % 100 AS lot,
        ${firstMs} + n * ${days * DAY_MS} / ${records} AS at_ms FROM numbers),
      shaped AS (SELECT n, chance, at_ms, chance * chance / 1000003 * ${keys} / 1000003 AS number,
        100 + chance % 4000 AS input, 20 + chance % 900 AS output FROM drawn WHERE ${course})
    INSERT INTO usage_records (request_id, at_ms, account_id, key_id, ended_by, group_name, model, outcome, status,
      input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, web_searches,
      cost, written_off, provider_cost, details)
    SELECT printf('req_%013d%012d', at_ms, n), at_ms, k.account_id, k.id, 'settled', 'default',
      ${modelText(models)},
      CASE WHEN chance % 100 > 1 THEN 'completed' WHEN chance % 3 = 0 THEN 'upstream_cut' WHEN chance % 3 = 1 THEN 'failed'
        ELSE 'client_gone' END,
      ${statusText}, input, output, 0, 0, 0, 0, input * 1000 + output * 5000, 0,
      CASE chance % 5 WHEN 2 THEN NULL ELSE input * 800 + output * 4000 END, ${detailsText}
    FROM shaped JOIN numbered_keys k USING (number)`,
  );
}

function insertEntries(database: Database): void {
  database.run(`INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference, note)
    SELECT account_id, at_ms, account_id, 3, cost, 'usage', request_id, NULL FROM usage_records ORDER BY seq`);
}

function insertTotals(database: Database): void {
  database.run(`INSERT INTO daily_totals (day_ms, account_id, key_id, model, messages, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, cost, written_off, provider_cost, costed_messages, costed_revenue, provider, tag_set)
    SELECT at_ms / ${DAY_MS} * ${DAY_MS}, account_id, key_id, model, COUNT(*), SUM(input_tokens), SUM(output_tokens), 0, 0,
      SUM(cost), 0, SUM(COALESCE(provider_cost, 0)), COUNT(provider_cost),
      SUM(CASE WHEN provider_cost IS NULL THEN 0 ELSE cost END), COALESCE(provider, ''), COALESCE(tag_set, 0)
    FROM usage_records GROUP BY 1, 2, 3, 4, provider, tag_set`);
}

/** The statement for the months before the first payments. `monthOfDay` is the SQL of the month of `day_ms`. */
export function monthTexts(monthOfDay: string): string[] {
  return [
    `INSERT INTO month_changes (account_id, month_ms, change)
     SELECT t.account_id, t.month_ms, -SUM(t.cost) FROM (SELECT account_id, ${monthOfDay} AS month_ms, cost FROM daily_totals) t
     JOIN account_meters m ON m.id = t.account_id WHERE t.month_ms < m.month_start_ms GROUP BY t.account_id, t.month_ms`,
    `UPDATE account_meters SET month_opening =
     (SELECT COALESCE(SUM(change), 0) FROM month_changes c WHERE c.account_id = account_meters.id)`,
  ];
}

function payForThem(database: Database): void {
  database.run(`UPDATE account_meters SET balance = balance - used.cost
    FROM (SELECT account_id, SUM(cost) AS cost FROM daily_totals GROUP BY 1) used WHERE used.account_id = account_meters.id`);
  database.run(`UPDATE key_meters SET quota_used = used.cost
    FROM (SELECT key_id, SUM(cost) AS cost FROM daily_totals GROUP BY 1) used WHERE used.key_id = key_meters.id`);
}
