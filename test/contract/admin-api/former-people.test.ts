// People whose rights end while their change waits for its turn: it is refused, whatever it changes.

import { beforeEach, expect, test } from 'bun:test';
import type { Person } from '../../../src/accounts/accounts.ts';
import { parseId } from '../../../src/base/ids.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { type Installation, makeInstallation } from './installation.ts';

let installation: Installation;
let account: string;
let person: string;
beforeEach(async () => {
  installation = await makeInstallation();
  account = String((await installation.ask('POST', '/api/v1/accounts', { name: 'one' })).body['id']);
  const invited = { email: 'ada@example.com', role: 'owner', account };
  person = String((await installation.ask('POST', '/api/v1/people', invited)).body['id']);
  await installation.ask('PATCH', `/api/v1/people/${person}`, { status: 'enabled' });
});

/** The answer to a change that was authenticated just before the person changed. */
async function askBefore(change: Partial<Person>, path: string, body: object, authorization = person) {
  const { people } = installation.stores;
  const { getPerson } = people;
  people.getPerson = async (id) => {
    const found = await getPerson(id);
    people.getPerson = getPerson;
    if (found !== null) await people.updatePerson({ ...found, ...change }, 'as it is', noAuditContext);
    return found;
  };
  return installation.ask('POST', path, body, { authorization: `Bearer ${authorization}` });
}

test.each([
  ['/tokens', { role: 'owner' }],
  ['/keys', { name: 'late' }],
  ['/people', { email: 'grace@example.com', role: 'owner' }],
  ['/accounts', { name: 'below' }],
])('POST %s is refused after its author was disabled, and after they lost their role', async (path, body) => {
  for (const change of [{ status: 'disabled' as const }, { role: 'member' as const, status: 'enabled' as const }]) {
    const { status, body: answer } = await askBefore(change, `/api/v1${path}`, body);
    expect([status, answer]).toMatchObject([403, { error: { code: 'role_not_allowed' } }]);
    await installation.ask('PATCH', `/api/v1/people/${person}`, { role: 'owner', status: 'enabled' });
  }
});

test('nobody makes a key in an account that they were moved from', async () => {
  const other = String((await installation.ask('POST', '/api/v1/accounts', { name: 'other' })).body['id']);
  const moved = { accountId: parseId('acct', other) };
  expect((await askBefore(moved, '/api/v1/keys', { name: 'late' })).status).toBe(403);
  expect((await installation.ask('GET', `/api/v1/keys?account=${account}`)).body['data']).toEqual([]);
});

test('a token that an owner makes for an account below works while the account is below theirs', async () => {
  const by = { authorization: `Bearer ${person}` };
  const [child, top] = await Promise.all([
    installation.ask('POST', '/api/v1/accounts', { name: 'child', parent: account }),
    installation.ask('POST', '/api/v1/accounts', { name: 'top' }),
  ]);
  const made = await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account: child.body['id'] }, by);
  const own = { authorization: `Bearer ${made.body['token']}` };
  const change = () => installation.ask('POST', '/api/v1/keys', { name: 'of the child' }, own);
  expect([made.status, (await change()).status]).toEqual([201, 201]);
  await installation.ask('PATCH', `/api/v1/accounts/${child.body['id']}`, { parent: top.body['id'] });
  expect((await change()).status).toBe(401);
  await installation.ask('PATCH', `/api/v1/accounts/${child.body['id']}`, { parent: account });
  expect((await change()).status).toBe(201);
});

test('the token of a person makes no key after they lost their role', async () => {
  const by = { authorization: `Bearer ${person}` };
  const { token } = (await installation.ask('POST', '/api/v1/tokens', { role: 'owner' }, by)).body;
  expect((await askBefore({ role: 'member' }, '/api/v1/keys', { name: 'late' }, String(token))).status).toBe(403);
});
