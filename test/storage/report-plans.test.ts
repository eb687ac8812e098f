// How SQLite finds what reports read: by an index, without searching or sorting what grows without
// end. Every statement that they prepare is looked at, so that a new one cannot escape.

import type { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../src/base/clock.ts';
import type { EntryPage } from '../../src/ledger/ledger.ts';
import { accessReads } from '../../src/storage/sqlite/access-reads.ts';
import {
  databasePath,
  openForReading,
  openForWriting,
  type ReportReads,
  reportReads,
} from '../../src/storage/sqlite/sqlite.ts';
import { allChanges, allTimeline, allTotals, allUsage } from '../support/everything.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A connection on an empty database, and the texts of all statements that were made on it. */
function openRecorded() {
  const directory = temporaryDirectory();
  const path = databasePath(directory.path);
  openForWriting(path).close();
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

/** The steps of the plan, in words: "SEARCH usage_records USING INDEX …". */
function planOf(database: Database, text: string): string[] {
  return (database.query(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]).map(({ detail }) => detail);
}

/** Every combination of members, each as it is or with another value. */
function combinations<Page extends object>(page: Page, others: Partial<Page>): Page[] {
  let pages = [page];
  for (const [name, value] of Object.entries(others)) pages = pages.flatMap((one) => [one, { ...one, [name]: value }]);
  return pages;
}

/** Every question of each kind that takes another way. */
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
  listHolds: combinations({ account: 1, after: null as string | null, limit: 10 }, { after: 'req_1' }),
  readMonth: [{ account: 1, sinceMs: 0, untilMs: 1, entriesMax: 1, groupsMax: 1 }],
  listAudit: combinations(allChanges, { account: 1, object: 'key_1', actor: 'tok_a', before: 3, sinceMs: 4 }),
  searchUsage: combinations(
    { ...allUsage, model: null as string | null, isCompleted: true },
    { account: 1, key: 2, madeBy: 'tok_a', outcome: 'failed', before: 3, model: 'm' },
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
    combinations({ ...allTotals, groupBy }, { account: 1, key: 2, madeBy: 'tok_a', model: 'm' }),
  ),
  topUsage: combinations(allTotals, { account: 1, key: 2, madeBy: 'tok_a', model: 'm' }),
};

describe('the plan of every statement of reports', () => {
  const opened = openRecorded();
  afterAll(opened.close);
  const reads = reportReads(opened.recorded);
  const texts = [...new Set(opened.texts)];
  const plans = texts.map((text) => ({ text, plan: planOf(opened.database, text) }));

  test('goes by an index or a row’s own number, and scans nothing but what it has found so', () => {
    const scans = plans.filter(({ plan }) => plan.some((step) => /^SCAN (?!\(subquery)/.test(step)));
    expect(scans).toEqual([]);
    expect(plans.every(({ plan }) => plan.some((step) => step.startsWith('SEARCH')))).toBe(true);
  });

  test('sorts nothing, but for groups of a run of totals or records that has a limit', () => {
    const sorts = plans.filter(({ plan }) => plan.some((step) => step.includes('TEMP B-TREE')));
    const bounded =
      /FROM \(SELECT [a-z_*, ]+ FROM (?:daily_totals|usage_records) .* LIMIT \?[346]\)(?:\s+WHERE \(\?8 IS NULL OR model = \?8\))? GROUP BY [a-z_, ]+$/s;
    expect(sorts.filter(({ text }) => !bounded.test(text))).toEqual([]);
    expect(sorts.flatMap(({ plan }) => plan.filter((step) => /TEMP B-TREE FOR (?!GROUP BY)/.test(step)))).toEqual([]);
  });

  test('is of a statement that reads a bounded number of rows', () => {
    const isBounded = (text: string) => /\bLIMIT\b/.test(text) || /WHERE (?:seq|id) = \?\d$/.test(text.trim());
    expect(texts.filter((text) => !isBounded(text))).toEqual([]);
  });

  test('of lists reads no row that is not in the page: the index has all that is compared', () => {
    const inner = (text: string) => text.replace(/^.*FROM \((SELECT .*)\).*$/s, '$1'); // of a run, and of a sample
    // What a search looks through is bounded otherwise; the entries of a message stand at one moment.
    const isExact = (text: string) => !/\?7 IS NULL OR model|at_ms = \?2/.test(text);
    const lists = texts
      .filter((text) => /FROM (?:usage_records|entries) INDEXED BY/.test(text) && isExact(text))
      .map(inner);
    expect(lists.length).toBeGreaterThan(20);
    for (const text of lists) {
      const [step] = planOf(opened.database, text.replace(/^SELECT .*? FROM/s, 'SELECT seq FROM'));
      expect(step).toMatch(/^SEARCH \w+ USING COVERING INDEX .*at_ms>\? AND at_ms<\?\)$/);
      // With two upper bounds SQLite may take either, and skip all rows between the two.
      expect(text.match(/at_ms(?:, seq\))? <=? /g)).toHaveLength(1);
    }
  });

  test('is of all statements: none is made later, whatever is asked', async () => {
    opened.texts.length = 0;
    for (const [name, pages] of Object.entries(questions))
      for (const page of pages) await reads[name as keyof ReportReads](page as never);
    expect(Object.keys(questions).toSorted()).toEqual(Object.keys(reads).toSorted());
    expect(opened.texts.filter((text) => !/^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/.test(text))).toEqual([]);
  });
});

describe('the plan of every statement on the main thread’s connection', () => {
  const opened = openRecorded();
  afterAll(opened.close);
  accessReads(opened.recorded);
  const texts = [...new Set(opened.texts)];

  test('goes by an index, and sorts nothing', () => {
    expect(texts.length).toBeGreaterThan(10);
    const isShort = (text: string) => /FROM creations WHERE secret_sealed IS NOT NULL$/.test(text); // those of a day
    const faults = texts.filter(
      (text) => !isShort(text) && planOf(opened.database, text).some((step) => /^SCAN|TEMP B-TREE/.test(step)),
    );
    expect(faults).toEqual([]);
  });
});

/** As if one key had been used once a millisecond. */
function fill(path: string, count: number): void {
  const database = openForWriting(path);
  database.run(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO usage_records SELECT n, 'req_' || n, n, 7, 8, 'settled', 'default', 'm', 'failed', 200,
      0, 0, 0, 0, 0, 0, 0, 0, NULL, '{}' FROM numbers`);
  database.run(
    `INSERT INTO entries SELECT seq, account_id, at_ms, 7, 3, 1, 'usage', request_id, NULL FROM usage_records`,
  );
  database.close();
}

test('a page in the middle of many rows, or of times long past, is the one that follows', async () => {
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
