// Monthly statements: opening balance, credits, usage and closing balance. In whatever order things happen, the
// opening balance and all changes add up to the closing balance, and usage equals its entries.

import { expect, test } from 'bun:test';
import type { Entry } from '../../../src/ledger/ledger.ts';
import type { AccountMonth } from '../../../src/reports/reports.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { allUsage } from '../../support/everything.ts';
import { makeRandom } from '../../support/random.ts';

const NOVEMBER = Date.UTC(2026, 10);
const DECEMBER = Date.UTC(2026, 11);
const JANUARY = Date.UTC(2027, 0);
const FEBRUARY = Date.UTC(2027, 1);
const DAY_MS = 86_400_000;

export function monthConformance(open: OpenStores): void {
  boundaryTests(open);
  paidTests(open);
  randomTests(open);
}

async function readMonth(
  bench: Workbench,
  sinceMs: number,
  { account = bench.account, messagesMax = 1000 } = {},
): Promise<AccountMonth> {
  const date = new Date(sinceMs);
  const untilMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  const month = await bench.stores.ledger.readMonth({
    account,
    below: [],
    tagName: null,
    sinceMs,
    untilMs,
    messagesMax,
    entriesMax: 5,
    groupsMax: 2,
  });
  if (month === null) throw new Error('the account has no month');
  return month;
}

const sums = ({ opening, closing, credited, refunded, corrected, used }: AccountMonth) => [
  opening,
  credited,
  used,
  refunded,
  corrected,
  closing,
];

type PaidDays = [dayMs: number, paid: bigint][];

/** The days on which the balance paid something. */
const paidDays = ({ balancePaid }: AccountMonth): PaidDays =>
  (balancePaid ?? [])
    .map(({ dayMs, paid }): PaidDays[number] => [dayMs, paid])
    .filter(([, paid]) => paid !== 0n)
    .sort(([one], [other]) => one - other);

function paidIn(entries: readonly Entry[], account: number): PaidDays {
  const used = entries.filter(({ kind, debit }) => kind === 'usage' && debit === account);
  const days = Map.groupBy(used, ({ atMs }) => Math.floor(atMs / DAY_MS) * DAY_MS);
  return [...days]
    .map(([dayMs, ofDay]): PaidDays[number] => [dayMs, ofDay.reduce((sum, { amount }) => sum + BigInt(amount), 0n)])
    .sort(([one], [other]) => one - other);
}

function boundaryTests(open: OpenStores): void {
  test('a message counts in the month in which it ends, and a refund in the month in which it is made', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(40);
    bench.clock.advance(DECEMBER - 1 - START_MS);
    await bench.settle(requestId, 30, { outputTokens: 3 });
    const late = await bench.begin(40);
    bench.clock.advance(1);
    await bench.settle(late, 20, { model: 'big' });
    await bench.ask({ kind: 'refund', requestId, amount: 10, note: null });
    expect(sums(await readMonth(bench, NOVEMBER))).toEqual([0n, 100n, 30n, 0n, 0n, 70n]);
    expect(sums(await readMonth(bench, DECEMBER))).toEqual([70n, 0n, 20n, 10n, 0n, 60n]);
    expect(sums(await readMonth(bench, JANUARY))).toEqual([60n, 0n, 0n, 0n, 0n, 60n]);
    const { totals } = await readMonth(bench, NOVEMBER);
    expect(totals.day.rows).toMatchObject([{ dayMs: DECEMBER - 86_400_000, cost: 20n, outputTokens: 3, model: null }]);
    expect((await readMonth(bench, DECEMBER)).totals.model.rows).toMatchObject([{ model: 'big', cost: 20n }]);
    expect((await readMonth(bench, DECEMBER)).totals.key.rows).toMatchObject([{ key: bench.key, cost: 20n }]);
  });

  test('entries in a past month, after the clock was set back, count in that month', async () => {
    await using bench = await openWorkbench(open, 100);
    bench.clock.advance(DECEMBER - START_MS);
    await bench.credit(10);
    bench.clock.advance(-1000);
    await bench.credit(5);
    await bench.credit(-2, { source: 'adjustment' });
    bench.clock.advance(1000);
    await bench.credit(1);
    expect(sums(await readMonth(bench, NOVEMBER))).toEqual([0n, 103n, 0n, 0n, 0n, 103n]);
    expect(sums(await readMonth(bench, DECEMBER))).toEqual([103n, 11n, 0n, 0n, 0n, 114n]);
  });

  test('months without entries have the balance of the account, also before its first entry', async () => {
    await using bench = await openWorkbench(open, 100);
    bench.clock.advance(FEBRUARY - START_MS);
    await bench.credit(50, { source: 'promotion' });
    await bench.credit(-20, { source: 'adjustment' });
    expect(sums(await readMonth(bench, Date.UTC(2026, 9)))).toEqual([0n, 0n, 0n, 0n, 0n, 0n]);
    expect(sums(await readMonth(bench, JANUARY))).toEqual([100n, 0n, 0n, 0n, 0n, 100n]);
    expect(sums(await readMonth(bench, FEBRUARY))).toEqual([100n, 30n, 0n, 0n, 0n, 130n]);
  });

  test('entries other than usage are listed newest first, up to the limit', async () => {
    await using bench = await openWorkbench(open, 100);
    for (let at = 0; at < 3; at++) {
      bench.clock.advance(1000);
      const requestId = await bench.begin(5);
      await bench.settle(requestId, 5);
      await bench.credit(1, { source: at % 2 === 0 ? 'promotion' : 'payment' });
      await bench.ask({ kind: 'refund', requestId, amount: 2, note: 'kind' });
    }
    const month = await readMonth(bench, NOVEMBER);
    expect(month.entries.map(({ kind }) => kind)).toEqual(['refund', 'promotion', 'refund', 'payment', 'refund']);
    expect(month.hasMoreEntries).toBe(true);
    expect(sums(month)).toEqual([0n, 103n, 15n, 6n, 0n, 94n]);
  });

  test('an unknown account has no months, and each account has its own', async () => {
    await using bench = await openWorkbench(open, 100);
    const other = await bench.addAccount(7);
    expect(sums(await readMonth(bench, NOVEMBER, { account: other }))).toEqual([0n, 7n, 0n, 0n, 0n, 7n]);
    const most = { messagesMax: 5, entriesMax: 5, groupsMax: 2, below: [], tagName: null };
    const question = { account: 4711, sinceMs: NOVEMBER, untilMs: DECEMBER, ...most };
    expect(await bench.stores.ledger.readMonth(question)).toBeNull();
  });
}

