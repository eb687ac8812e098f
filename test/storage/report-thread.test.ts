// The thread of reports, seen from the main thread: its queue, canceled queries, its death, and messages that
// continue meanwhile.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { DAY_MS } from '../../src/base/clock.ts';
import { bounds } from '../../src/config/config.ts';
import type { TotalsQuestion } from '../../src/reports/usage-totals.ts';
import { databasePath, openForWriting, ReportThread } from '../../src/storage/sqlite/sqlite.ts';
import { workerScript } from '../../src/threads/threads.ts';
import { failureOf, openWorkbench, START_MS } from '../money/ledger/workbench.ts';
import { allUsage } from '../support/everything.ts';
import { type OpenedSqlite, openSqliteReports } from './open-sqlite.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const script = workerScript('report-worker');
const slowly = new URL('./slow-reports.ts', import.meta.url);
const broken = new URL('./no-such-file.ts', import.meta.url);
const page = { ...allUsage, limit: 1 };

/** A thread that takes a millisecond per row and returns how many answers it gave before. */
function openSlow(waitMsMax?: number) {
  const deaths: string[] = [];
  const thread = new ReportThread(slowly, 'nowhere', (cause) => deaths.push(String(cause)), waitMsMax);
  const ask = async (requesterId: string, limit = 1, signal = new AbortController().signal) => {
    const [row] = (await thread.reads.listUsage({ ...page, limit }, { requesterId, signal })) as unknown as {
      asked: number;
    }[];
    return row?.asked;
  };
  return { thread, ask, deaths, [Symbol.dispose]: () => thread.close() };
}

