// People of the installation by SCIM, and mails to new people, on an installation in memory.

import { beforeEach, expect, test } from 'bun:test';
import { makeLinkSecret } from '../../../src/accounts/accounts.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { ADDRESS, type Installation, type Json, makeInstallation, NOW_MS } from '../admin-api/installation.ts';
import { patchOf, userOf } from './directory.ts';

let installation: Installation;
let token: unknown;
beforeEach(async () => {
  installation = await makeInstallation({ sendsMail: true });
  token = (await installation.ask('POST', '/api/v1/tokens', { role: 'scim' })).body['token'];
});

async function ask(method: string, path: string, body?: object): Promise<{ status: number; body: Json }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
  const given = body === undefined ? {} : { body: JSON.stringify(body) };
  const request = new Request(`http://127.0.0.1/scim/v2${path}`, { method, headers, ...given });
  const response = await installation.api.fetch(request, ADDRESS);
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}

/** A user in a group that is mapped to the role operator. */
async function addOperator(email: string): Promise<string> {
  const user = String((await ask('POST', '/Users', userOf(email))).body['id']);
  const members = [{ value: user }];
  expect((await ask('POST', '/Groups', { displayName: `group of ${email}`, members })).status).toBe(201);
  const mapping = { name: `group of ${email}`, role: 'operator', source: 'scim' };
  expect((await installation.ask('POST', '/api/v1/directory-groups', mapping)).status).toBe(201);
  return user;
}

const inactive = patchOf({ op: 'replace', path: 'active', value: false });
const people = async () => (await installation.ask('GET', '/api/v1/people')).body['data'] as Json[];

test('the last operator who can sign in is not disabled, by any request', async () => {
  const user = await addOperator('only@example.com');
  expect(await people()).toMatchObject([{ role: 'operator', status: 'enabled', account: null }]);
  const groups = (await ask('GET', '/Groups')).body['Resources'] as Json[];
  const group = String(groups[0]?.['id']);
  for (const [method, path, body] of [
    ['PATCH', `/Users/${user}`, inactive],
    ['DELETE', `/Users/${user}`, undefined],
    ['PATCH', `/Groups/${group}`, patchOf({ op: 'remove', path: 'members' })],
    ['DELETE', `/Groups/${group}`, undefined],
  ] as const) {
    const { status, body: answer } = await ask(method, path, body);
    expect([method, path, status, answer['detail']]).toEqual([
      method,
      path,
      409,
      expect.stringContaining('the last operator who can sign in'),
    ]);
  }
  expect(await people()).toMatchObject([{ role: 'operator', status: 'enabled' }]);
  expect((await ask('GET', `/Users/${user}`)).body).toMatchObject({ active: true, groups: [{ value: group }] });
  await addOperator('second@example.com');
  expect((await ask('PATCH', `/Users/${user}`, inactive)).status).toBe(200);
  const left = (await people()).find(({ email }) => email === 'only@example.com');
  expect(left).toMatchObject({ status: 'disabled', disabled_by: 'directory' });
});

test('a new person gets one mail with a link, unless they sign in at an issuer', async () => {
  await addOperator('mailed@example.com');
  const mails = () => installation.stores.mails.listDueMails(NOW_MS + 1, 10);
  expect(await mails()).toMatchObject([{ to: 'mailed@example.com', request: { kind: 'recovery' } }]);
  const issuer = { id: 'oidc', name: 'Example ID', issuer: 'https://id.example.com', domains: ['example.com'] };
  installation.signIn.issuers = [issuer];
  await addOperator('verified@example.com');
  expect(await mails()).toHaveLength(1);
  await addOperator('elsewhere@example.org');
  expect((await mails()).map(({ to }) => to).sort()).toEqual(['elsewhere@example.org', 'mailed@example.com']);
});

test('a person whom a group makes an operator forgets the password of a former owner of the address', async () => {
  installation.passwords.set('former@example.com', { name: 'Former', password: 'known to somebody else' });
  await addOperator('former@example.com');
  expect(installation.passwords.has('former@example.com')).toBe(false);
});

test('an operator who was disabled by hand keeps the address from the directory', async () => {
  const before = { accountId: null, role: 'operator' as const, email: 'kept@example.com', name: 'Kept' };
  const made = { madeBy: 'local', createdAtMs: NOW_MS, linkExpiresAtMs: null };
  const person = { id: 2 ** 33, ...before, ...made, status: 'disabled' as const };
  await installation.stores.people.createPerson(person, makeLinkSecret().reveal(), noAuditContext);
  const refused = await ask('POST', '/Users', userOf('kept@example.com'));
  expect([refused.status, refused.body['scimType']]).toEqual([409, 'uniqueness']);
});
