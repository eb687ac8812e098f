// Translating the address of the list of requests to API parameters, including invalid addresses.

import { expect, test } from 'bun:test';
import { isRequestId, usageQuery } from '../../console/features/requests/query.ts';
import { rangeOf } from '../../console/range.ts';

const NOW_MS = Date.parse('2026-11-22T17:45:12.345Z');

test('the list of requests asks for the time range, and for its filters', () => {
  const values = { range: '24h', model: 'm', other: 'x' };
  expect(usageQuery(values, rangeOf(values.range, NOW_MS))).toEqual({
    ...{ account: undefined, key: undefined, outcome: undefined, model: 'm' },
    since: '2026-11-21T18:00:00.000Z',
  });
  expect(usageQuery(values, null)['since']).toBeUndefined();
});

test('only a well-formed request id is accepted', () => {
  expect(isRequestId('req_00Vbj1qnrloW9uwcxaxJaAUmM')).toBe(true);
  for (const text of ['', 'req_', 'req_00Vbj1qnrloW9uwcxaxJaAUm', 'req_00Vbj1qnrloW9uwcxaxJaAUm/', '../../x'])
    expect(isRequestId(text)).toBe(false);
});
