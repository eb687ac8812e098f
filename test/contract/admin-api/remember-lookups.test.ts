// Host lookups of providers: one lookup per name, with a time limit.

import { expect, test } from 'bun:test';
import { rememberLookups } from '../../../src/admin-api/apply.ts';

test('a name is looked up once, and all callers get the result', async () => {
  const lookups: string[] = [];
  const lookup = rememberLookups(async (name) => {
    lookups.push(name);
    return [`${lookups.length}.1.1.1`];
  });
  expect(await Promise.all(['a', 'b', 'a'].map(lookup))).toEqual([['1.1.1.1'], ['2.1.1.1'], ['1.1.1.1']]);
  expect(lookups).toEqual(['a', 'b']);
});

test('a name without an answer has no addresses, and repeated lookups return at once', async () => {
  const lookup = rememberLookups(() => new Promise(() => {}), 20);
  expect(await lookup('silent')).toEqual([]);
  expect(await Promise.race([lookup('silent'), Bun.sleep(5).then(() => 'waits')])).toEqual([]);
});

test('a name that does not resolve is reported as such', async () => {
  const lookup = rememberLookups(() => Promise.reject(new Error('ENOTFOUND')), 20);
  await expect(lookup('nowhere')).rejects.toThrow('ENOTFOUND');
});
