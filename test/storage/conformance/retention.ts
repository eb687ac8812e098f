// Retention: old records are dropped and their totals stay; old entries are replaced by opening balances. Each batch
// leaves every sum unchanged, and only what was marked before is dropped.

import { expect, test } from 'bun:test';
import { BrokenInvariant } from '../../../src/base/assert.ts';
import { DAY_MS } from '../../../src/base/clock.ts';
import { newRequestId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import {
  checkLedger,
  type Entry,
  journalRetainedSinceMs,
  systemAccounts,
  usageRetainedSinceMs,
} from '../../../src/ledger/ledger.ts';
import { failureOf, type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';

const DECEMBER_MS = Date.UTC(2026, 11, 1);
const HUNDRED_DAYS_MS = 100 * DAY_MS; // From November into February.

export function retentionConformance(open: OpenStores): void {
  recordTests(open);
  journalTests(open);
  monthTests(open);
  pieceTests(open);
  refusalTests(open);
  purgeTests(open);
}

/** Admits and settles a message, under an id that contains its time as real ids do. */
async function message(bench: Workbench, cost: number): Promise<string> {
  return settled(bench, await bench.begin(cost, { requestId: newRequestId(bench.clock.nowMs()) }), cost);
}

async function settled(bench: Workbench, requestId: string, cost: number): Promise<string> {
  await bench.settle(requestId, cost);
  return requestId;
}

async function entriesOf(bench: Workbench, account = bench.account): Promise<Entry[]> {
  const page = { account, sinceMs: null, untilMs: null, before: null, limit: 10_000 };
  return bench.stores.ledger.listEntries(page);
}

/** Balance of each system account, by its counterpart entries and by its own. */
async function systemSums(bench: Workbench, accounts: readonly number[]): Promise<Record<string, number>> {
  const system = Object.entries(systemAccounts);
  const lists = [...accounts, ...system.map(([, id]) => id)].map((account) => entriesOf(bench, account));
  const entries = (await Promise.all(lists)).flat();
  const sum = (id: number) =>
    entries.reduce((all, { debit, credit, amount }) => all + (credit === id ? amount : debit === id ? -amount : 0), 0);
  return Object.fromEntries(system.map(([name, id]) => [name, sum(id)]));
}

/** Marks and drops all earlier records. */
async function forgetUsage({ stores: { retention } }: Workbench, beforeMs: number): Promise<void> {
  await retention.keepSince('usage', beforeMs);
  while ((await retention.countForgotten('usage_records', beforeMs)) > 0)
    await retention.forget('usage_records', beforeMs);
}

/** Drops all earlier entries that may be dropped, and calls `after` for each batch. */
async function carryAll(bench: Workbench, beforeMs: number, after = async () => {}): Promise<void> {
  const { retention } = bench.stores;
  await retention.keepSince('journal', beforeMs);
  const { accounts } = await retention.listToCarry(beforeMs, 0);
  for (const account of accounts)
    while ((await retention.countToCarry(account, beforeMs)) > 0) {
      await retention.carry(account, beforeMs);
      await after();
    }
}

function recordTests(open: OpenStores): void {
  test('usage records for the retention period, and their totals forever', async () => {
    await using bench = await openWorkbench(open, 1000);
    const old = await message(bench, 10);
    bench.clock.advance(DAY_MS);
    const young = await message(bench, 7);
    bench.clock.advance(2 * DAY_MS);
    await forgetUsage(bench, usageRetainedSinceMs(2, bench.clock.nowMs()));
    expect(await bench.stores.usage.getUsage(old)).toBeNull();
    expect(await bench.stores.usage.getUsage(young)).toMatchObject({ cost: 7 });
    const question = {
      groupBy: 'day',
      account: null,
      key: null,
      madeBy: null,
      model: null,
      sinceMs: null,
      untilMs: null,
    } as const;
    expect(await bench.stores.usage.totalUsage({ ...question, limit: 9 })).toMatchObject({
      rows: [{ cost: 7n }, { cost: 10n }],
      whole: { messages: 2 },
    });
    expect(await bench.wallet()).toEqual({ balance: 983, held: 0 });
    expect(await entriesOf(bench)).toHaveLength(3);
  });

  test('the position of a list cursor whose rows are dropped: the list continues after it, or ends', async () => {
    await using bench = await openWorkbench(open, 1000);
    const ids: string[] = [];
    for (const days of [1, 1, 1, 1, 0]) {
      ids.unshift(await message(bench, 10));
      bench.clock.advance(days * DAY_MS);
    }
    const page = { account: null, key: null, madeBy: null, outcome: null, sinceMs: null, untilMs: null };
    const read = async (before: number | null, limit: number) =>
      bench.stores.usage.listUsage({ ...page, before, limit });
    const places = (await read(null, 9)).map(({ seq }) => seq);
    await forgetUsage(bench, usageRetainedSinceMs(2, bench.clock.nowMs()));
    const idsOf = async (before: number | undefined) => (await read(before ?? 0, 9)).map(({ requestId }) => requestId);
    expect(await idsOf(places[1])).toEqual(ids.slice(2, 3));
    for (const dropped of places.slice(2)) expect(await idsOf(dropped)).toEqual([]);
    const newest = await message(bench, 10);
    expect(await idsOf(places[0])).toEqual(ids.slice(1, 3));
    expect((await read(null, 1))[0]?.requestId).toBe(newest);
  });

  test('the account unchanged when a dropped record is refunded or settled again', async () => {
    await using bench = await openWorkbench(open, 1000);
    const old = await message(bench, 10);
    bench.clock.advance(3 * DAY_MS);
    await forgetUsage(bench, usageRetainedSinceMs(2, bench.clock.nowMs()));
    const refund = { kind: 'refund', requestId: old, amount: 'all', note: null } as const;
    expect(await bench.ask(refund)).toMatchObject({ ok: false, reason: 'unknown_message' });
    expect(await bench.settle(old, 10)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 990, held: 0 });
  });

  test('the record of a message that ran for days: its age counts from its end', async () => {
    await using bench = await openWorkbench(open, 1000);
    const requestId = await bench.begin(10, { requestId: newRequestId(START_MS) });
    bench.clock.advance(5 * DAY_MS);
    await settled(bench, requestId, 10);
    await forgetUsage(bench, usageRetainedSinceMs(2, bench.clock.nowMs()));
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 10 });
  });
}

