// Query plans of PostgreSQL's reads: each uses the index with its order, so that a statement reads little more than
// it returns with any number of rows, even with a plan made while the tables were empty.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { DAY_MS } from '../../src/base/clock.ts';
import { bounds } from '../../src/config/config.ts';
import { retentionReads } from '../../src/storage/postgres/co-committed.ts';
import { makeMonthText, monthOf, nextMonth } from '../../src/storage/postgres/columns.ts';
import { monthReads } from '../../src/storage/postgres/month-reads.ts';
import { openClient, READ_SETTINGS, type Reader, ReadPool } from '../../src/storage/postgres/read-pool.ts';
import { postgresReader } from '../../src/storage/postgres/reader.ts';
import { reportReads } from '../../src/storage/report-reads.ts';
import { shortReads } from '../../src/storage/short-reads.ts';
import type { ReadValue } from '../../src/storage/sql-reader.ts';
import { usageSummaries } from '../../src/storage/summary-reads.ts';
import { timelineReads } from '../../src/storage/timeline-reads.ts';
import { totalsReads } from '../../src/storage/totals-reads.ts';
import { usageRankings, usageSearches } from '../../src/storage/usage-searches.ts';
import {
  allChanges,
  allRanking,
  allSearch,
  allSummary,
  allTimeline,
  allTotals,
  allUsage,
} from '../support/everything.ts';
import { cannotStartPostgres, runOn, sharedPostgres, type TestDatabase } from '../support/start-postgres.ts';
import { readRecorded } from './stored-shapes/shapes.ts';

const ROWS = 100_000;
const FIRST_MS = Date.UTC(2026, 0, 1);
const STEP_MS = 300_000; // One record each: they fill eleven and a half months.
const MONTHS = 12;
const LIMIT = 10;
/** An account with one key that has only the first records. */
const RARE = 5;

// 20 accounts (100 to 119) with 10 keys each (1000 to 1199), made by 50 actors. The rare actor has only the first
// rows.
const OF_RECORD = `CASE WHEN n <= 3 THEN ${RARE} ELSE 100 + n % 20 END AS account_id,
  CASE WHEN n <= 3 THEN ${RARE} ELSE 1000 + n % 200 END AS key_id, ${FIRST_MS} + n::bigint * ${STEP_MS} AS at_ms`;
const sampleOf = (table: string, column = 'document') =>
  `'${JSON.stringify(readRecorded()[table]?.[column]?.at(-1)?.samples[0]?.stored ?? null).replaceAll("'", "''")}'`;
