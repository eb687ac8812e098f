// Idempotency keys: whatever is tried under one, its client gets one answer and pays once.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { type Answer, systemAccounts } from '../../../src/ledger/ledger.ts';
import { NO_LIMITS, type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';

const claim = { name: 'order-17', requestHash: 'hash' };
const other = { name: 'order-17', requestHash: 'another' };

export function claimConformance(open: OpenStores): void {
  takingTests(open);
  replayTests(open);
  freeTests(open);
  reversalTests(open);
  reversedTests(open);
  notReversedTests(open);
  lateTests(open);
}

function takingTests(open: OpenStores): void {
  test('one message at a time, and names it', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50, { claim });
    expect(await bench.admit(1, { claim })).toEqual({ ok: false, reason: 'claim_running', requestId });
    expect(await bench.admit(1, { claim: other })).toEqual({ ok: false, reason: 'claim_mismatch', requestId });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 50 });
  });

  test('no further message once one was answered, whatever the balance, but a message of another key', async () => {
    await using bench = await openWorkbench(open, 50);
    const requestId = await bench.begin(50, { claim });
    await answer(bench, requestId, 50);
    expect(await bench.admit(1, { claim })).toEqual({ ok: false, reason: 'claim_answered', requestId });
    expect(await bench.admit(1, { claim: other })).toEqual({ ok: false, reason: 'claim_mismatch', requestId });
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
    bench.key = await bench.addKey();
    expect(await bench.admit(0, { claim })).toMatchObject({ ok: true });
  });

  test('one of two messages in a batch, and one more of each other key', async () => {
    await using bench = await openWorkbench(open, 100);
    const key = await bench.addKey();
    const answers = await Promise.all([
      bench.admit(10, { requestId: 'req_first', claim }),
      bench.admit(10, { claim }),
      bench.admit(10, { claim, key }),
    ]);
    expect(answers).toMatchObject([{ ok: true }, { reason: 'claim_running', requestId: 'req_first' }, { ok: true }]);
  });

  test('messages that are admitted in a bundle', async () => {
    await using bench = await openWorkbench(open, 100);
    const operations = [bench.admission(10, { requestId: 'req_first', claim }), bench.admission(10)];
    await bench.stores.gate.submit({ operations });
    expect(await bench.admit(10, { claim })).toMatchObject({ reason: 'claim_running', requestId: 'req_first' });
  });

  test('no repeated message, running or ended', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50, { claim });
    expect(await bench.admit(50, { requestId, claim })).toMatchObject({ ok: true });
    await answer(bench, requestId, 30);
    expect(await bench.submit(bench.admission(50, { requestId, claim }))).toEqual({ ok: false, reason: 'ended' });
  });
}

function replayTests(open: OpenStores): void {
  test('a replay without a slot and without tokens of the rates', async () => {
    await using bench = await openWorkbench(open, 50);
    const requestId = await bench.begin(10, { claim });
    await answer(bench, requestId, 10);
    await bench.setKey({ inputTokensPerMinute: 0, outputTokensPerMinute: 0, concurrency: 0, requestsPerMinute: 1 });
    expect(await bench.admit(1)).toMatchObject({ reason: 'input_tokens_rate' });
    expect(await bench.admit(10, { claim })).toEqual({ ok: false, reason: 'claim_answered', requestId });
    expect(await bench.admit(10, { claim })).toMatchObject({ reason: 'requests_rate' });
  });
}

function freeTests(open: OpenStores): void {
  test('one more message after a failed attempt, also with another body', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.release(await bench.begin(50, { claim }));
    await bench.settle(await bench.begin(50, { claim: other }), 0);
    expect(await bench.admit(50, { claim })).toMatchObject({ ok: true });
  });

  test('one more message with another body, without reversing the failed attempt', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'upstream_cut' });
    await bench.settle(await bench.begin(1, { claim: other }), 1);
    expect(await bench.wallet()).toEqual({ balance: 69, held: 0 });
    expect(await bench.admit(50, { claim })).toMatchObject({ ok: true });
    expect(await bench.wallet()).toEqual({ balance: 69, held: 50 });
  });
}

