// Directory groups: made, changed and disabled by operators; each change is recorded.

import { beforeEach, expect, test } from 'bun:test';
import { type Installation, makeInstallation } from './installation.ts';

const PATH = '/api/v1/directory-groups';
let installation: Installation;
let account: string;
beforeEach(async () => {
  installation = await makeInstallation();
  account = String((await installation.ask('POST', '/api/v1/accounts', { name: 'search' })).body['id']);
});

const make = (body: object) => installation.ask('POST', PATH, body);

test('a group gives an account and role, is listed, and can be changed', async () => {
  const { status, body } = await make({ name: 'engineers', role: 'member', account });
  expect(status).toBe(201);
  expect(body).toMatchObject({ name: 'engineers', source: null, role: 'member', account, priority: 100 });
  const path = `${PATH}/${body['id']}`;
  const change = { role: 'owner', source: 'oidc-2', priority: 7, status: 'disabled' };
  expect((await installation.ask('PATCH', path, change)).body).toMatchObject({ ...change, name: 'engineers', account });
  expect((await installation.ask('GET', path)).body).toMatchObject(change);
  expect((await installation.ask('GET', PATH)).body['data']).toMatchObject([change]);
  const { data } = (await installation.ask('GET', `/api/v1/audit?object=${body['id']}`)).body as { data: object[] };
  expect(data).toMatchObject([
    { action: 'directory-group.update', before: { priority: 100 }, after: { priority: 7 } },
    { action: 'directory-group.create', after: { name: 'engineers' } },
  ]);
});

test('a name stands once for each source', async () => {
  await make({ name: 'engineers', role: 'member', account });
  expect((await make({ name: 'engineers', role: 'owner', account })).status).toBe(409);
  const other = await make({ name: 'engineers', role: 'owner', account, source: 'scim' });
  expect(other.status).toBe(201);
  expect((await installation.ask('PATCH', `${PATH}/${other.body['id']}`, { source: null })).status).toBe(409);
  expect((await installation.ask('PATCH', `${PATH}/${other.body['id']}`, { priority: 2 })).status).toBe(200);
});

test.each([
  ['account', 'without an account', { name: 'a', role: 'member' }],
  ['account', 'with an unknown account', { name: 'a', role: 'member', account: 'acct_000000000' }],
  ['source', 'of the installation from any source', { name: 'a', role: 'operator' }],
  ['role', 'for everybody that makes owners', { name: '*', role: 'owner', account: 'its own' }],
  ['role', 'for everybody that makes operators', { name: '*', role: 'operator', source: 'oidc' }],
  ['account', 'of the installation in an account', { name: 'a', role: 'viewer', source: 'oidc', account: 'its own' }],
  ['source', 'of an unknown source', { name: 'a', role: 'operator', source: 'google' }],
])('a group is refused for its %s: %s', async (field, _, body) => {
  const given = 'account' in body && body.account === 'its own' ? { ...body, account } : body;
  const answer = await make(given);
  expect(answer.status).toBe(400);
  expect(answer.body['error']).toMatchObject({ faults: [{ path: [field] }] });
});

test('a group that makes operators names its source, also after a change', async () => {
  const { body } = await make({ name: 'platform', role: 'operator', source: 'oidc' });
  expect(body).toMatchObject({ account: null, role: 'operator' });
  const path = `${PATH}/${body['id']}`;
  expect((await installation.ask('PATCH', path, { source: null })).status).toBe(400);
  expect((await installation.ask('PATCH', path, { role: 'member' })).status).toBe(400);
  const moved = await installation.ask('PATCH', path, { role: 'member', account, source: null });
  expect(moved.body).toMatchObject({ account, role: 'member', source: null });
  expect((await installation.ask('PATCH', path, { role: 'operator', source: 'oidc' })).status).toBe(400);
  const back = await installation.ask('PATCH', path, { role: 'operator', source: 'oidc', account: null });
  expect(back.body).toMatchObject({ account: null, role: 'operator' });
});