const FILLED = [
  `INSERT INTO accounts SELECT n, n, ${sampleOf('accounts')} FROM generate_series(100, 119) n
   UNION ALL SELECT ${RARE}, 0, ${sampleOf('accounts')}`,
  `INSERT INTO keys SELECT n, 100 + n % 20, 'tok_' || n % 50, n, ${sampleOf('keys')} FROM generate_series(1000, 1199) n
   UNION ALL SELECT ${RARE}, ${RARE}, 'tok_rare', 0, ${sampleOf('keys')}`,
  `INSERT INTO keys SELECT n, 100 + n % 20, NULL, n, ${sampleOf('keys')} FROM generate_series(2000, 20000) n`,
  `INSERT INTO tokens SELECT n, 100 + n % 20, 'hash ' || n, n, ${sampleOf('tokens')} FROM generate_series(1, 5000) n`,
  `INSERT INTO people SELECT n, 100 + n % 20, 'e' || n, 'hash ' || n, 'owner', 'enabled', n, ${sampleOf('people')}
   FROM generate_series(1, 5000) n`,
  `INSERT INTO key_secrets SELECT 'hash ' || n, n, n FROM generate_series(1000, 1199) n`,
  `INSERT INTO account_meters SELECT id, 1, 0, 0, 0, NULL, 'total', 0, 0, 0, '{}' FROM accounts`,
  `INSERT INTO key_meters SELECT id, account_id, 'enabled', NULL, NULL, 'total', 0, 0, 0, '{}', '{}', NULL, NULL FROM keys`,
  `INSERT INTO holds SELECT 'req_hold' || n, 100, 1000, 'node-1', 1, NULL, 1, '{"openedAtMs":1}' FROM generate_series(1, 500) n`,
  `INSERT INTO usage_records (request_id, at_ms, account_id, key_id, ended_by, group_name, model, outcome, status, input_tokens,
     output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, web_searches, cost, written_off, details, month)
   SELECT 'req_' || n, at_ms, account_id, key_id, 'settled', 'default', 'm', CASE WHEN n % 100 < 2 THEN 'failed' ELSE 'completed' END,
     200, 0, 0, 0, 0, 0, 0, 0, 0, '{}', to_char(to_timestamp(at_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMM')::int
   FROM (SELECT n, ${OF_RECORD} FROM generate_series(1, ${ROWS}) n) r`,
  `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference)
   SELECT account_id, at_ms, account_id, 3, 1, 'usage', 'req_' || n
   FROM (SELECT n, ${OF_RECORD} FROM generate_series(1, ${ROWS}) n) r`,
  `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference)
   SELECT account_id, at_ms + 1, 3, account_id, 1, 'refund', 'req_' || n
   FROM (SELECT n, ${OF_RECORD} FROM generate_series(1, ${ROWS}, 100) n) r`,
  `INSERT INTO audit_records (at_ms, actor, role, address, action, object, account_id)
   SELECT at_ms, 'tok_' || key_id, 'operator', '::1', 'key.update', 'key_' || n % 5000, account_id
   FROM (SELECT n, ${OF_RECORD} FROM generate_series(1, ${ROWS}) n) r`,
  `INSERT INTO grouped_totals SELECT at_ms / 86400000 * 86400000, account_id, key_id, 'm' || n, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, '', 0, 0, 'default'
   FROM (SELECT n, ${OF_RECORD} FROM generate_series(1, ${ROWS}) n) r`,
  `INSERT INTO unit_totals SELECT day_ms, account_id, key_id, model, provider, group_name, person_id, tag_set, 'images', 1, 1 FROM grouped_totals`,
  `INSERT INTO creations SELECT 'tok_' || n, 'one', n, 'hash', 'key_1', NULL FROM generate_series(1, 5000) n`,
  `INSERT INTO claims SELECT n, 'one', 'req_' || n, 'hash', n, 1 FROM generate_series(1, 5000) n`,
  `INSERT INTO answers (request_id, at_ms, bytes, sealed, slot) SELECT 'req_' || n, n, 1, '', 0 FROM generate_series(1, 5000) n`,
];

const reportsOf = (reader: Reader) => reportReads(postgresReader(reader), monthReads(reader));

type Asked = { text: string; values: readonly ReadValue[]; name: string };