function paidTests(open: OpenStores): void {
  test('bonuses of payments are a part of the credits of their own, less what was taken back', async () => {
    await using bench = await openWorkbench(open, 100);
    const bonus = (version: number, amount: number) =>
      bench.credit(amount, { source: 'promotion', reference: `bonus:pay_1:${version}` });
    await bench.credit(7, { source: 'promotion', reference: 'bonus: of summer' });
    await bonus(1, 30);
    await bonus(2, -10);
    bench.clock.advance(DECEMBER - START_MS);
    await bonus(3, -5);
    const [november, december] = [await readMonth(bench, NOVEMBER), await readMonth(bench, DECEMBER)];
    expect([november.bonus, november.credited, december.bonus, december.credited]).toEqual([20n, 127n, -5n, -5n]);
  });

  test('what the balance paid each day is without what a plan paid, and later refunds and corrections leave it', async () => {
    await using bench = await openWorkbench(open, 1000);
    const plan = { name: 'basic', windows: [{ length: 'month', limit: 100 }] as const, groups: null };
    const times = { anchorMs: START_MS, paidUntilMs: null, endsAtMs: null };
    await bench.submit({ kind: 'set-plan', account: bench.account, plan: { ...plan, ...times, overflow: true } });
    const day = (count: number) => Math.floor(START_MS / DAY_MS + count) * DAY_MS;
    const requestId = await bench.begin(130);
    await bench.settle(requestId, 130, { outputTokens: 1 }); // the plan pays 100
    bench.clock.advance(day(1) - bench.clock.nowMs());
    await bench.settle(await bench.begin(40), 40);
    bench.clock.advance(DAY_MS - 1);
    await bench.settle(await bench.begin(5), 5);
    bench.clock.advance(1);
    await bench.ask({ kind: 'refund', requestId, amount: 20, note: null });
    const month = await readMonth(bench, NOVEMBER);
    expect(paidDays(month)).toEqual([
      [day(0), 30n],
      [day(1), 45n],
    ]);
    expect(month.totals.day.rows.map(({ dayMs, cost }) => [dayMs, cost])).toEqual([
      [day(1), 45n],
      [day(0), 110n],
    ]);
    expect([month.used, month.refunded, month.closing]).toEqual([75n, 20n, 945n]);
    expect((await readMonth(bench, NOVEMBER, { messagesMax: 3 })).balancePaid).not.toBeNull();
    expect((await readMonth(bench, NOVEMBER, { messagesMax: 2 })).balancePaid).toBeNull();
  });
}

