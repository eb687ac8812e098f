// The directory caches callers, drops them at once after a change, and never treats an unavailable store as an
// unknown key.

import { expect, test } from 'bun:test';
import { KeyDirectory } from '../../../src/accounts/accounts.ts';
import { bounds } from '../../../src/config/config.ts';
import { makeCaller, PausedStore } from './callers.ts';

const hash = (secret: string) => `hash of ${secret}`;

function setUp(cachedMax = 100) {
  const store = new PausedStore();
  const directory = new KeyDirectory(store, (secret) => [hash(secret)], cachedMax);
  return { store, directory };
}

test('a caller found once is returned again at once, without the store', async () => {
  const { store, directory } = setUp();
  const caller = makeCaller();
  store.rows.set(hash('a'), caller);
  expect(await directory.find('a')).toBe(caller);
  expect(directory.find('a')).toBe(caller); // not a promise
  expect(store.lookedUp).toEqual([hash('a')]);
});

test('concurrent requests for the same secret share one lookup', async () => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  const found = await Promise.all([directory.find('a'), directory.find('a'), directory.find('a')]);
  expect(found.every((caller) => caller?.key.id === 11)).toBe(true);
  expect(store.lookedUp).toHaveLength(1);
});

test('an unknown secret is not cached: a key created later works at once', async () => {
  const { store, directory } = setUp();
  expect(await directory.find('a')).toBeNull();
  store.rows.set(hash('a'), makeCaller());
  expect(await directory.find('a')).not.toBeNull();
});

test('an unavailable store is an error that may be retried, never an unknown key', async () => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  store.isDown = true;
  await expect(directory.find('a') as Promise<unknown>).rejects.toMatchObject({
    code: 'store_unavailable',
    status: 503,
  });
  store.isDown = false;
  expect(await directory.find('a')).not.toBeNull();
});

test('a cached caller is returned while the store is unavailable', async () => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  await directory.find('a');
  store.isDown = true;
  expect(directory.find('a')).not.toBeNull();
});

test.each(['key', 'account'] as const)('a changed %s is read again', async (what) => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  await directory.find('a');
  store.rows.set(hash('a'), makeCaller({ key: { status: 'revoked' } }));
  if (what === 'key') directory.forget(11);
  else directory.forgetAccount(1);
  expect((await directory.find('a'))?.key.status).toBe('revoked');
});

test('changing one key does not drop the others', async () => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  store.rows.set(hash('b'), makeCaller({ key: { id: 12 } }));
  await directory.find('a');
  await directory.find('b');
  directory.forget(11);
  await directory.find('b');
  expect(store.lookedUp).toEqual([hash('a'), hash('b')]);
});

test('a lookup begun before a change cannot restore the old row, and is not shared with requests after the change', async () => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  store.isHolding = true;
  const before = directory.find('a');
  store.rows.set(hash('a'), makeCaller({ key: { status: 'revoked' } }));
  directory.forget(11);
  store.isHolding = false;
  expect((await directory.find('a'))?.key.status).toBe('revoked');
  store.release();
  expect((await before)?.key.status).toBe('enabled');
  expect((await directory.find('a'))?.key.status).toBe('revoked');
});

test('the cache never exceeds its bound, and keeps the callers in use', async () => {
  const { store, directory } = setUp(10);
  store.rows.set(hash('used'), makeCaller());
  for (let number = 0; number < 100; number++) {
    store.rows.set(hash(`k${number}`), makeCaller({ key: { id: 100 + number } }));
    await directory.find(`k${number}`);
    await directory.find('used');
    expect(directory.size).toBeLessThanOrEqual(10);
  }
  expect(store.lookedUp.filter((lookedUp) => lookedUp === hash('used'))).toHaveLength(1);
});

test('callers with long lists are cached as long as they fit, and those in use stay', async () => {
  const { store } = setUp();
  const directory = new KeyDirectory(store, (secret) => [hash(secret)], 100, 10_000);
  store.rows.set(hash('used'), makeCaller());
  for (let number = 0; number < 50; number++) {
    store.rows.set(hash(`k${number}`), makeCaller({ key: { id: 100 + number, models: ['m'.repeat(2_400)] } }));
    await directory.find(`k${number}`);
    await directory.find('used');
    expect(directory.size).toBeLessThanOrEqual(7); // two generations of three callers, plus the one in use
  }
  expect(store.lookedUp.filter((lookedUp) => lookedUp === hash('used'))).toHaveLength(1);
});

test('a flood of invented keys is refused, not queued without bound', async () => {
  const { store, directory } = setUp();
  store.isHolding = true;
  const lookups = Array.from({ length: bounds.keyLookupsMax }, (_, number) => directory.find(`k${number}`));
  expect(() => directory.find('one more')).toThrow(expect.objectContaining({ code: 'overloaded' }));
  store.release();
  await Promise.all(lookups);
  store.isHolding = false;
  expect(await directory.find('one more')).toBeNull();
});

test('a key that is stored under another hash of its secret is found by the same query and cached', async () => {
  const { store } = setUp();
  const directory = new KeyDirectory(store, (secret) => [hash(secret), `former hash of ${secret}`]);
  store.rows.set('former hash of a', makeCaller());
  expect(await directory.find('a')).not.toBeNull();
  expect(directory.find('a')).toMatchObject({ key: { id: 11 } }); // not a promise
  expect(store.lookedUp).toEqual([`${hash('a')},former hash of a`]);
});
