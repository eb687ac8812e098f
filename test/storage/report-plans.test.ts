// Query plans of SQLite's reports: each uses an index and neither scans nor sorts what grows without a bound. Every
// statement that the questions prepare is checked.

import type { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { accountOrders, keyOrders, type SortedAccounts, type SortedKeys } from '../../src/accounts/accounts.ts';
import { DAY_MS } from '../../src/base/clock.ts';
import type { ShownBatchPage } from '../../src/batches/batches.ts';
import type { DeliveryPage } from '../../src/delivery/destination.ts';
import type { EventType } from '../../src/events/events.ts';
import type { EntryPage } from '../../src/ledger/ledger.ts';
import type { TotalsGrouping } from '../../src/reports/reports.ts';
import { batchReads } from '../../src/storage/batch-rows.ts';
import { accessReads } from '../../src/storage/short-reads.ts';
import { sqliteReader } from '../../src/storage/sqlite/reader.ts';
import {
  databasePath,
  openForReading,
  openForWriting,
  type ReportReads,
  reportReads,
} from '../../src/storage/sqlite/sqlite.ts';
import { refusalGroupings } from '../../src/traffic/traffic.ts';
import type { RefusalPage } from '../../src/traffic/traffic-store.ts';
import {
  allChanges,
  allRanking,
  allRefusals,
  allSearch,
  allSummary,
  allTimeline,
  allTotals,
  allUsage,
} from '../support/everything.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A connection to a database of a few records, and the text of every statement prepared on it. */
function openRecorded() {
  const directory = temporaryDirectory();
  const path = databasePath(directory.path);
  fill(path, 20);
  const database = openForReading(path);
  const texts: string[] = [];
  const recorded = new Proxy(database, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...values: unknown[]) => {
        if (['prepare', 'query', 'run', 'exec'].includes(String(name))) texts.push(String(values[0]));
        return value.apply(target, values);
      };
    },
  }) as Database;
  const close = () => {
    database.close();
    directory[Symbol.dispose]();
  };
  return { database, recorded, texts, close };
}

/** Steps of the plan, such as "SEARCH usage_records USING INDEX …". */
function planOf(database: Database, text: string): string[] {
  return (database.query(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]).map(({ detail }) => detail);
}

/** Every combination of members, each with its own or another value. */
function combinations<Page extends object>(page: Page, others: Partial<Page>): Page[] {
  let pages = [page];
  for (const [name, value] of Object.entries(others)) pages = pages.flatMap((one) => [one, { ...one, [name]: value }]);
  return pages;
}

const ofRefusals: Partial<RefusalPage> = {
  account: 1,
  key: 2,
  madeBy: 'tok_a',
  code: 'key_invalid',
  before: 3,
  untilMs: 4,
};
const anyFilter = { isCompleted: true, provider: 'p', errorCode: 'upstream_overloaded' };

const partOfDays = { isExact: true, sinceMs: 4, untilMs: 2 * DAY_MS + 1 };

