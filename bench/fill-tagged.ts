// Fills a database with the usage of a company by direct SQL: records with five tags, people, sessions and accounts in a tree,
// their sets of tags, journal entries and daily totals. The same statements for SQLite and PostgreSQL.

import { tagSetOf, tagsText } from '../src/accounts/accounts.ts';
import { monthStartMs } from '../src/base/clock.ts';
import { DAY_MS } from './fill-usage.ts';

export const MODELS = 30;
const ENVIRONMENTS = ['prod', 'test', 'dev'];
const FEATURES = ['chat', 'search', 'review', 'agent'];
/** Sets of tags of one key. */
const SETS = ENVIRONMENTS.length * FEATURES.length;

/** A key of the company, with its place. `person` is 0 for a service key. */
export interface CompanyKey {
  id: number;
  account: number;
  /** The accounts above, nearest first; the last one pays. */
  above: readonly number[];
  person: number;
}

interface Dialect {
  /** Digits of a number, filled with zeros. */
  digits(expression: string, length: number): string;
  numbers(count: number): string;
  /** Further columns of usage_records, and their values. */
  more: readonly [columns: string, values: string];
}

export const sqlite: Dialect = {
  digits: (expression, length) => `printf('%0${length}d', ${expression})`,
  numbers: (count) =>
    `WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count - 1})`,
  more: ['', ''],
};

export const postgres: Dialect = {
  digits: (expression, length) => `lpad((${expression})::text, ${length}, '0')`,
  numbers: (count) => `WITH numbers AS (SELECT n FROM generate_series(0::bigint, ${count - 1}) n)`,
  more: [', month', ", to_char(to_timestamp(at_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMM')::int"],
};

/** The statements, in order. */
export function taggedTexts(
  { digits, numbers, more }: Dialect,
  keys: readonly CompanyKey[],
  records: number,
  nowMs: number,
  days: number,
): string[] {
  const firstMs = nowMs - days * DAY_MS;
  const sets = setsOf(keys);
  const details = `'{"firstTokenMs":' || (200 + chance % 2000) || ',"others":["' || provider || '","upstream",1,"reported",'
    || '{"tier":"standard","multiplier":"1","input":"1","output":"5"},[["provider","upstream",null,"answered",200,null,3,812]],2,'
    || (300 + chance % 9000) || ',null,0,null,' || s.tags || '],"chain":' || s.chain || '}'`;
  return [
    `CREATE TABLE bench_sets (number bigint, place bigint, key_id bigint, account_id bigint, payer_id bigint, person_id bigint,
       tag_set bigint, tags text, chain text, PRIMARY KEY (number, place))`,
    ...chunks(sets, 500).map((some) => `INSERT INTO bench_sets VALUES ${some.join(', ')}`),
    ...[0, 1, 2, 3].map(
      (before) => `INSERT INTO tag_sets (account_id, id, month_ms, tags)
        SELECT DISTINCT account_id, tag_set, ${monthStartMs(nowMs, before)}, tags FROM bench_sets`,
    ),
    `INSERT INTO usage_records (request_id, at_ms, account_id, key_id, ended_by, group_name, model, outcome, status,
       input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, web_searches,
       cost, written_off, provider_cost, details, person_id, session, tag_set, provider, group_in_totals${more[0]})
     ${numbers(records)},
     drawn AS (SELECT n, (n * 2654435761) % 1000003 AS chance, (n * 40503) % 9973 AS lot,
       ${firstMs} + n * ${days * DAY_MS} / ${records} AS at_ms FROM numbers),
     shaped AS (SELECT n, chance, at_ms, lot % ${SETS} AS place, chance * chance / 1000003 * ${keys.length} / 1000003 AS number,
       100 + chance % 4000 AS input, 20 + chance % 900 AS output FROM drawn),
     sold AS (SELECT f.*, s.key_id, s.account_id, s.person_id, s.tag_set, s.tags, s.chain,
         (f.number + chance % 3) % ${MODELS} AS model, 'provider-' || ((f.number + chance % 3) % ${MODELS} % 4) AS provider,
         'group-' || ((f.number + chance % 3) % ${MODELS} % 5) AS group_name
       FROM shaped f JOIN bench_sets s ON s.number = f.number AND s.place = f.place)
     SELECT 'req_' || ${digits('at_ms', 13)} || ${digits('n', 12)}, at_ms, s.account_id, s.key_id, 'settled', s.group_name,
       'model-' || s.model, CASE WHEN chance % 100 > 1 THEN 'completed' ELSE 'client_gone' END, 200,
       input, output, 0, 0, 0, 0, input * 1000 + output * 5000, 0, input * 800 + output * 4000, ${details},
       CASE s.person_id WHEN 0 THEN NULL ELSE s.person_id END,
       CASE WHEN chance % 5 < 3 THEN 'session-' || s.number || '-' || (n / ${keys.length * 20}) END, s.tag_set,
       provider, 1${more[1]}
     FROM sold s ORDER BY n`,
    `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference, note)
     SELECT ${payer(keys)}, at_ms, ${payer(keys)}, 3, cost, 'usage', request_id, NULL FROM usage_records ORDER BY at_ms, seq`,
    `INSERT INTO ${more[0] === '' ? 'daily_totals' : 'grouped_totals'} (day_ms, account_id, key_id, model, messages,
       input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, written_off, provider_cost, costed_messages,
       costed_revenue, provider, person_id, tag_set, group_name)
     SELECT at_ms / ${DAY_MS} * ${DAY_MS}, account_id, key_id, model, COUNT(*), SUM(input_tokens), SUM(output_tokens), 0, 0,
       SUM(cost), 0, SUM(provider_cost), COUNT(*), SUM(cost), provider, COALESCE(person_id, 0), tag_set, group_name
     FROM usage_records GROUP BY 1, 2, 3, model, provider, group_name, person_id, tag_set ORDER BY 1`,
    ...paymentTexts(
      keys,
      monthStartMs(nowMs, 0),
      [1, 2, 3].map((before) => monthStartMs(nowMs, before)),
    ),
    'DROP TABLE bench_sets',
  ];
}

