// Changes of the admin API run one at a time; how many wait, and for how long, is bounded.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Hono } from 'hono';
import type { AdminEnvironment } from '../../../src/admin-api/admin-app.ts';
import { makeChangeLock } from '../../../src/admin-api/changes.ts';
import { bounds } from '../../../src/config/config.ts';
import { asTurnpikeError } from '../../../src/errors.ts';

const given = { ...bounds };
beforeEach(
  () =>
    void Object.assign(bounds, { changesWaitingMax: 6, changesWaitingPerOwnerMax: 4, changesOfMembersWaitingMax: 3 }),
);
afterEach(() => void Object.assign(bounds, given));

/** Changes that end when the test says so. `change` resolves to the error code, or to null. */
function openLock() {
  const withChangeLock = makeChangeLock({ readEpoch: () => null });
  const started: string[] = [];
  const running: (() => void)[] = [];
  const app = new Hono<AdminEnvironment>();
  app.onError((failure, context) => context.text(asTurnpikeError(failure).code));
  app.post('/:principal', (context) => {
    const id = context.req.param('principal');
    const accountId = id.startsWith('member') ? Number(id.at(-1)) : null;
    context.set('principal', { id, role: accountId === null ? 'operator' : 'member', accountId, expiresAtMs: null });
    return withChangeLock(context, async () => {
      started.push(id);
      const { promise, resolve } = Promise.withResolvers<void>();
      running.push(resolve);
      await promise;
      return context.text('changed');
    });
  });
  return {
    started,
    change: async (principal: string) => (await app.request(`/${principal}`, { method: 'POST' })).text(),
    async endNext() {
      for (; running.length === 0; await Bun.sleep(0));
      running.shift()?.();
    },
  };
}

test('changes beyond the bound are refused, and those that wait are made', async () => {
  const lock = openLock();
  const made = ['a', 'a', 'a', 'a'].map(lock.change);
  expect(await lock.change('a')).toBe('overloaded'); // too many of one principal
  made.push(lock.change('b'), lock.change('b'));
  expect(await lock.change('c')).toBe('overloaded'); // too many in all
  for (const _ of made) await lock.endNext();
  expect(await Promise.all(made)).toEqual(made.map(() => 'changed'));
  expect(lock.started).toEqual(['a', 'a', 'b', 'a', 'b', 'a']); // principals take turns
});

test('a change that waits for too long behind one that hangs is refused, and is not made later', async () => {
  Object.assign(bounds, { changeWaitMsMax: 20 });
  const lock = openLock();
  const hanging = lock.change('a');
  expect(await lock.change('a')).toBe('overloaded');
  await lock.endNext();
  expect(await hanging).toBe('changed');
  const next = lock.change('b');
  await lock.endNext();
  expect(await next).toBe('changed');
  expect(lock.started).toEqual(['a', 'b']);
});

test('changes of members leave room for those of operators', async () => {
  const lock = openLock();
  const made = ['member 1', 'member 2', 'member 3'].map(lock.change);
  expect(await lock.change('member 4')).toBe('overloaded');
  made.push(lock.change('a'));
  for (const _ of made) await lock.endNext();
  expect(await Promise.all(made)).toEqual(made.map(() => 'changed'));
});
