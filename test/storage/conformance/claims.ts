// Claims: whatever is tried under one, its caller is answered once and charged once.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config.ts';
import { systemAccounts } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench, type Workbench } from '../../ledger/workbench.ts';

const claim = { name: 'order-17', requestHash: 'hash' };
const other = { name: 'order-17', requestHash: 'another' };

export function claimConformance(open: OpenStores): void {
  takingTests(open);
  freeTests(open);
  forgivingTests(open);
  lateTests(open);
}

function takingTests(open: OpenStores): void {
  test('one message at a time, and tells which it is', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50, { claim });
    expect(await bench.admit(1, { claim })).toEqual({ ok: false, reason: 'claim_running', requestId });
    expect(await bench.admit(1, { claim: other })).toEqual({ ok: false, reason: 'claim_mismatch', requestId });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 50 });
  });

  test('no message more where one was answered, whatever money there is, and one of another key', async () => {
    await using bench = await openWorkbench(open, 50);
    const requestId = await bench.begin(50, { claim });
    await answer(bench, requestId, 50);
    expect(await bench.admit(1, { claim })).toEqual({ ok: false, reason: 'claim_answered', requestId });
    expect(await bench.admit(1, { claim: other })).toEqual({ ok: false, reason: 'claim_mismatch', requestId });
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
    bench.key = await bench.addKey();
    expect(await bench.admit(0, { claim })).toMatchObject({ ok: true });
  });

  test('one of two messages of one batch, each of another key its own', async () => {
    await using bench = await openWorkbench(open, 100);
    const key = await bench.addKey();
    const answers = await Promise.all([
      bench.admit(10, { requestId: 'req_first', claim }),
      bench.admit(10, { claim }),
      bench.admit(10, { claim, key }),
    ]);
    expect(answers).toMatchObject([{ ok: true }, { reason: 'claim_running', requestId: 'req_first' }, { ok: true }]);
  });

  test('what is admitted in a bundle as well', async () => {
    await using bench = await openWorkbench(open, 100);
    const operations = [bench.admission(10, { requestId: 'req_first', claim }), bench.admission(10)];
    await bench.stores.gate.submit({ operations });
    expect(await bench.admit(10, { claim })).toMatchObject({ reason: 'claim_running', requestId: 'req_first' });
  });

  test('no message that is asked for again, running or ended', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50, { claim });
    expect(await bench.admit(50, { requestId, claim })).toMatchObject({ ok: true });
    await answer(bench, requestId, 30);
    expect(await bench.admit(50, { requestId, claim })).toEqual({ ok: false, reason: 'ended' });
  });
}

function freeTests(open: OpenStores): void {
  test('one more when its message was no answer, of another body too', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.release(await bench.begin(50, { claim }));
    await bench.settle(await bench.begin(50, { claim: other }), 0);
    expect(await bench.admit(50, { claim })).toMatchObject({ ok: true });
  });

  test('one more for who asks for something else, with nothing given back of what was no answer', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'upstream_cut' });
    await bench.settle(await bench.begin(1, { claim: other }), 1);
    expect(await bench.wallet()).toEqual({ balance: 69, held: 0 });
    expect(await bench.admit(50, { claim })).toMatchObject({ ok: true });
    expect(await bench.wallet()).toEqual({ balance: 69, held: 50 });
  });
}

