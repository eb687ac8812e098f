// Fields that were left out are noticed once a minute for each provider and set, and never without bound.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config.ts';
import { LeftOutNotices } from '../../../src/observability/observability.ts';

test('a set of fields is noticed once a minute for each provider, in any order', () => {
  const notices = new LeftOutNotices();
  expect(notices.take('local', ['a', 'b'], 0)).toBe(true);
  expect(notices.take('local', ['b', 'a'], 59_999)).toBe(false);
  expect(notices.take('local', ['a'], 59_999)).toBe(true);
  expect(notices.take('other', ['a', 'b'], 59_999)).toBe(true);
  expect(notices.take('local', ['a', 'b'], 60_000)).toBe(true);
});

test('a client that invents names gets no more notices than the bound in a minute', () => {
  const notices = new LeftOutNotices();
  const taken = Array.from({ length: 2 * bounds.leftOutNoticesMax }, (_, place) => notices.take('p', [`x${place}`], 0));
  expect(taken.filter(Boolean)).toHaveLength(bounds.leftOutNoticesMax);
  expect(notices.take('p', ['y'], 60_000)).toBe(true);
});
