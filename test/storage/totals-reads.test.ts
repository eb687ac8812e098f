// Totals that are added up in several runs: as exact as in one run, with one bound for all of them.

import type { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../src/base/clock.ts';
import { retainedSinceNames } from '../../src/ledger/ledger.ts';
import { totalsGroupings, type UsageStore, type UsageTotal } from '../../src/reports/reports.ts';
import type { TotalsQuestion } from '../../src/reports/usage-totals.ts';
import { comparedTotals, exactTotals, rangeReads } from '../../src/storage/range-reads.ts';
import { sqliteReader } from '../../src/storage/sqlite/reader.ts';
import { databasePath, openForReading, openForWriting } from '../../src/storage/sqlite/sqlite.ts';
import { totalsReads as totalsReadsOn } from '../../src/storage/totals-reads.ts';
import { failureOf } from '../money/ledger/workbench.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const totalsReads = (database: Database, limits?: Parameters<typeof totalsReadsOn>[1]) =>
  totalsReadsOn(sqliteReader(database), limits);
const everything = { account: null, key: null, madeBy: null, model: null, sinceMs: null, untilMs: null, limit: 100 };
const directory = temporaryDirectory();
const path = databasePath(directory.path);

beforeAll(() => {
  const database = openForWriting(path);
  for (let account = 1; account <= 3; account++) {
    database.run(`INSERT INTO accounts (id, created_at_ms, document) VALUES (${account}, 0, '{}')`);
    for (let key = 10 * account; key < 10 * account + 3; key++) {
      database.run(
        `INSERT INTO keys (id, account_id, made_by, created_at_ms, document) VALUES (${key}, ${account}, '${key % 2 === 0 ? 'tok_a' : 'tok_b'}', 0, '{}')`,
      );
      for (let day = 0; day < 4; day++)
        for (const model of ['a', 'b', 'c'].slice(0, 1 + ((key + day) % 3)))
          database.run(
            `INSERT INTO daily_totals VALUES (${day * DAY_MS}, ${account}, ${key}, '${model}', 1, 1, 1, 1, 1, ${key * 100 + day}, 0, 0, 0, 0, '', 0, 0, ${key % 2 === 0 ? "'even'" : "'odd'"})`,
          );
    }
  }
  database.run("UPDATE daily_totals SET tag_set = 5 WHERE model = 'a'");
  database.run("UPDATE daily_totals SET tag_set = 6 WHERE model = 'b'");
  database.run(`INSERT INTO unit_totals SELECT day_ms, account_id, key_id, model, provider, group_name, person_id, tag_set, 'images', 2, cost
    FROM daily_totals WHERE model <> 'c'`);
  for (const [account, team] of [
    [1, 'search'],
    [2, 'billing'],
    [3, 'search'],
  ])
    database.run(
      `INSERT INTO tag_sets (account_id, id, month_ms, tags) VALUES (${account}, 5, 0, '{"team":"${team}"}')`,
    );
  database.close();
});
afterAll(() => directory[Symbol.dispose]());

/** Runs of two rows, and no cut. */
async function readBoth(question: TotalsQuestion) {
  const database = openForReading(path);
  const inRuns = await totalsReads(database, { rowsMax: 1000, runRows: 2 }).totalUsage(question);
  const inOne = await totalsReads(database, { rowsMax: 1000, runRows: 1000 }).totalUsage(question);
  database.close();
  return { inRuns, inOne };
}

describe('totals in several runs', () => {
  const scopes = { all: {}, account: { account: 2 }, key: { key: 21 }, maker: { madeBy: 'tok_a', account: 2 } };
  for (const [name, scope] of Object.entries(scopes)) {
    test(`of ${name} are the same as in one`, async () => {
      for (const groupBy of totalsGroupings)
        for (const days of [{}, { sinceMs: DAY_MS, untilMs: 2 * DAY_MS }]) {
          const { inRuns, inOne } = await readBoth({ ...everything, ...scope, ...days, groupBy });
          expect(inRuns).toEqual(inOne);
          expect(inOne.whole.messages).toBeGreaterThan(2);
        }
      const question = { ...everything, ...scope, limit: 2 };
      const database = openForReading(path);
      const [inRuns, inOne] = await Promise.all(
        [2, 1000].map((runRows) => totalsReads(database, { rowsMax: 1000, runRows }).topUsage(question)),
      );
      database.close();
      expect(inRuns).toEqual(inOne as NonNullable<typeof inOne>);
      for (const groupBy of ['model', 'key', 'account'] as const) {
        const { inOne: alone } = await readBoth({ ...question, groupBy });
        const { rows, groups, whole } = alone;
        expect([inOne?.[`${groupBy}s`], inOne?.whole]).toEqual([{ rows, groups }, whole]);
      }
    });
  }

  test('stop at their bound, with any runs and any number of keys', async () => {
    const database = openForReading(path);
    const refusal = { code: 'invalid_request' };
    const ask = (reads: Pick<UsageStore, 'totalUsage'>, facts: Partial<TotalsQuestion>) =>
      reads.totalUsage({ ...everything, groupBy: 'day', ...facts });
    const { whole } = await ask(totalsReads(database), {});
    for (const runRows of [2, 1000]) {
      const enough = totalsReads(database, { rowsMax: whole.messages, runRows });
      expect((await ask(enough, {})).whole).toEqual(whole);
      const tooFew = totalsReads(database, { rowsMax: whole.messages - 1, runRows });
      expect(await failureOf(ask(tooFew, {}))).toMatchObject(refusal);
      expect(await failureOf(ask(totalsReads(database, { rowsMax: 9, runRows }), { madeBy: 'tok_a' }))).toMatchObject(
        refusal,
      );
    }
    database.close();
  });

  test('of units are unknown beyond their bound, and all other figures are not', async () => {
    const database = openForReading(path);
    const question = { ...everything, groupBy: 'model' } as const;
    const known = await totalsReads(database).totalUsage(question);
    const { a, b, ...others } = Object.fromEntries(known.rows.map(({ model, units }) => [String(model), units]));
    const { a: costOfA, b: costOfB } = Object.fromEntries(known.rows.map(({ model, cost }) => [model, cost]));
    expect(a?.['images']).toEqual({ quantity: 72, cost: costOfA });
    expect(b?.['images']?.cost).toBe(costOfB);
    expect(others).toEqual({ c: {} });
    for (const unitRowsMax of [1, 59]) {
      const unknown = (row: UsageTotal) => ({ ...row, units: null });
      expect(await totalsReads(database, { unitRowsMax }).totalUsage(question)).toEqual({
        ...known,
        rows: known.rows.map(unknown),
        whole: unknown(known.whole),
      });
      const { keys, models, whole } = await totalsReads(database, { unitRowsMax }).topUsage(everything);
      expect(new Set([...keys.rows, ...models.rows, whole].map(({ units }) => units))).toEqual(new Set([null]));
    }
    database.close();
  });

  test('of what used most end with the days that were read in time, and say so', async () => {
    const database = openForReading(path);
    const until = { ...everything, untilMs: 4 * DAY_MS - 1 };
    for (const filter of [{}, { model: 'a' }, { madeBy: 'tok_a' }]) {
      const late = await totalsReads(database, { topMsMax: 0, topRowsLeast: 1 }).topUsage({ ...until, ...filter });
      const ofLastDay = await totalsReads(database).topUsage({ ...until, ...filter, sinceMs: 3 * DAY_MS });
      expect(ofLastDay.countedSinceMs).toBe(0);
      expect(ofLastDay.whole.messages).toBeGreaterThan(0);
      expect(late).toEqual({ ...ofLastDay, countedSinceMs: 3 * DAY_MS });
    }
    database.close();
  });
});

test('totals of an endpoint say since when records are stored, and are refused before that', async () => {
  const database = openForWriting(path);
  database.run(`INSERT INTO installation (name, value) VALUES (?, '${2 * DAY_MS}')`, [retainedSinceNames.usage]);
  const { readDays, topDays, firstDay, ...ofDays } = totalsReads(database);
  const days = { readDays, topDays, firstDay };
  const { totalUsage, topUsage } = exactTotals(ofDays, rangeReads(sqliteReader(database), days));
  const images = { ...everything, endpoint: 'images', groupBy: 'day', isExact: true } as const;
  for (const read of [totalUsage, topUsage]) {
    const { whole, countedSinceMs } = await read(images);
    expect([whole.messages, countedSinceMs]).toEqual([0, 2 * DAY_MS]);
    expect((await read({ ...images, sinceMs: 2 * DAY_MS })).countedSinceMs).toBe(0);
    expect(await failureOf(read({ ...images, untilMs: 2 * DAY_MS - 1 }))).toMatchObject({
      code: 'invalid_request',
      message: 'endpoint: only records have one, and those of this time are no longer stored',
    });
  }
  const { compareUsage } = comparedTotals({ readDays }, rangeReads(sqliteReader(database), days));
  const margin = { ...images, groupBy: 'model', previous: { sinceMs: 0, untilMs: 2 * DAY_MS - 1 } } as const;
  expect((await compareUsage({ ...margin, sinceMs: 2 * DAY_MS })).before.countedSinceMs).toBe(2 * DAY_MS);
  expect(await failureOf(compareUsage({ ...margin, untilMs: 2 * DAY_MS - 1 }))).toMatchObject({
    code: 'invalid_request',
  });
  database.run('DELETE FROM installation WHERE name = ?', [retainedSinceNames.usage]);
  database.close();
});

describe('totals of everything with a tag', () => {
  const read = async (question: TotalsQuestion, tagAccountsMax: number) => {
    const database = openForReading(path);
    const found = await totalsReads(database, { tagAccountsMax }).totalUsage(question);
    database.close();
    return found;
  };
  const cost = async (question: Partial<TotalsQuestion>) =>
    (await read({ ...everything, groupBy: 'key', ...question }, 50)).whole.cost;

  for (const value of ['search', 'billing', 'other', 'unused'])
    test(`${value} are the same whether few accounts or many have it`, async () => {
      for (const groupBy of totalsGroupings) {
        const question = { ...everything, groupBy, tag: { name: 'team', value }, tagName: 'team' };
        const ofMany = await read(question, 0);
        expect(await read(question, 50)).toEqual(ofMany);
        expect(ofMany.whole.messages > 0).toBe(value !== 'unused');
      }
    });

  test('are those of the accounts that have it', async () => {
    const tag = { name: 'team', value: 'search' };
    expect(await cost({ tag })).toBe((await cost({ tag, account: 1 })) + (await cost({ tag, account: 3 })));
    expect(await cost({ tag, account: 2 })).toBe(0n);
  });
});
