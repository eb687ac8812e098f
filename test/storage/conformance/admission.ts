// Admission: a message gets all of its meters or none, and the refusal names the first one that is insufficient.

import { expect, test } from 'bun:test';
import { NO_LIMITS, type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';

export function admissionConformance(open: OpenStores): void {
  walletTests(open);
  quotaTests(open);
  orderTests(open);
  concurrencyTests(open);
  identityTests(open);
  aloneTests(open);
}

function walletTests(open: OpenStores): void {
  test('up to the balance, and not a nanodollar more', async () => {
    await using bench = await openWorkbench(open, 100);
    expect(await bench.admit(101)).toMatchObject({
      ok: false,
      reason: 'insufficient',
      meter: 'wallet',
      ofKey: false,
      available: 100,
      behindHolds: false,
      retryAtMs: null,
    });
    expect(await bench.admit(100)).toMatchObject({ ok: true, kind: 'admitted' });
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'wallet', available: 0, behindHolds: true });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
  });

  test('down to the credit line below zero', async () => {
    await using bench = await openWorkbench(open, 10);
    await bench.setAccount({ creditLine: 5 });
    expect(await bench.admit(16)).toMatchObject({ ok: false, meter: 'wallet', available: 15 });
    const requestId = await bench.begin(15);
    await bench.settle(requestId, 15);
    expect(await bench.wallet()).toEqual({ balance: -5, held: 0 });
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'wallet', available: 0, behindHolds: false });
    expect(await bench.admit(0)).toMatchObject({ ok: true });
  });

  test('up to the largest possible balance', async () => {
    await using bench = await openWorkbench(open, Number.MAX_SAFE_INTEGER);
    const requestId = await bench.begin(Number.MAX_SAFE_INTEGER);
    expect(await bench.wallet()).toEqual({ balance: Number.MAX_SAFE_INTEGER, held: Number.MAX_SAFE_INTEGER });
    await bench.settle(requestId, Number.MAX_SAFE_INTEGER - 1);
    expect(await bench.wallet()).toEqual({ balance: 1, held: 0 });
  });
}

function quotaTests(open: OpenStores): void {
  test('up to the quota of the key, which other keys of the account do not use', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100 });
    await bench.settle(await bench.begin(60), 40);
    expect(await bench.admit(61)).toMatchObject({ ok: false, meter: 'quota', ofKey: true, available: 60 });
    await bench.begin(60);
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'quota', available: 0, behindHolds: true });
    const other = await bench.addKey();
    expect(await bench.admit(500, { key: other })).toMatchObject({ ok: true });
  });

  test('up to the allowance of the account, across all of its keys', async () => {
    await using bench = await openWorkbench(open, 1000);
    await bench.setAccount({ allowance: 100 });
    const other = await bench.addKey();
    await bench.settle(await bench.begin(50), 50);
    await bench.begin(30, { key: other });
    expect(await bench.admit(21)).toMatchObject({
      ok: false,
      meter: 'allowance',
      ofKey: false,
      available: 20,
      behindHolds: true,
    });
    expect(await bench.admit(51)).toMatchObject({ meter: 'allowance', behindHolds: false });
    expect(await bench.admit(20)).toMatchObject({ ok: true });
  });

  test('nothing if a quota was lowered below its usage', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100 });
    await bench.settle(await bench.begin(50), 50);
    await bench.setKey({ quota: 10 });
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'quota', available: 0, behindHolds: false });
    expect(await bench.admit(0)).toMatchObject({ ok: true, amount: 0 }); // A free message needs none.
  });
}

