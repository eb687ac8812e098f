// Endings: a hold ends exactly once, a message is billed at most once, and an extension adds what is available.

import { expect, test } from 'bun:test';
import { systemAccounts, type UsageRecord } from '../../../src/ledger/ledger.ts';
import { failureOf, type OpenStores, openWorkbench } from '../../money/ledger/workbench.ts';

export function endingConformance(open: OpenStores): void {
  settleTests(open);
  repeatTests(open);
  faultTests(open);
  extendTests(open);
}

function settleTests(open: OpenStores): void {
  test('at their cost, and the rest of the hold is available again', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 80 });
    const requestId = await bench.begin(50);
    expect(await bench.settle(requestId, 30)).toMatchObject({ ok: true, kind: 'ended', cost: 30, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({ quotaUsed: 30 });
    expect((await bench.entries())[0]).toEqual({
      kind: 'usage',
      amount: 30,
      debit: bench.account,
      credit: systemAccounts.revenue,
    });
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ requestId, cost: 30, writtenOff: 0 });
  });

  test('for nothing, with a record and no entry', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    expect(await bench.release(requestId)).toMatchObject({ ok: true, kind: 'ended', cost: 0, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
    expect(await bench.entries()).toHaveLength(1);
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ outcome: 'failed', cost: 0 });
  });

  test('that were disabled meanwhile', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.setKey({ status: 'revoked' });
    await bench.setAccount({ enabled: false });
    expect(await bench.settle(requestId, 20)).toMatchObject({ ok: true, cost: 20 });
    expect(await bench.wallet()).toEqual({ balance: 80, held: 0 });
  });

  test('with every field of the record as given', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    const record = bench.record(requestId, {
      stream: true,
      outcome: 'client_gone',
      status: 499,
      inputTokens: 1,
      outputTokens: 2,
      cacheReadTokens: 3,
      cacheWrite5mTokens: 4,
      cacheWrite1hTokens: 5,
      webSearches: 6,
      usageSource: 'estimated',
      cost: 7,
      providerCost: 8,
      provider: null,
      upstreamModel: 'Größe "ü"',
      admittedMs: 8,
      latencyMs: 9,
      firstTokenMs: 10,
    });
    await bench.ask({ kind: 'settle', requestId, record });
    const stored = await bench.stores.usage.getUsage(requestId);
    const meters = { balance: { before: 100, after: 93 }, quota: null, allowance: null };
    const { seq = 0, atMs = 0 } = stored ?? {}; // a month that is made for the record takes a number
    expect(stored).toEqual({ ...record, seq, atMs, meters });
  });
}

function repeatTests(open: OpenStores): void {
  test('once: a repeated settlement gets the first answer', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.settle(requestId, 30);
    for (const cost of [30, 40, 0]) {
      expect(await bench.settle(requestId, cost)).toMatchObject({ ok: true, kind: 'ended', cost: 30, writtenOff: 0 });
    }
    expect(await bench.release(requestId)).toMatchObject({ ok: true, kind: 'ended', cost: 30, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    expect((await bench.entries()).filter((entry) => entry.kind === 'usage')).toHaveLength(1);
  });

  test('once: what was released is not charged afterwards', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.release(requestId);
    expect(await bench.settle(requestId, 30)).toMatchObject({ ok: true, kind: 'ended', cost: 0, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
    expect(await bench.entries()).toHaveLength(1);
  });

  test('once, also when both settlements are in one batch', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    const answers = await Promise.all([bench.settle(requestId, 30), bench.settle(requestId, 40)]);
    expect(answers).toMatchObject([
      { ok: true, kind: 'ended', cost: 30, writtenOff: 0 },
      { ok: true, kind: 'ended', cost: 30, writtenOff: 0 },
    ]);
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
  });

  test('in the batch that admitted them', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = 'req_short';
    const admission = bench.admission(50, { requestId });
    const settlement = { kind: 'settle', requestId, record: bench.record(requestId, { cost: 30 }) } as const;
    const answers = await Promise.all(
      [admission, settlement, admission, settlement].map((operation) => bench.submit(operation)),
    );
    expect(answers).toMatchObject([
      { ok: true, kind: 'admitted' },
      { ok: true, cost: 30 },
      { ok: false, reason: 'ended' },
      { ok: true, cost: 30 },
    ]);
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
  });

  test('that never existed with `ended`, and a disconnect from them with no effect', async () => {
    await using bench = await openWorkbench(open, 100);
    expect(await bench.settle('req_unknown', 30)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.release('req_unknown')).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.extend('req_unknown', 30)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.ask({ kind: 'leave', requestId: 'req_unknown' })).toEqual({ ok: true, kind: 'done' });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  });
}