function reversalTests(open: OpenStores): void {
  test('the charge of a failed attempt is reversed by the answer that follows it, not by its admission', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'upstream_cut' });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    const second = await bench.begin(50, { claim });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 50 });
    await answer(bench, second, 40);
    expect(await bench.settle(first, 30)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
  });

  for (const outcome of ['client_gone', 'quota_cut', 'upstream_cut', 'failed'] as const)
    test(`no charge is reversed by a later failed attempt (${outcome})`, async () => {
      await using bench = await openWorkbench(open, 100);
      const first = await bench.begin(50, { claim });
      await bench.settle(first, 30, { outcome: 'upstream_cut' });
      const second = await bench.begin(50, { claim });
      if (outcome === 'failed') await bench.release(second);
      else await bench.settle(second, 5, { outcome });
      expect(await bench.wallet()).toEqual({ balance: outcome === 'failed' ? 70 : 65, held: 0 });
      expect(await bench.stores.usage.getUsage(first)).toMatchObject({ cost: 30 });
    });

  test('the answer reverses the charges of all failed attempts with its body, however many nodes died meanwhile', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(10, { claim });
    await bench.settle(first, 8, { outcome: 'upstream_cut' });
    await bench.release(await bench.begin(10, { claim })); // Failed before it produced anything.
    const third = await bench.begin(10, { claim });
    await bench.extend(third, 10, bench.record(third, { cost: 4, outcome: 'service_cut' }));
    await expireAll(bench);
    const fourth = await bench.begin(10, { claim });
    await bench.settle(fourth, 6, { outcome: 'service_cut' });
    expect(await bench.wallet()).toEqual({ balance: 82, held: 0 });
    await answer(bench, await bench.begin(10, { claim }), 9);
    expect(await bench.wallet()).toEqual({ balance: 91, held: 0 });
    expect((await bench.entries()).filter(({ kind }) => kind === 'correction').length).toBe(3);
  });
}

function reversedTests(open: OpenStores): void {
  test('an answer reverses no charge of another body, nor does a later answer with the first body', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.settle(await bench.begin(50, { claim }), 30, { outcome: 'upstream_cut' });
    await bench.settle(await bench.begin(1, { claim: other }), 1, { outcome: 'upstream_cut' });
    await answer(bench, await bench.begin(50, { claim }), 10);
    expect(await bench.wallet()).toEqual({ balance: 59, held: 0 });
  });

  test('charges and write-offs are reversed, each by an entry, in the record, the quota and the allowance', async () => {
    await using bench = await openWorkbench(open, 120, { quota: 80 });
    await bench.settle(await bench.begin(20), 20); // another message, which stays charged
    await bench.setAccount({ allowance: 80 });
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 75, { outcome: 'upstream_cut' });
    expect(await bench.stores.usage.getUsage(first)).toMatchObject({ cost: 75, writtenOff: 15 });
    const second = await bench.begin(0, { claim });
    // The reversal comes first, so that the returned money can pay for the answer.
    await answer(bench, second, 7);
    expect(await bench.wallet()).toEqual({ balance: 93, held: 0 });
    const nowMs = bench.clock.nowMs();
    expect(await bench.stores.ledger.keyMeters(bench.key, nowMs)).toMatchObject({ quotaUsed: 27 });
    expect(await bench.stores.ledger.accountMeters(bench.account, nowMs)).toMatchObject({ allowanceUsed: 27 });
    expect(await bench.stores.usage.getUsage(first)).toMatchObject({ cost: 0, writtenOff: 0, outcome: 'upstream_cut' });
    expect(await bench.stores.usage.getUsage(second)).toMatchObject({ cost: 7, writtenOff: 0 });
    const entries = (await bench.entries()).filter(({ kind }) => kind === 'correction');
    expect(entries.sort((one, another) => one.amount - another.amount)).toEqual([
      { kind: 'correction', amount: 15, debit: systemAccounts.revenue, credit: systemAccounts.writeOffs },
      { kind: 'correction', amount: 60, debit: systemAccounts.revenue, credit: bench.account },
    ]);
  });
}

