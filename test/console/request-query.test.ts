// Translating the address of the list of requests to API parameters, including invalid addresses.

import { expect, test } from 'bun:test';
import { isRequestId, periodOf, usageQuery } from '../../console/features/requests/query.ts';

const NOW_MS = Date.parse('2026-11-22T17:45:12.345Z');

test('a period becomes a start time', () => {
  expect(usageQuery({ period: 'day', model: 'm', other: 'x' }, NOW_MS)).toEqual({
    ...{ account: undefined, key: undefined, outcome: undefined, model: 'm' },
    since: '2026-11-21T17:45:12.345Z',
  });
  expect(usageQuery({ period: 'hour', since: '2020-01-01' }, NOW_MS)['since']).toBe('2026-11-22T16:45:12.345Z');
});

test('valid times in the address are used, and invalid ones are ignored', () => {
  const query = usageQuery({ period: 'custom', since: '2026-11-01T00:00:00.000Z', until: 'yesterday' }, NOW_MS);
  expect(query).toMatchObject({ since: '2026-11-01T00:00:00.000Z' });
  expect(Object.keys(query)).not.toContain('until');
  expect([periodOf({ period: 'toString' }), periodOf({ since: '2026-11-01' })]).toEqual(['all', 'custom']);
});

test('only a well-formed request id is accepted', () => {
  expect(isRequestId('req_00Vbj1qnrloW9uwcxaxJaAUmM')).toBe(true);
  for (const text of ['', 'req_', 'req_00Vbj1qnrloW9uwcxaxJaAUm', 'req_00Vbj1qnrloW9uwcxaxJaAUm/', '../../x'])
    expect(isRequestId(text)).toBe(false);
});
