// PostgreSQL's reads return the same as SQLite's from the same rows.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { KeyPage } from '../../src/accounts/account.ts';
import type { Key } from '../../src/accounts/accounts.ts';
import { DAY_MS } from '../../src/base/clock.ts';
import { checkLedger, type Outcome } from '../../src/ledger/ledger.ts';
import { stepMs, totalsGroupings, type UsageBucket } from '../../src/reports/reports.ts';
import { postgresStores, readProof, sumLedger, surveyStore } from '../../src/storage/postgres/postgres.ts';
import { ReadPool } from '../../src/storage/postgres/read-pool.ts';
import { postgresReader } from '../../src/storage/postgres/reader.ts';
import { exactTotals, rangeReads, SUMMARY_LIMITS } from '../../src/storage/range-reads.ts';
import { type NameSearchLimits, searchReads } from '../../src/storage/search-reads.ts';
import type { SqlReader } from '../../src/storage/sql-reader.ts';
import { sqliteReader } from '../../src/storage/sqlite/reader.ts';
import * as sqlite from '../../src/storage/sqlite/sqlite.ts';
import type { Stores } from '../../src/storage/stores.ts';
import { timelineReads } from '../../src/storage/timeline-reads.ts';
import { totalsReads } from '../../src/storage/totals-reads.ts';
import { type SearchLimits, usageSearches } from '../../src/storage/usage-searches.ts';
import { failureOf, NO_LIMITS, openWorkbench, START_MS, type Workbench } from '../money/ledger/workbench.ts';
import { allChanges, allSearch, allTimeline, allTotals, allUsage } from '../support/everything.ts';
import { cannotStartPostgres, sharedPostgres, type TestDatabase } from '../support/start-postgres.ts';
import { copyToPostgres } from './copy-to-postgres.ts';
import { type OpenedSqlite, openSqlite } from './open-sqlite.ts';

const FIRST_DAY_MS = Math.floor(START_MS / DAY_MS) * DAY_MS;
const OUTCOMES: Outcome[] = ['completed', 'completed', 'failed', 'completed', 'client_gone'];
const MAKERS = ['tok_a', 'tok_b', 'tok_a', null];

let bench: Workbench;
let opened: OpenedSqlite;
let database: TestDatabase;
let postgres: Stores & { close(): Promise<void> };
const accounts: number[] = [];
const keys: number[] = [];
const messages: string[] = [];

/** Three accounts with four keys each, and messages over three months, several of them in one millisecond. */
async function useAll(): Promise<void> {
  for (let at = 0; at < 3; at++) {
    const account = await bench.addAccount(1_000_000);
    accounts.push(account);
    for (const madeBy of MAKERS) keys.push(await bench.addKey({}, account, madeBy));
    await bench.credit(50, { account, reference: `order ${at}`, note: 'thanks' });
  }
  for (let at = 0; at < 300; at++) {
    const key = keys[(at * 7) % keys.length] as number;
    const account = accounts[Math.floor(((at * 7) % keys.length) / MAKERS.length)] as number;
    const of = { account, key };
    const model = at % 3 === 0 ? 'big' : 'sandbox-echo';
    const requestId = await bench.begin(10, { ...of, draft: { model, stream: false } });
    messages.push(requestId);
    const outcome = OUTCOMES[at % OUTCOMES.length] as Outcome;
    const cost = outcome === 'failed' ? 0 : 1 + (at % 13);
    await bench.settle(requestId, cost, { ...of, model, outcome, inputTokens: at, providerCost: at % 2 ? 1 : null });
    if (at % 4 === 0) bench.clock.advance((DAY_MS * 5) / 6);
  }
  await bench.ask({ kind: 'refund', requestId: messages[299] as string, amount: 1, note: 'sorry' });
}

