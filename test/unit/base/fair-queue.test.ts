// Tasks of several owners, which the test starts and ends.

import { beforeEach, expect, test } from 'bun:test';
import { FairQueue, type QueueBounds } from '../../../src/base/fair-queue.ts';

const BOUNDS: QueueBounds = { running: 2, runningPerOwner: 2, tasks: 8, tasksPerOwner: 4 };

let begun: string[];
let turns: Disposable[];
beforeEach(() => {
  begun = [];
  turns = [];
});

function makeQueue(bounds: Partial<QueueBounds> = {}): FairQueue<string> {
  return new FairQueue({ ...BOUNDS, ...bounds }, () => new Error('too many'));
}

async function enter(queue: FairQueue<string>, owner: string, signal?: AbortSignal): Promise<unknown> {
  try {
    turns.push(await queue.enter(owner, signal));
    begun.push(owner);
    return null;
  } catch (failure) {
    return failure;
  }
}

async function endFirst(): Promise<void> {
  turns.shift()?.[Symbol.dispose]();
  await Bun.sleep(0);
}

test('owners take turns, each in its own order', async () => {
  const queue = makeQueue({ running: 1 });
  const all = ['a', 'a', 'a', 'b', 'c', 'b'].map((owner) => enter(queue, owner));
  await Bun.sleep(0);
  expect(begun).toEqual(['a']);
  while (turns.length > 0) await endFirst();
  expect(begun).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
  expect(await Promise.all(all)).toEqual([null, null, null, null, null, null]);
  expect(queue.size).toBe(0);
});

test('an owner with all its tasks running keeps no other owner waiting', async () => {
  const queue = makeQueue({ running: 3, runningPerOwner: 1 });
  for (const owner of ['a', 'a', 'b', 'c']) void enter(queue, owner);
  await Bun.sleep(0);
  expect(begun).toEqual(['a', 'b', 'c']);
  await endFirst();
  expect(begun).toEqual(['a', 'b', 'c', 'a']);
});

test('a task beyond the bound of its owner, or of all, is refused and leaves nothing behind', async () => {
  const queue = makeQueue();
  for (let task = 0; task < 4; task++) void enter(queue, 'a');
  expect(await enter(queue, 'a')).toEqual(new Error('too many'));
  for (let task = 0; task < 4; task++) void enter(queue, 'b');
  expect(await enter(queue, 'c')).toEqual(new Error('too many'));
  await Bun.sleep(0);
  while (turns.length > 0) await endFirst();
  expect(begun).toHaveLength(8);
  expect(queue.size).toBe(0);
});

test('an aborted task leaves its place to the next, and a running one is not affected', async () => {
  const queue = makeQueue({ running: 1 });
  const running = new AbortController();
  void enter(queue, 'a', running.signal);
  const waiting = new AbortController();
  const aborted = enter(queue, 'a', waiting.signal);
  void enter(queue, 'b');
  waiting.abort(new Error('gone'));
  running.abort();
  expect(await aborted).toEqual(new Error('gone'));
  expect(await enter(queue, 'a', waiting.signal)).toEqual(new Error('gone'));
  await endFirst();
  expect(begun).toEqual(['a', 'b']);
  await endFirst();
  expect(queue.size).toBe(0);
});
