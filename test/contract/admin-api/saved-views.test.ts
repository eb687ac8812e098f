// Saved views: who sees, changes and deletes them, and their bounds.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

const MEMBERS = { page: '/usage', name: 'Errors of today', search: 'outcome=failed&range=24h&group_by=model' };

/** Requests as a person with this role. */
async function asPerson(installation: Installation, role: string, account: unknown, name: string) {
  const members = { role, name, email: `${name}@example.com`, ...(account !== null && { account }) };
  const { body } = await installation.ask('POST', '/api/v1/people', members);
  await installation.ask('POST', '/api/v1/invitations/accept', {
    secret: String(body['link_secret']),
    name,
    password: 'a long and unusual password',
  });
  const authorization = `Bearer ${body['id']}`;
  return (method: string, path: string, sent?: unknown) =>
    installation.ask(method, `/api/v1/views${path}`, sent, { authorization });
}

type Ask = Awaited<ReturnType<typeof asPerson>>;

const namesOf = async (ask: Ask) => ((await ask('GET', '')).body['data'] as Json[]).map(({ name }) => name);

test('a view is seen by its person only, until it is shared with the people of the account', async () => {
  const installation = await makeInstallation();
  const [acme, other] = [await makeAccount(installation), await makeAccount(installation, { name: 'other' })];
  const ada = await asPerson(installation, 'owner', acme['id'], 'ada');
  const bob = await asPerson(installation, 'member', acme['id'], 'bob');
  const eve = await asPerson(installation, 'owner', other['id'], 'eve');
  const operator = await asPerson(installation, 'operator', null, 'oscar');
  const viewer = await asPerson(installation, 'viewer', null, 'vera');
  const everyone = [ada, bob, eve, operator, viewer];
  const seen = () => Promise.all(everyone.map(namesOf));

  const { status, body } = await bob('POST', '', MEMBERS);
  expect([status, body]).toMatchObject([201, { ...MEMBERS, is_shared: false, is_own: true }]);
  const path = `/${body['id']}`;
  expect(await seen()).toEqual([[], ['Errors of today'], [], [], []]);
  expect((await bob('PATCH', path, { is_shared: true, name: 'Errors' })).body).toMatchObject({ name: 'Errors' });
  expect(await seen()).toEqual([['Errors'], ['Errors'], [], [], []]);
  expect(((await ada('GET', '')).body['data'] as Json[])[0]).toMatchObject({ is_own: false, is_shared: true });

  for (const ask of [ada, eve, viewer])
    for (const [method, to, sent] of [
      ['PATCH', path, { name: 'mine' }],
      ['POST', `${path}/delete`, {}],
    ] as const) {
      const refused = await ask(method, to, sent);
      expect([refused.status, errorOf(refused.body).code]).toEqual([404, 'object_not_found']);
    }
  await viewer('POST', '', { ...MEMBERS, name: 'of the installation', is_shared: true });
  expect(await seen()).toEqual([['Errors'], ['Errors'], [], ['of the installation'], ['of the installation']]);
  expect((await operator('POST', `${path}/delete`, {})).status).toBe(200);
  expect(await seen()).toEqual([[], [], [], ['of the installation'], ['of the installation']]);
});

test('views are bounded in number and length', async () => {
  const installation = await makeInstallation();
  const account = await makeAccount(installation);
  const ask = await asPerson(installation, 'member', account['id'], 'ada');
  for (const wrong of [
    { page: 'usage' },
    { page: '//evil.example' },
    { page: `/${'a'.repeat(bounds.viewPageCharactersMax)}` },
    { name: ' ' },
    { name: 'x'.repeat(bounds.nameCharactersMax + 1) },
    { search: 'a=ä' },
    { search: 'x'.repeat(bounds.viewSearchCharactersMax + 1) },
  ]) {
    const { status, body } = await ask('POST', '', { ...MEMBERS, ...wrong });
    expect([wrong, status, errorOf(body).code]).toEqual([wrong, 400, 'invalid_request']);
  }
  for (let at = 0; at < bounds.viewsPerOwnerMax; at++) expect((await ask('POST', '', MEMBERS)).status).toBe(201);
  const refused = await ask('POST', '', MEMBERS);
  expect([refused.status, errorOf(refused.body).code]).toEqual([409, 'conflict']);
});

test('a repeated creation whose view was deleted meanwhile is not found, and makes no other', async () => {
  const { ask } = await makeInstallation();
  const save = () => ask('POST', '/api/v1/views', MEMBERS, { 'idempotency-key': 'once' });
  const { body } = await save();
  await ask('POST', `/api/v1/views/${body['id']}/delete`, {});
  const repeated = await save();
  expect([repeated.status, errorOf(repeated.body).code]).toEqual([404, 'object_not_found']);
  expect((await ask('GET', '/api/v1/views')).body['data']).toEqual([]);
});
