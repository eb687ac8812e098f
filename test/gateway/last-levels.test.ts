// What a key was last told of its rates: what came back since is in it, what holds no longer is not, and
// nothing is kept for a caller who is remembered nowhere else.

import { expect, test } from 'bun:test';
import type { Caller } from '../../src/accounts/accounts.ts';
import type { Catalogue } from '../../src/catalog/catalog.ts';
import { LastLevels } from '../../src/gateway/gateway.ts';

const catalogue = {} as Catalogue;
const callerOf = (id: number) => ({ key: { id } }) as Caller;
const none = { inputTokens: null, outputTokens: null };
const caller = callerOf(1);

test('a level comes back as the ledger’s own meter does, and is full from its reset on', () => {
  const levels = new LastLevels();
  levels.remember(caller, catalogue, { ...none, requests: { limit: 60, remaining: 50, resetAtMs: 10_000 } });
  const at = (nowMs: number) => levels.find(caller, catalogue, nowMs)?.requests;
  expect(at(0)).toEqual({ limit: 60, remaining: 50, resetAtMs: 10_000 });
  expect(at(999)).toEqual({ limit: 60, remaining: 50, resetAtMs: 10_000 });
  expect(at(1_000)).toEqual({ limit: 60, remaining: 51, resetAtMs: 10_000 });
  expect(at(9_999)).toEqual({ limit: 60, remaining: 59, resetAtMs: 10_000 });
  expect(at(10_000)).toEqual({ limit: 60, remaining: 60, resetAtMs: 10_000 });
  expect(at(99_000)).toEqual({ limit: 60, remaining: 60, resetAtMs: 99_000 });
});

test('a meter in debt has nothing left until the debt is paid', () => {
  const levels = new LastLevels();
  const inputTokens = { limit: 1_000, remaining: 0, resetAtMs: 90_000 };
  levels.remember(caller, catalogue, { requests: null, inputTokens, outputTokens: null });
  const remainingAt = (nowMs: number) => levels.find(caller, catalogue, nowMs)?.inputTokens?.remaining;
  expect([0, 30_000, 60_000, 90_000].map(remainingAt)).toEqual([0, 0, 500, 1_000]);
});

test('nothing is told of a key that changed, of another catalogue, or where the last answer had no limits', () => {
  const levels = new LastLevels();
  const told = { ...none, requests: { limit: 60, remaining: 50, resetAtMs: 10_000 } };
  levels.remember(caller, catalogue, told);
  levels.remember(caller, catalogue, null);
  expect(levels.find(caller, catalogue, 0)).toEqual(told);
  expect(levels.find(callerOf(1), catalogue, 0)).toBeNull();
  expect(levels.find(callerOf(2), catalogue, 0)).toBeNull();
  expect(levels.find(caller, {} as Catalogue, 0)).toBeNull();
  levels.remember(caller, catalogue, { ...none, requests: null });
  expect(levels.find(caller, catalogue, 0)).toBeNull();
});

test('a caller whom nobody else remembers is not kept', async () => {
  const levels = new LastLevels();
  const requests = { limit: 60, remaining: 50, resetAtMs: 10_000 };
  const remember = (id: number) => {
    const one = callerOf(id);
    levels.remember(one, catalogue, { ...none, requests });
    return new WeakRef(one);
  };
  const callers = Array.from({ length: 100 }, (_, id) => remember(id));
  await Bun.sleep(0); // a weak reference holds on to the end of its turn
  Bun.gc(true);
  expect(callers.filter((one) => one.deref() !== undefined).length).toBeLessThan(10);
});

test('a catalogue that is not in force any more is not kept by keys that rest', () => {
  const levels = new LastLevels();
  const told = { ...none, requests: { limit: 60, remaining: 50, resetAtMs: 10_000 } };
  const newer = {} as Catalogue;
  levels.remember(caller, catalogue, told);
  levels.remember(callerOf(2), newer, told);
  expect(levels.find(caller, catalogue, 0)).toBeNull();
  levels.remember(caller, newer, told);
  expect(levels.find(caller, newer, 0)).toEqual(told);
});
