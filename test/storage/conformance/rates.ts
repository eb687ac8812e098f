// Rate limits: buckets that drain continuously. A refusal names the millisecond from which the request would be
// admitted.

import { expect, test } from 'bun:test';
import type { Admit, Answer, RateLimits } from '../../../src/ledger/ledger.ts';
import { NO_LIMITS, type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';

export function rateConformance(open: OpenStores): void {
  requestTests(open);
  freeCallTests(open);
  tokenTests(open);
  roundingTests(open);
  changeTests(open);
}

/** Is refused one millisecond before the time that the refusal named, and admitted at it. */
async function expectExact(bench: Workbench, refusal: Answer, facts: Partial<Admit> = {}): Promise<void> {
  if (refusal.ok || !('retryAtMs' in refusal) || refusal.retryAtMs === null) throw new Error('no time was named');
  bench.clock.advance(refusal.retryAtMs - 1 - bench.clock.nowMs());
  expect(await bench.admit(0, facts)).toMatchObject({
    ok: false,
    reason: refusal.reason,
    retryAtMs: refusal.retryAtMs,
  });
  bench.clock.advance(1);
  expect(await bench.admit(0, facts)).toMatchObject({ ok: true });
}

function requestTests(open: OpenStores): void {
  for (const requestsPerMinute of [1, 7, 600, 1_000_000]) {
    test(`of ${requestsPerMinute} requests per minute, exact to the millisecond`, async () => {
      await using bench = await openWorkbench(open, 0, { requestsPerMinute });
      const burst = Math.min(requestsPerMinute, 600);
      if (burst < requestsPerMinute) await bench.setKey({ requestsPerMinute: burst });
      const answers = await Promise.all(Array.from({ length: burst }, () => bench.admit(0)));
      expect(answers.every((answer) => answer.ok)).toBe(true);
      const refusal = await bench.admit(0);
      expect(refusal).toMatchObject({ ok: false, reason: 'requests_rate', meter: 'requests', ofKey: true });
      await expectExact(bench, refusal);
      await expectExact(bench, await bench.admit(0));
    });
  }

  test('of the group for each account and of the key, and returns the tighter one', async () => {
    await using bench = await openWorkbench(open, 0, { requestsPerMinute: 3 });
    const limits = { ...NO_LIMITS, requestsPerMinute: 2 };
    const facts = { limits };
    expect(await bench.admit(0, facts)).toMatchObject({ levels: { requests: { limit: 2, remaining: 1 } } });
    await bench.begin(0, facts);
    const refusal = await bench.admit(0, facts);
    expect(refusal).toMatchObject({ reason: 'requests_rate', ofKey: false, levels: { requests: { remaining: 0 } } });
    expect(await bench.admit(0, { limits, key: await bench.addKey() })).toMatchObject({ ok: false, ofKey: false });
    expect(await bench.admit(0, { limits, group: 'vip' })).toMatchObject({ ok: true });
    expect(await bench.admit(0, { limits, group: 'vip' })).toMatchObject({ ok: false, ofKey: true });
    bench.account = await bench.addAccount(0);
    expect(await bench.admit(0, { limits, key: await bench.addKey() })).toMatchObject({ ok: true });
  });

  test('that free calls use too, without a hold', async () => {
    await using bench = await openWorkbench(open, 0, { requestsPerMinute: 2, concurrency: 1, inputTokensPerMinute: 0 });
    const take = { kind: 'take', account: bench.account, key: bench.key, group: 'default', limits: NO_LIMITS } as const;
    expect(await bench.ask(take)).toMatchObject({ ok: true, levels: { requests: { remaining: 1 } } });
    expect(await bench.ask(take)).toMatchObject({ ok: true });
    const refusal = await bench.ask(take);
    const levels = { requests: { limit: 2, remaining: 0 } };
    expect(refusal).toMatchObject({ ok: false, reason: 'requests_rate', ofKey: true, levels });
    const { account } = bench;
    const question = { account, above: [], payer: account, key: bench.key, person: null, groups: [] };
    const meters = await bench.stores.ledger.callerMeters(question, bench.clock.nowMs());
    expect(meters?.key.lastUsedAtMs).toBe(bench.clock.nowMs());
    if (refusal.ok || !('retryAtMs' in refusal) || refusal.retryAtMs === null) throw new Error('no time was named');
    bench.clock.advance(refusal.retryAtMs - bench.clock.nowMs() - 1);
    expect(await bench.ask(take)).toMatchObject({ ok: false });
    bench.clock.advance(1);
    expect(await bench.ask(take)).toMatchObject({ ok: true });
  });
}

function freeCallTests(open: OpenStores): void {
  test('of the group, which free calls use too', async () => {
    await using bench = await openWorkbench(open, 0);
    const limits = { ...NO_LIMITS, requestsPerMinute: 2 };
    const take = { kind: 'take', account: bench.account, key: bench.key, group: 'default', limits } as const;
    expect(await bench.ask(take)).toMatchObject({ ok: true, levels: { requests: { remaining: 1 } } });
    expect(await bench.ask(take)).toMatchObject({ ok: true });
    expect(await bench.ask(take)).toMatchObject({ ok: false, reason: 'requests_rate', ofKey: false });
  });

  test('of zero, with a retry after a minute', async () => {
    await using bench = await openWorkbench(open, 0, { requestsPerMinute: 0 });
    expect(await bench.admit(0)).toMatchObject({
      reason: 'requests_rate',
      retryAtMs: START_MS + 60_000,
      levels: { requests: { limit: 0, remaining: 0, resetAtMs: START_MS + 60_000 } },
    });
  });
}

function tokenTests(open: OpenStores): void {
  const kinds = [
    ['input', 'inputTokensPerMinute', 'inputTokens', 'input_tokens_rate'],
    ['output', 'outputTokensPerMinute', 'outputTokens', 'output_tokens_rate'],
  ] as const;
  for (const [kind, limit, tokens, reason] of kinds) {
    for (const perMinute of [1, 999, 40_000]) {
      test(`of ${perMinute} ${kind} tokens per minute, with debt, exact to the millisecond`, async () => {
        await using bench = await openWorkbench(open, 0, { [limit]: perMinute });
        await bench.settle(await bench.begin(0), 0, { [tokens]: perMinute - 1 });
        const inDebt = await bench.begin(0);
        await bench.settle(inDebt, 0, { [tokens]: 3 * perMinute + 1 });
        const refusal = await bench.admit(0);
        // Four minutes' tokens were used. All but one minute's have to drain, and one sixty-thousandth more.
        const retryAtMs = START_MS + 3 * 60_000 + 1;
        expect(refusal).toMatchObject({ ok: false, reason, ofKey: true, retryAtMs });
        await expectExact(bench, refusal);
      });
    }
  }

  test('of input tokens that count cache writes and not cache reads', async () => {
    await using bench = await openWorkbench(open, 0, { inputTokensPerMinute: 100 });
    const requestId = await bench.begin(0);
    const counts = { inputTokens: 10, cacheWrite5mTokens: 20, cacheWrite1hTokens: 30, cacheReadTokens: 1_000_000 };
    await bench.settle(requestId, 0, counts);
    expect(await bench.admit(0)).toMatchObject({ ok: true, levels: { inputTokens: { limit: 100, remaining: 40 } } });
  });

  test('without usage for a released message', async () => {
    await using bench = await openWorkbench(open, 0, { inputTokensPerMinute: 1 });
    await bench.release(await bench.begin(0));
    expect(await bench.admit(0)).toMatchObject({ ok: true, levels: { inputTokens: { remaining: 1 } } });
  });

  test('exactly, however large the debt', async () => {
    await using bench = await openWorkbench(open, 0, { outputTokensPerMinute: 1_000_000_000 });
    const requestIds = await Promise.all(Array.from({ length: 3 }, () => bench.begin(0)));
    for (const requestId of requestIds) await bench.settle(requestId, 0, { outputTokens: 100_000_000_000 });
    const refusal = await bench.admit(0);
    expect(refusal).toMatchObject({ ok: false, reason: 'output_tokens_rate' });
    await expectExact(bench, refusal);
  });
}

function roundingTests(open: OpenStores): void {
  test('with a remainder that is certain, and a reset time that is not too early', async () => {
    await using bench = await openWorkbench(open, 0, { inputTokensPerMinute: 7 });
    await bench.settle(await bench.begin(0), 0, { inputTokens: 3 });
    bench.clock.advance(1);
    // Seven sixty-thousandths of one of 3 tokens have drained: 4.0001 remain, and the rest takes 25,713.3 ms.
    expect(await bench.admit(0)).toMatchObject({
      levels: { inputTokens: { limit: 7, remaining: 4, resetAtMs: bench.clock.nowMs() + 25_714 } },
    });
  });

  for (const meter of ['key', 'account'] as const) {
    test(`with the full usage of a long message from its end, for the ${meter}`, async () => {
      const limits = { ...NO_LIMITS, outputTokensPerMinute: 10 };
      await using bench = await openWorkbench(open, 0, meter === 'key' ? limits : {});
      const facts = meter === 'key' ? {} : { limits };
      const requestId = await bench.begin(0, facts);
      bench.clock.advance(60_000);
      await bench.settle(requestId, 0, { outputTokens: 10 });
      expect(await bench.admit(0, facts)).toMatchObject({ reason: 'output_tokens_rate', ofKey: meter === 'key' });
    });
  }
}

function changeTests(open: OpenStores): void {
  const limited = (requestsPerMinute: number | null): RateLimits => ({ ...NO_LIMITS, requestsPerMinute });

  test('that keep their debt when limits change, and drain it by the new limit', async () => {
    await using bench = await openWorkbench(open, 0, { inputTokensPerMinute: 100 });
    await bench.settle(await bench.begin(0), 0, { inputTokens: 1000 });
    await bench.setKey({ inputTokensPerMinute: 900 });
    const refusal = await bench.admit(0);
    expect(refusal).toMatchObject({ ok: false, reason: 'input_tokens_rate', retryAtMs: bench.clock.nowMs() + 6667 });
    await expectExact(bench, refusal);
  });

  test('that a message admitted without limits does not reset when it ends', async () => {
    await using bench = await openWorkbench(open, 0);
    const unlimited = await bench.begin(0);
    await bench.begin(0, { limits: limited(1) });
    expect(await bench.admit(0, { limits: limited(1) })).toMatchObject({ ok: false, reason: 'requests_rate' });
    await bench.settle(unlimited, 0, { inputTokens: 5 });
    const refusal = await bench.admit(0, { limits: limited(1) });
    expect(refusal).toMatchObject({ ok: false, reason: 'requests_rate', retryAtMs: bench.clock.nowMs() + 60_000 });
  });

  test('that count a message under the limits in force when it ends', async () => {
    await using bench = await openWorkbench(open, 0);
    const unlimited = await bench.begin(0);
    const limits = { ...NO_LIMITS, inputTokensPerMinute: 100 };
    await bench.begin(0, { limits });
    await bench.settle(unlimited, 0, { inputTokens: 100 });
    expect(await bench.admit(0, { limits })).toMatchObject({ ok: false, reason: 'input_tokens_rate' });
  });

  test('that start unused when a limit is first set', async () => {
    await using bench = await openWorkbench(open, 0, { inputTokensPerMinute: 10 });
    await bench.settle(await bench.begin(0), 0, { inputTokens: 100 });
    await bench.setKey({});
    await bench.begin(0);
    await bench.setKey({ inputTokensPerMinute: 10 });
    expect(await bench.admit(0)).toMatchObject({ ok: true, levels: { inputTokens: { remaining: 10 } } });
  });

  test('that continue from the current time after the clock was set back', async () => {
    await using bench = await openWorkbench(open, 0, { requestsPerMinute: 1 });
    await bench.begin(0);
    bench.clock.advance(-86_400_000);
    const refusal = await bench.admit(0);
    expect(refusal).toMatchObject({ ok: false, retryAtMs: bench.clock.nowMs() + 60_000 });
    await bench.setKey({ requestsPerMinute: 2 });
    await bench.begin(0);
    await expectExact(bench, await bench.admit(0));
  });
}