/** Every query with a plan of its own. */
async function askAll(reader: Reader): Promise<void> {
  const reports = reportsOf(reader);
  const middle = { untilMs: FIRST_MS + (ROWS / 2) * STEP_MS };
  const scopes = [{}, { account: 101 }, { account: RARE }, { key: 1001 }, { key: RARE }, { madeBy: 'tok_7' }];
  for (const scope of scopes)
    for (const time of [{}, middle, { before: 50_000 }, { before: 3 }, { ...middle, sinceMs: middle.untilMs - 1000 }])
      for (const outcome of [null, 'failed', 'quota_cut'] as const)
        await reports.listUsage({ ...allUsage, ...scope, ...time, outcome, limit: LIMIT });
  const searches = usageSearches(postgresReader(reader), { recordsMax: 2 * LIMIT, recordsAtOnce: LIMIT });
  for (const scope of scopes)
    for (const time of [{}, middle, { before: 50_000 }])
      for (const outcome of [null, 'failed'] as const)
        for (const model of ['m', 'none'])
          await searches.searchUsage({
            ...allSearch,
            ...scope,
            ...time,
            outcome,
            model,
            isCompleted: null,
            limit: LIMIT,
          });
  for (const account of [101, RARE])
    for (const time of [{}, middle, { before: 50_000 }])
      await reports.listEntries({ ...allUsage, ...time, account, limit: LIMIT });
  for (const time of [{}, middle, { before: 50_000 }])
    await reports.listEntries({ ...allUsage, ...time, account: 101, kinds: ['refund', 'payment'], limit: LIMIT });
  const message = { requestId: 'req_1001', endedAtMs: FIRST_MS + 1001 * STEP_MS };
  await reports.listEntries({ ...allUsage, account: 101, message, limit: LIMIT });
  for (const account of [101, RARE])
    for (const before of [null, 50_000])
      await reports.listCharged({ account, sinceMs: FIRST_MS, untilMs: middle.untilMs, before, limit: LIMIT });
  for (const after of [null, 'req_hold7']) await reports.listHolds({ account: 100, after, limit: LIMIT });
  for (const object of [null, 'key_7'])
    for (const account of [null, 101, RARE])
      for (const actor of [null, 'tok_1001'])
        for (const time of [{}, middle, { before: 50_000 }])
          await reports.listAudit({ ...allChanges, object, account, actor, ...time, limit: LIMIT });
  await askAccess(reader);
  const retention = retentionReads(reader);
  for (const table of ['usage_records', 'creations', 'key_secrets', 'claims', 'answers'] as const)
    for (const beforeMs of [FIRST_MS - 1, middle.untilMs]) await retention.countForgotten(table, beforeMs);
  await retention.countToCarry(101, middle.untilMs);
  await retention.listToCarry(FIRST_MS, 0);
  await retention.listToCarry(middle.untilMs, 0);
}

async function askAccess(reader: Reader): Promise<void> {
  const reads = shortReads(postgresReader(reader));
  for (const after of [null, 1100]) {
    await reads.listAccounts({ after, limit: LIMIT });
    await reads.listTokens({ accountId: null, after, limit: LIMIT });
    await reads.listTokens({ accountId: 101, after, limit: LIMIT });
    await reads.listPeople({ accountId: null, after, limit: LIMIT });
    await reads.listPeople({ accountId: 101, after, limit: LIMIT });
    for (const accountId of [null, 101, RARE])
      for (const madeBy of [null, 'tok_7', 'tok_rare'])
        await reads.listKeys({ accountId, madeBy, after, limit: LIMIT });
  }
  await reads.getKey(1001);
  await reads.getAccount(101);
  await reads.listBelow(101);
  await reads.getToken(1);
  await reads.findKeyBySecretHash(['hash 1001']);
  await reads.findTokenBySecretHash(['hash 1']);
  await reads.getPerson(1);
  await reads.findPersonByEmail('e7');
  await reads.findPersonByLinkHash(['hash 7']);
  await reads.countInRole('operator', 'enabled');
  await reads.findCreation('tok_7', 'one');
  await reads.getUsage('req_70000');
  await reads.findAnswer('req_7');
  await reads.openMessage('req_hold7');
  await reads.accountMeters(101, FIRST_MS);
  await reads.keyMeters(1001, FIRST_MS);
  await reads.callerMeters({ account: 101, above: [], payer: 101, key: 1001, person: null, groups: [] }, FIRST_MS);
}

/** Totals that add up a run in one statement. */
async function askTotals(reader: Reader): Promise<void> {
  for (const groupBy of ['day', 'model', 'key', 'account'] as const)
    for (const scope of [{}, { account: 101 }, { account: RARE }, { key: 1001 }])
      await reportsOf(reader).totalUsage({ ...allTotals, ...scope, groupBy });
  for (const scope of [{}, { account: 101 }, { account: RARE }, { key: 1001 }])
    await reportsOf(reader).topUsage({ ...allTotals, ...scope });
}

const TIMELINE = {
  runRows: 50,
  recordsMax: 200,
  cutRecordsMax: 100,
  cutRecordsOfModelMax: 50,
  sampledMax: 60,
  slicesMax: 30,
};

