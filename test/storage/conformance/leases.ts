// Leases: holds of a dead node end at their checkpoint. A node that returns late learns that its lease lapsed, and
// may correct each of its messages once.

import { expect, test } from 'bun:test';
import { systemAccounts } from '../../../src/ledger/ledger.ts';
import { failureOf, type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';

export function leaseConformance(open: OpenStores): void {
  leaseTests(open);
  expireTests(open);
  checkpointTests(open);
  lateAnswerTests(open);
  correctionTests(open);
  lateTests(open);
  writeOffTests(open);
}

function expire(bench: Workbench) {
  return bench.ask({ kind: 'expire' });
}

/** A message of node-1 that expired at a checkpoint of 30 of the 50 held. */
async function expireOne(bench: Workbench): Promise<string> {
  const requestId = await bench.begin(50);
  await bench.extend(requestId, 50, bench.record(requestId, { cost: 30, outputTokens: 3, outcome: 'service_cut' }));
  bench.clock.advance(15_000);
  expect(await expire(bench)).toEqual({ ok: true, kind: 'expired', holds: 1, stuck: [] });
  return requestId;
}

async function corrections(bench: Workbench) {
  const entries = await bench.entries();
  return entries.filter(({ kind }) => kind === 'correction').map(({ kind: _, ...entry }) => entry);
}

function leaseTests(open: OpenStores): void {
  test('that only an owner with the present epoch admits under', async () => {
    await using bench = await openWorkbench(open, 100);
    const old = bench.owner;
    expect(await bench.admit(1, { owner: { node: 'node-9', epoch: 1 } })).toMatchObject({ reason: 'not_owner' });
    await bench.takeLease('node-1');
    expect(bench.owner.epoch).toBe(old.epoch + 1);
    expect(await bench.admit(1, { owner: old })).toMatchObject({ ok: false, reason: 'not_owner', meter: null });
    expect(await bench.admit(1)).toMatchObject({ ok: true });
  });

  test('that only their owner renews', async () => {
    await using bench = await openWorkbench(open, 100);
    const renewal = { kind: 'renew', node: 'node-1', leaseMs: 15_000 } as const;
    await bench.begin(1);
    for (let turn = 0; turn < 3; turn++) {
      bench.clock.advance(10_000);
      expect(await bench.ask({ ...renewal, epoch: bench.owner.epoch })).toMatchObject({ ok: true, kind: 'lease' });
    }
    expect(await expire(bench)).toMatchObject({ holds: 0 });
    expect(await bench.ask({ ...renewal, epoch: bench.owner.epoch + 1 })).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.ask({ ...renewal, node: 'node-9', epoch: 1 })).toEqual({ ok: false, reason: 'ended' });
  });

  test('whose epoch increases when they lapse, so that their node starts again', async () => {
    await using bench = await openWorkbench(open, 100);
    const old = bench.owner;
    bench.clock.advance(14_999);
    await expire(bench);
    expect(await bench.admit(1)).toMatchObject({ ok: true });
    bench.clock.advance(1);
    expect(await expire(bench)).toMatchObject({ holds: 1 });
    expect(await bench.admit(1)).toMatchObject({ ok: false, reason: 'not_owner' });
    const renewal = { kind: 'renew', node: old.node, epoch: old.epoch, leaseMs: 15_000 } as const;
    expect(await bench.ask(renewal)).toEqual({ ok: false, reason: 'ended' });
    await bench.takeLease(old.node);
    expect(bench.owner.epoch).toBeGreaterThan(old.epoch + 1);
    expect(await bench.admit(1)).toMatchObject({ ok: true });
  });
}

function expireTests(open: OpenStores): void {
  test.each([
    ['taken anew', { epoch: null, leaseMs: 15_000 }],
    ['given up', { epoch: 1, leaseMs: 0 }],
  ])('that are %s and expire in one bundle: what was held under them ends there', async (_, terms) => {
    await using bench = await openWorkbench(open, 100);
    await bench.begin(20);
    const operations = [{ kind: 'renew', node: bench.owner.node, ...terms } as const, { kind: 'expire' } as const];
    expect((await bench.stores.gate.submit({ operations })).at(1)).toMatchObject({
      kind: 'expired',
      holds: 1,
      stuck: [],
    });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  });

  test('that are renewed and expired in one bundle: a suspended node does not end its own holds', async () => {
    await using bench = await openWorkbench(open, 100);
    const { node, epoch } = bench.owner;
    await bench.begin(20);
    const owner = await bench.takeLease('node-2');
    await bench.begin(30, { owner });
    bench.clock.advance(20_000);
    const operations = [{ kind: 'renew', node, epoch, leaseMs: 15_000 } as const, { kind: 'expire' } as const];
    expect(await bench.stores.gate.submit({ operations })).toEqual([
      { ok: true, kind: 'lease', epoch },
      { ok: true, kind: 'expired', holds: 1, stuck: [] },
    ]);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 20 });
    expect(await bench.admit(1, { owner: { node, epoch } })).toMatchObject({ ok: true });
    expect(await bench.admit(1, { owner })).toMatchObject({ reason: 'not_owner' });
  });

  test('whose holds end in the bundle that admits them if the lease has lapsed', async () => {
    await using bench = await openWorkbench(open, 100);
    bench.clock.advance(20_000);
    expect(await bench.stores.gate.submit({ operations: [bench.admission(20), { kind: 'expire' }] })).toMatchObject([
      { ok: true, kind: 'admitted' },
      { ok: true, kind: 'expired', holds: 1, stuck: [] },
    ]);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  });
}

