// Requests of Entra ID, in the forms of its documentation:
// https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups and
// https://learn.microsoft.com/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility (29 Nov 2026).

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Directory, openDirectory, patchOf, USER } from './directory.ts';

let directory: Directory;
beforeAll(async () => {
  directory = await openDirectory();
});
afterAll(() => directory[Symbol.asyncDispose]());

const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

function userOf(name: string) {
  return {
    schemas: [USER, ENTERPRISE],
    externalId: `0a21f0f2-8d2a-4f8e-bf98-${name}`,
    userName: `Test_User_${name}-${directory.mark}`,
    active: true,
    emails: [{ primary: true, type: 'work', value: `Test_User_${name}@${directory.mark}.testuser.com` }],
    meta: { resourceType: 'User' },
    name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
    roles: [],
    [ENTERPRISE]: { employeeNumber: '7', department: 'Search' },
  };
}

test('a user is created as it was sent, and found by each matching attribute', async () => {
  const sent = userOf('created');
  const created = await directory.ask('POST', '/Users', sent);
  expect(created.status).toBe(201);
  expect(created.headers.get('content-type')).toBe('application/scim+json');
  const { externalId, userName, active, emails, name } = sent;
  expect(created.body).toMatchObject({ schemas: [USER], externalId, userName, active, emails, name });
  expect(created.headers.get('location')).toBe(String((created.body['meta'] as { location: string }).location));
  for (const filter of [
    `userName eq "${userName.toUpperCase()}"`,
    `externalId eq "${externalId}"`,
    `emails[type eq "work"].value eq "${emails[0]?.value}"`,
    `userName eq "${userName}" and externalId eq "${externalId}"`,
  ]) {
    const found = await directory.ask('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    expect([filter, found.body]).toMatchObject([filter, { totalResults: 1, Resources: [{ id: created.body['id'] }] }]);
  }
  const none = await directory.ask('GET', `/Users?filter=${encodeURIComponent('userName eq "non-existent user"')}`);
  expect([none.status, none.body]).toMatchObject([200, { totalResults: 0, Resources: [] }]);
});

test('attributes change by paths with filters, and unknown ones of the enterprise extension are passed over', async () => {
  const { body } = await directory.ask('POST', '/Users', userOf('changed'));
  const path = `/Users/${body['id']}`;
  const first = await directory.ask(
    'PATCH',
    path,
    patchOf(
      { op: 'Replace', path: 'displayName', value: 'Pvlo' },
      { op: 'Replace', path: 'emails[type eq "work"].value', value: `updated@${directory.mark}.test.com` },
      { op: 'Replace', path: 'name.givenName', value: 'Gtfd' },
      { op: 'Replace', path: 'externalId', value: 'Eqpj' },
      { op: 'Add', path: 'nickName', value: 'Babs' },
      { op: 'Replace', path: `${ENTERPRISE}:employeeNumber`, value: 'Eqpj' },
    ),
  );
  expect([first.status, first.body]).toMatchObject([
    200,
    {
      displayName: 'Pvlo',
      externalId: 'Eqpj',
      name: { givenName: 'Gtfd', familyName: 'familyName' },
      emails: [{ value: `updated@${directory.mark}.test.com`, type: 'work', primary: true }],
    },
  ]);
  const second = await directory.ask(
    'PATCH',
    path,
    patchOf({
      op: 'replace',
      value: { displayName: 'Bjfe', 'name.givenName': 'Kkom', 'name.familyName': 'Unua', [`${ENTERPRISE}:x`]: 'Aklq' },
    }),
  );
  expect(second.body).toMatchObject({ displayName: 'Bjfe', name: { givenName: 'Kkom', familyName: 'Unua' } });
});

test('an address of a type that the user does not have is added', async () => {
  const { emails: _, ...rest } = userOf('added');
  const userName = `added@${directory.mark}.test.com`;
  const { body } = await directory.ask('POST', '/Users', { ...rest, userName });
  const value = `work@${directory.mark}.test.com`;
  const patched = await directory.ask(
    'PATCH',
    `/Users/${body['id']}`,
    patchOf({ op: 'Add', path: 'emails[type eq "work"].value', value }),
  );
  expect(patched.body['emails']).toEqual([{ value, type: 'work' }]);
});

test('"False" as a text disables, and "True" enables', async () => {
  const id = await directory.addUser('soft-deleted');
  const set = async (value: unknown) =>
    (await directory.ask('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value }))).body['active'];
  expect([await set('False'), await set('True'), await set(false)]).toEqual([false, true, false]);
  const shown = await directory.ask('GET', `/Users/${id}`);
  expect(shown.body['active']).toBe(false);
});

test('a group is created empty, asked for one member, and changed without a body in the answer', async () => {
  const [ada, bob] = [await directory.addUser('entra-ada'), await directory.addUser('entra-bob')];
  const displayName = `${directory.mark} entra`;
  const created = await directory.ask('POST', '/Groups', {
    schemas: [
      'urn:ietf:params:scim:schemas:core:2.0:Group',
      'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
    ],
    externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
    displayName,
    meta: { resourceType: 'Group' },
  });
  expect(created.status).toBe(201);
  const id = String(created.body['id']);
  const change = async (operation: object) =>
    (await directory.ask('PATCH', `/Groups/${id}`, patchOf({ ...operation }))).status;
  expect(await change({ op: 'Add', path: 'members', value: [{ value: ada }, { value: bob }] })).toBe(204);
  const isMember = async (user: string) => {
    const filter = encodeURIComponent(`id eq "${id}" and members[value eq "${user}"]`);
    return (await directory.ask('GET', `/Groups?filter=${filter}&attributes=id`)).body;
  };
  expect(await isMember(ada)).toMatchObject({ totalResults: 1, Resources: [{ id }] });
  expect(await change({ op: 'Remove', path: 'members', value: [{ value: ada }] })).toBe(204);
  expect(await isMember(ada)).toMatchObject({ totalResults: 0 });
  expect(await change({ op: 'remove', path: `members[value eq "${bob}"]` })).toBe(204);
  expect(await isMember(bob)).toMatchObject({ totalResults: 0 });
  expect(await change({ op: 'Replace', path: 'displayName', value: `${displayName} renamed` })).toBe(204);
  const filter = encodeURIComponent(`displayName eq "${displayName} RENAMED"`);
  const found = await directory.ask('GET', `/Groups?excludedAttributes=members&filter=${filter}`);
  expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id, displayName: `${displayName} renamed` }] });
  expect((await directory.ask('DELETE', `/Groups/${id}`)).status).toBe(204);
  expect((await directory.ask('GET', `/Groups/${id}`)).status).toBe(404);
});