/** Usage over time, one run per step. */
async function askTimelines(reader: Reader): Promise<void> {
  const { readTimeline } = timelineReads(postgresReader(reader), reportsOf(reader), TIMELINE);
  const untilMs = FIRST_MS + 200 * DAY_MS;
  for (const scope of [{}, { account: 101 }, { key: 1001 }, { madeBy: 'tok_7' }, { account: 101, model: 'm' }])
    for (const [step, sinceMs] of [
      ['hour', untilMs - 2 * DAY_MS],
      ['day', untilMs - 40 * DAY_MS],
    ] as const)
      await readTimeline({ ...allTimeline, ...scope, step, sinceMs, untilMs });
}

/** Rankings and sums of records, one run per step. */
async function askSums(reader: Reader): Promise<void> {
  const on = postgresReader(reader);
  const limits = { recordsAtOnce: TIMELINE.runRows, recordsMax: TIMELINE.recordsMax, readMsMax: 10_000 };
  const filter = { provider: 'p', isStream: true, costMin: 1, modelPart: 'm', status: { least: 200, most: 299 } };
  const { rankUsage } = usageRankings(on, limits);
  const { summarizeUsage } = usageSummaries(on, totalsReads(on), limits);
  const untilMs = FIRST_MS + 200 * DAY_MS;
  for (const scope of [{}, { account: 101 }, { key: 1001 }, { madeBy: 'tok_7' }, { account: 101, ...filter }]) {
    for (const by of ['cost', 'tokens', 'latency'] as const)
      await rankUsage({ ...allRanking, ...scope, by, limit: LIMIT });
    for (const groupBy of [null, 'day', 'model', 'key', 'account'] as const)
      await summarizeUsage({ ...allSummary, ...scope, untilMs, groupBy, limit: LIMIT });
    await rankUsage({ ...allRanking, ...scope, errorCode: 'upstream_failed', limit: LIMIT });
  }
}

async function record(reader: Reader, askSome: (reader: Reader) => Promise<void>): Promise<Asked[]> {
  const asked = new Map<string, Asked>();
  const names = new Map<string, string>();
  await askSome({
    read(text, ...values) {
      const name = names.get(text) ?? `text_${names.size}`;
      names.set(text, name);
      asked.set(JSON.stringify([text, values]), { text, values, name });
      return reader.read(text, ...values);
    },
  });
  return [...asked.values()];
}

const literal = (value: ReadValue) => (typeof value === 'string' ? `'${value}'` : String(value));
const execute = ({ name, values }: Asked) =>
  `EXECUTE ${name}${values.length === 0 ? '' : `(${values.map(literal).join(', ')})`}`;