function checkpointTests(open: OpenStores): void {
  test('whose holds end at their checkpoint, and those of other nodes stay', async () => {
    await using bench = await openWorkbench(open, 100, { concurrency: 2 });
    const owner = bench.owner;
    bench.clock.advance(1);
    await bench.takeLease('node-2');
    await bench.begin(20);
    bench.owner = owner;
    bench.clock.advance(-1);
    const requestId = await expireOne(bench);
    expect(await bench.wallet()).toEqual({ balance: 70, held: 20 });
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 30, outcome: 'service_cut' });
    expect((await bench.entries())[0]).toMatchObject({ kind: 'usage', amount: 30 });
    expect(await bench.extend(requestId, 60)).toEqual({ ok: false, reason: 'ended' });
    expect(await expire(bench)).toEqual({ ok: true, kind: 'expired', holds: 0, stuck: [] });
  });

  test('whose holds end at the last checkpoint, not at the last extension', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.extend(requestId, 60, bench.record(requestId, { cost: 30, outcome: 'service_cut' }));
    await bench.extend(requestId, 70);
    bench.clock.advance(15_000);
    await expire(bench);
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
  });

  test('whose holds end oldest first if not all can be paid', async () => {
    await using bench = await openWorkbench(open, 100);
    for (const requestId of ['req_b', 'req_a']) {
      await bench.begin(10, { requestId });
      await bench.extend(requestId, 10, bench.record(requestId, { cost: 80, outcome: 'service_cut' }));
    }
    bench.clock.advance(15_000);
    await expire(bench);
    expect(await bench.stores.usage.getUsage('req_a')).toMatchObject({ cost: 80, writtenOff: 0 });
    expect(await bench.stores.usage.getUsage('req_b')).toMatchObject({ cost: 80, writtenOff: 60 });
  });

  test('whose holds of an earlier run end at the start of the next', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.takeLease('node-1');
    expect(await expire(bench)).toMatchObject({ holds: 1 });
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 0, usageSource: 'none' });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  });
}

/** Correction by the late owner of a message whose client got an error in place of its end. */
function lateAnswerTests(open: OpenStores): void {
  test('with nothing charged for a whole message whose client got an error in its place', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    bench.clock.advance(15_000);
    await expire(bench);
    const attempts = [{ provider: 'sandbox', model: 'sandbox-echo', result: 'answered', status: 200, ms: 1 }];
    await bench.settle(requestId, 45, { stream: false, outputTokens: 9, providerCost: 20, attempts });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
    const told = { outcome: 'service_cut', status: 500, cost: 0, outputTokens: 0, usageSource: 'none' };
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ ...told, providerCost: 20, attempts });
  });

  test('with the cost of a stream whose client got an error in place of its end, and the outcome that it saw', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    bench.clock.advance(15_000);
    await expire(bench);
    await bench.settle(requestId, 45);
    expect(await bench.wallet()).toEqual({ balance: 55, held: 0 });
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ outcome: 'service_cut', cost: 45 });
  });

  test('with the cost of a message whose client disconnected before the response', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    bench.clock.advance(15_000);
    await expire(bench);
    await bench.settle(requestId, 45, { stream: false, outcome: 'client_gone', status: 499 });
    expect(await bench.wallet()).toEqual({ balance: 55, held: 0 });
  });
}