function notReversedTests(open: OpenStores): void {
  for (const outcome of ['client_gone', 'quota_cut'] as const)
    test(`a client pays for the output of an attempt that it aborted or that its balance ended (${outcome})`, async () => {
      await using bench = await openWorkbench(open, 100);
      const first = await bench.begin(50, { claim });
      await bench.settle(first, 30, { outcome });
      await answer(bench, await bench.begin(50, { claim }), 40);
      expect(await bench.wallet()).toEqual({ balance: 30, held: 0 });
    });

  test('a client pays for the output of an attempt that it aborted, even if only the late owner knows', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await expireAll(bench);
    const second = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'client_gone' });
    await answer(bench, second, 40);
    expect(await bench.wallet()).toEqual({ balance: 30, held: 0 });
  });

  test('an attempt that cost nothing leaves no entry', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.release(first);
    await answer(bench, await bench.begin(50, { claim }), 0);
    expect((await bench.entries()).map(({ kind }) => kind)).toEqual(['payment']);
    expect(await bench.release(first)).toMatchObject({ ok: true, cost: 0 });
  });

  test('at most the bound of failed attempts is reversed, the latest ones', async () => {
    await using bench = await openWorkbench(open, 100);
    for (let attempt = 0; attempt <= bounds.failedAttemptsReversedMax; attempt++)
      await bench.settle(await bench.begin(1, { claim }), 1, { outcome: 'upstream_cut' });
    await answer(bench, await bench.begin(1, { claim }), 0);
    expect(await bench.wallet()).toEqual({ balance: 99, held: 0 });
  });
}

function lateTests(open: OpenStores): void {
  for (const checkpointCost of [null, 0, 20]) {
    test(`one message if a node returns after another took the key (checkpoint: ${checkpointCost})`, async () => {
      await using bench = await openWorkbench(open, 100);
      const first = await bench.begin(50, { claim });
      if (checkpointCost !== null)
        await bench.extend(first, 50, bench.record(first, { cost: checkpointCost, outcome: 'service_cut' }));
      await expireAll(bench);
      const second = await bench.begin(50, { claim });
      expect(await bench.settle(first, 30)).toEqual({ ok: false, reason: 'ended' });
      await answer(bench, second, 40);
      expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
    });

    test(`nothing more if a node returns after another answered its message (checkpoint: ${checkpointCost})`, async () => {
      await using bench = await openWorkbench(open, 100);
      const first = await bench.begin(50, { claim });
      if (checkpointCost !== null)
        await bench.extend(first, 50, bench.record(first, { cost: checkpointCost, outcome: 'service_cut' }));
      await expireAll(bench);
      await answer(bench, await bench.begin(50, { claim }), 40);
      expect(await bench.settle(first, 30)).toEqual({ ok: false, reason: 'ended' });
      expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
    });
  }
}

/** The bound on the amount that reversals return to an account in a day. */
export function reversalBoundConformance(open: OpenStores): void {
  const outcome = 'upstream_cut';
  /** Attempts that fail at these costs, then a free answer. Returns the costs that stay charged. */
  async function retry(bench: Workbench, name: string, costs: readonly number[], reversalsMax: number) {
    const key = { claim: { name, requestHash: 'hash' } };
    const failed: string[] = [];
    for (const cost of costs) {
      const requestId = await bench.begin(cost, key);
      await bench.settle(requestId, cost, { outcome });
      failed.push(requestId);
    }
    const requestId = await bench.begin(0, key);
    const record = bench.record(requestId);
    await bench.ask({ kind: 'settle', requestId, record, isAnswer: true, reversalsMax });
    return Promise.all(failed.map(async (id) => (await bench.stores.usage.getUsage(id))?.cost));
  }

  test('the oldest failed attempts that fit whole into what a day returns to the account', async () => {
    await using bench = await openWorkbench(open, 1000);
    const before = (await bench.wallet()).balance;
    expect(await retry(bench, 'a', [40, 70, 50, 10], 100)).toEqual([0, 70, 0, 0]);
    expect(await retry(bench, 'b', [1, 5], 100)).toEqual([1, 5]);
    expect(await bench.wallet()).toEqual({ balance: before - 76, held: 0 });
    expect(await retry(bench, 'c', [10], 110)).toEqual([0]);
    bench.clock.advance(12 * 3_600_000 - 1);
    expect(await retry(bench, 'd', [10], 100)).toEqual([10]);
    bench.clock.advance(1);
    expect(await retry(bench, 'e', [100, 1], 100)).toEqual([0, 1]);
  });

  test('attempts of an account with other keys against the same bound, and not those of other accounts', async () => {
    await using bench = await openWorkbench(open, 1000);
    expect(await retry(bench, 'a', [60], 100)).toEqual([0]);
    bench.key = await bench.addKey();
    expect(await retry(bench, 'a', [60], 100)).toEqual([60]);
    bench.account = await bench.addAccount(1000);
    bench.key = await bench.addKey();
    expect(await retry(bench, 'a', [60], 100)).toEqual([0]);
  });
}

