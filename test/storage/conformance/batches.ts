// Rows of batches in every store: lists for those who manage them, and what results have cost.

import { expect, test } from 'bun:test';
import { type Batch, NO_COUNTS } from '../../../src/batches/batches.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';

const batch = (id: number, change: Partial<Batch> = {}): Batch => ({
  ...{ id, accountId: 7, companyId: 5, keyId: 3, form: 'messages', status: 'running', createdAtMs: START_MS + id },
  ...{ dueAtMs: START_MS + 1_000, endpoint: '/v1/messages', groups: [], headers: {}, metadata: null, requests: 2 },
  ...{ inputFileId: 1, outputFileId: null, errorFileId: null, counts: NO_COUNTS, expiresAtMs: START_MS + 1_000 },
  ...{ cancelAtMs: null, endedAtMs: null, models: ['plain'], ...change },
});

const endedEvent = (atMs: number) => {
  const counts = { requests: 2, succeeded: 1, errored: 1, canceled: 0, expired: 0 };
  const data = { batch: 'msgbatch_000000001', key: 'key_000000001', ...counts, cost: '0.00000001' };
  return { atMs, account: 7, type: 'batch.ended', data, dedupe: 'ended 1' } as const;
};

export function batchConformance(open: OpenStores): void {
  test('batches of accounts and keys are listed newest first, in pages, by status and by a range with both of its ends', async () => {
    await using bench = await openWorkbench(open, 0);
    const { batches } = bench.stores;
    const all = [batch(1), batch(2, { accountId: 8 }), batch(3, { keyId: 4 }), batch(4, { createdAtMs: START_MS + 3 })];
    for (const one of all) await batches.createBatch(one, []);
    const page = { accountId: null, keyIds: null, status: null, sinceMs: null, untilMs: null, after: null, limit: 9 };
    const list = async (change: object = {}) =>
      (await batches.listShownBatches({ ...page, ...change })).map(({ id }) => id);
    expect(await list()).toEqual([4, 3, 2, 1]);
    expect(await list({ limit: 2 })).toEqual([4, 3]);
    expect(await list({ after: all[2] })).toEqual([2, 1]);
    expect(await list({ accountId: 7 })).toEqual([4, 3, 1]);
    expect(await list({ keyIds: [4, 9] })).toEqual([3]);
    expect(await list({ keyIds: [] })).toEqual([]);
    expect(await list({ sinceMs: START_MS + 2, untilMs: START_MS + 3 })).toEqual([4, 3, 2]);
    expect(await list({ untilMs: START_MS + 1 })).toEqual([1]);
    await batches.endBatch({ ...batch(1), status: 'ended' }, 'running', [], endedEvent(START_MS));
    expect(await list({ status: 'running' })).toEqual([4, 3, 2]);
    expect(await list({ status: 'ended' })).toEqual([1]);
    expect(await batches.getBatch(4)).toEqual(all[3] ?? null);
  });

  test('batches that run are listed in turns of their companies', async () => {
    await using bench = await openWorkbench(open, 0);
    const { batches } = bench.stores;
    for (const [id, companyId] of [1, 1, 1, 2, 3, 3].entries())
      await batches.createBatch(batch(id + 1, { companyId }), []);
    await batches.endBatch({ ...batch(1), companyId: 1, status: 'ended' }, 'running', [], endedEvent(START_MS));
    expect((await batches.listRunningBatches(9)).map(({ id }) => id)).toEqual([2, 4, 5, 3, 6]);
    expect((await batches.listRunningBatches(3)).map(({ id }) => id)).toEqual([2, 4, 5]);
  });

  test('results of a batch add up to their counts and their cost, and its end is an event', async () => {
    await using bench = await openWorkbench(open, 0);
    const { batches, events } = bench.stores;
    await batches.createBatch(batch(1), []);
    expect(await batches.sumResults(1)).toEqual({ counts: NO_COUNTS, cost: 0 });
    const results = [
      { position: 0, outcome: 'succeeded', sealed: 'a', cost: 7_000_000_000 },
      { position: 1, outcome: 'errored', sealed: 'b', cost: 5 },
    ] as const;
    await batches.addResults(1, results);
    await batches.addResults(1, [{ ...results[0], cost: 1 }]);
    expect(await batches.sumResults(1)).toEqual({
      counts: { ...NO_COUNTS, succeeded: 1, errored: 1 },
      cost: 7_000_000_005,
    });
    expect(await batches.listResults({ batchId: 1, after: -1, limit: 9 })).toEqual([...results]);
    await batches.endBatch({ ...batch(1), status: 'ended', cost: 10 }, 'running', [], endedEvent(START_MS));
    const none = { account: null, types: null, sinceMs: null, untilMs: null, before: null, limit: 9 };
    expect(await events.listEvents(none)).toMatchObject([{ account: 7, type: 'batch.ended' }]);
    expect(await batches.getBatch(1)).toMatchObject({ status: 'ended', cost: 10 });
  });
}