/** Running messages, credits, and audit records. */
async function leaveOthers(): Promise<void> {
  await bench.takeLease('node-2');
  for (const [at, key] of keys.entries())
    await bench.begin(5, { key, account: accounts[Math.floor(at / MAKERS.length)] as number });
  const { installation, samples, catalog, gate, accounts: store } = bench.stores;
  await installation.writeInstallation('secret_proof', 'proofproof');
  await samples.saveSamples([['big', { ratios: [1.5] } as never]]);
  const actor = (id: string) => ({ id, role: 'operator', address: '::1', requestId: null }) as const;
  for (let at = 0; at < 40; at++) {
    const account = at % 3 === 0 ? null : (accounts[at % 2] as number);
    const record = { atMs: START_MS + Math.floor(at / 2), actor: actor(`tok_${at % 3}`), account };
    const audit = [{ ...record, action: 'key.update', object: `key_${at % 5}`, before: null, after: { name: 'x' } }];
    const creation = {
      principal: `tok_${at}`,
      idempotencyKey: 'one',
      atMs: START_MS,
      requestHash: 'hash',
      object: 'key_1',
      secretSealed: at % 2 === 0 ? 'sealed' : null,
    };
    const document = { kind: 'group', name: `group-${at}`, origin: 'api', document: { at } } as const;
    await catalog.saveCatalog([document], [], { audit, creation });
  }
  const requestId = messages[0] as string;
  const answer = bench.stores.answers.answerRow({ requestId, atMs: START_MS, bytes: 3, sealed: 'abc' });
  await gate.submit({ operations: [], coCommitted: [answer] });
  const [key] = await store.listKeys({ accountId: null, madeBy: null, after: null, limit: 1 });
  if (key !== undefined) await store.rotateKey(key, 'proofpro.rotated', START_MS + 1, { audit: [], creation: null });
}

