// The last known rate levels of a key: they include what has refilled since, exclude outdated levels, and are dropped
// together with the caller.

import { expect, test } from 'bun:test';
import type { Caller } from '../../../src/accounts/accounts.ts';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import { LastLevels } from '../../../src/gateway/gateway.ts';

const catalog = {} as Catalog;
const callerOf = (id: number) => ({ key: { id } }) as Caller;
const none = { inputTokens: null, outputTokens: null };
const caller = callerOf(1);

test('a level refills like the ledger’s meter and is full from its reset time on', () => {
  const levels = new LastLevels();
  levels.remember(caller, catalog, { ...none, requests: { limit: 60, remaining: 50, resetAtMs: 10_000 } });
  const at = (nowMs: number) => levels.find(caller, catalog, nowMs)?.requests;
  expect(at(0)).toEqual({ limit: 60, remaining: 50, resetAtMs: 10_000 });
  expect(at(999)).toEqual({ limit: 60, remaining: 50, resetAtMs: 10_000 });
  expect(at(1_000)).toEqual({ limit: 60, remaining: 51, resetAtMs: 10_000 });
  expect(at(9_999)).toEqual({ limit: 60, remaining: 59, resetAtMs: 10_000 });
  expect(at(10_000)).toEqual({ limit: 60, remaining: 60, resetAtMs: 10_000 });
  expect(at(99_000)).toEqual({ limit: 60, remaining: 60, resetAtMs: 99_000 });
});

test('a meter over its limit has nothing left until it has drained', () => {
  const levels = new LastLevels();
  const inputTokens = { limit: 1_000, remaining: 0, resetAtMs: 90_000 };
  levels.remember(caller, catalog, { requests: null, inputTokens, outputTokens: null });
  const remainingAt = (nowMs: number) => levels.find(caller, catalog, nowMs)?.inputTokens?.remaining;
  expect([0, 30_000, 60_000, 90_000].map(remainingAt)).toEqual([0, 0, 500, 1_000]);
});

test('no levels are returned for a changed key or catalog, or if the last admission had no limits', () => {
  const levels = new LastLevels();
  const reported = { ...none, requests: { limit: 60, remaining: 50, resetAtMs: 10_000 } };
  levels.remember(caller, catalog, reported);
  levels.remember(caller, catalog, null);
  expect(levels.find(caller, catalog, 0)).toEqual(reported);
  expect(levels.find(callerOf(1), catalog, 0)).toBeNull();
  expect(levels.find(callerOf(2), catalog, 0)).toBeNull();
  expect(levels.find(caller, {} as Catalog, 0)).toBeNull();
  levels.remember(caller, catalog, { ...none, requests: null });
  expect(levels.find(caller, catalog, 0)).toBeNull();
});

test('a caller snapshot is garbage-collected', async () => {
  const levels = new LastLevels();
  const requests = { limit: 60, remaining: 50, resetAtMs: 10_000 };
  const remember = (id: number) => {
    const one = callerOf(id);
    levels.remember(one, catalog, { ...none, requests });
    return new WeakRef(one);
  };
  const callers = Array.from({ length: 100 }, (_, id) => remember(id));
  await Bun.sleep(0); // a weak reference is kept until the end of the current turn of the event loop
  Bun.gc(true);
  expect(callers.filter((one) => one.deref() !== undefined).length).toBeLessThan(10);
});

test('an outdated catalog is garbage-collected', () => {
  const levels = new LastLevels();
  const reported = { ...none, requests: { limit: 60, remaining: 50, resetAtMs: 10_000 } };
  const newer = {} as Catalog;
  levels.remember(caller, catalog, reported);
  levels.remember(callerOf(2), newer, reported);
  expect(levels.find(caller, catalog, 0)).toBeNull();
  levels.remember(caller, newer, reported);
  expect(levels.find(caller, newer, 0)).toEqual(reported);
});