function orderTests(open: OpenStores): void {
  test('by holding on all meters or on none', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 50, requestsPerMinute: 1, concurrency: 5 });
    for (let turn = 0; turn < 3; turn++) expect(await bench.admit(51)).toMatchObject({ ok: false, meter: 'quota' });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
    expect(await bench.admit(50)).toMatchObject({ ok: true, levels: { requests: { limit: 1, remaining: 0 } } });
    expect(await bench.admit(0)).toMatchObject({ ok: false, meter: 'requests' });
  });

  test('and names the first insufficient meter: wallet, allowance, quota, account rates, key rates', async () => {
    await using bench = await openWorkbench(open, 10, { quota: 10, requestsPerMinute: 0, concurrency: 0 });
    const limits = { requestsPerMinute: 0, inputTokensPerMinute: 0, outputTokensPerMinute: 0, concurrency: 0 };
    await bench.setAccount({ allowance: 10 });
    expect(await bench.admit(11, { limits })).toMatchObject({ meter: 'wallet' });
    await bench.credit(100);
    expect(await bench.admit(11, { limits })).toMatchObject({ meter: 'allowance', ofKey: false });
    await bench.setAccount({ allowance: null });
    expect(await bench.admit(11, { limits })).toMatchObject({ meter: 'quota', ofKey: true });
    expect(await bench.admit(10, { limits })).toMatchObject({ reason: 'requests_rate', ofKey: false });
    limits.requestsPerMinute = 9;
    expect(await bench.admit(10, { limits })).toMatchObject({ reason: 'input_tokens_rate', ofKey: false });
    limits.inputTokensPerMinute = 9;
    expect(await bench.admit(10, { limits })).toMatchObject({ reason: 'output_tokens_rate', ofKey: false });
    limits.outputTokensPerMinute = 9;
    expect(await bench.admit(10, { limits })).toMatchObject({ reason: 'concurrency', ofKey: false });
    limits.concurrency = 9;
    expect(await bench.admit(10, { limits })).toMatchObject({ reason: 'requests_rate', ofKey: true });
    await bench.setKey({ quota: 10, concurrency: 0 });
    expect(await bench.admit(10, { limits })).toMatchObject({ reason: 'concurrency', ofKey: true });
    await bench.setKey({ quota: 10 });
    expect(await bench.admit(10, { limits })).toMatchObject({ ok: true });
  });

  test('and names an exhausted meter before one that only holds make insufficient', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 50 });
    await bench.begin(80, { key: await bench.addKey() });
    expect(await bench.admit(30)).toMatchObject({ meter: 'wallet', available: 20, behindHolds: true });
    expect(await bench.admit(60)).toMatchObject({ meter: 'quota', available: 50, behindHolds: false });
    expect(await bench.admit(101)).toMatchObject({ meter: 'wallet', behindHolds: false });
  });
}

function concurrencyTests(open: OpenStores): void {
  test('as many concurrent messages as the key and its group allow, and frees each slot at its end', async () => {
    await using bench = await openWorkbench(open, 100, { concurrency: 2 });
    const limits = { ...NO_LIMITS, concurrency: 3 };
    const first = await bench.begin(1, { limits });
    const second = await bench.begin(1, { limits });
    expect(await bench.admit(1, { limits })).toMatchObject({ reason: 'concurrency', ofKey: true, behindHolds: true });
    const other = await bench.addKey({ concurrency: 2 });
    await bench.begin(1, { limits, key: other });
    expect(await bench.admit(1, { limits, key: other })).toMatchObject({ reason: 'concurrency', ofKey: false });
    await bench.settle(first, 1);
    const third = await bench.begin(1, { limits });
    await bench.ask({ kind: 'leave', requestId: second });
    await bench.ask({ kind: 'leave', requestId: second });
    await bench.begin(1, { limits });
    await bench.settle(second, 1);
    expect(await bench.admit(1, { limits })).toMatchObject({ reason: 'concurrency' });
    await bench.release(third);
    expect(await bench.admit(1, { limits })).toMatchObject({ ok: true });
  });

  test('by the limits of each group alone, whatever its name', async () => {
    await using bench = await openWorkbench(open, 100);
    const limits = { ...NO_LIMITS, concurrency: 1, requestsPerMinute: 2 };
    for (const group of ['constructor', 'toString', '__proto__', 'default']) {
      const requestId = await bench.begin(1, { group, limits });
      expect(await bench.admit(1, { group, limits })).toMatchObject({ reason: 'concurrency' });
      await bench.settle(requestId, 1);
      await bench.begin(1, { group, limits });
      expect(await bench.admit(1, { group, limits })).toMatchObject({ reason: 'requests_rate' });
    }
    for (const group of ['constructor', 'toString', '__proto__', 'default'])
      expect(await bench.admit(1, { group, limits })).toMatchObject({ reason: 'requests_rate' });
  });
}