/** Records what the company's balance paid in each month. Allowances and budgets keep only what they used in current windows: nothing. */
function paymentTexts(keys: readonly CompanyKey[], monthMs: number, earlier: readonly number[]): string[] {
  const of = (sinceMs: number, untilMs: number) =>
    `(SELECT COALESCE(SUM(cost), 0) FROM daily_totals WHERE day_ms >= ${sinceMs} AND day_ms < ${untilMs})`;
  const company = payer(keys);
  return [
    ...earlier.map(
      (startMs) => `INSERT INTO month_changes (account_id, month_ms, change)
        VALUES (${company}, ${startMs}, -${of(startMs, monthStartMs(startMs, -1))})`,
    ),
    `UPDATE account_meters SET balance = balance - ${of(0, Number.MAX_SAFE_INTEGER)}, month_opening = -${of(0, monthMs)}
     WHERE id = ${company}`,
    `UPDATE key_meters SET quota_used = used.cost
     FROM (SELECT key_id, SUM(cost) AS cost FROM daily_totals GROUP BY key_id) used WHERE used.key_id = key_meters.id`,
  ];
}

function payer([key]: readonly CompanyKey[]): number {
  return key?.above.at(-1) ?? key?.account ?? 0;
}

/** The rows of the sets of each key: team and cost centre by its account, the project by the key. */
function setsOf(keys: readonly CompanyKey[]): string[] {
  return keys.flatMap(({ id, account, above, person }, number) =>
    Array.from({ length: SETS }, (_, place) => {
      const tags = {
        team: `team-${account % 97}`,
        cost_centre: `${4000 + (account % 23)}`,
        project: `project-${number % 40}`,
        env: ENVIRONMENTS[place % ENVIRONMENTS.length] ?? '',
        feature: FEATURES[Math.floor(place / ENVIRONMENTS.length)] ?? '',
      };
      const text = tagsText(tags);
      const paying = above.at(-1) ?? account;
      const chain = JSON.stringify([above, paying, person === 0 ? null : person]);
      return `(${number}, ${place}, ${id}, ${account}, ${paying}, ${person}, ${tagSetOf(text)}, '${text}', '${chain}')`;
    }),
  );
}

function chunks<Value>(values: readonly Value[], length: number): Value[][] {
  const count = Math.ceil(values.length / length);
  return Array.from({ length: count }, (_, at) => values.slice(at * length, (at + 1) * length) as Value[]);
}
