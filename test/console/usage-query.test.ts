// What the address of the list of requests asks the API for: whatever somebody writes there.

import { expect, test } from 'bun:test';
import { isoOfLocal, isRequestId, localText, periodOf, usageQuery } from '../../console/pages/usage/usage-query.ts';

const NOW_MS = Date.parse('2026-11-22T17:45:12.345Z');

test('a period becomes the time from which it is', () => {
  expect(usageQuery({ period: 'day', model: 'm', other: 'x' }, NOW_MS)).toEqual({
    ...{ account: undefined, key: undefined, outcome: undefined, model: 'm' },
    since: '2026-11-21T17:45:12.345Z',
  });
  expect(usageQuery({ period: 'hour', since: '2020-01-01' }, NOW_MS)['since']).toBe('2026-11-22T16:45:12.345Z');
});

test('moments of the address are taken where they are some, and left out where they are none', () => {
  const query = usageQuery({ period: 'custom', since: '2026-11-01T00:00:00.000Z', until: 'yesterday' }, NOW_MS);
  expect(query).toMatchObject({ since: '2026-11-01T00:00:00.000Z' });
  expect(Object.keys(query)).not.toContain('until');
  expect([periodOf({ period: 'toString' }), periodOf({ since: '2026-11-01' })]).toEqual(['all', 'custom']);
});

test('a moment is the same after it was shown in the reader’s time and read from there', () => {
  const shown = localText('2026-11-01T08:30:00.000Z');
  expect(shown).toMatch(/^2026-1\d-\d\dT\d\d:\d\d$/);
  expect(isoOfLocal(shown)).toBe('2026-11-01T08:30:00.000Z');
  expect([localText('nonsense'), localText(undefined), isoOfLocal('')]).toEqual(['', '', null]);
});

test('only what can be a request’s id is gone to', () => {
  expect(isRequestId('req_00Vbj1qnrloW9uwcxaxJaAUmM')).toBe(true);
  for (const text of ['', 'req_', 'req_00Vbj1qnrloW9uwcxaxJaAUm', 'req_00Vbj1qnrloW9uwcxaxJaAUm/', '../../x'])
    expect(isRequestId(text)).toBe(false);
});
