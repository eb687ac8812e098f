// Limits that networks share, against every order in which a few of them take.

import { expect, test } from 'bun:test';
import { type Count, countNetworks, fairShare } from '../../../src/base/fair-limits.ts';

const FREE = { site: 2, region: 8 };

function counters(): Count {
  const taken = new Map<string, number>();
  return async (name, max) => {
    const before = taken.get(name) ?? 0;
    const isAllowed = before < max;
    if (isAllowed) taken.set(name, before + 1);
    return { isAllowed, taken: taken.get(name) ?? 0, retryAfterMs: 1 };
  };
}

test('a share falls from all towards a half, and is never nothing', () => {
  expect([1, 2, 3, 4, 5, 100].map((taken) => fairShare(1_000, taken, 2))).toEqual([1000, 1000, 750, 750, 666, 510]);
  expect(fairShare(1, 50, 2)).toBe(1);
});

const NONE = { subscriber: 10_000, site: 10_000, region: 10_000 };

test.each([1, 2, 3, 5, 10])(
  '%d networks that take as often as they can leave something for the next one',
  async (networks) => {
    const count = counters();
    const [max, windowMs] = [1_000, 1];
    const take = async (address: string) => {
      const { shareOf } = await countNetworks(count, 'x', address, NONE, FREE, windowMs);
      return (await count('total', shareOf(max), windowMs)).isAllowed;
    };
    for (let at = 0; at < 3 * max; at++) await take(`2001:db8:${at % networks}:${at}::1`);
    for (let at = 0; at < FREE.site; at++) expect(await take('198.51.100.7')).toBe(true);
  },
);

test('a refused small network takes nothing from the limits of the larger ones', async () => {
  const count = counters();
  const limits = { subscriber: 1, site: 3, region: 5 };
  const take = (address: string) => countNetworks(count, 'x', address, limits, FREE, 1);
  for (let at = 0; at < 10; at++) expect((await take('10.0.0.1')).isAllowed).toBe(at === 0);
  expect((await take('10.0.0.2')).isAllowed).toBe(true);
  for (let at = 3; at < 20; at++) expect((await take(`10.0.0.${at}`)).isAllowed).toBe(at === 3);
  expect((await take('10.0.1.1')).isAllowed).toBe(true);
});
