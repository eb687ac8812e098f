// Messages that wait until prompts of their account are counted: they are woken when money is released, and never
// wait without a reason.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { AdmissionQueue } from '../../../src/gateway/gateway.ts';

const ACCOUNT = 7;
const LONG_MS = 60_000;
const NEVER = new AbortController().signal;

test('a message does not wait if no prompt of the account is uncounted', async () => {
  const queue = new AdmissionQueue();
  expect(await queue.wait(ACCOUNT, queue.version(ACCOUNT), LONG_MS, NEVER)).toBe(false);
  queue.hold(ACCOUNT + 1);
  expect(await queue.wait(ACCOUNT, queue.version(ACCOUNT), LONG_MS, NEVER)).toBe(false);
});

for (const how of ['counted', 'release'] as const)
  test(`all waiting messages are tried again when money is released (${how})`, async () => {
    const queue = new AdmissionQueue();
    queue.hold(ACCOUNT);
    queue.hold(ACCOUNT);
    const version = queue.version(ACCOUNT);
    const waiting = [1, 2, 3].map(() => queue.wait(ACCOUNT, version, LONG_MS, NEVER));
    queue[how](ACCOUNT);
    expect(await Promise.all(waiting)).toEqual([true, true, true]);
  });

test('money released during a ledger request is not missed', async () => {
  const queue = new AdmissionQueue();
  queue.hold(ACCOUNT);
  queue.hold(ACCOUNT);
  const version = queue.version(ACCOUNT);
  queue.counted(ACCOUNT);
  expect(await queue.wait(ACCOUNT, version, LONG_MS, NEVER)).toBe(true);
  const later = queue.version(ACCOUNT);
  queue.counted(ACCOUNT); // the last one is counted
  expect(await queue.wait(ACCOUNT, later, LONG_MS, NEVER)).toBe(true);
  expect(await queue.wait(ACCOUNT, queue.version(ACCOUNT), LONG_MS, NEVER)).toBe(false);
});

test('a message also waits for prompts admitted in the same batch', async () => {
  const queue = new AdmissionQueue();
  const waiting = queue.wait(ACCOUNT, queue.version(ACCOUNT), LONG_MS, NEVER);
  queue.hold(ACCOUNT);
  expect(await waiting).toBe(true);
});

test('a wait ends at its time limit, when the client disconnects, or if too many messages wait', async () => {
  const queue = new AdmissionQueue();
  queue.hold(ACCOUNT);
  const version = queue.version(ACCOUNT);
  expect(await queue.wait(ACCOUNT, version, 0, NEVER)).toBe(false);
  expect(await queue.wait(ACCOUNT, version, 5, NEVER)).toBe(false);
  const leaving = new AbortController();
  const left = queue.wait(ACCOUNT, version, LONG_MS, leaving.signal);
  leaving.abort();
  expect(await left).toBe(false);
  expect(await queue.wait(ACCOUNT, version, LONG_MS, leaving.signal)).toBe(false);
  const waiting = Array.from({ length: bounds.waitingForHoldsPerAccountMax }, () =>
    queue.wait(ACCOUNT, version, LONG_MS, NEVER),
  );
  expect(await queue.wait(ACCOUNT, version, LONG_MS, NEVER)).toBe(false);
  queue.counted(ACCOUNT);
  expect((await Promise.all(waiting)).every(Boolean)).toBe(true);
});
