// People of a company's directory: created at their first sign-in, and placed by their groups at every sign-in.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type IssuedPerson, type Issuer, startIssuer } from '../../support/start-issuer.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { type AgentDevice, claimsOf, type Json, newDevice, signInAgent } from '../agents/agent-device.ts';
import { acceptLink, PASSWORD, signUp } from './browser.ts';
import { callbackOf, newBrowser, refusedBy, settingsOf, signInAt } from './open-directory.ts';

let issuer: Issuer;
let turnpike: Turnpike;
let search: string;
let ads: string;
let made = 0;

beforeAll(async () => {
  issuer = await startIssuer(callbackOf('oidc'));
  const created = { DOMAINS: 'example.com', PEOPLE: 'created' };
  turnpike = await startTurnpike(undefined, settingsOf(issuer.url, created));
  search = String((await turnpike.admin('POST', '/accounts', { name: 'search', credit: '1.00' }))['id']);
  ads = String((await turnpike.admin('POST', '/accounts', { name: 'ads' }))['id']);
  const groups = [
    { name: 'search', role: 'member', account: search },
    { name: 'search leads', role: 'owner', account: search },
    { name: 'ads', role: 'member', account: ads, priority: 200 },
    { name: 'platform', role: 'operator', source: 'oidc' },
    { name: 'of scim', role: 'operator', source: 'scim' },
  ];
  for (const group of groups) await turnpike.admin('POST', '/directory-groups', group);
});
afterAll(async () => {
  await turnpike.stop();
  await issuer[Symbol.asyncDispose]();
});

function newPerson(groups: unknown): IssuedPerson {
  const sub = `subject-${++made}`;
  return { sub, email: `${sub}@example.com`, email_verified: true, name: `Person ${made}`, groups };
}

const signIn = (person: IssuedPerson) => signInAt(turnpike, issuer, person);
const findPerson = async (email: unknown) => {
  const { data } = (await turnpike.admin('GET', '/people?limit=1000')) as { data: Record<string, unknown>[] };
  return data.find((person) => person['email'] === email);
};

/** The status of a request with the key. */
async function statusOf(key: unknown): Promise<number> {
  const answer = await fetch(`${turnpike.url}/v1/models`, { headers: { 'x-api-key': String(key) } });
  await answer.text();
  return answer.status;
}

describe('a person whom nobody invited', () => {
  test('is created with the account and role of their groups', async () => {
    const person = newPerson(['others', 'search']);
    const { browser, location } = await signIn(person);
    expect(location).toBe('/console/usage');
    expect(await browser.me()).toMatchObject({ kind: 'person', role: 'member', account: { id: search } });
    const stored = await findPerson(person.email);
    expect(stored).toMatchObject({ name: person.name, managed_by: 'directory', directory_source: 'oidc' });
    expect(stored).toMatchObject({ identity: { issuer: issuer.url, subject: person.sub }, made_by: 'directory' });
    const { data } = (await turnpike.admin('GET', `/audit?object=${stored?.['id']}`)) as { data: object[] };
    expect(data).toMatchObject([{ action: 'person.join', actor: 'directory', role: 'service', account: search }]);
  });

  test.each([
    ['no groups', undefined],
    ['no group that is mapped', ['others']],
    ['a group of another source only', ['of scim']],
    ['a claim of another shape', { search: true }],
  ])('is refused with %s, and nothing is stored', async (_, groups) => {
    const person = newPerson(groups);
    expect((await signIn(person)).location).toBe(refusedBy('no_place'));
    expect(await findPerson(person.email)).toBeUndefined();
  });

  test('is refused when the issuer left the groups out', async () => {
    const person = { ...newPerson(undefined), _claim_names: { groups: 'src1' } };
    expect((await signIn(person)).location).toBe(refusedBy('groups_unavailable'));
  });

  test('is refused at a domain that the issuer does not vouch for, or without a verified email', async () => {
    const person = newPerson(['platform']);
    const elsewhere = { ...person, email: `${person.sub}@example.org` };
    expect((await signIn(elsewhere)).location).toBe(refusedBy('email_not_trusted'));
    expect((await signIn({ ...person, email_verified: false })).location).toBe(refusedBy('email_not_verified'));
    expect(await findPerson(person.email)).toBeUndefined();
  });

  test('is refused with an email at a denied domain, unless an operator invited it; who is there already stays', async () => {
    const [there, other, invited] = [newPerson(['search']), newPerson(['search']), newPerson(['search'])];
    expect((await signIn(there)).location).toBe('/console/usage');
    await turnpike.admin('POST', '/people', { email: invited.email, role: 'member', account: search });
    const set = (email_domains_denied: string[]) =>
      turnpike.admin('POST', '/apply', { document: { settings: { email_domains_denied } } });
    await set(['example.com']);
    try {
      expect((await signIn(other)).location).toBe(refusedBy('email_denied'));
      expect(await findPerson(other.email)).toBeUndefined();
      expect((await signIn(there)).location).toBe('/console/usage');
      expect((await signIn(invited)).location).toBe('/console/usage');
    } finally {
      await set([]);
    }
    expect((await signIn(other)).location).toBe('/console/usage');
  });

  test('is refused with an email that nobody can have: in lower case it could be that of somebody else', async () => {
    const { email } = await signUp(turnpike, `kim-${++made}@example.com`);
    const person = newPerson(['search']);
    for (const one of [email.replace('k', '\u212a'), `${'a'.repeat(300)}@example.com`])
      expect((await signIn({ ...person, email: one })).location).toBe(refusedBy('email_not_verified'));
  });

  test('may have a role of the installation by a group of this issuer', async () => {
    const { browser } = await signIn(newPerson(['ads', 'platform']));
    expect(await browser.me()).toMatchObject({ role: 'operator', account: null });
  });

  test('takes over their invitation to the account of their groups', async () => {
    const person = newPerson(['search leads']);
    const invited = await turnpike.admin('POST', '/people', { email: person.email, role: 'member', account: search });
    const { browser } = await signIn(person);
    expect(await browser.me()).toMatchObject({ id: invited['id'], role: 'owner', account: { id: search } });
  });

  test('is not drawn into another account by an invitation', async () => {
    const person = newPerson(['search']);
    await turnpike.admin('POST', '/people', { email: person.email, role: 'owner', account: ads });
    expect(await (await signIn(person)).browser.me()).toMatchObject({ role: 'member', account: { id: search } });
  });
});