/** Every query of each kind with a plan of its own. */
const questions: { [Name in keyof ReportReads]: Parameters<ReportReads[Name]>[0][] } = {
  listUsage: combinations(allUsage, {
    account: 1,
    key: 2,
    madeBy: 'tok_a',
    outcome: 'failed',
    before: 3,
    untilMs: 4,
  }),
  listEntries: combinations<EntryPage>(
    { ...allUsage, account: 1 },
    { before: 3, sinceMs: 4, kinds: ['refund'], message: { requestId: 'req_1', endedAtMs: 5 } },
  ),
  listCharged: combinations(
    { account: 1, sinceMs: 2, untilMs: 3, before: null as number | null, limit: 10 },
    { before: 3 },
  ),
  listHolds: combinations({ account: 1, after: null as string | null, limit: 10 }, { after: 'req_1' }),
  readMonth: [
    { account: 1, below: [2], tagName: 'team', sinceMs: 0, untilMs: 1, messagesMax: 9, entriesMax: 1, groupsMax: 1 },
  ],
  listAudit: combinations(allChanges, { account: 1, object: 'key_1', actor: 'tok_a', before: 3, sinceMs: 4 }),
  listEvents: combinations(
    {
      account: null as number | null,
      types: null as readonly EventType[] | null,
      sinceMs: null as number | null,
      untilMs: null as number | null,
      before: null as number | null,
      limit: 10,
    },
    { account: 1, types: ['key.created'], before: 3, sinceMs: 4, untilMs: 5 },
  ),
  listDeliveries: combinations<DeliveryPage>(
    { accountId: null, destinationId: null, status: null, sinceMs: null, untilMs: null, before: null, limit: 10 },
    { accountId: 1, destinationId: 2, status: 'failed', before: 3, sinceMs: 4, untilMs: 5 },
  ),
  searchUsage: combinations(allSearch, {
    account: 1,
    key: 2,
    madeBy: 'tok_a',
    outcome: 'failed',
    before: 3,
    order: 'oldest',
    ...anyFilter,
  }),
  rankUsage: (['cost', 'tokens', 'latency'] as const).flatMap((by) =>
    combinations(
      { ...allRanking, by },
      { account: 1, key: 2, madeBy: 'tok_a', order: 'lowest', after: { start: [9, 9], end: [2, 2], value: 1, seq: 3 } },
    ),
  ),
  summarizeUsage: [null, 'day', 'model', 'key', 'account'].flatMap((groupBy) =>
    combinations(
      { ...allSummary, groupBy: groupBy as TotalsGrouping | null },
      {
        account: 1,
        key: 2,
        madeBy: 'tok_a',
        isOfDays: true,
        errorCode: 'upstream_overloaded',
      },
    ),
  ),
  sortAccounts: accountOrders.flatMap((by) =>
    combinations<SortedAccounts>(
      { by, order: 'asc', after: null, limit: 10, name: null, group: null },
      { order: 'desc', after: { value: 1, id: 2 }, name: 'a', group: 'default' },
    ),
  ),
  sortKeys: keyOrders.flatMap((by) =>
    combinations<SortedKeys>(
      { by, order: 'asc', after: null, limit: 10, accountId: null, madeBy: null, text: null, status: null },
      {
        order: 'desc',
        after: { value: 1, id: 2 },
        accountId: 1,
        madeBy: 'tok_a',
        text: 'a',
        status: { is: 'expired', atMs: 1 },
      },
    ),
  ),
  readTimeline: combinations(allTimeline, {
    step: 'day',
    account: 1,
    key: 2,
    madeBy: 'tok_a',
    model: 'm',
    untilMs: 2 * DAY_MS,
  }).map((question) => ({ ...question, untilMs: 2 * DAY_MS })),
  totalUsage: (['day', 'model', 'key', 'account'] as const).flatMap((groupBy) =>
    combinations({ ...allTotals, groupBy }, { account: 1, key: 2, madeBy: 'tok_a', model: 'm', ...partOfDays }),
  ),
  compareUsage: [{ ...allTotals, groupBy: 'key', previous: { sinceMs: 0, untilMs: 1 } }],
  searchAccountNames: [{ text: 'a', accountId: null, madeBy: null, limit: 8 }],
  searchKeyNames: combinations(
    { text: 'a', accountId: null as number | null, madeBy: null as string | null, limit: 8 },
    { accountId: 1, madeBy: 'tok_a' },
  ),
  searchPersonNames: combinations(
    { text: 'a', accountId: null as number | null, madeBy: null, limit: 8 },
    { accountId: 1 },
  ),
  searchDestinationNames: combinations(
    { text: 'a', accountId: null as number | null, madeBy: null, limit: 8 },
    { accountId: 1 },
  ),
  topUsage: combinations(allTotals, { account: 1, key: 2, madeBy: 'tok_a', model: 'm', ...partOfDays }),
  listRefusals: combinations(allRefusals, ofRefusals),
  totalRefusals: refusalGroupings.flatMap((groupBy) =>
    combinations(allRefusals, ofRefusals).map((page) => ({ ...page, groupBy })),
  ),
  listFrequentRefusals: [{ sinceMs: 0, least: 1, limit: 10 }],
  findRefusalsBeyond: [1],
  listRouteHours: [0],
};

