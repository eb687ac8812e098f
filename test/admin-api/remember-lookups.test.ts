// Looking up the hosts of providers: once each, and never for long.

import { expect, test } from 'bun:test';
import { rememberLookups } from '../../src/admin-api/remember-lookups.ts';

test('a name is asked for once, and all who ask get its answer', async () => {
  const asked: string[] = [];
  const lookup = rememberLookups(async (name) => {
    asked.push(name);
    return [`${asked.length}.1.1.1`];
  });
  expect(await Promise.all(['a', 'b', 'a'].map(lookup))).toEqual([['1.1.1.1'], ['2.1.1.1'], ['1.1.1.1']]);
  expect(asked).toEqual(['a', 'b']);
});

test('a name that nobody answers for has no addresses, at once when it is asked for again', async () => {
  const lookup = rememberLookups(() => new Promise(() => {}), 20);
  expect(await lookup('silent')).toEqual([]);
  expect(await Promise.race([lookup('silent'), Bun.sleep(5).then(() => 'waits')])).toEqual([]);
});

test('a name that does not resolve is told as such', async () => {
  const lookup = rememberLookups(() => Promise.reject(new Error('ENOTFOUND')), 20);
  await expect(lookup('nowhere')).rejects.toThrow('ENOTFOUND');
});