function correctionTests(open: OpenStores): void {
  test('with one correction upward by a late owner', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await expireOne(bench);
    const expiredAtMs = bench.clock.nowMs();
    bench.clock.advance(86_400_000);
    for (const cost of [45, 45, 99]) {
      expect(await bench.settle(requestId, cost, { outputTokens: 9 })).toEqual({ ok: false, reason: 'ended' });
      expect(await bench.wallet()).toEqual({ balance: 55, held: 0 });
    }
    expect(await corrections(bench)).toEqual([{ amount: 15, debit: bench.account, credit: systemAccounts.revenue }]);
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({
      atMs: expiredAtMs,
      cost: 45,
      outputTokens: 9,
      writtenOff: 0,
    });
  });

  test('with no correction after a refund, so that refunded money is not charged again', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await expireOne(bench);
    await bench.ask({ kind: 'refund', requestId, amount: 10, note: null });
    expect(await bench.settle(requestId, 45)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 80, held: 0 });
    expect(await corrections(bench)).toEqual([]);
  });

  test('with a correction downward, and to zero for a released message', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 60 });
    const first = await expireOne(bench);
    await bench.settle(first, 10);
    expect(await bench.wallet()).toEqual({ balance: 90, held: 0 });
    await bench.takeLease('node-1');
    const second = await expireOne(bench);
    expect(await bench.release(second)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 90, held: 0 });
    expect(await corrections(bench)).toEqual([
      { amount: 30, debit: systemAccounts.revenue, credit: bench.account },
      { amount: 20, debit: systemAccounts.revenue, credit: bench.account },
    ]);
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({ quotaUsed: 10 });
  });
}

function lateTests(open: OpenStores): void {
  test('with a correction that counts against quota and allowance too', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 90 });
    await bench.setAccount({ allowance: 80 });
    await bench.settle(await expireOne(bench), 45);
    await bench.credit(100);
    await bench.takeLease('node-1');
    expect(await bench.admit(36)).toMatchObject({ ok: false, meter: 'allowance', available: 35 });
    await bench.setAccount({});
    expect(await bench.admit(46)).toMatchObject({ ok: false, meter: 'quota', available: 45 });
  });

  test('with a correction downward that does not add to a later period', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 60, quotaPeriod: 'day' });
    const requestId = await expireOne(bench);
    bench.clock.advance(86_400_000);
    await bench.settle(requestId, 10);
    await bench.takeLease('node-1');
    expect(await bench.admit(61)).toMatchObject({ ok: false, meter: 'quota', available: 60 });
  });

  test('with no correction by a record of another message or with invalid counts', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await expireOne(bench);
    for (const facts of [{ key: await bench.addKey() }, { inputTokens: 0.5 }, { requestId: 'req_other' }])
      expect(await failureOf(bench.settle(requestId, 45, facts))).toBeInstanceOf(Error);
    expect(await failureOf(bench.settle(requestId, -1))).toBeInstanceOf(Error);
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    await bench.settle(requestId, 45);
    expect(await bench.wallet()).toEqual({ balance: 55, held: 0 });
  });

  test('once, also if they are settled and expire at the same time', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    bench.clock.advance(15_000);
    const settle = { kind: 'settle', requestId, record: bench.record(requestId, { cost: 20 }) } as const;
    expect(await bench.stores.gate.submit({ operations: [settle, { kind: 'expire' }] })).toMatchObject([
      { ok: true, kind: 'ended', cost: 20, writtenOff: 0 },
      { ok: true, kind: 'expired', holds: 0, stuck: [] },
    ]);
    expect(await bench.wallet()).toEqual({ balance: 80, held: 0 });
  });
}

function writeOffTests(open: OpenStores): void {
  test('with a correction that is written off if nothing can pay it', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await expireOne(bench);
    await bench.takeLease('node-1');
    await bench.begin(60);
    expect(await bench.settle(first, 50)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 60, held: 60 });
    expect(await corrections(bench)).toEqual([
      { amount: 10, debit: systemAccounts.writeOffs, credit: systemAccounts.revenue },
      { amount: 10, debit: bench.account, credit: systemAccounts.revenue },
    ]);
    expect(await bench.stores.usage.getUsage(first)).toMatchObject({ cost: 50, writtenOff: 10 });
  });

  test('with a correction downward that first reduces the write-off', async () => {
    await using bench = await openWorkbench(open, 20);
    const requestId = await bench.begin(20);
    await bench.extend(requestId, 20, bench.record(requestId, { cost: 50, outcome: 'service_cut' }));
    bench.clock.advance(15_000);
    await expire(bench);
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 50, writtenOff: 30 });
    await bench.settle(requestId, 15);
    expect(await bench.wallet()).toEqual({ balance: 5, held: 0 });
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 15, writtenOff: 0 });
  });
}

/** For stores that apply everything in the order of arrival. */
export function leaseOrderConformance(open: OpenStores): void {
  test('with no change by a late ending at the same cost, also in the batch of the expiry', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    bench.clock.advance(15_000);
    const answers = await Promise.all([expire(bench), bench.settle(requestId, 0), bench.settle(requestId, 7)]);
    expect(answers.slice(1)).toEqual([
      { ok: false, reason: 'ended' },
      { ok: false, reason: 'ended' },
    ]);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  });
}