function forgivingTests(open: OpenStores): void {
  test('nothing for what was no answer, once its caller asks again', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'upstream_cut' });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    const second = await bench.begin(100, { claim });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
    await bench.settle(second, 40);
    expect(await bench.settle(first, 30)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
  });

  test('what was paid and written off of it, with an entry for each, its record and its meters', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 60 });
    await bench.setAccount({ allowance: 80 });
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 75, { outcome: 'upstream_cut' });
    expect(await bench.stores.usage.getUsage(first)).toMatchObject({ cost: 75, writtenOff: 15 });
    expect(await bench.admit(60, { claim })).toMatchObject({ ok: true });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 60 });
    const nowMs = bench.clock.nowMs();
    expect(await bench.stores.ledger.keyMeters(bench.key, nowMs)).toMatchObject({ quotaUsed: 0 });
    expect(await bench.stores.ledger.accountMeters(bench.account, nowMs)).toMatchObject({ allowanceUsed: 0 });
    expect(await bench.stores.usage.getUsage(first)).toMatchObject({ cost: 0, writtenOff: 0, outcome: 'upstream_cut' });
    const entries = (await bench.entries()).filter(({ kind }) => kind === 'correction');
    expect(entries.sort((one, another) => one.amount - another.amount)).toEqual([
      { kind: 'correction', amount: 15, debit: systemAccounts.revenue, credit: systemAccounts.writeOffs },
      { kind: 'correction', amount: 60, debit: systemAccounts.revenue, credit: bench.account },
    ]);
  });

  test('all the same for who asks again and is refused', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'upstream_cut' });
    expect(await bench.admit(101, { claim })).toMatchObject({ ok: false, reason: 'insufficient' });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    expect(await bench.settle(first, 30)).toMatchObject({ ok: true, cost: 30 });
  });

  for (const outcome of ['client_gone', 'quota_cut'] as const)
    test(`what its caller ended himself or with his money as well (${outcome})`, async () => {
      await using bench = await openWorkbench(open, 100);
      const first = await bench.begin(50, { claim });
      await bench.settle(first, 30, { outcome });
      const second = await bench.begin(50, { claim });
      await bench.settle(second, 40);
      expect(await bench.wallet()).toEqual({ balance: 30, held: 0 });
    });

  test('no entry where nothing was written off, and nothing new of what cost nothing', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'upstream_cut' });
    const second = await bench.begin(50, { claim });
    await bench.release(second);
    await bench.begin(50, { claim });
    expect((await bench.entries()).map(({ kind }) => kind)).toEqual(['correction', 'usage', 'payment']);
    expect(await bench.release(second)).toMatchObject({ ok: true, cost: 0 });
  });
}

function lateTests(open: OpenStores): void {
  for (const checkpointCost of [null, 0, 20]) {
    test(`one message where a node comes back late to a claim that is another’s (checkpoint: ${checkpointCost})`, async () => {
      await using bench = await openWorkbench(open, 100);
      const first = await bench.begin(50, { claim });
      if (checkpointCost !== null)
        await bench.extend(first, 50, bench.record(first, { cost: checkpointCost, outcome: 'service_cut' }));
      await expireAll(bench);
      const second = await bench.begin(50, { claim });
      expect(await bench.settle(first, 30)).toEqual({ ok: false, reason: 'ended' });
      await bench.settle(second, 40);
      expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
    });
  }
}

/** Those in which time passes. */
export function claimAgeConformance(open: OpenStores): void {
  for (const isAnswered of [true, false])
    test(`one more after ${bounds.claimKeptMs} ms, to the millisecond, where it ${isAnswered ? 'was answered' : 'runs'}`, async () => {
      await using bench = await openWorkbench(open, 100);
      const requestId = await bench.begin(10, { claim });
      if (isAnswered) await answer(bench, requestId, 10);
      bench.clock.advance(bounds.claimKeptMs - 1);
      expect(await bench.admit(10, { claim })).toMatchObject({ requestId });
      bench.clock.advance(1);
      expect(await bench.admit(10, { claim })).toMatchObject({ ok: true });
      expect(await bench.wallet()).toEqual(isAnswered ? { balance: 90, held: 10 } : { balance: 100, held: 20 });
    });

  test('no answer of a message whose claim is another’s meanwhile', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(10, { claim });
    bench.clock.advance(bounds.claimKeptMs);
    const second = await bench.begin(10, { claim });
    await answer(bench, first, 10);
    await bench.release(second);
    expect(await bench.admit(10, { claim })).toMatchObject({ ok: true });
  });
}

/** Settles it as the answer to its claim. */
async function answer(bench: Workbench, requestId: string, cost: number): Promise<void> {
  const record = bench.record(requestId, { cost });
  expect(await bench.ask({ kind: 'settle', requestId, record, isAnswer: true })).toMatchObject({ ok: true });
}

/** The node of all holds is gone, and begins anew. */
async function expireAll(bench: Workbench): Promise<void> {
  await bench.takeLease('node-1');
  expect(await bench.ask({ kind: 'expire' })).toMatchObject({ ok: true, kind: 'expired' });
}