function monthTests(open: OpenStores): void {
  test('the opening balance and the usage of each retained month', async () => {
    await using bench = await openWorkbench(open, 1000);
    const requestId = await message(bench, 100);
    await bench.ask({ kind: 'refund', requestId, amount: 30, note: null });
    bench.clock.advance(DECEMBER_MS - bench.clock.nowMs());
    await message(bench, 7);
    await bench.credit(2);
    bench.clock.advance(HUNDRED_DAYS_MS);
    await message(bench, 1);
    const untilMs = Date.UTC(2027, 0);
    const question = {
      account: bench.account,
      below: [],
      tagName: null,
      sinceMs: DECEMBER_MS,
      untilMs,
      messagesMax: 9,
      entriesMax: 9,
      groupsMax: 9,
    };
    const before = await bench.stores.ledger.readMonth(question);
    expect(before).toMatchObject({ journalSinceMs: null, opening: 930n, credited: 2n, used: 7n, closing: 925n });
    await forgetUsage(bench, DECEMBER_MS);
    await carryAll(bench, DECEMBER_MS);
    expect(await bench.stores.ledger.readMonth(question)).toEqual({ ...before, journalSinceMs: DECEMBER_MS } as never);
  });
}

function journalTests(open: OpenStores): void {
  test('the sums of dropped journal entries, in one entry per account', async () => {
    await using bench = await openWorkbench(open, 1000);
    const other = await bench.addAccount(50);
    const requestId = await message(bench, 100);
    await bench.ask({ kind: 'refund', requestId, amount: 30, note: null });
    await bench.credit(-5, { source: 'adjustment' });
    bench.clock.advance(HUNDRED_DAYS_MS);
    await message(bench, 1);
    const before = await systemSums(bench, [bench.account, other]);
    expect(before).toMatchObject({ payments: -1050, revenue: 71, adjustments: 5, carriedForward: 0 });
    await forgetUsage(bench, DECEMBER_MS);
    await carryAll(bench, DECEMBER_MS);
    const [usage, carried, ...rest] = await entriesOf(bench);
    expect(usage).toMatchObject({ kind: 'usage', amount: 1 });
    expect(carried).toMatchObject({
      kind: 'carried_forward',
      atMs: DECEMBER_MS - 1,
      debit: systemAccounts.carriedForward,
      credit: bench.account,
      amount: 925,
    });
    expect(rest).toEqual([]);
    expect(await entriesOf(bench, other)).toMatchObject([{ kind: 'carried_forward', amount: 50 }]);
    expect(await entriesOf(bench, systemAccounts.payments)).toMatchObject([
      { kind: 'carried_forward', debit: systemAccounts.payments, amount: 1050 },
    ]);
    expect(await systemSums(bench, [bench.account, other])).toEqual(before);
    expect(await bench.wallet()).toEqual({ balance: 924, held: 0 });
  });

  test('the sums of an earlier month within those of a later one, also of a debt and of zero', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.setAccount({ creditLine: 500 });
    const empty = await bench.addAccount(5);
    await bench.credit(-5, { account: empty });
    await message(bench, 300);
    const laterMs = Date.UTC(2027, 0, 1);
    bench.clock.advance(DECEMBER_MS - START_MS);
    await message(bench, 50);
    bench.clock.advance(HUNDRED_DAYS_MS);
    await forgetUsage(bench, laterMs);
    await carryAll(bench, DECEMBER_MS);
    expect(await entriesOf(bench)).toMatchObject([
      { kind: 'usage', atMs: DECEMBER_MS },
      { kind: 'carried_forward', debit: bench.account, amount: 200 },
    ]);
    await carryAll(bench, laterMs);
    expect(await entriesOf(bench)).toMatchObject([{ kind: 'carried_forward', atMs: laterMs - 1, amount: 250 }]);
    expect(await entriesOf(bench, empty)).toMatchObject([
      { kind: 'carried_forward', atMs: DECEMBER_MS - 1, amount: 0 },
    ]);
    expect(await bench.wallet()).toEqual({ balance: -250, held: 0 });
  });
}