/** Tests in which time passes. */
export function claimAgeConformance(open: OpenStores): void {
  for (const ofKey of [true, false])
    test(`a replay for each request that the rate of the ${ofKey ? 'key' : 'account'} has left, whatever the balance`, async () => {
      await using bench = await openWorkbench(open, 50, ofKey ? { requestsPerMinute: 3 } : {});
      const terms = ofKey ? { claim } : { claim, limits: { ...NO_LIMITS, requestsPerMinute: 3 } };
      const requestId = await bench.begin(50, terms);
      await answer(bench, requestId, 50);
      const replayed = { ok: false, reason: 'claim_answered', requestId };
      const refused = { reason: 'requests_rate', ofKey, retryAtMs: bench.clock.nowMs() + 20_000 };
      const levels = { requests: { limit: 3, remaining: 0 } };
      const answers = await Promise.all([1, 2, 3].map(() => bench.admit(50, terms)));
      expect(answers).toMatchObject([replayed, replayed, { ...refused, levels }]);
      expect(await bench.admit(0, { ...terms, claim: { ...claim, name: 'another' } })).toMatchObject(refused);
      bench.clock.advance(20_000);
      expect(await bench.admit(50, terms)).toEqual(replayed as Answer);
      expect(await bench.admit(0, { ...terms, claim: other })).toMatchObject({ reason: 'claim_mismatch' });
      expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
    });

  for (const isAnswered of [true, false])
    test(`one more after ${bounds.idempotencyKeptMs} ms, to the millisecond, where it ${isAnswered ? 'was answered' : 'runs'}`, async () => {
      await using bench = await openWorkbench(open, 100);
      const requestId = await bench.begin(10, { claim });
      if (isAnswered) await answer(bench, requestId, 10);
      bench.clock.advance(bounds.idempotencyKeptMs - 1);
      expect(await bench.admit(10, { claim })).toMatchObject({ requestId });
      bench.clock.advance(1);
      expect(await bench.admit(10, { claim })).toMatchObject({ ok: true });
      expect(await bench.wallet()).toEqual(isAnswered ? { balance: 90, held: 10 } : { balance: 100, held: 20 });
    });

  test('no response of a message whose key another message has taken', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(10, { claim });
    bench.clock.advance(bounds.idempotencyKeptMs);
    const second = await bench.begin(10, { claim });
    await answer(bench, first, 10);
    await bench.release(second);
    expect(await bench.admit(10, { claim })).toMatchObject({ ok: true });
  });
}

/** Settles the message as the answer to its idempotency key. */
async function answer(bench: Workbench, requestId: string, cost: number): Promise<void> {
  const record = bench.record(requestId, { cost });
  expect(await bench.ask({ kind: 'settle', requestId, record, isAnswer: true })).toMatchObject({ ok: true });
}

/** The node of all holds died and starts again. */
async function expireAll(bench: Workbench): Promise<void> {
  await bench.takeLease('node-1');
  expect(await bench.ask({ kind: 'expire' })).toMatchObject({ ok: true, kind: 'expired' });
}