function faultTests(open: OpenStores): void {
  test('only with their own record of integers, and the other endings of the batch succeed', async () => {
    await using bench = await openWorkbench(open, 100);
    const faults: Partial<UsageRecord>[] = [
      { requestId: 'req_other' },
      { account: await bench.addAccount(100) },
      { key: await bench.addKey() },
      { cost: -1 },
      { cost: 0.5 },
      { inputTokens: 0.5 },
      { outputTokens: Number.NaN },
      { cacheReadTokens: 0.5 },
      { cacheWrite5mTokens: -1 },
      { cacheWrite1hTokens: -1 },
      { webSearches: 0.5 },
      { status: 1.5 },
      { providerCost: -1 },
    ];
    for (const facts of faults) {
      const [bad, good] = [await bench.begin(5), await bench.begin(5)];
      const settle = (requestId: string, wrong: Partial<UsageRecord>) =>
        bench.submit({ kind: 'settle', requestId, record: bench.record(requestId, { cost: 1, ...wrong }) });
      const [refused, settled] = await Promise.allSettled([settle(bad, facts), settle(good, {})]);
      expect(refused.status).toBe('rejected');
      expect(settled).toMatchObject({ status: 'fulfilled', value: { ok: true, cost: 1 } });
      expect(await bench.settle(bad, 1)).toMatchObject({ ok: true, cost: 1 });
    }
    expect(await bench.wallet()).toEqual({ balance: 100 - 2 * faults.length, held: 0 });
  });

  test('for nothing only with a record that costs nothing', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    const record = bench.record(requestId, { cost: 5 });
    expect(await failureOf(bench.submit({ kind: 'release', requestId, record }))).toBeInstanceOf(Error);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 50 });
  });

  test('never at a checkpoint that could not be billed: it is refused, and the hold is unchanged', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    for (const facts of [{ cost: -1 }, { outputTokens: 0.5 }, { key: await bench.addKey() }]) {
      const checkpoint = bench.record(requestId, facts);
      expect(await failureOf(bench.extend(requestId, 60, checkpoint))).toBeInstanceOf(Error);
    }
    expect(await bench.wallet()).toEqual({ balance: 100, held: 50 });
  });
}

function extendTests(open: OpenStores): void {
  test('later than an extension, which shrinks to what every meter can give', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 90 });
    await bench.setAccount({ allowance: 80 });
    const requestId = await bench.begin(10);
    expect(await bench.extend(requestId, 40)).toMatchObject({ ok: true, kind: 'extended', amount: 40 });
    expect(await bench.extend(requestId, 1000)).toMatchObject({ ok: true, kind: 'extended', amount: 80 });
    expect(await bench.extend(requestId, 1000)).toMatchObject({ ok: true, kind: 'extended', amount: 80 });
    await bench.setAccount({ allowance: null });
    expect(await bench.extend(requestId, 1000)).toMatchObject({ ok: true, kind: 'extended', amount: 90 });
    await bench.setKey({ quota: null });
    expect(await bench.extend(requestId, 1000)).toMatchObject({ ok: true, kind: 'extended', amount: 100 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
  });

  test('later than a correction downward, which releases the excess', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(100);
    expect(await bench.extend(requestId, 20)).toMatchObject({ ok: true, kind: 'extended', amount: 20 });
    expect(await bench.admit(80)).toMatchObject({ ok: true });
    expect(await bench.extend(requestId, 0)).toMatchObject({ ok: true, kind: 'extended', amount: 0 });
    expect(await failureOf(bench.extend(requestId, -1))).toBeInstanceOf(Error);
    for (const amount of [Number.NaN, 0.5, null as unknown as number])
      expect(await failureOf(bench.extend(requestId, amount))).toBeInstanceOf(Error);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 80 });
  });

  test('later than a checkpoint, which leaves the hold unchanged, even if it is no longer available', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 90 });
    const requestId = await bench.begin(50);
    await bench.setKey({ quota: 20 });
    const checkpoint = bench.record(requestId, { cost: 30, outcome: 'service_cut' });
    const answer = await bench.ask({ kind: 'extend', requestId, amount: 'same', checkpoint });
    expect(answer).toMatchObject({ ok: true, kind: 'extended', amount: 50 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 50 });
    await bench.takeLease('node-1');
    await bench.ask({ kind: 'expire' });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
  });

  test('never by less than was held, if a quota is lowered below the hold', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 90 });
    const requestId = await bench.begin(50);
    await bench.setKey({ quota: 20 });
    expect(await bench.extend(requestId, 60)).toMatchObject({ ok: true, kind: 'extended', amount: 50 });
    expect(await bench.settle(requestId, 50)).toMatchObject({ ok: true, kind: 'ended', cost: 50, writtenOff: 0 });
  });
}
