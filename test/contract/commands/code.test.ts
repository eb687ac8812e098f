// Redemption codes by commands: created as CSV, listed, redeemed, disabled.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Json } from '../admin-api/installation.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
});
afterEach(() => world[Symbol.dispose]());

test('codes are created as CSV on stdout, redeemed, and listed with their accounts', async () => {
  const { id: account } = await world.runJson('account', 'create', 'acme');
  const created = await world.run('code-batch', 'create', 'spring', '5.00', '--count', '3', '--once-per-account');
  const [header, first = '', ...others] = created.out.trimEnd().split('\n');
  expect([header, others.length]).toEqual(['id,code,amount', 2]);
  expect(first).toMatch(/^batch_\w{9}:1,\w{5}-\w{5}-\w{5}-\w{5},5\.00$/);
  const [name = '', code = ''] = first.split(',');
  const [batch = ''] = name.split(':');
  expect(created.error).toBe(`Created ${batch}. Keep the codes now: they are not shown again.\n`);
  const redeemed = await world.runJson('code', 'redeem', String(account), code);
  expect(redeemed).toMatchObject({ account, code: name, amount: '5.00', balance: '5.00', repeated: false });
  const again = await world.run('code', 'redeem', String(account), code);
  expect([again.exitCode, again.error]).toEqual([0, 'The account redeemed this code before: no credit was added.\n']);
  const rows = (await world.runJson('code-batch', 'redemptions', batch)) as unknown as Json[];
  expect(rows.map((row) => row['account'])).toEqual([account, null, null]);
  expect((await world.run('code-batch', 'list')).out).toContain('1 of 3');
  expect((await world.runJson('code-batch', 'disable', batch))['status']).toBe('disabled');
  expect(await world.runJson('code-batch', 'show', batch)).toMatchObject({ once_per_account: true, redeemed: 1 });
});

test('invalid arguments are wrong usage, and a wrong code fails', async () => {
  const { id: account } = await world.runJson('account', 'create', 'acme');
  for (const call of [
    ['spring', '5.00'],
    ['spring', 'five', '--count', '1'],
    ['spring', '5', '--count', '0'],
  ])
    expect([call, (await world.run('code-batch', 'create', ...call)).exitCode]).toEqual([call, 2]);
  const wrong = await world.run('code', 'redeem', String(account), 'AAAAA-AAAAA-AAAAA-AAAAA');
  expect([wrong.exitCode, wrong.error]).toEqual([1, expect.stringContaining('There is no such code.')]);
});