describe.skipIf(cannotStartPostgres)('reads of PostgreSQL', () => {
  beforeAll(async () => {
    bench = await openWorkbench((clock) => (opened = openSqlite(clock)), 100);
    await useAll();
    await leaveOthers();
    database = await (await sharedPostgres()).newDatabase();
    await copyToPostgres(opened.database, database.url);
    postgres = postgresStores(database.url, bench.stores.gate);
  });
  afterAll(async () => {
    await postgres.close();
    await database[Symbol.asyncDispose]();
    await bench[Symbol.asyncDispose]();
  });

  /** Reads from both, and checks that the answers are equal. */
  const same = async <Value>(ask: (stores: Stores) => Promise<Value>): Promise<Value> => {
    const [here, there] = [await ask(bench.stores), await ask(postgres)];
    expect(there).toEqual(here);
    return here;
  };

  /** Reads all pages of a list from both. */
  async function samePages<Row extends { seq: number }>(
    list: (stores: Stores, page: { before: number | null }) => Promise<Row[]>,
  ): Promise<number> {
    let seen = 0;
    for (let before: number | null = null, turn = 0; turn < 1000; turn++) {
      const at: number | null = before;
      const rows: Row[] = await same((stores) => list(stores, { before: at }));
      seen += rows.length;
      before = rows.at(-1)?.seq ?? null;
      if (before === null) return seen;
    }
    throw new Error('the list does not end');
  }

  const times = [
    {},
    { sinceMs: START_MS + 10 * DAY_MS, untilMs: START_MS + 40 * DAY_MS },
    { untilMs: START_MS + 20 * DAY_MS },
    { sinceMs: START_MS + 50 * DAY_MS },
    { sinceMs: FIRST_DAY_MS + 10 * DAY_MS, untilMs: FIRST_DAY_MS + 40 * DAY_MS }, // Start of a day.
  ];
  const scopes = () => [
    {},
    { account: accounts[1] as number },
    { key: keys[2] as number },
    { madeBy: 'tok_a' },
    { madeBy: 'tok_a', account: accounts[0] as number },
    { madeBy: 'tok_b', key: keys[0] as number },
    { madeBy: 'nobody' },
  ];

  test('list usage of all accounts, an account, a key or a maker, by outcome and time, page by page', async () => {
    let seen = 0;
    for (const scope of scopes())
      for (const time of times)
        for (const outcome of [null, 'failed', 'client_gone'] as const)
          for (const limit of [7, 100])
            seen += await samePages(({ usage }, { before }) =>
              usage.listUsage({ ...allUsage, ...scope, ...time, outcome, before, limit }),
            );
    expect(seen).toBeGreaterThan(2000);
  });

  test('list entries of an account, page by page', async () => {
    for (const account of accounts)
      for (const time of times)
        await samePages(({ ledger }, { before }) =>
          ledger.listEntries({ ...allUsage, ...time, account, before, limit: 9 }),
        );
  });

  test('list the audit by object, actor and account, page by page', async () => {
    const narrowed = [{}, { object: 'key_1' }, { actor: 'tok_1' }, { account: accounts[0] as number }];
    let seen = 0;
    for (const one of narrowed)
      for (const other of narrowed)
        for (const third of narrowed)
          seen += await samePages(({ audit }, { before }) =>
            audit.listAudit({ ...allChanges, ...one, ...other, ...third, before, limit: 3 }),
          );
    expect(seen).toBeGreaterThan(100);
  });

  test('add up usage by everything, in one run or in many', async () => {
    const pool = new ReadPool(database.url, { connections: 1, statementMsMax: 5_000 });
    const inRuns = totalsReads(postgresReader(pool), { rowsMax: 100_000, runRows: 7 });
    for (const scope of scopes())
      for (const time of times)
        for (const groupBy of totalsGroupings) {
          const question = { ...allTotals, ...scope, ...time, groupBy };
          expect(await inRuns.totalUsage(question)).toEqual(await same(({ usage }) => usage.totalUsage(question)));
        }
    for (const scope of scopes())
      for (const time of times) {
        const question = { ...allTotals, ...scope, ...time, limit: 2 };
        expect(await inRuns.topUsage(question)).toEqual(await same(({ usage }) => usage.topUsage(question)));
      }
    const tooFew = totalsReads(postgresReader(pool), { rowsMax: 9, runRows: 7 });
    expect(await failureOf(tooFew.totalUsage(allTotals))).toMatchObject({ code: 'invalid_request' });
    await pool.close();
  });

  test('add up usage over time for all accounts or one, in every step, within the bound of reads', async () => {
    const pool = new ReadPool(database.url, { connections: 1, statementMsMax: 5_000 });
    const untilMs = Math.ceil(bench.clock.nowMs() / DAY_MS) * DAY_MS;
    const records = await bench.stores.usage.listUsage({ ...allUsage, limit: 1_000 });
    for (const scope of scopes())
      for (const model of [null, 'big'])
        for (const [step, days] of [
          ['day', 70],
          ['hour', 16],
          ['five_minutes', 1],
        ] as const) {
          const sinceMs = untilMs - days * DAY_MS;
          const question = { ...allTimeline, ...scope, model, step, sinceMs, untilMs };
          const whole = await same(({ usage }) => usage.readTimeline(question));
          expect(whole.countedSinceMs).toBe(sinceMs);
          const few = { runRows: 3, recordsMax: 10, cutRecordsMax: 6, cutRecordsOfModelMax: 6 };
          const there = await timelineReads(postgresReader(pool), totalsReads(postgresReader(pool)), few).readTimeline(
            question,
          );
          const here = await timelineReads(
            sqliteReader(opened.database),
            totalsReads(sqliteReader(opened.database)),
            few,
          ).readTimeline(question);
          expect(there).toEqual(here);
          for (const [at, bucket] of here.buckets.entries()) {
            const right = whole.buckets[at] as UsageBucket;
            const isCounted = bucket.atMs >= here.countedSinceMs;
            expect(bucket.total).toEqual(isCounted ? right.total : (whole.buckets[0] as UsageBucket).total);
            expect([right.failed, null]).toContain(isCounted ? bucket.failed : null);
          }
          if (step === 'day' || 'madeBy' in scope) continue;
          // One more bucket would exceed the limit of records.
          const of = records.filter(
            (one) =>
              (question.account === null || one.account === question.account) &&
              (question.key === null || one.key === question.key),
          );
          const since = (atMs: number) => of.filter((one) => one.atMs >= atMs && one.atMs < untilMs).length;
          expect(since(here.countedSinceMs)).toBeLessThanOrEqual(10);
          if (here.countedSinceMs > sinceMs) expect(since(here.countedSinceMs - stepMs[step])).toBeGreaterThan(10);
        }
    await pool.close();
  });

  test('find names, however many rows are read at once', async () => {
    const pool = new ReadPool(database.url, { connections: 1, statementMsMax: 5_000 });
    const few: Partial<NameSearchLimits>[] = [
      {},
      { rowsAtOnce: 2 },
      { rowsAtOnce: 2, rowsMax: 2 },
      { rowsAtOnce: 2, readMsMax: -1 },
    ];
    for (const limits of few) {
      const [here, there] = [
        searchReads(sqliteReader(opened.database), limits),
        searchReads(postgresReader(pool), limits),
      ];
      for (const scope of [
        {},
        { accountId: bench.account },
        { madeBy: 'tok_a' },
        { accountId: bench.account, madeBy: 'tok_a' },
      ])
        for (const text of ['KEY', 'account', 'sk-tp', "x'%_"]) {
          const search = { text, accountId: null, madeBy: null, limit: 3, ...scope };
          const keys = await here.searchKeyNames(search);
          expect(await there.searchKeyNames(search)).toEqual(keys);
          if (limits.rowsAtOnce === undefined && Object.keys(scope).length === 0)
            expect([text, keys.length > 0]).toEqual([text, ['KEY', 'sk-tp'].includes(text)]);
          expect(await there.searchAccountNames({ ...search, accountId: null })).toEqual(
            await here.searchAccountNames({ ...search, accountId: null }),
          );
          expect(await there.searchPersonNames(search)).toEqual(await here.searchPersonNames(search));
          expect(await there.searchDestinationNames(search)).toEqual(await here.searchDestinationNames(search));
        }
    }
    await pool.close();
  });

  test('report since when totals between two times count, with a bound on records', async () => {
    const pool = new ReadPool(database.url, { connections: 1, statementMsMax: 5_000 });
    const untilMs = bench.clock.nowMs();
    const topOn = (on: SqlReader, limits: Partial<SearchLimits>) => {
      const ofDays = totalsReads(on);
      return exactTotals(ofDays, rangeReads(on, ofDays, { ...SUMMARY_LIMITS, recordsAtOnce: 3, ...limits }));
    };
    for (const scope of scopes())
      for (const model of [null, 'big']) {
        const question = { ...allTotals, ...scope, model, sinceMs: START_MS, untilMs, isExact: true };
        const here = await topOn(sqliteReader(opened.database), { recordsMax: 6 }).topUsage(question);
        expect(await topOn(postgresReader(pool), { recordsMax: 6 }).topUsage(question)).toEqual(here);
        const whole = await same(({ usage }) => usage.topUsage(question));
        expect(whole.countedSinceMs).toBe(0);
        if (here.countedSinceMs === 0) expect(here).toEqual(whole);
        else expect(here.whole.messages).toBeLessThan(whole.whole.messages);
      }
    await pool.close();
  });

  test('report which part of a timeline was not counted because it took too long', async () => {
    const untilMs = Math.ceil(bench.clock.nowMs() / DAY_MS) * DAY_MS;
    const late = timelineReads(sqliteReader(opened.database), totalsReads(sqliteReader(opened.database)), {
      runRows: 3,
      readMsMax: -1,
    });
    const hours = { ...allTimeline, sinceMs: untilMs - DAY_MS, untilMs };
    expect((await late.readTimeline(hours)).countedSinceMs).toBe(untilMs);
    const days = await late.readTimeline({ ...hours, step: 'day' });
    expect(days.countedSinceMs).toBe(hours.sinceMs);
    expect(days.buckets.map(({ failed, firstTokens }) => [failed, firstTokens])).toEqual([[null, null]]);
  });

  test('search usage, however few rows one page may examine', async () => {
    const pool = new ReadPool(database.url, { connections: 1, statementMsMax: 5_000 });
    const limits = { recordsMax: 40, recordsAtOnce: 20 };
    const [here, there] = [
      usageSearches(sqliteReader(opened.database), limits),
      usageSearches(postgresReader(pool), limits),
    ];
    const never = usageSearches(postgresReader(pool), { ...limits, recordsMax: 1_000, readMsMax: -1 });
    for (const scope of scopes())
      for (const [model, isCompleted, outcome] of [
        ['big', null, null],
        [null, false, null],
        ['big', true, null],
        [null, true, null],
        ['big', null, 'failed'],
      ] as const) {
        const asked = { ...allSearch, ...scope, model, isCompleted, outcome, limit: 15 };
        const listed = await bench.stores.usage.listUsage({ ...allUsage, ...scope, outcome, limit: 1_000 });
        const right = listed
          .filter((one) => model === null || one.model === model)
          .filter((one) => isCompleted === null || (one.outcome === 'completed') === isCompleted);
        for (const searches of [here, there, never]) {
          const seen: number[] = [];
          for (let before: number | null = null, turn = 0; turn < 400; turn++) {
            const { rows, next } = await searches.searchUsage({ ...asked, before });
            seen.push(...rows.map(({ seq }) => seq));
            before = next;
            if (before === null) break;
          }
          expect(seen).toEqual(right.map(({ seq }) => seq));
        }
      }
    await pool.close();
  });

  test('list accounts and keys in the order of their creation, page by page', async () => {
    for (const accountId of [null, accounts[1] as number])
      for (const madeBy of [null, 'tok_a', 'nobody'])
        for (let after: number | null = null, turn = 0; turn < 20; turn++) {
          const page: KeyPage = { accountId, madeBy, after, limit: 3 };
          const listed: Key[] = await same((stores) => stores.accounts.listKeys(page));
          after = listed.at(-1)?.id ?? null;
          if (after === null) break;
        }
    await same((stores) => stores.accounts.listAccounts({ after: null, limit: 2 }));
    await same((stores) => stores.accounts.listAccounts({ after: accounts[0] as number, limit: 2 }));
    for (const account of accounts) await same((stores) => stores.accounts.countKeys(account));
  });

  test('find existing objects only', async () => {
    const nowMs = bench.clock.nowMs();
    const alone = (account: number) => ({ account, above: [], payer: account, person: null });
    const groups = [{ name: 'default', limits: { ...NO_LIMITS, requestsPerMinute: 5 } }];
    for (const [at, key] of [...keys, 1].entries()) {
      const account = accounts[Math.floor(at / MAKERS.length)] ?? 1;
      await same((stores) => stores.accounts.getKey(key));
      await same((stores) => stores.accounts.getAccount(account));
      await same((stores) => stores.accounts.findKeyBySecretHash([`hash of ${key}`]));
      await same((stores) => stores.ledger.accountMeters(account, nowMs));
      await same((stores) => stores.ledger.keyMeters(key, nowMs));
      await same((stores) => stores.ledger.callerMeters({ ...alone(account), key, groups }, nowMs));
      await same((stores) => stores.ledger.callerMeters({ ...alone(accounts[2] as number), key, groups }, nowMs));
    }
    await same((stores) => stores.accounts.findKeyBySecretHash(['proofpro.rotated']));
    for (const requestId of [...messages.slice(0, 5), 'req_310', 'req_none']) {
      await same((stores) => stores.usage.getUsage(requestId));
      await same((stores) => stores.ledger.openMessage(requestId));
      await same((stores) => stores.answers.findAnswer(requestId));
    }
    await same((stores) => stores.ledger.openHolds());
    await same((stores) => stores.catalog.loadCatalog());
    await same((stores) => stores.samples.loadSamples());
    await same((stores) => stores.installation.readInstallation('secret_proof'));
    await same((stores) => stores.installation.readInstallation('nothing'));
    await same((stores) => stores.audit.findCreation('tok_2', 'one'));
    await same((stores) => stores.audit.findCreation('tok_2', 'two'));
    const byPrincipal = async (stores: Stores) =>
      (await stores.audit.listSealedCreations()).sort((one, other) => (one.principal < other.principal ? -1 : 1));
    expect(await same(byPrincipal)).toHaveLength(20);
  });

  test('count rows past retention', async () => {
    const beforeMs = START_MS + 20 * DAY_MS;
    for (const table of ['usage_records', 'creations', 'key_secrets', 'claims', 'answers'] as const)
      await same(({ retention }) => retention.countForgotten(table, beforeMs));
    for (const account of accounts) await same(({ retention }) => retention.countToCarry(account, beforeMs));
    const { accounts: due } = await same(({ retention }) => retention.listToCarry(beforeMs, 0));
    expect(due.toSorted()).toEqual([bench.account, ...accounts].toSorted());
    await same(({ retention }) => retention.listToCarry(START_MS - DAY_MS, 0));
    await same(({ retention }) => retention.listToCarry(beforeMs, due[1] as number));
  });

  test('add up and survey the whole store', async () => {
    const sums = await sumLedger(database.url);
    const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
    const inOrder = (all: typeof sums) => ({
      ...all,
      accounts: all.accounts.toSorted(byId),
      keys: all.keys.toSorted(byId),
    });
    expect(inOrder(sums)).toEqual(inOrder(sqlite.sumLedger(opened.path)));
    expect(checkLedger(sums)).toMatchObject({ ok: true, accounts: 4, open_holds: keys.length, faults: [] });
    const nowMs = bench.clock.nowMs();
    expect(await surveyStore(database.url, nowMs)).toEqual(sqlite.surveyStore(opened.path, nowMs));
    expect(await readProof(database.url)).toBe('proofproof');
  });
});