/** Applies one operation that moves money, and ignores its result. */
async function act(bench: Workbench, draw: (n: number) => number, ended: string[]): Promise<void> {
  const requestId = ended[draw(ended.length)] ?? 'req_none';
  const choice = draw(8);
  if (choice === 0) await bench.credit(draw(200), { source: draw(2) === 0 ? 'payment' : 'promotion' });
  else if (choice === 1) await bench.credit(-draw(50), { source: 'adjustment' });
  else if (choice === 2) await bench.ask({ kind: 'refund', requestId, amount: 1 + draw(20), note: null });
  else if (choice === 3) await bench.credit(draw(30), { source: 'write_off' });
  else if (choice === 4) {
    // Its owner is suspended until it expires, and returns to correct it.
    const late = await bench.ask(bench.admission(10, { requestId: `req_late${ended.length}_${draw(1e9)}` }));
    const claim = { name: `claim ${draw(3)}`, requestHash: 'hash' };
    const begun = bench.admission(draw(30), { claim });
    const isAdmitted = late.ok && (await bench.ask(begun)).ok;
    bench.clock.advance(20_000);
    await bench.ask({ kind: 'expire' });
    if (isAdmitted) await bench.settle(begun.requestId, draw(60), { outcome: 'upstream_cut' });
    await bench.takeLease('node-1');
    if (isAdmitted) ended.push(begun.requestId);
  } else {
    const claim = { name: `claim ${draw(3)}`, requestHash: 'hash' };
    const admission = bench.admission(draw(30), draw(3) === 0 ? { claim } : {});
    if (!(await bench.ask(admission)).ok) return;
    bench.clock.advance(draw(3) === 0 ? draw(10_000) : 0);
    await bench.settle(admission.requestId, draw(60), { model: `model ${draw(3)}`, outcome: 'upstream_cut' });
    ended.push(admission.requestId);
  }
}

function randomTests(open: OpenStores): void {
  for (const seed of [1, 2, 3]) {
    test(`opening balance, credits, usage, refunds and corrections add up to the closing balance (seed ${seed})`, async () => {
      await using bench = await openWorkbench(open, 500);
      await bench.setAccount({ creditLine: 40 });
      const random = makeRandom(seed);
      const draw = (n: number) => Math.floor(random() * n);
      const ended: string[] = [];
      for (let step = 0; step < 60; step++) {
        // Days pass, often up to the end of a month.
        const nowMs = bench.clock.nowMs();
        const date = new Date(nowMs);
        const nextMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
        if (draw(5) === 0) bench.clock.advance(nextMs - nowMs - draw(2));
        else bench.clock.advance(draw(4 * 86_400_000));
        if (draw(6) === 0) await bench.takeLease('node-1');
        await act(bench, draw, ended);
      }
      await expectMonths(bench);
    });
  }
}

async function endedIn(bench: Workbench, sinceMs: number, untilMs: number): Promise<Set<string | null>> {
  const page = { ...allUsage, account: bench.account, sinceMs, untilMs: untilMs - 1, limit: 1000 };
  return new Set((await bench.stores.usage.listUsage(page)).map(({ requestId }) => requestId));
}

/** Amount that refunds and corrections returned for these messages, at any time. */
function givenBackOf(messages: ReadonlySet<string | null>, entries: readonly Entry[]): bigint {
  return entries
    .filter(({ kind, reference }) => ['refund', 'correction'].includes(kind) && messages.has(reference))
    .reduce(
      (sum, { credit, debit, amount }) => sum + (credit > 6 ? BigInt(amount) : debit > 6 ? -BigInt(amount) : 0n),
      0n,
    );
}

/** Compares every month with its entries, one by one. */
async function expectMonths(bench: Workbench): Promise<void> {
  const entries = await bench.stores.ledger.listEntries({
    account: bench.account,
    sinceMs: null,
    untilMs: null,
    before: null,
    limit: 1000,
  });
  expect(new Set(entries.map(({ kind }) => kind)).size).toBeGreaterThan(4);
  let balance = 0n;
  const endMs = bench.clock.nowMs();
  for (let date = new Date(NOVEMBER); date.getTime() <= endMs; date.setUTCMonth(date.getUTCMonth() + 1)) {
    const sinceMs = date.getTime();
    const untilMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
    const ofMonth = entries.filter(({ atMs }) => atMs >= sinceMs && atMs < untilMs);
    const moved = (...kinds: string[]) =>
      ofMonth
        .filter(({ kind }) => kinds.includes(kind))
        .reduce((sum, { debit, credit, amount }) => {
          if (credit === bench.account) return sum + BigInt(amount);
          return debit === bench.account ? sum - BigInt(amount) : sum;
        }, 0n);
    const month = await readMonth(bench, sinceMs);
    const credited = moved('payment', 'promotion', 'adjustment', 'debt_write_off');
    const [refunded, corrected, used] = [moved('refund'), moved('correction'), -moved('usage')];
    const closing = balance + credited - used + refunded + corrected;
    expect(sums(month)).toEqual([balance, credited, used, refunded, corrected, closing]);
    expect(paidDays(month)).toEqual(paidIn(ofMonth, bench.account));
    const { whole } = month.totals.day;
    expect(whole.cost - whole.writtenOff).toBe(used - givenBackOf(await endedIn(bench, sinceMs, untilMs), entries));
    const days = month.totals.day.rows.reduce((sum, { cost }) => sum + cost, 0n);
    expect([month.totals.model.whole.cost, month.totals.key.whole.cost]).toEqual([days, days]);
    balance = closing;
  }
  expect(balance).toBe(BigInt((await bench.wallet()).balance));
}
