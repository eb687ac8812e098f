// An account's entries by kind and by message, and its open holds: every store gives the same answers.

import { expect, test } from 'bun:test';
import type { EntryPage } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';

const everything = { sinceMs: null, untilMs: null, before: null, limit: 100 };

const list = async (bench: Workbench, facts: Partial<EntryPage>): Promise<unknown[]> =>
  (await bench.stores.ledger.listEntries({ ...everything, account: bench.account, ...facts })).map(
    ({ kind, amount }) => [kind, amount],
  );

export function journalConformance(open: OpenStores): void {
  entryTests(open);
  holdTests(open);
}

function entryTests(open: OpenStores): void {
  test('entries of rare kinds together, newest first, in pages', async () => {
    await using bench = await openWorkbench(open, 100);
    for (let at = 1; at <= 3; at++) {
      const requestId = await bench.begin(10);
      await bench.settle(requestId, 10);
      await bench.ask({ kind: 'refund', requestId, amount: at, note: null });
      await bench.credit(at, { source: 'promotion' });
    }
    const both = [
      ['promotion', 3],
      ['refund', 3],
      ['promotion', 2],
      ['refund', 2],
      ['promotion', 1],
      ['refund', 1],
    ];
    expect(await list(bench, { kinds: ['refund', 'promotion'] })).toEqual(both);
    expect(await list(bench, { kinds: ['payment'] })).toEqual([['payment', 100]]);
    expect(await list(bench, { kinds: ['write_off'] })).toEqual([]);
    const page = { ...everything, account: bench.account, kinds: ['refund', 'promotion'] as const, limit: 4 };
    const before = (await bench.stores.ledger.listEntries(page)).at(-1)?.seq ?? 0;
    expect(await list(bench, { kinds: ['refund', 'promotion'], before })).toEqual(both.slice(4));
    expect(await list(bench, { kinds: ['refund'], account: await bench.addAccount(5) })).toEqual([]);
  });

  test('entries of one message, even if others ended in the same millisecond', async () => {
    await using bench = await openWorkbench(open, 100);
    const [one, other] = [await bench.begin(30), await bench.begin(30)];
    await Promise.all([bench.settle(one, 20), bench.settle(other, 150)]);
    await bench.credit(50);
    await bench.ask({ kind: 'refund', requestId: one, amount: 3, note: null });
    await bench.ask({ kind: 'refund', requestId: one, amount: 4, note: null });
    const messageOf = async (requestId: string) => ({
      requestId,
      endedAtMs: (await bench.stores.usage.getUsage(requestId))?.atMs ?? 0,
    });
    const message = await messageOf(one);
    expect(await list(bench, { message })).toEqual([
      ['refund', 4],
      ['refund', 3],
      ['usage', 20],
    ]);
    expect((await list(bench, { message: await messageOf(other) })).toSorted()).toEqual([
      ['usage', 80],
      ['write_off', 70],
    ]);
    const [, second] = await bench.stores.ledger.listEntries({ ...everything, account: bench.account, message });
    expect(await list(bench, { message, before: second?.seq ?? 0 })).toEqual([['usage', 20]]);
    expect(await list(bench, { message, limit: 1 })).toEqual([['refund', 4]]);
    expect(await list(bench, { message: { ...message, requestId: 'req_none' } })).toEqual([]);
  });
}

function holdTests(open: OpenStores): void {
  test('open holds of one account, by id, without ended ones', async () => {
    await using bench = await openWorkbench(open, 100);
    const account = await bench.addAccount(50);
    const key = await bench.addKey({}, account);
    const requestIds = [await bench.begin(1), await bench.begin(2), await bench.begin(3), await bench.begin(4)];
    await bench.begin(5, { account, key });
    await bench.settle(String(requestIds[1]), 2);
    await bench.extend(String(requestIds[2]), 7, bench.record(String(requestIds[2]), { cost: 3 }));
    await bench.ask({ kind: 'leave', requestId: String(requestIds[3]) });
    const holds = (after: string | null, limit: number) =>
      bench.stores.ledger.listHolds({ account: bench.account, after, limit });
    const all = await holds(null, 100);
    expect(all.map(({ requestId, amount, left }) => [requestId, amount, left])).toEqual([
      ['req_1', 1, false],
      ['req_3', 7, false],
      ['req_4', 4, true],
    ]);
    expect(all[0]).toEqual({
      requestId: 'req_1',
      account: bench.account,
      key: bench.key,
      group: 'default',
      amount: 1,
      openedAtMs: all[0]?.openedAtMs ?? 0,
      left: false,
      draft: { model: 'sandbox-echo', stream: false },
    });
    expect(await holds('req_1', 1)).toEqual(all.slice(1, 2));
    expect(await bench.stores.ledger.listHolds({ account, after: null, limit: 9 })).toMatchObject([{ amount: 5 }]);
  });
}