interface Plan {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

async function explain(session: SQL, asked: Asked): Promise<Plan> {
  const text = `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${execute(asked)}`;
  const [row] = await session.unsafe(text).simple();
  const told = row['QUERY PLAN'];
  return (typeof told === 'string' ? JSON.parse(told) : told)[0].Plan;
}

/** Faults of a statement's plan. A statement may look into every month. */
function faultsOf(plan: Plan): string[] {
  const nodes = nodesOf(plan);
  const names = nodes.map((node) => node['Node Type']);
  const scans = nodes.filter((node) => /Scan$/.test(node['Node Type']) && node.Plans === undefined);
  const read = scans.reduce(
    (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  );
  const looks = scans.reduce((sum, node) => sum + node['Actual Loops'], 0);
  const limits = nodes.filter((node) => node['Node Type'] === 'Limit');
  const given = Math.max(LIMIT, ...[plan, ...limits].map((node) => node['Actual Rows'] * node['Actual Loops']));
  const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  const faults = names.filter((name) => /^(?:Seq Scan|Bitmap|Sort|Incremental Sort|Hash Join|Merge Join)/.test(name));
  if (read > 3 * given + looks) faults.push(`${read} rows were read, ${given} given`);
  if (blocks > 8 * (looks + read) + 20) faults.push(`${blocks} pages were read for ${read} rows in ${looks} looks`);
  return faults;
}

describe.skipIf(cannotStartPostgres)('the plan of every statement that PostgreSQL is read by', () => {
  let filled: TestDatabase;
  let pool: ReadPool;
  const databases: TestDatabase[] = [];

  const newDatabase = async () => {
    const database = await (await sharedPostgres()).newDatabase();
    databases.push(database);
    for (let month = monthOf(FIRST_MS), made = 0; made < MONTHS; month = nextMonth(month), made++)
      await runOn(database.url, makeMonthText(month));
    return database;
  };
  beforeAll(async () => {
    filled = await newDatabase();
    for (const text of FILLED) await runOn(filled.url, text);
    await runOn(filled.url, 'ANALYZE');
    pool = new ReadPool(filled.url, { connections: 1, statementMsMax: 10_000 });
  });
  afterAll(async () => {
    await pool.close();
    for (const database of databases) await database[Symbol.asyncDispose]();
  });

  /** The session of a reader, in which all statements are prepared. */
  const openSession = async (url: string, asked: readonly Asked[]) => {
    const session = openClient(url, READ_SETTINGS);
    const texts = new Map(asked.map(({ name, text }) => [name, text]));
    for (const [name, text] of texts) await session.unsafe(`PREPARE ${name} AS ${text}`).simple();
    return session;
  };
  const allFaults = async (session: SQL, asked: readonly Asked[]) => {
    const faults: string[] = [];
    for (const one of asked)
      for (const fault of faultsOf(await explain(session, one))) faults.push(`${fault}: ${one.text} ${one.values}`);
    return faults;
  };

  test('uses one index, sorts nothing, and reads hardly more rows than it returns', async () => {
    const asked = await record(pool, askAll);
    expect(asked.length).toBeGreaterThan(150);
    const session = await openSession(filled.url, asked);
    expect(await allFaults(session, asked)).toEqual([]);
    await session.close();
  });

  test('is as good if it was made while the tables were empty', async () => {
    const asked = await record(pool, askAll);
    const empty = await newDatabase();
    const session = await openSession(empty.url, asked);
    for (const one of asked) await session.unsafe(execute(one)).simple();
    for (const text of FILLED) await runOn(empty.url, text);
    expect(await allFaults(session, asked)).toEqual([]);
    await session.close();
  });

  test('reads only the requested months', async () => {
    const day = { sinceMs: FIRST_MS + 1000 * STEP_MS, untilMs: FIRST_MS + 1200 * STEP_MS };
    const [asked] = await record(pool, async (reader) => {
      await reportsOf(reader).listUsage({ ...allUsage, ...day, account: 101 });
    });
    const session = await openSession(filled.url, [asked as Asked]);
    const nodes = nodesOf(await explain(session, asked as Asked));
    expect(nodes.filter((node) => node['Node Type'] === 'Index Scan').map((node) => node['Index Name'])).toEqual([
      'usage_records_202601_account_id_at_ms_seq_idx',
    ]);
    await session.close();
  });

  test.each([
    ['usage over time reads one run, or a few of each slice', askTimelines],
    ['rankings and sums reads one run', askSums],
  ] as const)('of %s, by an index', async (_, ask) => {
    const asked = (await record(pool, ask)).filter(({ text }) => text.includes('usage_records'));
    expect(asked.length).toBeGreaterThan(50);
    const session = await openSession(filled.url, asked);
    for (const one of asked) {
      const nodes = nodesOf(await explain(session, one));
      const scans = nodes.filter((node) => /Scan$/.test(node['Node Type']) && node.Plans === undefined);
      const ofRecords = scans.filter((node) => !/^(?:CTE|Function)/.test(node['Node Type']));
      expect(ofRecords.filter((node) => !node['Node Type'].startsWith('Index'))).toEqual([]);
      const read = ofRecords.reduce(
        (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        0,
      );
      const months = ofRecords.reduce((sum, node) => sum + node['Actual Loops'], 0);
      expect(read).toBeLessThanOrEqual(TIMELINE.recordsMax + months);
    }
    await session.close();
  });

  test('of totals reads one run of them by an index', async () => {
    const asked = await record(pool, askTotals);
    const session = await openSession(filled.url, asked);
    for (const one of asked) {
      const nodes = nodesOf(await explain(session, one));
      const scans = nodes.filter((node) => /Scan$/.test(node['Node Type']) && !node['Node Type'].startsWith('CTE'));
      expect(scans.filter((node) => !node['Node Type'].startsWith('Index'))).toEqual([]);
      const read = scans.map((node) => node['Relation Name']); // with the table that inherits from it
      expect([read.length > 0, new Set(read).size]).toEqual([true, read.length]);
      expect(scans[0]?.['Actual Rows']).toBeLessThanOrEqual(bounds.totalsRunRowsOfPostgres);
      expect(scans[0]?.['Rows Removed by Filter'] ?? 0).toBe(0);
    }
    await session.close();
  });

  test('of an account’s month uses an index of each table, and reads no other month', async () => {
    const bounded = { entriesMax: LIMIT, groupsMax: LIMIT, below: [102], tagName: 'team' };
    const month = { sinceMs: Date.UTC(2026, 2), untilMs: Date.UTC(2026, 3), ...bounded };
    const asked = await record(pool, async (reader) => {
      await reportsOf(reader).readMonth({ ...month, account: 101, messagesMax: 1e6 });
      await reportsOf(reader).readMonth({ ...month, account: 101, messagesMax: 10 });
    });
    const session = await openSession(filled.url, asked);
    const nodes = nodesOf(await explain(session, asked[0] as Asked));
    const scans = nodes.filter((node) => /Scan$/.test(node['Node Type']) && /Index/.test(node['Node Type']));
    const indexes = scans.map((node) => String(node['Index Name']).replace(/^tag_sets_.*/, 'tag_sets')); // an empty table
    expect(new Set(indexes)).toEqual(
      new Set([
        'tag_sets',
        'account_meters_pkey',
        'entries_of_account',
        'entries_of_kind',
        'installation_pkey',
        'month_changes_pkey',
        'totals_of_account',
        'attributed_totals_of_account',
        'grouped_totals_of_account',
        'unit_totals_of_account',
      ]),
    );
    const names = nodes.map((node) => node['Node Type']);
    expect(
      names.filter((name) => /^(?:Seq Scan|Bitmap|Sort|Incremental Sort|Hash Join|Merge Join)/.test(name)),
    ).toEqual([]);
    const totals = scans.find((node) => node['Index Name'] === 'grouped_totals_of_account');
    expect(totals?.['Actual Rows']).toBeGreaterThan(300);
    expect(totals?.['Rows Removed by Filter'] ?? 0).toBe(0);
    const looksAtEntries = (of: typeof nodes) =>
      of.find((node) => node['Index Name'] === 'entries_of_account')?.['Actual Loops'];
    expect(looksAtEntries(nodes)).toBe(31); // one a day
    expect(looksAtEntries(nodesOf(await explain(session, asked[1] as Asked)))).toBe(0); // too many messages
    await session.close();
  });

  test('of the end of a long list of one account, reads only that end', async () => {
    const busy = await newDatabase();
    const [account, records] = [6, 50_000];
    const ofRecord = `${account}, ${FIRST_MS} + n::bigint`; // all within one minute of one month
    await runOn(
      busy.url,
      `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference)
      SELECT ${ofRecord}, 7, 3, 1, 'usage', 'req_' || n FROM generate_series(1, ${records}) n`,
    );
    await runOn(
      busy.url,
      `INSERT INTO usage_records (account_id, at_ms, request_id, key_id, ended_by, group_name, model, outcome,
      status, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, web_searches, cost,
      written_off, details, month) SELECT ${ofRecord}, 'req_' || n, 8, 'settled', 'default', 'm', 'completed', 200, 0, 0, 0, 0, 0, 0,
      0, 0, '{}', ${monthOf(FIRST_MS)} FROM generate_series(1, ${records}) n`,
    );
    await runOn(busy.url, 'ANALYZE');
    const end = { sinceMs: FIRST_MS + records - 1, account };
    const asked = await record(pool, async (reader) => {
      await reportsOf(reader).listEntries({ ...allUsage, ...end });
      await reportsOf(reader).listUsage({ ...allUsage, ...end });
    });
    const session = await openSession(busy.url, asked);
    const plans = await Promise.all(asked.map((one) => explain(session, one)));
    expect(plans.map((plan) => plan['Actual Rows'])).toEqual([2, 2]);
    for (const plan of plans) expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(40);
    await session.close();
  });
});
