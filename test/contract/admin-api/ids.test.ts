// Lists of accounts and keys by id, with which a page shows names instead of ids.

import { beforeAll, expect, test } from 'bun:test';
import { type Installation, type Json, makeAccount, makeInstallation, makeKey } from './installation.ts';

let installation: Installation;
let accounts: Json[];
let keys: Json[];
beforeAll(async () => {
  installation = await makeInstallation();
  accounts = [];
  keys = [];
  for (const name of ['one', 'two', 'three']) {
    const account = await makeAccount(installation, { name });
    accounts.push(account);
    keys.push(await makeKey(installation, account['id'], { name }));
    installation.clock.advance(1_000);
  }
});

const idsOf = (rows: Json[]) => rows.map(({ id }) => String(id));

async function listed(path: string, token?: string): Promise<string[]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { body } = await installation.ask('GET', path, undefined, headers);
  expect(body['next_cursor']).toBeNull();
  return (body['data'] as Json[]).map(({ name }) => String(name));
}

test('the requested objects come in one page, each once, oldest first, whatever the limit is', async () => {
  const requested = [...idsOf(accounts).slice(1).toReversed(), ...idsOf(accounts).slice(1), 'acct_000000000'].join(',');
  expect(await listed(`/api/v1/accounts?ids=${requested}&limit=1`)).toEqual(['two', 'three']);
  expect(await listed(`/api/v1/accounts?ids=${requested}&name=THR`)).toEqual(['three']);
  expect(await listed(`/api/v1/keys?ids=${idsOf(keys).toReversed().join(',')}`)).toEqual(['one', 'two', 'three']);
  expect(await listed(`/api/v1/keys?ids=${idsOf(keys).join(',')}&account=${accounts[1]?.['id']}`)).toEqual(['two']);
});

test('objects of another account are left out, like ids that do not exist', async () => {
  const { body } = await installation.ask('POST', '/api/v1/tokens', {
    role: 'owner',
    name: 'own',
    account: accounts[0]?.['id'],
  });
  const token = String(body['token']);
  expect(await listed(`/api/v1/accounts?ids=${idsOf(accounts).join(',')}`, token)).toEqual(['one']);
  expect(await listed(`/api/v1/keys?ids=${idsOf(keys).join(',')}`, token)).toEqual(['one']);
});

test('more ids than the list allows, or ids together with other filters or a cursor, are refused', async () => {
  const many = (count: number) => Array.from({ length: count }, () => 'key_000000000').join(',');
  const statusOf = async (query: string) => (await installation.ask('GET', `/api/v1/keys?${query}`)).status;
  expect(await statusOf(`ids=${many(100)}`)).toBe(200);
  expect(await statusOf(`ids=${many(101)}`)).toBe(400);
  expect(await statusOf(`ids=${accounts[0]?.['id']}`)).toBe(400);
  const { body } = await installation.ask('GET', '/api/v1/keys?limit=1');
  expect(await statusOf(`ids=${many(1)}&cursor=${body['next_cursor']}`)).toBe(400);
});
