// The recipe of docs/ledger.md: the output of `turnpike account`, `ledger` and `usage` adds up to the nanodollar.

import { expect, test } from 'bun:test';
import { parseUsd } from '../../../src/base/money.ts';
import { readText } from '../../sources.ts';
import { type Json, useKey } from '../admin-api/installation.ts';
import { makeCommandWorld } from './command-world.ts';

const nano = (amount: unknown) => BigInt(parseUsd(String(amount)) ?? Number.NaN);
const sum = (rows: readonly Json[], value: (row: Json) => bigint) => rows.reduce((all, row) => all + value(row), 0n);

test('records, entries, totals and balance of an account agree after refunds, write-offs and partly paid messages', async () => {
  using world = await makeCommandWorld();
  const id = String(
    (await world.runJson('account', 'create', 'acme', '--credit', '0.01', '--credit-line', '0.05'))['id'],
  );
  const key = await world.runJson('key', 'create', '--account', id, '--quota', '0.0042');
  const requestIds = [
    ...(await useKey(world.installation, key, 2, { cost: 2_100_001 })), // the balance does not cover all of the second message
    ...(await useKey(world.installation, await world.runJson('key', 'create', '--account', id), 9, {
      cost: 2_345_678,
    })),
  ];
  await world.runJson('refund', requestIds[0] ?? '', '0.000000789');
  await world.runJson('refund', requestIds[1] ?? '');
  await world.runJson('refund', requestIds[7] ?? '', '0.001');
  await world.runJson('credit', id, '0.004', '--kind', 'write_off', '--reference', 'insolvency');
  await world.runJson('credit', id, '-0.00003');

  const { balance } = await world.runJson('account', 'show', id);
  const entries = (await world.runJson('ledger', id, '--limit', '1000000')) as unknown as Json[];
  const records = (await world.runJson('usage', '--account', id, '--limit', '1000000')) as unknown as Json[];
  const { total } = (await world.runJson('usage', '--account', id, '--totals', 'account')) as { total: Json };

  const changeOf = (...kinds: string[]) =>
    sum(entries, ({ kind, change }) => (kinds.includes(String(kind)) ? nano(change) : 0n));
  const fromWriteOffs = sum(entries, ({ kind, debit, credit, amount }) => {
    if (kind === 'debt_write_off') return 0n;
    return debit === 'write_offs' ? nano(amount) : credit === 'write_offs' ? -nano(amount) : 0n;
  });
  expect(nano(balance)).toBe(sum(entries, ({ change }) => nano(change)));
  expect(sum(records, (record) => nano(record['cost']) - nano(record['written_off']))).toBe(
    -changeOf('usage', 'correction', 'refund'),
  );
  expect(sum(records, (record) => nano(record['written_off']))).toBe(fromWriteOffs);
  expect(nano(total['cost'])).toBe(sum(records, (record) => nano(record['cost'])));
  expect(nano(total['written_off'])).toBe(sum(records, (record) => nano(record['written_off'])));
  expect(fromWriteOffs).toBeGreaterThan(0n);
});

test('the recipe in the documentation names the commands of this test', () => {
  const recipe = (readText('docs/ledger.md') ?? '').split('## Reconciliation')[1]?.split('\n## ')[0] ?? '';
  for (const command of ['turnpike account show', 'turnpike ledger', 'turnpike usage --account', '--totals account'])
    expect(recipe).toContain(command);
});
