// A CSV statement from a real service.

import { expect, test } from 'bun:test';
import { describeEntry } from '../../console/features/billing/entry-text.ts';
import { statementCsv } from '../../console/features/billing/statement.tsx';
import { nanoOf } from '../../console/money.ts';
import type { StatementShape } from '../../src/admin-api/shapes.ts';
import { sharedTurnpike } from '../support/shared-turnpike.ts';

test('a CSV statement contains its summary, entries and usage, adds up, and contains no formula', async () => {
  await using turnpike = await sharedTurnpike();
  const { account, secret } = await turnpike.makeKey({ name: '=HYPERLINK("x")', credit: '2.00' });
  await turnpike.admin('PATCH', `/accounts/${account}`, { tags: { cost_centre: '=1+2' } });
  const message = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };
  await (await turnpike.post(secret, message)).text();
  const statement = (await turnpike.admin(
    'GET',
    `/accounts/${account}/statement?tag_name=cost_centre`,
  )) as unknown as StatementShape;
  const lines = statementCsv(statement, '=HYPERLINK("x")', 'cost_centre').trimEnd().split('\r\n');
  expect(lines[1]).toStartWith(`account,"'=HYPERLINK(""x"")",${statement.month}`);
  const summary = new Map(
    lines.filter((line) => line.startsWith('summary,')).map((line) => [line.split(',')[1], line.split(',')[10] ?? '']),
  );
  const sum = (name: string) => nanoOf(summary.get(name) ?? 'none');
  expect(sum('closing_balance')).toBe(
    sum('opening_balance') + sum('credited') - sum('used') + sum('refunded') + sum('corrected'),
  );
  expect(sum('bonus')).toBe(0n); // a part of credited
  expect(sum('used')).toBeGreaterThan(0n);
  expect(lines.map((line) => line.split(',')[0])).toEqual([
    'part',
    'account',
    ...Array(7).fill('summary'),
    'entry',
    'model',
    'key',
    'day',
    'total',
    'tag',
    'total_with_below',
  ]);
  const columns = lines[0]?.split(',') ?? [];
  const [tag = [], total = []] = lines.slice(-2).map((line) => line.split(','));
  expect([tag[1], tag[columns.indexOf('reference')]]).toEqual(["'=1+2", 'cost_centre']);
  expect(tag[columns.indexOf('cost')]).toBe(total[columns.indexOf('cost')]);
});

test('an entry of a payment is described in words, and others by their reference and note', () => {
  const entry = { reference: 'stripe:pay_abcdefghi:3', note: 'taken back from pay_abcdefghi', change: '-20.00' };
  expect(describeEntry(entry)).toBe('Refund or dispute · pay_abcdefghi');
  expect(describeEntry({ ...entry, change: '20.00' })).toBe('pay_abcdefghi');
  const bonus = { ...entry, reference: 'bonus:pay_abcdefghi:1' };
  expect(describeEntry(bonus)).toBe('Bonus taken back · pay_abcdefghi');
  expect(describeEntry({ ...bonus, change: '1.00' })).toBe('Bonus · pay_abcdefghi');
  expect(describeEntry({ reference: 'invoice 7', note: 'first month', change: '1.00' })).toBe(
    'invoice 7 · first month',
  );
  expect(describeEntry({ reference: null, note: null, change: '1.00' })).toBe('');
});