function pieceTests(open: OpenStores): void {
  test('every sum at every moment, even if an account has too many entries for one batch', async () => {
    let sums = async () => checkLedger({} as never);
    const opened: OpenStores = async (clock) => {
      const stores = await open(clock);
      sums = async () => checkLedger(await stores.sums());
      return stores;
    };
    await using bench = await openWorkbench(opened, 1_000_000);
    const other = await bench.addAccount(7);
    for (let done = 0; done < bounds.rowsDroppedAtOnce; done += 50) {
      await Promise.all(Array.from({ length: 50 }, () => message(bench, 1 + (done % 7))));
      bench.clock.advance(1000);
    }
    bench.clock.advance(HUNDRED_DAYS_MS);
    await forgetUsage(bench, DECEMBER_MS);
    const before = await systemSums(bench, [bench.account, other]);
    let pieces = 0;
    await carryAll(bench, DECEMBER_MS, async () => {
      pieces++;
      expect((await sums()).faults).toEqual([]);
      expect(await systemSums(bench, [bench.account, other])).toEqual(before);
    });
    expect(pieces).toBe(3); // One of the other account.
    expect(await entriesOf(bench)).toHaveLength(1);
  });

  test('the references of credits whose entries were dropped', async () => {
    await using bench = await openWorkbench(open, 0);
    await bench.credit(50, { reference: 'invoice 1' });
    await bench.credit(-20, { reference: 'correction 1', source: 'adjustment' });
    bench.clock.advance(HUNDRED_DAYS_MS);
    await forgetUsage(bench, DECEMBER_MS);
    await carryAll(bench, DECEMBER_MS);
    expect(await bench.credit(50, { reference: 'invoice 1' })).toMatchObject({ amount: 50, repeated: true });
    expect(await bench.credit(60, { reference: 'correction 1' })).toMatchObject({ amount: -20, repeated: true });
    expect(await bench.credit(50, { reference: 'invoice 2' })).toMatchObject({ balance: 80, repeated: false });
  });

  test('the entries of retained months, including a refund of a dropped message', async () => {
    await using bench = await openWorkbench(open, 1000);
    const requestId = await message(bench, 10);
    bench.clock.advance(30 * DAY_MS);
    await bench.ask({ kind: 'refund', requestId, amount: 4, note: null });
    bench.clock.advance(HUNDRED_DAYS_MS);
    await forgetUsage(bench, DECEMBER_MS);
    await carryAll(bench, DECEMBER_MS);
    expect(await entriesOf(bench)).toMatchObject([
      { kind: 'refund', amount: 4 },
      { kind: 'carried_forward', amount: 990 },
    ]);
  });
}

