// Saved views in every store: who lists which, and that a change replaces what may change.

import { expect, test } from 'bun:test';
import type { SavedView } from '../../../src/accounts/accounts.ts';
import { type OpenStores, openWorkbench } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

const view = (id: number, owner: string, more: Partial<SavedView> = {}): SavedView => ({
  ...{ id, accountId: 7, owner, page: '/usage', name: `view ${id}`, search: 'range=7d&model=a%20b' },
  ...{ isShared: false, createdAtMs: 1, ...more },
});

export function savedViewConformance(open: OpenStores): void {
  test('saved views are those of their owner, and those that others of the account share', async () => {
    await using bench = await openWorkbench(open, 0);
    const { savedViews } = bench.stores;
    const views = [
      view(1, 'ada'),
      view(2, 'bob'),
      view(3, 'bob', { isShared: true }),
      view(4, 'ada', { accountId: null }),
      view(5, 'bob', { accountId: null, isShared: true }),
      view(6, 'bob', { accountId: 8, isShared: true }),
    ];
    for (const one of views) await savedViews.putSavedView(one, noAuditContext);
    const idsOf = async (accountId: number | null, after: number | null = null, limit = 10) =>
      (await savedViews.listSavedViews({ accountId, owner: 'ada', after, limit })).map(({ id }) => id);
    expect([await idsOf(7), await idsOf(null), await idsOf(8)]).toEqual([[1, 3], [4, 5], [6]]);
    expect([await idsOf(7, null, 1), await idsOf(7, 1)]).toEqual([[1], [3]]);
    expect(await savedViews.countSavedViews({ accountId: 7, owner: 'bob' })).toBe(2);
    expect(await savedViews.getSavedView(4)).toEqual(views[3] as SavedView);

    const changed = view(1, 'ada', { name: 'Ü "x"', search: '', isShared: true });
    await savedViews.putSavedView({ ...changed, owner: 'eve', accountId: 8 }, noAuditContext);
    expect(await savedViews.getSavedView(1)).toEqual(changed);
    await savedViews.deleteSavedView(1, noAuditContext);
    expect([await savedViews.getSavedView(1), await idsOf(7)]).toEqual([null, [3]]);
  });
}
