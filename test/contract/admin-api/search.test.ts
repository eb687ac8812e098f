// Search: what each role finds, by name, prefix and id, with any characters.

import { beforeAll, expect, test } from 'bun:test';
import { type Installation, type Json, makeAccount, makeInstallation, makeKey } from './installation.ts';

let installation: Installation;
let accounts: [Json, Json];
let keys: Json[];
beforeAll(async () => {
  installation = await makeInstallation();
  accounts = [
    await makeAccount(installation, { name: 'Acme Rockets' }),
    await makeAccount(installation, { name: '100%_acme' }),
  ];
  keys = [];
  for (const [at, name] of ['rocket engine', 'Rocket fuel', 'other'].entries())
    keys.push(await makeKey(installation, accounts[at === 1 ? 1 : 0]['id'], { name }));
  const people = [
    { email: 'rocket@example.com', role: 'owner', account: accounts[0]['id'] },
    { email: 'ada@example.com', name: 'Rocket Ada', role: 'operator' },
  ];
  for (const person of people) await installation.ask('POST', '/api/v1/people', person);
});

async function tokenOf(role: string, account?: unknown): Promise<Record<string, string>> {
  const body = { name: role, role, ...(account !== undefined && { account }) };
  return { authorization: `Bearer ${(await installation.ask('POST', '/api/v1/tokens', body)).body['token']}` };
}

async function search(text: string, headers?: Record<string, string>) {
  const { status, body } = await installation.ask(
    'GET',
    `/api/v1/search?text=${encodeURIComponent(text)}`,
    undefined,
    headers,
  );
  const ids = (kind: string) =>
    ((body[kind] as Json[] | undefined) ?? []).map((row) => String(row['name'] || row['email'])).toSorted();
  return { status, accounts: ids('accounts'), keys: ids('keys'), people: ids('people') };
}

test('an operator and a viewer find everything by a part of its name, in any case', async () => {
  for (const headers of [undefined, await tokenOf('viewer')])
    expect(await search('ROCKET', headers)).toEqual({
      status: 200,
      accounts: ['Acme Rockets'],
      keys: ['Rocket fuel', 'rocket engine'],
      people: ['Rocket Ada', 'rocket@example.com'],
    });
});

test('an owner finds the keys and people of their account only, a member what they created', async () => {
  const account = accounts[0]['id'];
  expect(await search('rocket', await tokenOf('owner', account))).toEqual({
    status: 200,
    accounts: [],
    keys: ['rocket engine'],
    people: ['rocket@example.com'],
  });
  const member = await tokenOf('member', account);
  await installation.ask('POST', '/api/v1/keys', { name: 'my rocket' }, member);
  expect(await search('rocket', member)).toEqual({ status: 200, accounts: [], keys: ['my rocket'], people: [] });
  for (const id of [accounts[0]['id'], accounts[1]['id'], keys[0]?.['id'], keys[1]?.['id']])
    expect(await search(String(id), member)).toEqual({ status: 200, accounts: [], keys: [], people: [] });
});

test('an id or the prefix of a key finds it, and a percent sign or a quote is a character like others', async () => {
  expect((await search(String(accounts[1]['id']))).accounts).toEqual(['100%_acme']);
  expect((await search(String(keys[2]?.['id']))).keys).toEqual(['other']);
  expect((await search(String(keys[2]?.['prefix']))).keys).toEqual(['other']);
  expect((await search('%_a')).accounts).toEqual(['100%_acme']);
  for (const text of ["'", '"', '%', '\\', "') OR 1=1 --"])
    expect([text, (await search(text)).keys]).toEqual([text, []]);
  expect(await search(' ')).toMatchObject({ status: 200, accounts: [], keys: [], people: [] });
  expect((await search('a'.repeat(101))).status).toBe(400);
  expect((await search('x'.repeat(101))).status).toBe(400);
});