describe('at the next sign-in', () => {
  test('another role in the same account is given and taken, and sessions have it at once', async () => {
    const person = newPerson(['search']);
    const first = await signIn(person);
    await signIn({ ...person, groups: ['search', 'search leads'] });
    expect(await first.browser.me()).toMatchObject({ role: 'owner' });
    await signIn({ ...person, groups: 'search' });
    expect(await first.browser.me()).toMatchObject({ role: 'member' });
  });

  test('a person moves to another account, and their keys and sessions in the former one end', async () => {
    const person = newPerson(['search']);
    const first = await signIn(person);
    const key = (await first.browser.post('/api/v1/keys', { name: 'mine' })).body;
    expect(await statusOf(key['key'])).toBe(200);
    const second = await signIn({ ...person, groups: ['ads'] });
    expect(await second.browser.me()).toMatchObject({ role: 'member', account: { id: ads } });
    expect(await first.browser.me()).toBeNull();
    expect(await turnpike.admin('GET', `/keys/${key['id']}`)).toMatchObject({ account: search, status: 'disabled' });
    expect(await statusOf(key['key'])).toBe(401);
    expect((await second.browser.get(`/api/v1/keys/${key['id']}`)).status).toBe(404);
    const { id } = (await findPerson(person.email)) ?? {};
    const { data } = (await turnpike.admin('GET', `/audit?object=${id}`)) as { data: Record<string, unknown>[] };
    expect(data.slice(0, 2).map(({ action, account }) => [action, account])).toEqual([
      ['person.join', ads],
      ['person.leave', search],
    ]);
    expect(JSON.stringify(data.find(({ action }) => action === 'person.leave'))).not.toContain(ads);
  });

  test.each([
    ['ads', 'disabled'],
    ['platform', 'disabled'],
    ['below', 'enabled'],
  ])('a person who moves to "%s" has keys below the former account %s', async (group, status) => {
    const { id: below } = await turnpike.admin('POST', '/accounts', { name: 'below', parent: search });
    const name = group === 'below' ? `below ${below}` : group;
    if (group === 'below') await turnpike.admin('POST', '/directory-groups', { name, role: 'member', account: below });
    const person = newPerson(['search leads']);
    const { browser } = await signIn(person);
    const key = (await browser.post('/api/v1/keys', { name: 'below', account: below })).body;
    expect([key['person'], await statusOf(key['key'])]).toEqual([(await browser.me())?.['id'], 200]);
    expect((await signIn({ ...person, groups: [name] })).location).toBe('/console/usage');
    expect(await turnpike.admin('GET', `/keys/${key['id']}`)).toMatchObject({ account: below, status });
    expect(await statusOf(key['key'])).toBe(status === 'enabled' ? 200 : 401);
  });

  test('a key is refused while the person belongs neither to its account nor to one above it', async () => {
    const { id: below } = await turnpike.admin('POST', '/accounts', { name: 'leaving', parent: search });
    const { browser } = await signIn(newPerson(['search leads']));
    const key = (await browser.post('/api/v1/keys', { name: 'below', account: below })).body;
    for (const [parent, status] of [
      [search, 200],
      [ads, 401],
      [search, 200],
      [null, 401],
    ] as const) {
      await turnpike.admin('PATCH', `/accounts/${below}`, { parent });
      expect(await statusOf(key['key'])).toBe(status);
    }
  });

  test('an operator becomes a member of an account', async () => {
    const person = newPerson(['platform']);
    const first = await signIn(person);
    const second = await signIn({ ...person, groups: ['search'] });
    expect(await second.browser.me()).toMatchObject({ role: 'member', account: { id: search } });
    expect(await first.browser.me()).toBeNull();
  });

  test('tokens that a person made, also by a token, work while they may make them', async () => {
    const person = newPerson(['platform']);
    const { browser } = await signIn(person);
    const made = (await browser.post('/api/v1/tokens', { role: 'operator' })).body;
    const ask = async (token: unknown, method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const request = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const answer = await fetch(`${turnpike.url}/api/v1${path}`, request);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const second = await ask(made['token'], 'POST', '/tokens', { role: 'viewer' });
    expect(second.body).toMatchObject({ person: (await browser.me())?.['id'], made_by: made['id'] });
    const statuses = () =>
      Promise.all([made, second.body].map(async ({ token }) => (await ask(token, 'GET', '/me')).status));
    expect(await statuses()).toEqual([200, 200]);
    await signIn({ ...person, groups: ['search leads'] });
    expect(await statuses()).toEqual([401, 401]);
    await signIn(person);
    expect(await statuses()).toEqual([200, 200]);
    await signIn({ ...person, groups: [] });
    expect(await statuses()).toEqual([401, 401]);
  });

  test('a person without a place is disabled, loses all sessions, and is enabled again with a place', async () => {
    const person = newPerson(['search']);
    const first = await signIn(person);
    expect((await signIn({ ...person, groups: [] })).location).toBe(refusedBy('person_disabled'));
    expect(await first.browser.me()).toBeNull();
    expect(await findPerson(person.email)).toMatchObject({ status: 'disabled', disabled_by: 'directory' });
    expect((await signIn({ ...person, groups: ['others'] })).location).not.toBe('/console/usage');
    const { id } = (await findPerson(person.email)) ?? {};
    const back = await signIn({ ...person, groups: ['ads'] });
    expect(await back.browser.me()).toMatchObject({ id, role: 'member', account: { id: ads } });
  });

  test('nothing changes when the issuer left the groups out', async () => {
    const person = newPerson(['search']);
    await signIn(person);
    const { groups: _, ...unsaid } = person;
    const refused = await signIn({ ...unsaid, _claim_names: { groups: 'src1' } });
    expect(refused.location).toBe(refusedBy('groups_unavailable'));
    expect(await findPerson(person.email)).toMatchObject({ status: 'enabled' });
  });

  test('a new email of the person at the issuer becomes theirs', async () => {
    const person = newPerson(['search']);
    await signIn(person);
    const { id } = (await findPerson(person.email)) ?? {};
    const { browser } = await signIn({ ...person, email: `married-${person.sub}@example.com` });
    expect(await browser.me()).toMatchObject({ id, email: `married-${person.sub}@example.com` });
    expect((await signIn({ ...person, email: 'else@example.org' })).location).toBe(refusedBy('email_not_trusted'));
  });
});

describe('a person whom the directory refuses', () => {
  /** A person with a password, whom the directory has placed since. */
  async function withPassword(groups: string[]): Promise<IssuedPerson> {
    const person = newPerson(groups);
    const { id } = await signUp(turnpike, String(person.email), 'member', search);
    await turnpike.admin('PATCH', `/people/${id}`, { managed_by: 'directory' });
    expect((await signIn(person)).location).toBe('/console/usage');
    return person;
  }

  test.each([
    ['without a place', []],
    ['with a place', ['search']],
  ])('%s takes no address of another person, whose password stays theirs', async (_, groups) => {
    const operator = await signUp(turnpike, `operator-${++made}@example.com`);
    const known = 'a password of the operator alone';
    const { link_secret } = await turnpike.admin('POST', `/people/${operator.id}/link`, {});
    await acceptLink(turnpike, String(link_secret), known);
    const person = await withPassword(['search']);
    for (const code of groups.length > 0 ? ['identity_taken'] : ['person_disabled', 'person_disabled'])
      expect((await signIn({ ...person, groups, email: operator.email })).location).toBe(refusedBy(code));
    expect((await newBrowser(turnpike).signIn(operator.email)).status).toBe(401);
    expect((await newBrowser(turnpike).signIn(operator.email, known)).status).toBe(200);
    const status = groups.length > 0 ? 'enabled' : 'disabled';
    expect(await findPerson(person.email)).toMatchObject({ status, account: search });
  });

  test('keeps no address from others that they had not before', async () => {
    const person = await withPassword(['search']);
    const email = `coveted-${person.sub}@example.com`;
    expect((await signIn({ ...person, groups: [], email })).location).toBe(refusedBy('person_disabled'));
    const newcomer = { ...newPerson(['ads']), email };
    expect(await (await signIn(newcomer)).browser.me()).toMatchObject({ email, account: { id: ads } });
    expect((await newBrowser(turnpike).signIn(email, PASSWORD)).status).toBe(401);
  });
});

describe('the decision of a person holds against the directory', () => {
  test('whom an operator disabled stays disabled, in every account', async () => {
    const person = newPerson(['search']);
    await signIn(person);
    const { id } = (await findPerson(person.email)) ?? {};
    await turnpike.admin('PATCH', `/people/${id}`, { status: 'disabled' });
    const owner = await signIn(newPerson(['search leads']));
    expect((await owner.browser.ask('PATCH', `/api/v1/people/${id}`, { status: 'enabled' })).status).toBe(409);
    for (const groups of [['search'], ['ads'], ['platform']])
      expect((await signIn({ ...person, groups })).location).toBe(refusedBy('person_disabled'));
    await turnpike.admin('PATCH', `/people/${id}`, { status: 'enabled' });
    expect((await signIn(person)).location).toBe('/console/usage');
  });

  test('whom their owner disabled stays so in this account, and may come to another', async () => {
    const owner = await signIn(newPerson(['search leads']));
    const person = newPerson(['search']);
    await signIn(person);
    const { id } = (await findPerson(person.email)) ?? {};
    expect((await owner.browser.ask('PATCH', `/api/v1/people/${id}`, { status: 'disabled' })).status).toBe(200);
    expect((await signIn(person)).location).toBe(refusedBy('person_disabled'));
    expect((await signIn({ ...person, groups: ['ads'] })).location).toBe('/console/usage');
  });

  test('the directory alone decides the role, and neither owners nor links get around it', async () => {
    const owner = await signIn(newPerson(['search leads']));
    const person = newPerson(['search']);
    await signIn(person);
    const { id } = (await findPerson(person.email)) ?? {};
    const path = `/api/v1/people/${id}`;
    expect((await owner.browser.ask('PATCH', path, { role: 'owner' })).status).toBe(409);
    expect((await owner.browser.ask('PATCH', path, { managed_by: null })).status).toBe(400);
    expect((await owner.browser.ask('PATCH', path, { identity: null })).status).toBe(400);
    expect((await owner.browser.post(`${path}/link`, {})).status).toBe(409);
    await turnpike.admin('PATCH', `/people/${id}`, { managed_by: null, role: 'owner' });
    expect(await (await signIn({ ...person, groups: [] })).browser.me()).toMatchObject({ role: 'owner' });
    await turnpike.admin('PATCH', `/people/${id}`, { managed_by: 'directory' });
    expect(await (await signIn(person)).browser.me()).toMatchObject({ role: 'member' });
  });

  test('an invited person keeps their role, whatever their groups', async () => {
    const person = newPerson(['platform']);
    const { id } = await signUp(turnpike, String(person.email), 'member', search);
    expect(await (await signIn(person)).browser.me()).toMatchObject({ id, role: 'member', account: { id: search } });
    expect((await signIn({ ...person, groups: [] })).location).toBe('/console/usage');
  });
});

describe('the groups that the issuer claims', () => {
  const policies = { leads: { groups: ['team leads'], models: ['sandbox-echo'], contact: 'leads' } };
  const claimed = async (email: unknown) => (await findPerson(email))?.['claimed_groups'];
  const isLead = async (device: AgentDevice, token: unknown) => {
    const { body } = await device.get('/managed/settings', { authorization: `Bearer ${token}` });
    return (body['settings'] as Json)['availableModels'] !== undefined;
  };

  test('decide the policy of coding agents, and what is removed there is removed with the next refresh', async () => {
    await turnpike.admin('POST', '/apply', {
      document: { settings: { agent_sign_in: 'on' }, agent_policies: policies },
    });
    const person = newPerson(['search', 'team leads']);
    const device = newDevice(turnpike);
    const first = await signInAgent(device, await signIn(person));
    expect(claimsOf(first['access_token'])['groups']).toEqual(['search', 'team leads']);
    expect(await isLead(device, first['access_token'])).toBe(true);
    const refused = await device.message(first['access_token'], { model: 'sandbox-lorem' });
    expect([refused.status, (refused.body['error'] as Json)['type']]).toEqual([400, 'invalid_request_error']);
    await signIn({ ...person, groups: ['search'] });
    const { body: second } = await device.refresh(first['refresh_token']);
    expect(claimsOf(second['access_token'])['groups']).toEqual(['search']);
    expect(await isLead(device, second['access_token'])).toBe(false);
    expect((await device.message(second['access_token'], { model: 'sandbox-lorem' })).status).toBe(200);
    await signIn({ ...person, groups: 'team leads, search'.split(', ') });
    const { body: third } = await device.refresh(second['refresh_token']);
    expect(await isLead(device, third['access_token'])).toBe(true);
    const { id } = (await findPerson(person.email)) ?? {};
    const { data } = (await turnpike.admin('GET', `/audit?object=${id}`)) as { data: Json[] };
    expect(data[0]).toMatchObject({ action: 'person.update', after: { claimed_groups: ['search', 'team leads'] } });
  });

  test('are kept of invited people, too, and forgotten with their identity', async () => {
    const person = newPerson(['team leads', 'team leads', 7, '']);
    const { id } = await signUp(turnpike, String(person.email), 'member', search);
    expect(await claimed(person.email)).toBeNull();
    await signIn(person);
    expect(await claimed(person.email)).toEqual(['team leads']);
    const { groups: _, ...unsaid } = person;
    await signIn({ ...unsaid, _claim_names: { groups: 'src1' } });
    expect(await claimed(person.email)).toEqual(['team leads']);
    await signIn(unsaid);
    expect(await claimed(person.email)).toEqual([]);
    await signIn(person);
    await turnpike.admin('PATCH', `/people/${id}`, { identity: null });
    expect(await claimed(person.email)).toBeNull();
  });

  test('are bounded, those that policies name first', async () => {
    const many = Array.from({ length: 400 }, (_, place) => `group ${String(place).padStart(3, '0')}`);
    const person = newPerson(['search', ...many, 'team leads']);
    const device = newDevice(turnpike);
    const { access_token } = await signInAgent(device, await signIn(person));
    const kept = (await claimed(person.email)) as string[];
    expect(kept).toHaveLength(100);
    expect(kept).toContain('team leads');
    expect(await isLead(device, access_token)).toBe(true);
    const long = Array.from({ length: 50 }, (_, place) => `${place} ${'€'.repeat(490)}`);
    const another = newPerson(['search', ...long, 'team leads']);
    const { access_token: second } = await signInAgent(device, await signIn(another));
    expect(JSON.stringify(await claimed(another.email)).length).toBeLessThan(3_072);
    expect(await isLead(device, second)).toBe(true);
  });
});

test('without the setting nobody is created', async () => {
  await using own = await startTurnpike(undefined, settingsOf(issuer.url));
  const { id: account } = await own.admin('POST', '/accounts', { name: 'search' });
  await own.admin('POST', '/directory-groups', { name: 'search', role: 'member', account });
  const person = newPerson(['search']);
  expect((await signInAt(own, issuer, person)).location).toBe(refusedBy('person_unknown'));
  const { data } = (await own.admin('GET', '/people')) as { data: Record<string, unknown>[] };
  expect(data.some(({ email }) => email === person.email)).toBe(false);
});
