// Stored responses of idempotency keys: written with the settlement of their message or not at all, once, and bounded
// in total, with a fair share for each account.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import type { Answer, StoredAnswer, UsageRecord } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';

const claim = { name: 'order-17', requestHash: 'hash' };

export function answerConformance(open: OpenStores): void {
  writeTests(open);
  shareTests(open);
}

function writeTests(open: OpenStores): void {
  test('the response of an idempotency key with the settlement of its message, and finds it', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10, { claim });
    expect(await bench.stores.answers.findAnswer(requestId)).toBeNull();
    const answer = answerTo(requestId);
    expect(await settle(bench, answer)).toMatchObject({ ok: true, cost: 4 });
    expect(await bench.stores.answers.findAnswer(requestId)).toEqual(answer);
    expect(await bench.admit(10, { claim })).toEqual({ ok: false, reason: 'claim_answered', requestId });
    expect(await bench.wallet()).toEqual({ balance: 96, held: 0 });
  });

  test('only the first response if a settlement is repeated', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10, { claim });
    const answer = answerTo(requestId);
    await Promise.all([settle(bench, answer), settle(bench, { ...answer, sealed: 'another' })]);
    expect(await settle(bench, { ...answer, sealed: 'a third' })).toMatchObject({ ok: true, cost: 4 });
    expect(await bench.stores.answers.findAnswer(requestId)).toEqual(answer);
  });

  test('no response for a message that was ended by another node', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10, { claim });
    await bench.takeLease('node-1');
    await bench.ask({ kind: 'expire' });
    expect(await settle(bench, answerTo(requestId))).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.stores.answers.findAnswer(requestId)).toBeNull();
  });

  test('responses up to a bound: the oldest of an account are dropped, and one that exceeds the bound alone is not stored', async () => {
    await using bench = await openWorkbench(open, 1_000);
    const half = bounds.answersStoredBytesMax / 2;
    const ids: string[] = [];
    const add = async (bytes: number) => {
      const requestId = await bench.begin(10, { claim: { ...claim, name: `order-${ids.length}` } });
      ids.push(requestId);
      await settle(bench, { ...answerTo(requestId), bytes });
    };
    const areKept = () => Promise.all(ids.map(async (id) => (await bench.stores.answers.findAnswer(id)) !== null));
    await add(1);
    await add(half);
    await add(half - 1);
    expect(await areKept()).toEqual([true, true, true]);
    await add(1);
    expect(await areKept()).toEqual([false, true, true, true]);
    await add(half + 1);
    expect(await areKept()).toEqual([false, false, false, true, true]);
    await add(2 * half + 1);
    expect(await areKept()).toEqual(Array<boolean>(6).fill(false));
    await add(2 * half);
    expect((await areKept()).at(-1)).toBe(true);
  });
}

function shareTests(open: OpenStores): void {
  test('the response of a small account, however much another account stores', async () => {
    await using shares = await openShares(open, [100, 100]);
    await shares.add(0, 1_000, 100);
    for (let turn = 0; turn < 20; turn++) await shares.add(1, LARGE, 0);
    expect(await shares.kept()).toEqual([0, ...range(17, 21)]);
  });

  test('the response of a small account, however many accounts store large ones for nothing', async () => {
    await using shares = await openShares(open, Array<number>(51).fill(100));
    await shares.add(0, 1_000, 100);
    for (let turn = 0; turn < 3; turn++)
      for (let account = 1; account <= 50; account++) await shares.add(account, 2 * HUNDREDTH, 0);
    const kept = await shares.kept();
    expect(kept[0]).toBe(0);
    expect(kept).toHaveLength(50);
  });

  test('more for an account that paid more: at least as for 0.01 and at most as for 1 USD', async () => {
    await using shares = await openShares(open, [3 * USD, USD, 0]);
    for (const [account, paid] of [2 * USD, USD / 4].entries())
      for (let at = 0; at < 100; at++) await shares.add(account, HUNDREDTH, paid / 100);
    expect(await shares.bytes()).toEqual([80 * HUNDREDTH, 20 * HUNDREDTH, 0]);
    for (let at = 0; at < 4; at++) await shares.add(2, HUNDREDTH / 2, 0);
    expect((await shares.bytes())[2]).toBe(HUNDREDTH);
  });

  test('less for an account that paid long ago: half of it counts after each day', async () => {
    await using shares = await openShares(open, [USD, USD]);
    await shares.add(0, 1, (64 * USD) / 100);
    for (let at = 0; at < 100; at++) await shares.add(0, HUNDREDTH, 0, 4);
    for (let at = 0; at < 100; at++) await shares.add(1, HUNDREDTH, at === 0 ? (16 * USD) / 100 : 0, 4);
    expect(await shares.bytes()).toEqual([20 * HUNDREDTH, 80 * HUNDREDTH]);
  });

  test('what the accounts paid for, whatever they store in which order', async () => {
    const next = numbers(7);
    await using shares = await openShares(open, Array<number>(5).fill(1_000 * USD));
    const model = new ModelShares();
    for (let at = 0; at < 150; at++) {
      const account = next(5);
      const bytes = 1 + next(next(4) === 0 ? MAX / 2 : HUNDREDTH * 5);
      const paid = [0, 1_000, USD / 200, USD / 20, USD / 4][next(5)] as number;
      await shares.add(account, bytes, paid);
      model.add(account, bytes, paid);
    }
    expect(await shares.kept()).toEqual(model.rows.map(({ at }) => at));
    expect(model.rows.length).toBeLessThan(100);
  });
}

