// Coarser totals of closed days: reports with them are the same as without, whatever changes a day that is rolled up.

import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { DAY_MS } from '../../src/base/clock.ts';
import { bounds } from '../../src/config/config.ts';
import { checkLedger } from '../../src/ledger/ledger.ts';
import { totalsGroupings } from '../../src/reports/reports.ts';
import { DAYS_TO_ROLL_UP, tagValueTotals, totalsOfMessages, totalsOfUnits } from '../../src/storage/rolled-totals.ts';
import { ask, openWorkbench, type Workbench } from '../money/ledger/workbench.ts';
import { allTotals } from '../support/everything.ts';
import { makeRandom } from '../support/random.ts';
import { cannotStartPostgres, runOn } from '../support/start-postgres.ts';
import { type OpenedPostgres, openPostgres } from './open-postgres.ts';
import { type OpenedSqlite, openSqlite } from './open-sqlite.ts';

interface Rolled {
  bench: Workbench;
  run(text: string): Promise<Record<string, unknown>[]>;
  rollUp(): Promise<void>;
}

const random = makeRandom(7);
const oneOf = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)] as Value;

const units = (unit: 'images' | 'seconds', count: number) => ({
  units: { counts: { [unit]: 1 + count }, image: null },
  unitCosts: { [unit]: 5 + count },
});

/** Messages of several days, with all that totals distinguish. Returns their ids. */
async function useDays(bench: Workbench, days: number): Promise<string[]> {
  await bench.takeLease('node-1'); // the last one lapsed, and may have been dropped
  const keys = [bench.key, await bench.addKey({}, bench.account, 'tok_a')];
  const ids: string[] = [];
  for (let at = 0; at < days * 6; at++) {
    const key = oneOf(keys);
    const group = oneOf(['default', 'gold']);
    const id = await bench.begin(50, { key, group, draft: { model: 'm', stream: true } });
    ids.push(id);
    await bench.settle(id, 10 + at, {
      key,
      group,
      model: oneOf(['small', 'big']),
      provider: oneOf(['one', 'other', null]),
      tagSet: oneOf([0, 1, 7, 8]),
      providerCost: oneOf([null, 3]),
      inputTokens: at,
      ...oneOf([{}, units('images', at), units('seconds', at)]),
    });
    bench.clock.advance(DAY_MS / 6);
  }
  return ids;
}

/** Every report, over all days and over some. */
async function answers({ bench }: Rolled): Promise<unknown[]> {
  const { usage } = bench.stores;
  const firstMs = Math.floor(bench.clock.nowMs() / DAY_MS) * DAY_MS - 40 * DAY_MS;
  const scopes = [{}, { account: bench.account }, { madeBy: 'tok_a' }];
  const filters = [
    {},
    { model: 'big' },
    { group: 'gold' },
    { tag: { name: 'team', value: 'search' } },
    { tag: { name: 'team', value: 'other' } },
    { tag: { name: 'cost_centre', value: 'search' } },
  ];
  const found: unknown[] = [];
  for (const scope of scopes)
    for (const filter of filters)
      for (const days of [{}, { sinceMs: firstMs, untilMs: firstMs + 37 * DAY_MS }]) {
        const question = { ...allTotals, ...scope, ...filter, ...days, tagName: 'team' };
        for (const groupBy of totalsGroupings)
          for (const thenBy of [[], ['day']] as const)
            found.push(await usage.totalUsage({ ...question, groupBy, thenBy }));
        found.push(await usage.topUsage(question));
      }
  return found;
}

/** The same reports with and without coarser totals. Returns how many days are rolled up. */
async function expectSame(rolled: Rolled): Promise<number> {
  const withThem = await answers(rolled);
  const days = (await rolled.run('SELECT day_ms FROM rolled_days')).map((row) => Number(row['day_ms']));
  await rolled.run('DELETE FROM rolled_days');
  expect(withThem).toEqual(await answers(rolled));
  for (const day of days) await rolled.run(`INSERT INTO rolled_days VALUES (${day})`);
  return days.length;
}

/** Days of messages before and after two days without any, and the lengths of the spans that they complete. */
interface Days {
  before: number;
  after: number;
  spans: readonly string[];
}

async function changeDays(rolled: Rolled, of: Days): Promise<void> {
  const { bench, rollUp, run } = rolled;
  const ids = await useDays(bench, of.before);
  bench.clock.advance(2 * DAY_MS); // days without totals are part of a span, too
  ids.push(...(await useDays(bench, of.after)));
  await run(
    `INSERT INTO tag_sets (account_id, id, month_ms, tags) VALUES (${bench.account}, 7, 0, '{"team":"search"}')`,
  );
  expect(await expectSame(rolled)).toBe(0);
  await rollUp();
  const days = await expectSame(rolled);
  expect(days).toBeGreaterThanOrEqual(of.before + of.after);
  const spans = async () =>
    (await run('SELECT days, day_ms FROM rolled_spans')).map((row) => `${row['days']} ${row['day_ms']}`);
  const complete = await spans();
  expect(new Set(complete.map((span) => span.split(' ')[0]))).toEqual(new Set(of.spans));
  // A refund in a closed day takes the day out, and later ones see it.
  const middle = ids[Math.floor(ids.length / 2)] as string;
  await ask(bench.stores.gate, { kind: 'refund', requestId: middle, amount: 5, note: null });
  expect((await spans()).length).toBe(complete.length - of.spans.length);
  expect(await expectSame(rolled)).toBe(days - 1);
  await rollUp();
  expect(await expectSame(rolled)).toBe(days);
  expect((await spans()).toSorted()).toEqual(complete.toSorted());
  // So does one in a day that is rolled up for the second time, and messages go on meanwhile.
  const [, more] = await Promise.all([rollUp(), useDays(bench, 1)]);
  await ask(bench.stores.gate, { kind: 'refund', requestId: middle, amount: 5, note: null });
  await ask(bench.stores.gate, { kind: 'refund', requestId: more[0] as string, amount: 5, note: null });
  await expectSame(rolled);
  await rollUp();
  expect(await expectSame(rolled)).toBeGreaterThanOrEqual(days);
}