function refusalTests(open: OpenStores): void {
  test('all rows that are not marked, and never unmarks any', async () => {
    await using bench = await openWorkbench(open, 1000);
    const { retention } = bench.stores;
    const requestId = await message(bench, 10);
    expect(await retention.retainedSince('usage')).toBeNull();
    expect(await failureOf(retention.forget('usage_records', DECEMBER_MS))).toBeInstanceOf(Error);
    expect(await failureOf(retention.carry(bench.account, DECEMBER_MS))).toBeInstanceOf(Error);
    await retention.keepSince('usage', START_MS - DAY_MS);
    await retention.keepSince('usage', START_MS - 2 * DAY_MS);
    expect(await retention.retainedSince('usage')).toBe(START_MS - DAY_MS);
    expect(await failureOf(retention.forget('usage_records', START_MS))).toBeInstanceOf(Error);
    await retention.forget('usage_records', START_MS - DAY_MS);
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 10 });
  });

  test('the entries of messages whose records remain', async () => {
    await using bench = await openWorkbench(open, 1000);
    const { retention } = bench.stores;
    await message(bench, 10);
    bench.clock.advance(HUNDRED_DAYS_MS);
    await retention.keepSince('usage', DECEMBER_MS);
    await retention.keepSince('journal', DECEMBER_MS);
    const failure = await failureOf(retention.carry(bench.account, DECEMBER_MS));
    expect(failure).toBeInstanceOf(BrokenInvariant);
    expect(await entriesOf(bench)).toHaveLength(2);
    expect(await bench.wallet()).toEqual({ balance: 990, held: 0 });
  });
}

function purgeTests(open: OpenStores): void {
  test('idempotency records, responses, creations and expired secrets until they are no longer needed', async () => {
    await using bench = await openWorkbench(open, 1000);
    const { retention, gate, audit, accounts, answers } = bench.stores;
    const claim = { name: 'again', requestHash: 'hash' };
    const requestId = await bench.begin(10, { claim });
    const answer = answers.answerRow({ requestId, atMs: START_MS, bytes: 6, sealed: 'sealed' });
    const record = bench.record(requestId, { cost: 10 });
    await gate.submit({ operations: [{ kind: 'settle', requestId, record, isAnswer: true }], coCommitted: [answer] });
    const key = await accounts.getKey(bench.key);
    const creation = {
      principal: 'tok_1',
      idempotencyKey: 'once',
      atMs: START_MS,
      requestHash: 'hash',
      object: 'key',
      secretSealed: null,
    };
    await accounts.rotateKey(key as never, 'hash of another', START_MS + 1000, { audit: [], creation });
    const counts = async () => {
      const tables = ['claims', 'answers', 'creations', 'key_secrets'] as const;
      return Promise.all(tables.map((table) => retention.countForgotten(table, bench.clock.nowMs())));
    };
    expect(await counts()).toEqual([0, 0, 0, 0]);
    bench.clock.advance(1001);
    expect(await counts()).toEqual([1, 1, 1, 1]);
    for (const table of ['claims', 'answers', 'creations', 'key_secrets'] as const)
      await retention.forget(table, bench.clock.nowMs());
    expect(await counts()).toEqual([0, 0, 0, 0]);
    expect(await answers.findAnswer(requestId)).toBeNull();
    expect(await audit.findCreation('tok_1', 'once')).toBeNull();
    expect(await accounts.findKeyBySecretHash([`hash of ${bench.key}`])).toBeNull();
    expect(await accounts.findKeyBySecretHash(['hash of another'])).not.toBeNull();
    expect(await bench.admit(10, { claim: { name: 'again', requestHash: 'other' } })).toMatchObject({ ok: true });
  });

  test('rows from the start of a day, or of a month', () => {
    expect(usageRetainedSinceMs(2, START_MS)).toBe(Date.UTC(2026, 10, 16));
    expect(journalRetainedSinceMs(2, START_MS)).toBe(Date.UTC(2026, 8, 1));
    expect(journalRetainedSinceMs(12, Date.UTC(2027, 0, 1))).toBe(Date.UTC(2026, 0, 1));
  });
}
