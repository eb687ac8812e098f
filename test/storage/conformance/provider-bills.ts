// Provider bills and their sources in every store: an import of a day replaces the one before it.

import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import type { BillPage, BillSource, StoredBill } from '../../../src/bills/bills.ts';
import type { NewEvent } from '../../../src/events/events.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

const DAY = Math.floor(START_MS / DAY_MS) * DAY_MS;
const parts = { rounding: '0', tiers: '0', cancelled: '0', beside: '1.50', unknownPrice: '0', unexplained: '0' };
const whole: BillPage = { provider: null, sinceMs: null, untilMs: null, before: null, limit: 10 };

const source = (provider: string, sealed: string | null = null): BillSource => ({
  ...{ provider, kind: 'aws', baseUrl: null, isPrivate: false, sealed, schedule: 'never' },
  models: { 'Claude4.6Sonnet': 'anthropic.claude' },
  createdAtMs: START_MS,
});

const bill = (provider: string, dayMs: number, billed = '2.50'): StoredBill => ({
  ...{ provider, dayMs, from: 'csv', importedAtMs: START_MS, importedBy: 'local' },
  ...{ billed, ours: '1.00', difference: '1.50', parts, messages: 3 },
  models: [
    {
      ...{ model: 'm', billedAs: ['M'], billed, ours: '1.00', difference: '1.50', parts },
      features: [{ feature: 'input', billed, ours: '1.00', difference: '1.50', billedQuantity: null, ourQuantity: 7 }],
    },
  ],
});

const event = (day: string): NewEvent => {
  const { unknownPrice, ...others } = parts;
  const data = { provider: 'p', day, billed: '2.50', recorded: '1.00', difference: '1.50' };
  const about = { atMs: START_MS, account: null, type: 'provider_bill.differs', dedupe: `bill ${day}` } as const;
  return { ...about, data: { ...data, parts: { ...others, unknown_price: unknownPrice } } };
};

export function billConformance(open: OpenStores): void {
  test('a source of bills by its provider, which a later one replaces', async () => {
    await using bench = await openWorkbench(open, 0);
    const { bills } = bench.stores;
    expect(await bills.getBillSource('b')).toBeNull();
    for (const one of [source('b'), source('a'), source('b', 'v1.sealed')])
      await bills.putBillSource(one, noAuditContext);
    expect(await bills.listBillSources()).toEqual([source('a'), source('b', 'v1.sealed')]);
    expect(await bills.getBillSource('b')).toEqual(source('b', 'v1.sealed'));
  });

  test('a bill of each day, which a later import replaces, with its events', async () => {
    await using bench = await openWorkbench(open, 0);
    const { bills, events } = bench.stores;
    await bills.putBills([bill('p', DAY), bill('p', DAY + DAY_MS)], [event('2026-01-01')], noAuditContext);
    await bills.putBills([bill('p', DAY, '9.50')], [event('2026-01-01')], noAuditContext);
    expect(await bills.getBill('p', DAY)).toEqual(bill('p', DAY, '9.50'));
    expect(await bills.getBill('p', DAY + DAY_MS)).toEqual(bill('p', DAY + DAY_MS));
    expect(await bills.getBill('q', DAY)).toBeNull();
    const stored = await events.listEvents({
      account: null,
      types: null,
      sinceMs: null,
      untilMs: null,
      before: null,
      limit: 10,
    });
    expect(stored).toMatchObject([{ type: 'provider_bill.differs', data: event('2026-01-01').data }]);
  });

  test('bills in pages, newest day first, then by provider', async () => {
    await using bench = await openWorkbench(open, 0);
    const { bills } = bench.stores;
    const all = [bill('a', DAY + DAY_MS), bill('b', DAY + DAY_MS), bill('a', DAY), bill('b', DAY)];
    await bills.putBills(all.toReversed(), [], noAuditContext);
    const listed = async (page: Partial<BillPage>) =>
      (await bills.listBills({ ...whole, ...page })).map(
        ({ provider, dayMs }) => `${provider}${(dayMs - DAY) / DAY_MS}`,
      );
    expect(await listed({})).toEqual(['a1', 'b1', 'a0', 'b0']);
    expect(await listed({ limit: 1, before: { dayMs: DAY + DAY_MS, provider: 'b' } })).toEqual(['a0']);
    expect(await listed({ before: { dayMs: DAY + DAY_MS, provider: 'a' } })).toEqual(['b1', 'a0', 'b0']);
    expect(await listed({ provider: 'b' })).toEqual(['b1', 'b0']);
    expect(await listed({ sinceMs: DAY, untilMs: DAY })).toEqual(['a0', 'b0']);
    const { models: _, ...summary } = bill('a', DAY);
    expect(await bills.listBills({ ...whole, provider: 'a', untilMs: DAY })).toEqual([summary]);
  });
}