describe('the plan of every statement of reports', () => {
  const opened = openRecorded();
  afterAll(opened.close);
  let texts: string[] = [];
  let plans: { text: string; plan: string[] }[] = [];
  beforeAll(async () => {
    const reads = reportReads(opened.recorded);
    for (const [name, pages] of Object.entries(questions))
      for (const page of pages) await reads[name as keyof ReportReads](page as never);
    expect(Object.keys(questions).toSorted()).toEqual(Object.keys(reads).toSorted());
    texts = [...new Set(opened.texts)].filter((text) => !/^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/.test(text));
    plans = texts.map((text) => ({ text, plan: planOf(opened.database, text) }));
  });

  /** Sums over the records or totals between two positions. */
  const sumOfRun =
    /FROM \(SELECT r\.\* FROM (?:usage_records|refusals) r .* ORDER BY [^)]*\) r\b|FROM (?:daily|unit)_totals r .* GROUP BY/s;

  /** A bounded number of accounts or keys. */
  const sortedRows =
    /^SELECT s\.id, s\.value FROM \(SELECT .* FROM (?:(?:accounts|keys) r|\w+_meters m) .* LIMIT \?\d+\) s\b/s;
  /** The highest or lowest values of the records between two positions. */
  const ranking = /^SELECT v\..* FROM \(SELECT .* FROM usage_records r .*(?:>=|<=) [(?].*\) v\b.* LIMIT/s;

  const isSort = (text: string) => ranking.test(text) || sortedRows.test(text);

  test('uses an index or the row id, and scans only a bounded number of rows or those found that way', () => {
    expect(texts.length).toBeGreaterThan(60);
    const scans = plans.filter(({ plan }) =>
      plan.some((step) => /^SCAN (?!\(subquery|r$|d$|s$|g$|e .*VIRTUAL)/.test(step)),
    );
    // All accounts or keys up to a bound, or a page of the index of an order; of accounts, only the names that the index has.
    const ofAll =
      /^(?:CO-ROUTINE s|SCAN [ms]|SCAN r USING .*INDEX \w+_(?:by_name|in_order)|SEARCH [mr] .*|SCAN e .*|USE TEMP .*|LIST SUBQUERY \d|CREATE BLOOM FILTER|SCAN r USING COVERING INDEX accounts_by_name)$/;
    const isOfAll = ({ plan, text }: (typeof plans)[number]) =>
      /\bLIMIT\b/.test(text) && plan.every((step) => ofAll.test(step));
    expect(scans.filter((one) => !isOfAll(one))).toEqual([]);
    const searches = plans.filter(({ plan }) => plan.some((step) => step.startsWith('SEARCH')));
    expect(plans.filter((one) => !searches.includes(one) && !isOfAll(one))).toEqual([]);
  });

  test('sorts only the groups, or the values, of a bounded run of totals or records', () => {
    const sorts = plans.filter(({ plan }) => plan.some((step) => step.includes('TEMP B-TREE')));
    const ofMonth =
      /FROM \(\s*SELECT \* FROM (?:daily|unit)_totals .* LIMIT \?[34]\)\s+GROUP BY (?:[a-z_, ]+|1, 2(?:, unit)?\) g)$/s;
    expect(sorts.filter(({ text }) => !sumOfRun.test(text) && !ofMonth.test(text) && !isSort(text))).toEqual([]);
    const others = sorts.filter(({ text }) => !isSort(text));
    expect(others.flatMap(({ plan }) => plan.filter((step) => /TEMP B-TREE FOR (?!GROUP BY)/.test(step)))).toEqual([]);
  });

  test('reads a bounded number of rows, or the rows between two positions', () => {
    const isById = (text: string) => /WHERE (?:r\.id|id|name) = \?1$/.test(text.trim());
    const isBetween = (text: string) => sumOfRun.test(text) && /(?:<|>) [(?]/.test(text) && /(?:<=|>=) [(?]/.test(text);
    expect(texts.filter((text) => !/\bLIMIT\b/.test(text) && !isById(text) && !isBetween(text))).toEqual([]);
  });

  test('of a list reads only rows of the page: the index has every compared column', () => {
    // Reads of a run, and of a sample. Searches have further conditions, and the entries of a message share one time.
    const inner = (text: string) => text.replace(/^.*FROM \((SELECT .*)\).*$/s, '$1');
    const isExact = (text: string) => !/r\.model = |r\.outcome = 'completed'|at_ms = \?2|r\.details|\) v\b/.test(text);
    const lists = texts
      .filter((text) => /FROM (?:usage_records|entries) r INDEXED BY/.test(text) && isExact(text))
      .map(inner);
    expect(lists.length).toBeGreaterThan(20);
    for (const text of lists) {
      const [step] = planOf(opened.database, text.replace(/^SELECT .*? FROM/s, 'SELECT r.seq FROM'));
      expect(step).toMatch(/^SEARCH r USING COVERING INDEX .*at_ms>\? AND at_ms<\?\)$/);
      // With two upper bounds SQLite may use either, and skip all rows between them.
      expect(text.match(/at_ms(?:, r\.seq\))? <=? /g)).toHaveLength(1);
    }
  });
});

test('the results of a batch are counted by an index, whatever their length', async () => {
  const opened = openRecorded();
  using _closing = { [Symbol.dispose]: opened.close };
  const { sumResults } = batchReads(sqliteReader(opened.recorded));
  await sumResults(1);
  const text = opened.texts.find((one) => one.includes('GROUP BY r.outcome')) ?? '';
  expect(planOf(opened.database, text)).toEqual([
    expect.stringContaining('USING COVERING INDEX batch_results_counted'),
  ]);
});