describe('report queries', () => {
  test('beyond the fair share of a token are refused as overload, and the others answered', async () => {
    using slow = openSlow();
    const count = bounds.reportQueuePerAskerMax + 10;
    const asked = await Promise.allSettled(Array.from({ length: count }, () => slow.ask('tok_a')));
    const refused = asked.filter((one) => one.status === 'rejected').map(({ reason }) => reason);
    expect(refused).toHaveLength(9); // One is in progress and no longer waits.
    expect(refused[0]).toMatchObject({ code: 'overloaded', status: 529, retry: true });
    expect(refused[0].headers()['retry-after']).toBe(String(bounds.reportRetryMs / 1000));
    expect(await slow.ask('tok_a')).toBe(count - 9);
  });

  test('beyond the bound of the queue are refused for every token', async () => {
    using slow = openSlow();
    const askers = Math.ceil((bounds.reportQueueMax + 2) / bounds.reportQueuePerAskerMax);
    const requester = Array.from({ length: bounds.reportQueueMax + 2 }, (_, at) => slow.ask(`tok_${at % askers}`));
    const asked = await Promise.allSettled(requester);
    expect(asked.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });

  test('of one token wait their turn, and those of another do not wait for all of them', async () => {
    using slow = openSlow();
    const many = Array.from({ length: 20 }, () => slow.ask('tok_holder'));
    expect(await slow.ask('local')).toBeLessThanOrEqual(2);
    expect(await Promise.all(many)).toEqual(expect.arrayContaining([0, 20]));
  });

  test('that were canceled are not run', async () => {
    using slow = openSlow();
    const first = slow.ask('tok_a', 30);
    const gone = new AbortController();
    const left = [slow.ask('tok_a', 1, gone.signal), slow.ask('tok_b', 1, gone.signal)].map(failureOf);
    const last = slow.ask('tok_a');
    gone.abort();
    expect(await Promise.all(left)).toMatchObject([{ code: 'request_timeout' }, { code: 'request_timeout' }]);
    expect(await failureOf(slow.ask('tok_a', 1, gone.signal))).toMatchObject({ code: 'request_timeout' });
    expect([await first, await last]).toEqual([0, 1]);
  });

  test('that wait too long are refused as overload', async () => {
    using slow = openSlow(20);
    const asked = [slow.ask('tok_a', 100), slow.ask('tok_a')].map(failureOf);
    expect(await Promise.all(asked)).toMatchObject([{ code: 'overloaded' }, { code: 'overloaded' }]);
  });

  test('that are invalid are refused with that error', async () => {
    let opened: OpenedSqlite | undefined;
    await using bench = await openWorkbench((clock) => (opened = openSqliteReports(clock)), 100);
    const { database } = opened as OpenedSqlite;
    database.run(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n <= ${bounds.reportKeysMax})
      INSERT INTO keys (id, account_id, made_by, created_at_ms, document) SELECT n, ${bench.account}, 'tok_a', 0, '{}' FROM numbers`);
    const { usage } = bench.stores;
    const tooMany = { code: 'invalid_request', status: 400 };
    expect(await failureOf(usage.listUsage({ ...page, madeBy: 'tok_a' }))).toMatchObject(tooMany);
    database.run('DELETE FROM keys WHERE id = 1');
    expect(await usage.listUsage({ ...page, madeBy: 'tok_a' })).toEqual([]);
    database.run(`DELETE FROM keys WHERE made_by = 'tok_a'`);
  });
});

describe('the death of the thread', () => {
  test('fails its queries, is reported, and affects nothing else: the next query starts it again', async () => {
    using slow = openSlow();
    expect(await slow.ask('tok_a')).toBe(0);
    const dying = failureOf(slow.ask('tok_a', 666));
    const waiting = [slow.ask('tok_a'), slow.ask('tok_b')];
    expect(await dying).toMatchObject({ code: 'store_unavailable', status: 503 });
    expect((await Promise.all(waiting)).toSorted()).toEqual([0, 1]); // Answered by a new thread.
    expect(slow.deaths).toHaveLength(1);
  });

  test('before its first answer fails all waiting queries, and no later ones', async () => {
    const deaths: unknown[] = [];
    const thread = new ReportThread(broken, 'nowhere', (cause) => deaths.push(cause));
    const asked = [thread.reads.listUsage(page), thread.reads.listUsage(page)].map(failureOf);
    expect(await Promise.all(asked)).toMatchObject([{ code: 'store_unavailable' }, { code: 'store_unavailable' }]);
    expect(deaths).toHaveLength(1);
    expect(await failureOf(thread.reads.listUsage(page))).toMatchObject({ code: 'store_unavailable' });
    expect(deaths).toHaveLength(2);
    thread.close();
  });

  test('a database that does not exist yet is tried again by the next query', async () => {
    using directory = temporaryDirectory();
    const path = databasePath(directory.path);
    const deaths: unknown[] = [];
    const thread = new ReportThread(script, path, (cause) => deaths.push(cause));
    expect(await failureOf(thread.reads.listUsage(page))).toMatchObject({ code: 'store_unavailable' });
    openForWriting(path).close();
    expect(await thread.reads.listUsage(page)).toEqual([]);
    expect(deaths).toEqual([]); // The thread ended itself.
    thread.close();
    expect(await failureOf(thread.reads.listUsage(page))).toMatchObject({ code: 'store_unavailable' });
  });
});

/** Threads of this process with a lower priority than its own. */
function yieldingThreads(): string[] {
  return readdirSync('/proc/self/task').filter((task) => {
    try {
      const [, facts = ''] = readFileSync(`/proc/self/task/${task}/stat`, 'utf8').split(') ');
      return Number(facts.split(' ')[16]) > getPriority(0);
    } catch {
      return false; // The thread has ended meanwhile.
    }
  });
}

describe('messages', () => {
  test('are admitted and settled while a long report runs', async () => {
    let opened: OpenedSqlite | undefined;
    await using bench = await openWorkbench((clock) => (opened = openSqliteReports(clock)), 100);
    fillTotals(opened as OpenedSqlite, bench, 200_000);
    const question: TotalsQuestion = { ...page, groupBy: 'model', model: null, limit: 10 };
    await bench.stores.usage.listUsage(page); // Starts the thread.
    let isReported = false;
    const report = bench.stores.usage.totalUsage(question).then((totals) => {
      isReported = true;
      return totals;
    });
    await bench.settle(await bench.begin(10), 10);
    expect(isReported).toBe(false);
    expect((await report).whole.messages).toBeGreaterThanOrEqual(200_000);
    removeTotals(opened as OpenedSqlite);
  });

  test.if(process.platform === 'linux')('have a higher priority than reports', async () => {
    await using bench = await openWorkbench(openSqliteReports, 100);
    const others = new Set(yieldingThreads());
    await bench.stores.usage.listUsage(page);
    // The thread of a store that an earlier test closes may lower its priority meanwhile: there is at least one.
    expect(yieldingThreads().filter((task) => !others.has(task)).length).toBeGreaterThanOrEqual(1);
  });
});

const LATER_MS = START_MS + 1000 * DAY_MS;

/** Totals of many keys on later days without records. */
function fillTotals({ database }: OpenedSqlite, { account }: { account: number }, count: number): void {
  database.run(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO daily_totals SELECT ${LATER_MS} + n % 30 * ${DAY_MS}, ${account}, n, 'm', 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, '', 0, 0, 'default'
    FROM numbers`);
}

function removeTotals({ database }: OpenedSqlite): void {
  database.run(`DELETE FROM daily_totals WHERE day_ms >= ${LATER_MS}`);
}
