// The directory remembers callers, forgets changes at once and never takes a silent store for a no.

import { expect, test } from 'bun:test';
import { KeyDirectory } from '../../src/accounts/accounts.ts';
import { bounds } from '../../src/config.ts';
import { HeldStore, makeCaller } from './callers.ts';

const hash = (secret: string) => `hash of ${secret}`;
const formerHash = (secret: string) => `former hash of ${secret}`;

function setUp(cachedMax = 100) {
  const store = new HeldStore();
  const directory = new KeyDirectory(store, hash, null, cachedMax);
  return { store, directory };
}

/** While the installation's secret is being replaced. */
function setUpChange() {
  const store = new HeldStore();
  const former = { hash: formerHash, move: (from: string, to: string) => store.move(from, to) };
  return { store, directory: new KeyDirectory(store, hash, former) };
}

test('a caller found once is found again at once, without the store', async () => {
  const { store, directory } = setUp();
  const caller = makeCaller();
  store.rows.set(hash('a'), caller);
  expect(await directory.find('a')).toBe(caller);
  expect(directory.find('a')).toBe(caller); // no promise
  expect(store.asked).toEqual([hash('a')]);
});

test('many who ask for the same secret share one look-up', async () => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  const found = await Promise.all([directory.find('a'), directory.find('a'), directory.find('a')]);
  expect(found.every((caller) => caller?.key.id === 11)).toBe(true);
  expect(store.asked).toHaveLength(1);
});

test('an unknown secret is not remembered: a key made later works at once', async () => {
  const { store, directory } = setUp();
  expect(await directory.find('a')).toBeNull();
  store.rows.set(hash('a'), makeCaller());
  expect(await directory.find('a')).not.toBeNull();
});

test('a store that is down is an error that may be retried, never an unknown key', async () => {
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

test('a caller who is remembered is served while the store is down', async () => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  await directory.find('a');
  store.isDown = true;
  expect(directory.find('a')).not.toBeNull();
});

test.each(['key', 'account'] as const)('a changed %s is read anew', async (what) => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  await directory.find('a');
  store.rows.set(hash('a'), makeCaller({ key: { status: 'revoked' } }));
  if (what === 'key') directory.forget(11);
  else directory.forgetAccount(1);
  expect((await directory.find('a'))?.key.status).toBe('revoked');
});

test('changing one key does not forget the others', async () => {
  const { store, directory } = setUp();
  store.rows.set(hash('a'), makeCaller());
  store.rows.set(hash('b'), makeCaller({ key: { id: 12 } }));
  await directory.find('a');
  await directory.find('b');
  directory.forget(11);
  await directory.find('b');
  expect(store.asked).toEqual([hash('a'), hash('b')]);
});

test('a look-up begun before a change cannot put back the old row, and nobody after the change joins it', async () => {
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

test('it never remembers more than its bound, and keeps those who are used', async () => {
  const { store, directory } = setUp(10);
  store.rows.set(hash('used'), makeCaller());
  for (let number = 0; number < 100; number++) {
    store.rows.set(hash(`k${number}`), makeCaller({ key: { id: 100 + number } }));
    await directory.find(`k${number}`);
    await directory.find('used');
    expect(directory.size).toBeLessThanOrEqual(10);
  }
  expect(store.asked.filter((asked) => asked === hash('used'))).toHaveLength(1);
});

test('callers with long lists are remembered as long as they fit, and those who are used stay', async () => {
  const { store } = setUp();
  const directory = new KeyDirectory(store, hash, null, 100, 10_000);
  store.rows.set(hash('used'), makeCaller());
  for (let number = 0; number < 50; number++) {
    store.rows.set(hash(`k${number}`), makeCaller({ key: { id: 100 + number, models: ['m'.repeat(2_400)] } }));
    await directory.find(`k${number}`);
    await directory.find('used');
    expect(directory.size).toBeLessThanOrEqual(7); // two generations of three, and the one that is used
  }
  expect(store.asked.filter((asked) => asked === hash('used'))).toHaveLength(1);
});

test('a flood of invented keys is refused, not queued without end', async () => {
  const { store, directory } = setUp();
  store.isHolding = true;
  const lookups = Array.from({ length: bounds.keyLookupsMax }, (_, number) => directory.find(`k${number}`));
  expect(() => directory.find('one more')).toThrow(expect.objectContaining({ code: 'overloaded' }));
  store.release();
  await Promise.all(lookups);
  store.isHolding = false;
  expect(await directory.find('one more')).toBeNull();
});

test('a key that is stored under the former secret is found, moved once, and remembered like any other', async () => {
  const { store, directory } = setUpChange();
  store.rows.set(formerHash('a'), makeCaller());
  expect(await directory.find('a')).not.toBeNull();
  expect(directory.find('a')).toMatchObject({ key: { id: 11 } }); // no promise
  expect(store.moves).toEqual([`${formerHash('a')} > ${hash('a')}`]);
  expect([...store.rows.keys()]).toEqual([hash('a')]);
});

test('a key that is stored under the present secret costs no second look-up, and is not moved', async () => {
  const { store, directory } = setUpChange();
  store.rows.set(hash('a'), makeCaller());
  await directory.find('a');
  expect([store.asked, store.moves]).toEqual([[hash('a')], []]);
});

test('a key that moves between the look under one hash and the look under the other is found, also when it moves back', async () => {
  for (const moves of [1, 2]) {
    const { store, directory } = setUpChange();
    store.rows.set(formerHash('a'), makeCaller());
    store.isHolding = true;
    const found = directory.find('a');
    // The look under the present hash has been. Another node, for which that one is the former, moves it back.
    for (let move = 0; move < moves; move++) {
      if (move === 0) await store.move(formerHash('a'), hash('a'));
      else await store.move(hash('a'), formerHash('a'));
      store.release();
      await Bun.sleep(0);
    }
    store.release();
    expect(await found).not.toBeNull();
  }
});

test('a move that fails leaves the key as good as it was, and is made at a later look', async () => {
  const { store, directory } = setUpChange();
  store.rows.set(formerHash('a'), makeCaller());
  store.move = async () => Promise.reject(new Error('the disk is gone'));
  expect(await directory.find('a')).not.toBeNull();
  await Bun.sleep(0);
  Reflect.deleteProperty(store, 'move');
  expect(await directory.find('a')).not.toBeNull();
  expect([...store.rows.keys()]).toEqual([hash('a')]);
});

test('an unknown key is as unknown while the secret is being replaced', async () => {
  const { store, directory } = setUpChange();
  expect(await directory.find('a')).toBeNull();
  expect(store.moves).toEqual([]);
});
