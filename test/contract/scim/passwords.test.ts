// Passwords of people whom a directory manages: they end with what they were for, and never open what another person had or has.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { acceptLink, Browser, invite, PASSWORD } from '../sign-in/browser.ts';
import { type Directory, openDirectory, patchOf, userOf } from './directory.ts';

let directory: Directory;
let addresses = 0;
beforeAll(async () => {
  directory = await openDirectory();
});
afterAll(() => directory[Symbol.asyncDispose]());

const inactive = patchOf({ op: 'replace', path: 'active', value: false });
const active = patchOf({ op: 'replace', path: 'active', value: true });
const known = 'a password of the present holder';

/** From an address of its own: guesses are limited. */
async function enters(name: string, password: string): Promise<boolean> {
  const browser = new Browser(directory.turnpike.url, { 'x-forwarded-for': `10.13.0.${++addresses}` });
  return (await browser.signIn(directory.addressOf(name), password)).status === 200;
}

/** A user in a mapped group who has set a password. */
async function employ(name: string) {
  await directory.map(name);
  const user = await directory.addUser(name);
  await directory.addGroup(name, [user]);
  const person = String((await directory.person(name))?.['id']);
  const { link_secret } = await directory.turnpike.admin('POST', `/people/${person}/link`, {});
  await acceptLink(directory.turnpike, String(link_secret));
  expect(await enters(name, PASSWORD)).toBe(true);
  return { user, person };
}

/** A user who was deactivated, and whose address somebody else has in an account of their own since. */
async function succeeded(name: string) {
  const { user, person } = await employ(name);
  await directory.ask('PATCH', `/Users/${user}`, inactive);
  const account = String((await directory.turnpike.admin('POST', '/accounts', { name: 'of their own' }))['id']);
  const { id, secret } = await invite(directory.turnpike, directory.addressOf(name), 'owner', account);
  await acceptLink(directory.turnpike, secret, known);
  expect([await enters(name, known), await enters(name, PASSWORD)]).toEqual([true, false]);
  return { user, person, holder: id };
}

test('a user who comes back with the same address has the password that they set', async () => {
  const { user } = await employ('back');
  await directory.ask('PATCH', `/Users/${user}`, inactive);
  expect(await enters('back', PASSWORD)).toBe(false);
  await directory.ask('PATCH', `/Users/${user}`, active);
  expect(await enters('back', PASSWORD)).toBe(true);
});

test('a user who is renamed and deactivated at once comes back under the new address', async () => {
  const { user, person } = await employ('old-name');
  const value = directory.addressOf('new-name');
  await directory.ask(
    'PATCH',
    `/Users/${user}`,
    patchOf({ op: 'replace', value: { ...userOf(value), active: false } }),
  );
  expect(await directory.person('new-name')).toMatchObject({ id: person, status: 'disabled' });
  const successor = await directory.addUser('old-name');
  await directory.addGroup('old-name-2', [successor]);
  await directory.map('old-name-2');
  expect((await directory.person('old-name'))?.['id']).not.toBe(person);
  expect(await enters('old-name', PASSWORD)).toBe(false);
  await directory.ask('PATCH', `/Users/${user}`, active);
  expect(await enters('new-name', PASSWORD)).toBe(true);
});

test('a new user does not become the person of a user who has another address by now', async () => {
  const { user, person } = await employ('kept-by-person');
  const { turnpike } = directory;
  await turnpike.admin('PATCH', `/people/${person}`, { managed_by: null });
  const value = directory.addressOf('taken-since');
  await directory.ask('PATCH', `/Users/${user}`, patchOf({ op: 'replace', value: userOf(value) }));
  const { secret } = await invite(turnpike, value, 'owner', directory.account);
  await acceptLink(turnpike, secret);
  await turnpike.admin('PATCH', `/people/${person}`, { managed_by: 'directory' });
  await directory.ask('PATCH', `/Users/${user}`, inactive);
  expect(await directory.person('kept-by-person')).toMatchObject({ id: person, status: 'disabled' });
  const newcomer = await directory.addUser('kept-by-person');
  await directory.map('newcomers');
  await directory.addGroup('newcomers', [newcomer]);
  expect(await turnpike.admin('GET', `/people/${person}`)).toMatchObject({ status: 'disabled' });
  expect(await enters('kept-by-person', PASSWORD)).toBe(false);
});

test('nobody enables a person whom the directory has deactivated since others disabled them', async () => {
  const { user, person } = await employ('left-since');
  const { turnpike } = directory;
  const { token } = await turnpike.admin('POST', '/tokens', { role: 'owner', account: directory.account });
  const change = async (by: unknown, status: string) => {
    const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/json' };
    const request = { method: 'PATCH', headers, body: JSON.stringify({ status }) };
    return (await fetch(`${turnpike.url}/api/v1/people/${person}`, request)).status;
  };
  expect(await change(token, 'disabled')).toBe(200);
  await directory.ask('PATCH', `/Users/${user}`, inactive);
  expect(await change(token, 'enabled')).toBe(409);
  await turnpike.admin('PATCH', `/people/${person}`, { status: 'disabled' });
  await expect(turnpike.admin('PATCH', `/people/${person}`, { status: 'enabled' })).rejects.toThrow('deactivated');
  await directory.ask('PATCH', `/Users/${user}`, active);
  await turnpike.admin('PATCH', `/people/${person}`, { status: 'enabled' });
  expect(await enters('left-since', PASSWORD)).toBe(true);
});

describe('an address that a former user had', () => {
  test('keeps the password of its holder when the user comes back with another one', async () => {
    const { user, person } = await succeeded('renamed-back');
    const value = directory.addressOf('renamed-since');
    const back = patchOf({ op: 'replace', value: userOf(value) });
    expect((await directory.ask('PATCH', `/Users/${user}`, back)).status).toBe(200);
    expect(await directory.person('renamed-since')).toMatchObject({ id: person, status: 'enabled' });
    expect([await enters('renamed-back', known), await enters('renamed-since', known)]).toEqual([true, false]);
  });

  test('keeps it when the user is deleted', async () => {
    const { user } = await succeeded('deleted-since');
    expect((await directory.ask('DELETE', `/Users/${user}`)).status).toBe(204);
    expect(await enters('deleted-since', known)).toBe(true);
  });

  test('opens nothing of the user with the password of who held it in between', async () => {
    const { user, person, holder } = await succeeded('held-between');
    await directory.turnpike.admin('PATCH', `/people/${holder}`, { status: 'disabled' });
    expect((await directory.ask('PATCH', `/Users/${user}`, active)).status).toBe(200);
    expect(await directory.person('held-between')).toMatchObject({ id: person, status: 'enabled' });
    expect([await enters('held-between', known), await enters('held-between', PASSWORD)]).toEqual([false, false]);
  });

  test('opens nothing of a person whom an operator enables again, either', async () => {
    const { person, holder } = await succeeded('enabled-again');
    await directory.turnpike.admin('PATCH', `/people/${holder}`, { status: 'disabled' });
    await directory.turnpike.admin('PATCH', `/people/${person}`, { managed_by: null });
    await directory.turnpike.admin('PATCH', `/people/${person}`, { status: 'enabled' });
    expect(await enters('enabled-again', known)).toBe(false);
  });
});