test('reports are the same with coarser totals, during corrections of days that are rolled up, on SQLite', async () => {
  let opened: OpenedSqlite | undefined;
  await using bench = await openWorkbench((clock) => (opened = openSqlite(clock)), 1_000_000);
  const { database, sums, maintain } = opened as unknown as OpenedSqlite;
  const rolled: Rolled = {
    bench,
    run: async (text) => database.query(text).all() as Record<string, unknown>[],
    rollUp: async () => void (await maintain(bench.clock.nowMs(), AbortSignal.timeout(60_000))),
  };
  await changeDays(rolled, { before: 20, after: 40, spans: ['7', '28'] });
  expect(checkLedger(sums()).faults).toEqual([]);
  const all = [totalsOfMessages, totalsOfUnits];
  const ofDays = [...all.flatMap(({ coarser }) => coarser), tagValueTotals].map((one) => ({ ...one, days: 1 }));
  for (const { name: table, days } of [...ofDays, ...all.flatMap(({ spans }) => spans)]) {
    const first = `(SELECT MIN(day_ms) FROM ${days === 1 ? 'rolled_days' : 'rolled_spans'} ${days === 1 ? '' : `WHERE days = ${days}`})`;
    database.run(`UPDATE ${table} SET cost = cost + 1 WHERE day_ms = ${first}`);
    expect(checkLedger(sums()).faults).toEqual([expect.stringContaining('are not the sums of its daily totals')]);
    database.run(`UPDATE ${table} SET cost = cost - 1 WHERE day_ms = ${first}`);
  }
  // Totals of units are read from the coarser ones: a part of four weeks, from weeks.
  const [{ day_ms: spanMs } = { day_ms: 0 }] = await rolled.run(
    'SELECT MIN(day_ms) AS day_ms FROM rolled_spans WHERE days = 28',
  );
  for (const [table, groupBy, sinceMs] of [
    ['model_unit_totals', 'model', null],
    ['unit_weeks', 'key', Number(spanMs) + 7 * DAY_MS],
    ['unit_four_weeks', 'key', null],
  ] as const) {
    const images = async () =>
      (await bench.stores.usage.totalUsage({ ...allTotals, groupBy, sinceMs })).whole.units?.['images']?.quantity ?? 0;
    const before = await images();
    database.run(`UPDATE ${table} SET quantity = quantity + 1 WHERE unit = 'images'`);
    expect(await images()).toBeGreaterThan(before);
    database.run(`UPDATE ${table} SET quantity = quantity - 1 WHERE unit = 'images'`);
  }
});

test.skipIf(cannotStartPostgres)(
  'reports are the same with coarser totals, during corrections of days that are rolled up, on PostgreSQL',
  async () => {
    let opened: OpenedPostgres | undefined;
    await using bench = await openWorkbench(async (clock) => (opened = await openPostgres(clock)), 1_000_000);
    const { url, sums } = opened as unknown as OpenedPostgres;
    const rolled: Rolled = {
      bench,
      run: async (text) => (await runOn(url, text)) as Record<string, unknown>[],
      // Not by maintainDatabase, which drops the leases of this clock as lapsed.
      async rollUp() {
        const days = await runOn(
          url,
          DAYS_TO_ROLL_UP.replace('$1', String(bench.clock.nowMs() - bounds.rolledUpAfterMs)),
        );
        for (const { day_ms: day } of days) await runOn(url, `SELECT roll_up_day(${day})`);
      },
    };
    // PostgreSQL rolls up days that have ended by its own clock.
    await changeDays(rolled, { before: 3, after: 7, spans: ['7'] });
    expect(checkLedger(await sums()).faults).toEqual([]);
    await changeDuringRollUp(rolled, url);
    expect(checkLedger(await sums()).faults).toEqual([]);
  },
);

/** A change of a day and its roll-up wait for each other, whichever comes first. */
async function changeDuringRollUp({ run }: Rolled, url: string): Promise<void> {
  await using one = new SQL({ url, max: 1 });
  await using other = new SQL({ url, max: 1 });
  const [{ day_ms: day } = {}] = await run('SELECT MIN(day_ms) AS day_ms FROM rolled_days');
  const change = (by: number) => `UPDATE grouped_totals SET cost = cost + ${by} WHERE day_ms = ${day}`;
  const rollUp = `SELECT roll_up_day(${day})`;
  const isRolledUp = async () => (await run(`SELECT 1 FROM rolled_days WHERE day_ms = ${day}`)).length > 0;
  for (const [first, second, isLastRollUp] of [
    [change(1), rollUp, true],
    [rollUp, change(-1), false],
  ] as const) {
    await run(`DELETE FROM rolled_days WHERE day_ms = ${day}`);
    await one.unsafe(`BEGIN; ${first}`).simple();
    const waiting = other.unsafe(second).simple();
    waiting.catch(() => {}); // awaited below
    while ((await run("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).length === 0)
      await Bun.sleep(10);
    await one.unsafe('COMMIT').simple();
    await waiting;
    expect(await isRolledUp()).toBe(isLastRollUp);
  }
  await run(rollUp);
}
