// Tokens, key rotation and the audit log, with an operator token and a token of an account.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Json } from '../admin-api/installation.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
});
afterEach(() => world[Symbol.dispose]());

test('a token is created with its secret, listed without it, and revoked', async () => {
  const { id: account } = await world.runJson('account', 'create', 'acme');
  const flags = ['--account', String(account), '--name', 'lead', '--expires', '2027-01-31'];
  const { token: secret, ...token } = await world.runJson('token', 'create', '--role', 'owner', ...flags);
  expect(String(secret)).toStartWith(String(token['prefix']));
  expect(token).toMatchObject({ role: 'owner', account, name: 'lead', expires_at: '2027-01-31T00:00:00.000Z' });
  expect(await world.runJson('token', 'list')).toEqual([token] as never);
  expect(await world.runJson('token', 'revoke', String(token['id']))).toEqual({ ...token, status: 'revoked' });
});

test('invalid arguments of a token command are wrong usage, and send no request', async () => {
  for (const call of [['create'], ['create', '--role', 'root'], ['revoke'], ['list', 'x']])
    expect([call, (await world.run('token', ...call)).exitCode]).toEqual([call, 2]);
  expect((await world.run('token', 'create', '--role', 'owner')).exitCode).toBe(1);
});

test('a token of an account can do what its account needs', async () => {
  const { id: account } = await world.runJson('account', 'create', 'acme');
  const { token } = await world.runJson('token', 'create', '--role', 'owner', '--account', String(account));
  const as = ['--token', String(token)];
  const key = await world.runJson('key', 'create', '--account', String(account), ...as);
  expect((await world.runJson('account', 'list', ...as)) as unknown).toMatchObject([{ id: account }]);
  expect((await world.runJson('key', 'revoke', String(key['id']), ...as))['status']).toBe('revoked');
  expect(await world.runJson('account', 'create', 'ours', ...as)).toMatchObject({
    parent: account,
    pays_from: 'parent',
  });
  const refused = await world.run('provider', 'list', ...as);
  expect([refused.exitCode, refused.error]).toEqual([
    1,
    expect.stringContaining('The role owner is not allowed to do this'),
  ]);
});

test('a key is rotated with a grace period, and its secret shown only once', async () => {
  const { id: account } = await world.runJson('account', 'create', 'acme');
  const key = await world.runJson('key', 'create', '--account', String(account));
  const rotated = await world.runJson('key', 'rotate', String(key['id']), '--grace', '1h');
  expect(rotated['key']).not.toBe(key['key']);
  expect(rotated).toMatchObject({ id: key['id'], grace_ends_at: '2026-11-20T11:00:00.000Z' });
  expect((await world.run('key', 'rotate', String(key['id']), '--grace', 'soon')).exitCode).toBe(2);
  const { out, error } = await world.run('key', 'rotate', String(key['id']));
  expect(out).toMatch(/^KEY +sk-tp-[0-9A-Za-z]{49}$/m);
  expect(error).toContain('not shown again');
});

test('only a destination that has a secret says to keep it', async () => {
  const create = (kind: string, address: string) =>
    world.run('destination', 'create', '--kind', kind, '--address', address, '--types', '*');
  const [webhook, slack] = [await create('webhook', 'https://8.8.8.8/'), await create('slack', 'https://8.8.8.8/x')];
  expect([webhook.exitCode, webhook.error]).toEqual([0, 'Keep the secret now: it is not shown again.\n']);
  expect([slack.exitCode, slack.error]).toEqual([0, '']);
});

test('the audit log is listed as a table, and exported completely as JSON', async () => {
  const { id: account } = await world.runJson('account', 'create', 'acme');
  await world.runJson('account', 'disable', String(account));
  const { out } = await world.run('audit', '--account', String(account));
  expect(out.trimEnd().split('\n')[1]).toMatch(/local +operator .*account\.update .*status: enabled → disabled$/);
  const exported = (await world.runJson('audit', '--limit', '10')) as unknown as Json[];
  expect(exported.map((record) => record['action'])).toEqual(['account.update', 'account.create']);
});