test('a page of batches is read in the order of an index, for an account or for all, whatever their status', async () => {
  const opened = openRecorded();
  using _closing = { [Symbol.dispose]: opened.close };
  const { listShownBatches } = batchReads(sqliteReader(opened.recorded));
  const all = { accountId: null, keyIds: null, status: null, sinceMs: null, untilMs: null, after: null, limit: 10 };
  const others = { accountId: 1, status: 'ended', sinceMs: 2, untilMs: 3, after: { createdAtMs: 3, id: 1 } } as const;
  opened.texts.length = 0;
  for (const page of combinations<ShownBatchPage>(all, others)) await listShownBatches(page);
  await listShownBatches({ ...all, accountId: 1, keyIds: [1, 2] });
  expect(opened.texts.length).toBeGreaterThan(32);
  const index = /USING INDEX batches_(?:by_time|of_account)/;
  for (const text of opened.texts)
    expect([text, planOf(opened.database, text)]).toEqual([text, [expect.stringMatching(index)]]);
  opened.texts.length = 0;
  await listShownBatches({ ...all, status: 'running' });
  expect(planOf(opened.database, opened.texts[0] ?? '')[0]).toContain('INDEX batches_open');
});

describe('the plan of every statement on the main thread’s connection', () => {
  const opened = openRecorded();
  afterAll(opened.close);
  const reader = sqliteReader(opened.database);
  const texts = new Set<string>();
  accessReads({
    ...reader,
    prepare: (text) => {
      texts.add(text);
      return reader.prepare(text);
    },
  });

  test('uses an index, and sorts nothing', () => {
    expect(texts.size).toBeGreaterThan(10);
    const isShort = (text: string) => /FROM creations r WHERE r.secret_sealed IS NOT NULL$/.test(text); // Rows of a day.
    const isBelow = (text: string) => text.includes('WITH RECURSIVE below'); // A bounded number of accounts.
    const faults = [...texts].filter(
      (text) =>
        !isShort(text) &&
        !isBelow(text) &&
        planOf(opened.database, text).some((step) => /^SCAN|TEMP B-TREE/.test(step)),
    );
    expect(faults).toEqual([]);
    const below = [...texts].filter(isBelow).flatMap((text) => planOf(opened.database, text));
    expect(below.filter((step) => /INDEX accounts_below/.test(step))).toHaveLength(2);
    expect(below.filter((step) => /^SCAN/.test(step)).filter((step) => !/^SCAN b/.test(step))).toEqual([]);
  });
});

/** Simulates a key that was used once per millisecond. */
function fill(path: string, count: number): void {
  const database = openForWriting(path);
  database.run(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO usage_records SELECT n, 'req_' || n, n, 7, 8, 'settled', 'default', 'm', 'failed', 200,
      0, 0, 0, 0, 0, 0, 0, 0, NULL, '{}', NULL, NULL, NULL, NULL, 1 FROM numbers`);
  database.run(
    `INSERT INTO entries SELECT seq, account_id, at_ms, 7, 3, 1, 'usage', request_id, NULL FROM usage_records`,
  );
  database.run("INSERT INTO accounts (id, created_at_ms, document) VALUES (1, 0, '{}'), (7, 0, '{}')");
  database.run(
    "INSERT INTO account_meters VALUES (1, 1, 0, 0, 0, NULL, 'total', 0, 0, 0, '{}', 0, 0, 0, NULL, NULL, NULL, NULL, NULL)",
  );
  database.run(
    "INSERT INTO keys (id, account_id, made_by, created_at_ms, document) VALUES (2, 1, 'tok_a', 0, '{}'), (8, 7, 'tok_a', 0, '{}')",
  );
  database.run("INSERT INTO unit_totals VALUES (0, 7, 8, 'm', '', 'default', 0, 0, 'images', 1, 0)");
  database.close();
}

test('returns the correct next page in the middle of many rows or at old times', async () => {
  using directory = temporaryDirectory();
  const path = databasePath(directory.path);
  fill(path, 5_000);
  const database = openForReading(path);
  const reads = reportReads(database);
  const ten = { ...allUsage, limit: 10 };
  const lists: ((facts: { before?: number; untilMs?: number }) => Promise<unknown[]>)[] = [
    (facts) => reads.listUsage({ ...ten, ...facts }),
    (facts) => reads.listUsage({ ...ten, account: 7, ...facts }),
    (facts) => reads.listUsage({ ...ten, account: 7, outcome: 'failed', ...facts }),
    (facts) => reads.listEntries({ ...ten, account: 7, ...facts }),
  ];
  const following = (seq: number) => Array.from({ length: 10 }, (_, at) => ({ seq: seq - at }));
  for (const list of lists) {
    expect(await list({})).toMatchObject(following(5_000));
    expect(await list({ before: 1_000 })).toMatchObject(following(999));
    expect(await list({ untilMs: 1_000 })).toMatchObject(following(1_000));
  }
  database.close();
});
