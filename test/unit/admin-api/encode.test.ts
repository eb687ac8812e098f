// Answers are made by their schemas: names, order and forms of members.

import { expect, test } from 'bun:test';
import { z } from '@hono/zod-openapi';
import { encoderOf } from '../../../src/admin-api/encode.ts';
import { accountShown, amountShown, idField, timeShown } from '../../../src/admin-api/fields.ts';

const schema = z
  .object({
    id: idField('key'),
    account: accountShown.nullable(),
    cache_5m: z.int(),
    spent: z.object({ total: amountShown.describe('In all.'), parts: z.array(amountShown) }).nullable(),
    rows: z.array(z.object({ at: timeShown, rates: z.record(z.string(), z.string()) })),
    ends_at: timeShown.nullable().describe('null: never.'),
  })
  .openapi('Sample');
const encode = encoderOf(schema);

const value = {
  endsAtMs: null,
  rows: [{ rates: { per_day: '1' }, atMs: 0 }],
  spent: { parts: [0, 1n], total: 1_500_000_000 },
  cache5m: 7,
  accountId: 1,
  id: 2,
};

test('members have the names, the order and the forms of the schema', () => {
  expect(JSON.stringify(encode(value))).toBe(
    '{"id":"key_000000002","account":"acct_000000001","cache_5m":7,"spent":{"total":"1.50","parts":["0","0.000000001"]},' +
      '"rows":[{"at":"1970-01-01T00:00:00.000Z","rates":{"per_day":"1"}}],"ends_at":null}',
  );
});

test('null stays null, whatever the form', () => {
  expect(encode({ ...value, accountId: null, spent: null, rows: [] })).toEqual({
    id: 'key_000000002',
    account: null,
    cache_5m: 7,
    spent: null,
    rows: [],
    ends_at: null,
  });
});

test('a member that the schema does not have is not shown, at any depth', () => {
  const secret = { secret: 'sk-1' };
  const more = { ...value, ...secret, spent: { ...value.spent, ...secret }, rows: [{ ...value.rows[0], ...secret }] };
  expect(JSON.stringify(encode(more as unknown as typeof value))).toBe(JSON.stringify(encode(value)));
});