function identityTests(open: OpenStores): void {
  test('no disabled or expired key and no disabled account, checked within the same transaction', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.setKey({ status: 'disabled' });
    expect(await bench.admit(1)).toMatchObject({ ok: false, reason: 'key_disabled' });
    await bench.setKey({ status: 'revoked' });
    expect(await bench.admit(1)).toMatchObject({ ok: false, reason: 'key_disabled' });
    await bench.setKey({ expiresAtMs: START_MS });
    expect(await bench.admit(1)).toMatchObject({ ok: false, reason: 'key_expired' });
    await bench.setKey({ expiresAtMs: Date.UTC(2100, 0) }); // Beyond any clock.
    expect(await bench.admit(1)).toMatchObject({ ok: true });
    await bench.setKey({});
    await bench.setAccount({ enabled: false });
    expect(await bench.admit(1)).toMatchObject({ ok: false, reason: 'account_disabled' });
    await bench.setAccount({});
    expect(await bench.admit(1)).toMatchObject({ ok: true });
  });

  test('no key of another account, and no unknown key or account', async () => {
    await using bench = await openWorkbench(open, 100);
    const stranger = await bench.addAccount(100);
    expect(await bench.admit(1, { account: stranger })).toEqual({ ok: false, reason: 'unknown_key' });
    expect(await bench.admit(1, { account: 7 })).toEqual({ ok: false, reason: 'unknown_account' });
    expect(await bench.admit(1, { key: 7 })).toEqual({ ok: false, reason: 'unknown_key' });
  });

  test('a message once, however often it is retried, and never one that has ended', async () => {
    await using bench = await openWorkbench(open, 100, { concurrency: 1 });
    const requestId = await bench.begin(60);
    expect(await bench.admit(60, { requestId })).toMatchObject({ ok: true, kind: 'admitted' });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 60 });
    await bench.settle(requestId, 10);
    expect(await bench.submit(bench.admission(60, { requestId }))).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 90, held: 0 });
  });

  test('down to the least amount needed, and holds what is available up to the requested amount', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 80 });
    expect(await bench.admit(50, { least: 20 })).toMatchObject({ ok: true, amount: 50, available: 80 });
    const short = { ok: false, meter: 'quota', available: 30, behindHolds: true };
    expect(await bench.admit(50, { least: 31 })).toMatchObject(short);
    expect(await bench.admit(31)).toMatchObject(short);
    const requestId = await bench.begin(50, { least: 30 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 80 });
    expect(await bench.admit(50, { requestId, least: 30 })).toMatchObject({ ok: true, amount: 30, available: 30 });
    await bench.settle(requestId, 0);
    expect(await bench.admit(5, { least: 31 })).toMatchObject(short);
    expect(await bench.admit(5, { least: 30 })).toMatchObject({ ok: true, amount: 5, available: 30 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 55 });
  });

  test('nothing for an amount that is not an integer, and still applies the other bundles', async () => {
    await using bench = await openWorkbench(open, 100);
    for (const amount of [0.5, -1, Number.NaN, 2 ** 53]) {
      const asked = [bench.admit(amount), bench.admit(1, { least: amount || 0.5 }), bench.admit(1)];
      const [refused, least, admitted] = await Promise.allSettled(asked);
      expect([refused?.status, least?.status]).toEqual(['rejected', 'rejected']);
      expect(admitted).toMatchObject({ status: 'fulfilled', value: { ok: true } });
    }
    expect(await bench.wallet()).toEqual({ balance: 100, held: 4 });
  });
}

function aloneTests(open: OpenStores): void {
  test('alone, with all that is available, if its amount is not available', async () => {
    await using bench = await openWorkbench(open, 100);
    const alone = { least: 10, isAloneIfShort: true };
    const beside = await bench.begin(1);
    expect(await bench.admit(100, alone)).toMatchObject({
      ok: false,
      reason: 'insufficient',
      meter: 'wallet',
      available: 99,
      behindHolds: true,
    });
    const fits = await bench.begin(99, alone);
    await bench.settle(fits, 0);
    await bench.settle(beside, 0);
    const asked = await Promise.all([1, 2, 3].map(() => bench.admit(500, alone)));
    expect(asked.filter(({ ok }) => ok)).toMatchObject([{ ok: true, amount: 100, available: 100 }]);
    expect(await bench.admit(1)).toMatchObject({ ok: false, reason: 'insufficient', behindHolds: true });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
  });
}
