// Requests of Okta, in the forms of its documentation: https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20 (29 Nov 2026).

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Directory, GROUP, openDirectory, patchOf, USER } from './directory.ts';

let directory: Directory;
beforeAll(async () => {
  directory = await openDirectory();
});
afterAll(() => directory[Symbol.asyncDispose]());

function userOf(name: string) {
  const address = directory.addressOf(name);
  return {
    schemas: [USER],
    userName: address,
    name: { givenName: 'Test', familyName: 'User' },
    emails: [{ primary: true, value: address, type: 'work' }],
    displayName: 'Test User',
    locale: 'en-US',
    externalId: `00ujl29u0le5T6Aj10h7-${name}`,
    groups: [],
    password: '1mz050nq',
    active: true,
  };
}

test('a user is looked for, created, read and replaced as a whole', async () => {
  const sent = userOf('replaced');
  const filter = encodeURIComponent(`userName eq "${sent.userName}"`);
  const query = `/Users?filter=${filter}&startIndex=1&count=100`;
  expect((await directory.ask('GET', query)).body).toMatchObject({ totalResults: 0, startIndex: 1 });
  const created = await directory.ask('POST', '/Users', sent);
  expect(created.status).toBe(201);
  expect(JSON.stringify(created.body)).not.toContain('1mz050nq');
  const id = String(created.body['id']);
  expect((await directory.ask('GET', query)).body).toMatchObject({ totalResults: 1, Resources: [{ id }] });
  const { name: _, ...rest } = sent;
  const replaced = await directory.ask('PUT', `/Users/${id}`, {
    ...rest,
    id,
    displayName: 'Another Middle User',
    meta: { resourceType: 'User' },
  });
  expect([replaced.status, replaced.body]).toMatchObject([200, { id, displayName: 'Another Middle User' }]);
  expect(replaced.body['name']).toBeUndefined();
  const again = await directory.ask('POST', '/Users', sent);
  expect([again.status, again.body]).toMatchObject([409, { scimType: 'uniqueness', status: '409' }]);
});

test('a user is deactivated and activated by an object without a path, and by a PUT', async () => {
  const id = await directory.addUser('okta-deactivated');
  const patch = (active: boolean) =>
    directory.ask('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active } }));
  expect((await patch(false)).body['active']).toBe(false);
  expect((await patch(true)).body['active']).toBe(true);
  const put = { ...userOf('okta-deactivated'), id, active: false };
  expect((await directory.ask('PUT', `/Users/${id}`, put)).body['active']).toBe(false);
  const { active: _, ...silent } = put;
  expect((await directory.ask('PUT', `/Users/${id}`, silent)).body['active']).toBe(false); // an omission lets nobody in
});

test('a group is pushed with members, renamed with its id in the value, and changed by both operations at once', async () => {
  const [ada, bob] = [await directory.addUser('okta-ada'), await directory.addUser('okta-bob')];
  const displayName = `${directory.mark} okta`;
  const members = [{ value: ada, display: 'ada' }];
  const created = await directory.ask('POST', '/Groups', { schemas: [GROUP], displayName, members });
  expect(created.status).toBe(201);
  const id = String(created.body['id']);
  const membersOf = async () =>
    (((await directory.ask('GET', `/Groups/${id}`)).body['members'] ?? []) as { value: string }[]).map(
      ({ value }) => value,
    );
  expect(await membersOf()).toEqual([ada]);
  const renamed = patchOf({ op: 'replace', value: { id, displayName: `${displayName} v2` } });
  expect((await directory.ask('PATCH', `/Groups/${id}`, renamed)).status).toBe(204);
  const moved = patchOf(
    { op: 'remove', path: `members[value eq "${ada}"]` },
    { op: 'add', path: 'members', value: [{ value: bob, display: 'bob' }] },
  );
  expect((await directory.ask('PATCH', `/Groups/${id}`, moved)).status).toBe(204);
  expect(await membersOf()).toEqual([bob]);
  const put = { schemas: [GROUP], id, displayName: `${displayName} v2`, members: [{ value: ada }] };
  const replaced = await directory.ask('PUT', `/Groups/${id}`, put);
  expect([replaced.status, replaced.body['members']]).toMatchObject([200, [{ value: ada, type: 'User' }]]);
  expect((await directory.ask('GET', `/Users/${ada}`)).body['groups']).toMatchObject([{ value: id }]);
  const all = patchOf({ op: 'replace', path: 'members', value: [] });
  expect((await directory.ask('PATCH', `/Groups/${id}`, all)).status).toBe(204);
  expect(await membersOf()).toEqual([]);
});

test('lists are read in pages, whose count may be 0', async () => {
  for (const name of ['page-a', 'page-b', 'page-c']) await directory.addUser(name);
  const { body } = await directory.ask('GET', '/Users?startIndex=1&count=2');
  expect(body).toMatchObject({ startIndex: 1, itemsPerPage: 2 });
  const total = Number(body['totalResults']);
  expect(total).toBeGreaterThanOrEqual(3);
  const last = await directory.ask('GET', `/Users?startIndex=${total}&count=100`);
  expect(last.body).toMatchObject({ totalResults: total, startIndex: total, itemsPerPage: 1 });
  const none = await directory.ask('GET', '/Users?count=0');
  expect(none.body).toMatchObject({ totalResults: total, itemsPerPage: 0, Resources: [] });
});

test('a search by POST has the answer of a list, of one type or of both', async () => {
  const user = await directory.addUser('searched');
  const group = await directory.addGroup('searched', [user]);
  const filter = `userName eq "${directory.addressOf('searched')}"`;
  const found = await directory.ask('POST', '/Users/.search', { filter, attributes: ['userName'], startIndex: 1 });
  const one = { id: user, userName: directory.addressOf('searched') };
  expect([found.status, found.body]).toMatchObject([200, { totalResults: 1, Resources: [one] }]);
  expect((found.body['Resources'] as object[])[0]).not.toHaveProperty('emails');
  const ids = async (startIndex: number, count: number) => {
    const { body } = await directory.ask('POST', '/.search', { startIndex, count, attributes: ['id'] });
    return { total: Number(body['totalResults']), ids: (body['Resources'] as { id: string }[]).map(({ id }) => id) };
  };
  const users = Number((await directory.ask('GET', '/Users?count=0')).body['totalResults']);
  const both = await ids(users, 2);
  expect(both.ids.map((id) => id.split('_')[0])).toEqual(['scimuser', 'scimgroup']);
  expect((await ids(both.total, 5)).ids).toEqual([group]);
  expect((await directory.ask('POST', '/.search', { filter })).body).toMatchObject({ scimType: 'invalidFilter' });
});
