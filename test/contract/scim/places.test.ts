// Access that follows from groups: given, changed, taken away at once, and never taken over from others.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { acceptLink, Browser, signUp } from '../sign-in/browser.ts';
import { type Directory, openDirectory, patchOf, userOf } from './directory.ts';

let directory: Directory;
beforeAll(async () => {
  directory = await openDirectory();
});
afterAll(() => directory[Symbol.asyncDispose]());

const inactive = patchOf({ op: 'replace', path: 'active', value: false });
const active = patchOf({ op: 'replace', path: 'active', value: true });

/** A user in a mapped group who has signed in. */
async function employ(name: string, group = `staff-${name}`) {
  await directory.map(group);
  const user = await directory.addUser(name);
  const id = await directory.addGroup(group, [user]);
  const person = await directory.person(name);
  const { link_secret } = await directory.turnpike.admin('POST', `/people/${person?.['id']}/link`, {});
  await acceptLink(directory.turnpike, String(link_secret));
  const browser = new Browser(directory.turnpike.url);
  expect((await browser.signIn(directory.addressOf(name))).status).toBe(200);
  return { user, group: id, browser, person: String(person?.['id']) };
}

describe('a user', () => {
  test('waits without a group, gets access with one, and loses it with the membership', async () => {
    await directory.map('waiting', 'owner');
    const user = await directory.addUser('waiting', { displayName: 'Ada Lovelace' });
    expect(await directory.person('waiting')).toBeNull();
    const group = await directory.addGroup('waiting', [user]);
    const person = await directory.person('waiting');
    expect(person).toMatchObject({
      status: 'enabled',
      role: 'owner',
      account: directory.account,
      name: 'Ada Lovelace',
      managed_by: 'directory',
    });
    await directory.ask('PATCH', `/Groups/${group}`, patchOf({ op: 'remove', path: `members[value eq "${user}"]` }));
    expect(await directory.person('waiting')).toMatchObject({ id: person?.['id'], status: 'disabled' });
    await directory.ask('PATCH', `/Groups/${group}`, patchOf({ op: 'add', path: 'members', value: { value: user } }));
    expect(await directory.person('waiting')).toMatchObject({ id: person?.['id'], status: 'enabled' });
    expect((await directory.ask('DELETE', `/Groups/${group}`)).status).toBe(204);
    expect(await directory.person('waiting')).toMatchObject({ status: 'disabled' });
  });

  test('follows when an operator maps the group later, or a group gets the name of a mapped one', async () => {
    const [first, second] = [await directory.addUser('mapped-first'), await directory.addUser('mapped-second')];
    await directory.addGroup('mapped', [first]);
    const other = await directory.addGroup('not-mapped', [second]);
    expect(await directory.person('mapped-first')).toBeNull();
    const mapping = await directory.map('mapped');
    expect(await directory.person('mapped-first')).toMatchObject({ status: 'enabled', role: 'member' });
    await directory.turnpike.admin('PATCH', `/directory-groups/${mapping['id']}`, { status: 'disabled' });
    expect(await directory.person('mapped-first')).toMatchObject({ status: 'disabled' });
    await directory.map('renamed');
    const displayName = `${directory.mark} renamed`;
    await directory.ask(
      'PATCH',
      `/Groups/${other}`,
      patchOf({ op: 'replace', path: 'displayName', value: displayName }),
    );
    expect(await directory.person('mapped-second')).toMatchObject({ status: 'enabled' });
  });

  test('is out everywhere once it is deactivated or deleted: sessions and tokens', async () => {
    const { user, browser } = await employ('leaving', 'owners-leaving');
    const mapping = (await directory.turnpike.admin('GET', '/directory-groups?limit=1000'))['data'] as {
      id: string;
      name: string;
    }[];
    const id = mapping.find(({ name }) => name.endsWith(' owners-leaving'))?.id;
    await directory.turnpike.admin('PATCH', `/directory-groups/${id}`, { role: 'owner' });
    const made = await browser.post('/api/v1/tokens', { role: 'member' });
    expect(made.status).toBe(201);
    const first = String(made.body['token']);
    const ofToken = await browser.post('/api/v1/tokens', { role: 'owner' });
    const child = await browser.ask(
      'POST',
      '/api/v1/tokens',
      { role: 'member' },
      {
        authorization: `Bearer ${ofToken.body['token']}`,
      },
    );
    const second = String(child.body['token']);
    const me = async (token: string) =>
      (await fetch(`${directory.turnpike.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect([await me(first), await me(second), (await browser.me()) !== null]).toEqual([200, 200, true]);
    expect((await directory.ask('PATCH', `/Users/${user}`, inactive)).status).toBe(200);
    expect([await me(first), await me(second), await browser.me()]).toEqual([401, 401, null]);
    await directory.ask('PATCH', `/Users/${user}`, active);
    expect([await me(first), await me(second)]).toEqual([200, 200]);
    expect((await directory.ask('DELETE', `/Users/${user}`)).status).toBe(204);
    expect([await me(first), await me(second), await browser.me()]).toEqual([401, 401, null]);
    expect((await directory.ask('GET', `/Users/${user}`)).status).toBe(404);
    const again = await directory.addUser('leaving');
    await directory.addGroup('owners-leaving-2', [again]);
    await directory.map('owners-leaving-2', 'owner');
    expect(await directory.person('leaving')).toMatchObject({ status: 'enabled', role: 'owner' });
    expect([await me(first), await me(second), await browser.me()]).toEqual([401, 401, null]);
  });

  test('stays out if an operator disabled the person', async () => {
    const { user, group, person } = await employ('held');
    await directory.turnpike.admin('PATCH', `/people/${person}`, { status: 'disabled' });
    await directory.ask('PATCH', `/Users/${user}`, inactive);
    await directory.ask('PATCH', `/Users/${user}`, active);
    const again = patchOf({ op: 'add', path: 'members', value: [{ value: user }] });
    await directory.ask('PATCH', `/Groups/${group}`, again);
    expect(await directory.person('held')).toMatchObject({ status: 'disabled', disabled_by: 'installation' });
  });

  test('is left alone after an operator took the person out of the directory', async () => {
    const { user, group, person } = await employ('released');
    await directory.turnpike.admin('PATCH', `/people/${person}`, { managed_by: null });
    expect((await directory.ask('PATCH', `/Users/${user}`, inactive)).status).toBe(200);
    expect((await directory.ask('DELETE', `/Groups/${group}`)).status).toBe(204);
    expect((await directory.ask('DELETE', `/Users/${user}`)).status).toBe(204);
    expect(await directory.person('released')).toMatchObject({ id: person, status: 'enabled', managed_by: null });
  });

  test('moves with a changed address, and the former one opens nothing', async () => {
    const { user, browser, person } = await employ('moved');
    const value = directory.addressOf('moved-on');
    const changed = await directory.ask('PATCH', `/Users/${user}`, patchOf({ op: 'replace', value: userOf(value) }));
    expect(changed.status).toBe(200);
    expect(await directory.person('moved-on')).toMatchObject({ id: person, status: 'enabled' });
    expect(await browser.me()).toBeNull();
    expect((await new Browser(directory.turnpike.url).signIn(directory.addressOf('moved'))).status).toBe(401);
  });
});

describe('an address of somebody whom no directory manages', () => {
  test('is refused with 409, whether they belong to the same account, another one or the installation', async () => {
    const elsewhere = String((await directory.turnpike.admin('POST', '/accounts', { name: 'elsewhere' }))['id']);
    for (const [name, role, account] of [
      ['own', 'owner', directory.account],
      ['elsewhere', 'member', elsewhere],
      ['operator', 'operator', undefined],
    ] as const) {
      const email = directory.addressOf(`claimed-${name}`);
      const { id } = await signUp(directory.turnpike, email, role, account);
      const refused = await directory.ask('POST', '/Users', userOf(email));
      expect([name, refused.status, refused.body]).toMatchObject([name, 409, { scimType: 'uniqueness' }]);
      const user = await directory.addUser(`takes-${name}`);
      const change = patchOf({ op: 'replace', path: 'emails', value: [{ value: email, primary: true }] });
      expect((await directory.ask('PATCH', `/Users/${user}`, change)).status).toBe(409);
      expect(await directory.turnpike.admin('GET', `/people/${id}`)).toMatchObject({ role, status: 'enabled', email });
    }
  });

  test('is linked after an operator gave the person to the directory', async () => {
    const email = directory.addressOf('given');
    const { id } = await signUp(directory.turnpike, email, 'member', directory.account);
    await directory.turnpike.admin('PATCH', `/people/${id}`, { managed_by: 'directory' });
    await directory.map('given', 'owner');
    const user = await directory.addUser('given');
    await directory.addGroup('given', [user]);
    expect(await directory.person('given')).toMatchObject({ id, role: 'owner', directory_source: 'scim' });
    await directory.ask('PATCH', `/Users/${user}`, inactive);
    expect(await directory.person('given')).toMatchObject({ id, status: 'disabled' });
  });
});

test('each request may be repeated: the second changes nothing and adds nothing to the audit log', async () => {
  const { user, group } = await employ('repeated');
  const audited = async () =>
    ((await directory.turnpike.admin('GET', `/audit?limit=1000&actor=${directory.tokenId}`))['data'] as unknown[])
      .length;
  const add = patchOf({ op: 'add', path: 'members', value: [{ value: user }] });
  const put = (await directory.ask('GET', `/Users/${user}`)).body;
  const before = await audited();
  expect((await directory.ask('PATCH', `/Groups/${group}`, add)).status).toBe(204);
  expect((await directory.ask('PATCH', `/Users/${user}`, active)).status).toBe(200);
  expect((await directory.ask('PUT', `/Users/${user}`, put)).body).toEqual(put);
  expect(await audited()).toBe(before);
  expect((await directory.ask('PATCH', `/Users/${user}`, inactive)).status).toBe(200);
  const once = await audited();
  expect(once).toBe(before + 2); // the user and the person
  expect((await directory.ask('PATCH', `/Users/${user}`, inactive)).status).toBe(200);
  expect(await audited()).toBe(once);
});