const USD = 1_000_000_000;
const MAX = bounds.answersStoredBytesMax;
const HUNDREDTH = 2 * Math.floor(MAX / 200);
const LARGE = MAX / 4 - 1_000;

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

/** Whole numbers below a bound, the same for each seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

interface ModelRow {
  at: number;
  account: number;
  bytes: number;
}

/**
 * The rule in its own words. Each account's share of the bytes is as its weight, and a response that is dropped belongs to
 * an account that has more than its share.
 */
class ModelShares {
  rows: ModelRow[] = [];
  readonly #paid = new Map<number, number>();
  #next = 0;

  add(account: number, bytes: number, paid: number): void {
    this.rows.push({ at: this.#next++, account, bytes });
    this.#paid.set(account, (this.#paid.get(account) ?? 0) + paid);
    while (bytesOf(this.rows) > MAX) this.#drop();
  }

  #drop(): void {
    const shares = [...this.#paid].map(([account, paid]) => {
      const weight = Math.min(1_000_000, Math.max(10_000, Math.floor(paid / 1_000)));
      return { weight, own: this.rows.filter((row) => row.account === account) };
    });
    const loadOf = ({ own, weight }: (typeof shares)[0]) => bytesOf(own) / weight;
    const most = shares.reduce((one, other) => (loadOf(other) > loadOf(one) ? other : one));
    const weights = shares.reduce((all, { own, weight }) => (own.length > 0 ? all + weight : all), 0);
    expect(bytesOf(most.own)).toBeGreaterThan((MAX * most.weight) / weights);
    this.rows = this.rows.filter((row) => row !== most.own[0]);
  }
}

function bytesOf(rows: readonly ModelRow[]): number {
  return rows.reduce((all, { bytes }) => all + bytes, 0);
}

interface Shares extends AsyncDisposable {
  /** Bills a message to the account at that place, and stores its response, so many days after the start. */
  add(account: number, bytes: number, paid: number, days?: number): Promise<void>;
  /** The stored responses, by the order in which they were added. */
  kept(): Promise<number[]>;
  /** The stored bytes of each account. */
  bytes(): Promise<number[]>;
}

async function openShares(open: OpenStores, balances: readonly number[]): Promise<Shares> {
  const bench = await openWorkbench(open, 0);
  const payers: { account: number; key: number }[] = [];
  for (const balance of balances) {
    const account = await bench.addAccount(balance);
    payers.push({ account, key: await bench.addKey({}, account) });
  }
  const added: { requestId: string; payer: number; bytes: number }[] = [];
  const stored = async () => {
    const found = await Promise.all(added.map(({ requestId }) => bench.stores.answers.findAnswer(requestId)));
    return added.flatMap((one, at) => (found[at] === null ? [] : [{ ...one, at }]));
  };
  return {
    async add(payer, bytes, paid, days = 0) {
      const facts = payers[payer] as { account: number; key: number };
      const requestId = await bench.begin(paid, { ...facts, claim: { ...claim, name: `order-${added.length}` } });
      added.push({ requestId, payer, bytes });
      const answer = { ...answerTo(requestId), bytes, atMs: START_MS + days * 86_400_000 };
      expect(await settle(bench, answer, { ...facts, cost: paid })).toMatchObject({ ok: true, writtenOff: 0 });
    },
    kept: async () => (await stored()).map(({ at }) => at),
    async bytes() {
      const left = await stored();
      return payers.map((_, at) => left.reduce((all, { payer, bytes }) => (payer === at ? all + bytes : all), 0));
    },
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}

function answerTo(requestId: string): StoredAnswer {
  return { requestId, atMs: START_MS, bytes: 6, sealed: 'sealed' };
}

async function settle(
  bench: Workbench,
  answer: StoredAnswer,
  facts: Partial<UsageRecord> = { cost: 4 },
): Promise<Answer> {
  const { requestId } = answer;
  const record = bench.record(requestId, facts);
  const [given] = await bench.stores.gate.submit({
    operations: [{ kind: 'settle', requestId, record, isAnswer: true }],
    coCommitted: [bench.stores.answers.answerRow(answer)],
  });
  return given as Answer;
}
