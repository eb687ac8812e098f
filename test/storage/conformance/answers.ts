// Stored responses of idempotency keys: written with the settlement of their message or not at all, once, and bounded
// in total.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config.ts';
import type { Answer, StoredAnswer } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';

const claim = { name: 'order-17', requestHash: 'hash' };

export function answerConformance(open: OpenStores): void {
  test('the response of an idempotency key with the settlement of its message, and finds it', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10, { claim });
    expect(await bench.stores.answers.findAnswer(requestId)).toBeNull();
    const answer = answerTo(requestId);
    expect(await settle(bench, answer)).toMatchObject({ ok: true, cost: 4 });
    expect(await bench.stores.answers.findAnswer(requestId)).toEqual(answer);
    expect(await bench.admit(10, { claim })).toEqual({ ok: false, reason: 'claim_answered', requestId });
    expect(await bench.wallet()).toEqual({ balance: 96, held: 0 });
  });

  test('only the first response if a settlement is repeated', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10, { claim });
    const answer = answerTo(requestId);
    await Promise.all([settle(bench, answer), settle(bench, { ...answer, sealed: 'another' })]);
    expect(await settle(bench, { ...answer, sealed: 'a third' })).toMatchObject({ ok: true, cost: 4 });
    expect(await bench.stores.answers.findAnswer(requestId)).toEqual(answer);
  });

  test('no response for a message that was ended by another node', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10, { claim });
    await bench.takeLease('node-1');
    await bench.ask({ kind: 'expire' });
    expect(await settle(bench, answerTo(requestId))).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.stores.answers.findAnswer(requestId)).toBeNull();
  });

  test('responses up to a bound: the oldest are dropped, and one that exceeds the bound alone is not stored', async () => {
    await using bench = await openWorkbench(open, 1_000);
    const half = bounds.answersStoredBytesMax / 2;
    const ids: string[] = [];
    const add = async (bytes: number) => {
      const requestId = await bench.begin(10, { claim: { ...claim, name: `order-${ids.length}` } });
      ids.push(requestId);
      await settle(bench, { ...answerTo(requestId), bytes });
    };
    const areKept = () => Promise.all(ids.map(async (id) => (await bench.stores.answers.findAnswer(id)) !== null));
    await add(1);
    await add(half);
    await add(half - 1);
    expect(await areKept()).toEqual([true, true, true]);
    await add(1);
    expect(await areKept()).toEqual([false, true, true, true]);
    await add(half + 1);
    expect(await areKept()).toEqual([false, false, false, true, true]);
    await add(2 * half + 1);
    expect(await areKept()).toEqual(Array<boolean>(6).fill(false));
    await add(2 * half);
    expect((await areKept()).at(-1)).toBe(true);
  });
}

function answerTo(requestId: string): StoredAnswer {
  return { requestId, atMs: START_MS, bytes: 6, sealed: 'sealed' };
}

async function settle(bench: Workbench, answer: StoredAnswer): Promise<Answer> {
  const { requestId } = answer;
  const record = bench.record(requestId, { cost: 4 });
  const [given] = await bench.stores.gate.submit({
    operations: [{ kind: 'settle', requestId, record, isAnswer: true }],
    coCommitted: [bench.stores.answers.answerRow(answer)],
  });
  return given as Answer;
}
