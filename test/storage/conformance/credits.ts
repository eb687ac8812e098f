// Credits and account settings: once per reference, within exact numbers, never below the floor.

import { expect, test } from 'bun:test';
import { systemAccounts } from '../../../src/ledger/ledger.ts';
import { failureOf, type OpenStores, openWorkbench } from '../../money/ledger/workbench.ts';

export function creditConformance(open: OpenStores): void {
  amountTests(open);
  referenceTests(open);
  termTests(open);
}

function amountTests(open: OpenStores): void {
  test('each source from its own system account', async () => {
    await using bench = await openWorkbench(open, 0);
    await bench.credit(1, { source: 'payment' });
    await bench.credit(2, { source: 'promotion' });
    await bench.credit(4, { source: 'adjustment' });
    expect(await bench.entries()).toEqual([
      { kind: 'adjustment', amount: 4, debit: systemAccounts.adjustments, credit: bench.account },
      { kind: 'promotion', amount: 2, debit: systemAccounts.promotions, credit: bench.account },
      { kind: 'payment', amount: 1, debit: systemAccounts.payments, credit: bench.account },
    ]);
    expect(await bench.wallet()).toEqual({ balance: 7, held: 0 });
  });

  test('a negative amount only up to the available balance', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.begin(60);
    expect(await bench.credit(-41)).toEqual({ ok: false, reason: 'below_available', available: 40 });
    expect(await bench.credit(-40)).toEqual({ ok: true, kind: 'credited', amount: -40, balance: 60, repeated: false });
    expect((await bench.entries())[0]).toEqual({
      kind: 'payment',
      amount: 40,
      debit: bench.account,
      credit: systemAccounts.payments,
    });
  });

  test('no more than the largest exact number', async () => {
    await using bench = await openWorkbench(open, Number.MAX_SAFE_INTEGER);
    expect(await bench.credit(1)).toEqual({ ok: false, reason: 'beyond_maximum' });
    expect(await bench.credit(Number.MAX_SAFE_INTEGER)).toEqual({ ok: false, reason: 'beyond_maximum' });
    await bench.credit(-1);
    expect(await bench.setAccount({ creditLine: 2 })).toEqual({ ok: false, reason: 'beyond_maximum' });
    expect(await bench.setAccount({ creditLine: 1 })).toEqual({ ok: true, kind: 'done' });
    expect(await bench.credit(1)).toEqual({ ok: false, reason: 'beyond_maximum' });
  });

  test('a written-off debt up to the amount owed, once per reference', async () => {
    await using bench = await openWorkbench(open, 0);
    const giveUp = (amount: number, reference: string | null = null) =>
      bench.credit(amount, { source: 'write_off', reference });
    const refused = { ok: false, reason: 'below_available' } as const;
    await bench.credit(5);
    expect(await giveUp(1)).toEqual({ ...refused, available: 0 });
    expect(await giveUp(0)).toMatchObject({ ok: true });
    await bench.setAccount({ creditLine: 50 });
    await bench.settle(await bench.begin(45), 45);
    expect(await giveUp(41)).toEqual({ ...refused, available: 40 });
    expect(await giveUp(-1)).toEqual({ ...refused, available: 40 });
    expect(await Promise.all([giveUp(10, 'court 1'), giveUp(10, 'court 1')])).toMatchObject([
      { balance: -30, repeated: false },
      { balance: -30, repeated: true },
    ]);
    expect(await giveUp(30)).toMatchObject({ ok: true, balance: 0 });
    const [entry] = await bench.entries();
    const sides = { debit: systemAccounts.writeOffs, credit: bench.account };
    expect(entry).toEqual({ kind: 'debt_write_off', amount: 30, ...sides });
  });

  test('no unknown account, and no fraction', async () => {
    await using bench = await openWorkbench(open, 0);
    expect(await bench.credit(1, { account: 7 })).toEqual({ ok: false, reason: 'unknown_account' });
    expect(await failureOf(bench.credit(0.5))).toBeInstanceOf(Error);
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
  });
}

function referenceTests(open: OpenStores): void {
  test('a reference once per account, also within one batch', async () => {
    await using bench = await openWorkbench(open, 0);
    const other = await bench.addAccount(0);
    const answers = await Promise.all([
      bench.credit(5, { reference: 'invoice 1' }),
      bench.credit(5, { reference: 'invoice 1' }),
      bench.credit(5, { reference: 'invoice 1', account: other }),
    ]);
    expect(answers).toEqual([
      { ok: true, kind: 'credited', amount: 5, balance: 5, repeated: false },
      { ok: true, kind: 'credited', amount: 5, balance: 5, repeated: true },
      { ok: true, kind: 'credited', amount: 5, balance: 5, repeated: false },
    ]);
    expect(await bench.credit(5, { reference: 'invoice 1', source: 'promotion' })).toMatchObject({ repeated: true });
    expect(await bench.credit(5, { reference: 'invoice 2' })).toMatchObject({ balance: 10, repeated: false });
  });

  test('nothing for a repeated reference, and returns the first amount', async () => {
    await using bench = await openWorkbench(open, 100);
    const answers = await Promise.all([
      bench.credit(-30, { reference: 'correction' }),
      bench.credit(30, { reference: 'correction' }),
    ]);
    expect(answers).toEqual([
      { ok: true, kind: 'credited', amount: -30, balance: 70, repeated: false },
      { ok: true, kind: 'credited', amount: -30, balance: 70, repeated: true },
    ]);
    const again = { ok: true, kind: 'credited', amount: -30, balance: 70, repeated: true };
    expect(await bench.credit(-31, { reference: 'correction' })).toEqual(again as never);
    expect(await failureOf(bench.credit(0.5, { reference: 'correction' }))).toBeInstanceOf(Error);
    expect(await bench.entries()).toHaveLength(2);
  });

  test('a request id as reference: usage with that id is not a credit', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10);
    await bench.settle(requestId, 10);
    expect(await bench.credit(10, { reference: requestId })).toMatchObject({ balance: 100, repeated: false });
  });
}

function termTests(open: OpenStores): void {
  test('and refuses a credit line below the owed or held amount', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.setAccount({ creditLine: 50 });
    const requestId = await bench.begin(130);
    expect(await bench.setAccount({ creditLine: 29 })).toEqual({ ok: false, reason: 'below_available', available: 20 });
    expect(await bench.setAccount({ creditLine: 30 })).toEqual({ ok: true, kind: 'done' });
    await bench.settle(requestId, 130);
    expect(await bench.setAccount({ creditLine: 29 })).toMatchObject({ ok: false, reason: 'below_available' });
    expect(await failureOf(bench.setAccount({ creditLine: -1 }))).toBeInstanceOf(Error);
    expect(await failureOf(bench.setAccount({ allowance: 0.5 }))).toBeInstanceOf(Error);
    expect(await failureOf(bench.setKey({ quota: -1 }))).toBeInstanceOf(Error);
  });

  test('and never moves a key to another account', async () => {
    await using bench = await openWorkbench(open, 100);
    const other = await bench.addAccount(100);
    const { key } = bench;
    bench.account = other;
    expect(await bench.setKey({})).toEqual({ ok: false, reason: 'unknown_key' });
    bench.account = 7;
    expect(await bench.setKey({})).toEqual({ ok: false, reason: 'unknown_account' });
    bench.account = other;
    expect(await bench.admit(1, { key })).toEqual({ ok: false, reason: 'unknown_key' });
  });
}
