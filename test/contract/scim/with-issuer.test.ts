// People of SCIM at an issuer of OpenID Connect that creates people by their claims: SCIM decides about its users, the claims about others.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type IssuedPerson, type Issuer, startIssuer } from '../../support/start-issuer.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { claimsOf, newDevice, signInAgent } from '../agents/agent-device.ts';
import { callbackOf, refusedBy, settingsOf, signInAt } from '../sign-in/open-directory.ts';
import { type Directory, openDirectory, patchOf } from './directory.ts';

let issuer: Issuer;
let turnpike: Turnpike;
let directory: Directory;

beforeAll(async () => {
  issuer = await startIssuer(callbackOf('oidc'));
  turnpike = await startTurnpike(undefined, settingsOf(issuer.url, { DOMAINS: 'example.com', PEOPLE: 'created' }));
  directory = await openDirectory({ ...turnpike });
  const { account } = directory;
  await turnpike.admin('POST', '/directory-groups', { name: 'claimed', source: 'oidc', role: 'owner', account });
});
afterAll(async () => {
  await turnpike.stop();
  await issuer[Symbol.asyncDispose]();
});

const addressOf = (name: string) => `${name}@example.com`;
const at = (name: string): IssuedPerson => ({
  sub: `subject-${name}`,
  email: addressOf(name),
  email_verified: true,
  name,
  groups: ['claimed'],
});
const signIn = async (name: string) => {
  const { browser, location } = await signInAt(turnpike, issuer, at(name));
  return { browser, location, role: (await browser.me())?.['role'] ?? null };
};
const addUser = (name: string, members = {}) => {
  const emails = [{ value: addressOf(name), primary: true }];
  return directory.addUser(name, { userName: addressOf(name), emails, ...members });
};

test('a user with a place signs in at once with the role of their SCIM group, until they are deactivated', async () => {
  await directory.map('placed', 'member');
  const user = await addUser('placed');
  await directory.addGroup('placed', [user]);
  const { browser, role } = await signIn('placed');
  expect(role).toBe('member');
  const inactive = patchOf({ op: 'replace', path: 'active', value: false });
  expect((await directory.ask('PATCH', `/Users/${user}`, inactive)).status).toBe(200);
  expect(await browser.me()).toBeNull();
  expect((await signIn('placed')).location).toBe(refusedBy('person_disabled'));
});

test('an inactive user is nobody, whatever place the claims would give', async () => {
  const user = await addUser('inactive', { active: false });
  expect(await signIn('inactive')).toMatchObject({ location: refusedBy('person_disabled'), role: null });
  await directory.ask('PATCH', `/Users/${user}`, patchOf({ op: 'replace', path: 'active', value: true }));
  expect(await signIn('inactive')).toMatchObject({ role: 'owner' });
});

test('a person whom the claims created follows SCIM from their first mapped group on', async () => {
  expect(await signIn('linked')).toMatchObject({ role: 'owner' });
  const user = await addUser('linked');
  expect(await signIn('linked')).toMatchObject({ role: 'owner' });
  await directory.map('linked', 'member');
  const group = await directory.addGroup('linked', [user]);
  expect(await signIn('linked')).toMatchObject({ role: 'member' });
  expect((await directory.ask('DELETE', `/Groups/${group}`)).status).toBe(204);
  expect((await signIn('linked')).location).toBe(refusedBy('person_disabled'));
});

test('policies of coding agents use the groups of SCIM and those that the issuer claims', async () => {
  const group = `${directory.mark} agents`;
  await turnpike.admin('POST', '/apply', {
    document: {
      settings: { agent_sign_in: 'on' },
      agent_policies: {
        scim: { groups: [group], order: 1, settings: { env: { OF: 'scim' } } },
        claimed: { groups: ['claimed'], order: 2, settings: { env: { OF: 'claims' } } },
      },
    },
  });
  await directory.map('agents', 'member');
  const user = await addUser('agents');
  const id = await directory.addGroup('agents', [user]);
  const device = newDevice(turnpike);
  const tokens = await signInAgent(device, await signIn('agents'));
  const policyOf = async (token: unknown) => {
    const { body } = await device.get('/managed/settings', { authorization: `Bearer ${token}` });
    return (body['settings'] as { env?: { OF?: string } }).env?.OF;
  };
  expect(claimsOf(tokens['access_token'])['groups']).toEqual(['claimed', group]);
  expect(await policyOf(tokens['access_token'])).toBe('scim');
  await directory.map('others', 'member');
  await directory.addGroup('others', [user]);
  await directory.ask('DELETE', `/Groups/${id}`);
  const { body } = await device.refresh(tokens['refresh_token']);
  expect(await policyOf(body['access_token'])).toBe('claims');
});
