// Fills a PostgreSQL database with usage by direct SQL, as fill-usage.ts does for SQLite: consistent records, journal
// entries and daily totals.

import { SQL } from 'bun';
import { makeMonthText, monthOf, nextMonth } from '../src/storage/postgres/columns.ts';
import {
  BALANCE_LEAST,
  DAY_MS,
  detailsText,
  type FilledUsage,
  modelText,
  monthTexts,
  statusText,
} from './fill-usage.ts';

const filledTables = ['usage_records', 'entries', 'daily_totals', 'attributed_totals', 'grouped_totals'];

/** Adds `records` usage records of the last days. The database must have none, and no node may use it. */
export function fillPostgres(
  url: string,
  records: number,
  nowMs: number,
  { days = 90, models }: Pick<FilledUsage, 'days' | 'models'>,
): Promise<void> {
  return fillPostgresWith(url, nowMs, days, [
    recordsText(records, nowMs - days * DAY_MS, days, models),
    `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference, note)
     SELECT account_id, at_ms, account_id, 3, cost, 'usage', request_id, NULL FROM usage_records ORDER BY at_ms, seq`,
    TOTALS,
    ...PAYMENTS,
  ]);
}

/** Runs the statements without the indexes of the filled tables. */
export async function fillPostgresWith(
  url: string,
  nowMs: number,
  days: number,
  texts: readonly string[],
): Promise<void> {
  const database = new SQL({ url, max: 1 });
  const run = (text: string) => database.unsafe(text).simple();
  for (const setting of ["maintenance_work_mem = '1GB'", "work_mem = '256MB'", 'synchronous_commit = off'])
    await run(`SET ${setting}`);
  const [first, last] = [monthOf(nowMs - days * DAY_MS), monthOf(nowMs)];
  for (let month = first; month <= last; month = nextMonth(month)) await run(makeMonthText(month));
  const indexes = await dropIndexes(database);
  for (const text of texts) await run(text);
  for (const index of indexes) await run(index);
  await run('VACUUM ANALYZE'); // updates the statistics as autovacuum would
  await database.close();
}

/** Drops the indexes, because rebuilding them at the end is faster. Returns the statements that create them. */
async function dropIndexes(database: SQL): Promise<string[]> {
  const rows = (await database.unsafe(
    `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY ($1::text[]) AND indexdef NOT LIKE 'CREATE UNIQUE%'`,
    [`{${filledTables.join(',')}}`],
  )) as { indexname: string; indexdef: string }[];
  for (const { indexname } of rows) await database.unsafe(`DROP INDEX ${indexname}`).simple();
  return rows.map(({ indexdef }) => indexdef.replace(' ON ONLY ', ' ON '));
}

/** `chance` is the same in every run; its square makes the first keys the busiest. */
function recordsText(records: number, firstMs: number, days: number, models: number | undefined): string {
  return `
    INSERT INTO usage_records (request_id, at_ms, account_id, key_id, ended_by, group_name, model, outcome, status,
      input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, web_searches,
      cost, written_off, provider_cost, details, month)
    WITH numbered AS MATERIALIZED (
      SELECT ROW_NUMBER() OVER (ORDER BY k.id) - 1 AS number, k.id, k.account_id
      FROM keys k JOIN account_meters m ON m.id = k.account_id WHERE m.balance >= ${BALANCE_LEAST}),
    drawn AS (
      SELECT n, (n * 2654435761) % 1000003 AS chance, ${firstMs} + n * ${days * DAY_MS} / ${records} AS at_ms
      FROM generate_series(0::bigint, ${records - 1}) n),
    shaped AS (
      SELECT n, chance, at_ms, 100 + chance % 4000 AS input, 20 + chance % 900 AS output,
        chance * chance / 1000003 * (SELECT COUNT(*) FROM numbered) / 1000003 AS number FROM drawn)
    SELECT 'req_' || lpad(at_ms::text, 13, '0') || lpad(n::text, 12, '0'), at_ms, k.account_id, k.id, 'settled', 'default',
      ${modelText(models)},
      CASE WHEN chance % 100 > 1 THEN 'completed' WHEN chance % 3 = 0 THEN 'upstream_cut' WHEN chance % 3 = 1 THEN 'failed'
        ELSE 'client_gone' END,
      ${statusText}, input, output, 0, 0, 0, 0, input * 1000 + output * 5000, 0,
      CASE chance % 5 WHEN 2 THEN NULL ELSE input * 800 + output * 4000 END,
      ${detailsText},
      to_char(to_timestamp(at_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMM')::int
    FROM shaped JOIN numbered k USING (number) ORDER BY n`;
}

/** In the order of the days, as the service makes them. */
const TOTALS = `
  INSERT INTO daily_totals (day_ms, account_id, key_id, model, messages, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, cost, written_off, provider_cost, costed_messages, costed_revenue, provider, tag_set)
  SELECT at_ms / ${DAY_MS} * ${DAY_MS}, account_id, key_id, model, COUNT(*), SUM(input_tokens), SUM(output_tokens), 0, 0,
    SUM(cost), 0, SUM(COALESCE(provider_cost, 0)), COUNT(provider_cost),
    SUM(CASE WHEN provider_cost IS NULL THEN 0 ELSE cost END), COALESCE(provider, ''), COALESCE(tag_set, 0)
  FROM usage_records GROUP BY 1, 2, 3, 4, provider, tag_set ORDER BY 1, random()`;

const PAYMENTS = [
  `UPDATE account_meters m SET balance = balance - used.cost
   FROM (SELECT account_id, SUM(cost) AS cost FROM daily_totals GROUP BY 1) used WHERE used.account_id = m.id`,
  `UPDATE key_meters m SET quota_used = used.cost
   FROM (SELECT key_id, SUM(cost) AS cost FROM daily_totals GROUP BY 1) used WHERE used.key_id = m.id`,
  ...monthTexts(
    "extract(epoch FROM date_trunc('month', to_timestamp(day_ms / 1000) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::bigint * 1000",
  ),
];
