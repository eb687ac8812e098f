// Several issuers: each vouches for its own email domains and groups, and none signs in as a person of another.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type IssuedPerson, type Issuer, startIssuer } from '../../support/start-issuer.ts';
import { CHEAP_PASSWORDS, startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { invite, signUp } from './browser.ts';
import { callbackOf, newBrowser, refusedBy, settingsOf, signInAt } from './open-directory.ts';

let company: Issuer;
let partner: Issuer;
let turnpike: Turnpike;
let account: string;

beforeAll(async () => {
  company = await startIssuer(callbackOf('oidc'));
  partner = await startIssuer(callbackOf('oidc-2'));
  turnpike = await startTurnpike(undefined, {
    ...settingsOf(company.url, { DOMAINS: 'example.com,shared.example', PEOPLE: 'created', NAME: 'Company' }),
    ...settingsOf(partner.url, { DOMAINS: 'partner.example,shared.example', PEOPLE: 'created', NAME: 'Partner' }, 2),
  });
  account = String((await turnpike.admin('POST', '/accounts', { name: 'search' }))['id']);
  for (const group of [
    { name: 'everybody', role: 'member', account },
    { name: 'admins', role: 'operator', source: 'oidc' },
    { name: 'leads', role: 'owner', account, source: 'oidc' },
  ])
    await turnpike.admin('POST', '/directory-groups', group);
});
afterAll(async () => {
  await turnpike.stop();
  await company[Symbol.asyncDispose]();
  await partner[Symbol.asyncDispose]();
});

const person = (sub: string, email: string, groups: string[] = ['everybody']): IssuedPerson => ({
  ...{ sub, email, email_verified: true, groups },
});
const atCompany = (who: IssuedPerson) => signInAt(turnpike, company, who, 'oidc');
const atPartner = (who: IssuedPerson) => signInAt(turnpike, partner, who, 'oidc-2');

test('any client can read the issuers, and the first one is used unless the request names another', async () => {
  const { body } = await newBrowser(turnpike).get('/api/v1/sign-in');
  expect(body).toMatchObject({ oidc: { name: 'Company' } });
  expect(body['issuers']).toEqual([
    { id: 'oidc', name: 'Company' },
    { id: 'oidc-2', name: 'Partner' },
  ]);
  const begin = (more: object) => newBrowser(turnpike).auth('/sign-in/social', { callbackURL: '/console/', ...more });
  expect((await begin({})).body['url']).toStartWith(company.url);
  expect((await begin({ provider: 'oidc-2' })).body['url']).toStartWith(partner.url);
  for (const provider of ['oidc-3', 'google', '', 7, null]) expect((await begin({ provider })).status).toBe(400);
  expect((await newBrowser(turnpike).get('/console/auth/callback/oidc-3?code=x&state=y')).status).toBe(404);
});

test('an issuer signs in people of its own domains only, invited or not', async () => {
  expect((await atPartner(person('a', 'ann@partner.example'))).location).toBe('/console/usage');
  expect((await atPartner(person('b', 'boss@example.com'))).location).toBe(refusedBy('email_not_trusted'));
  const operator = await signUp(turnpike, 'operator@example.com', 'operator');
  expect((await atPartner(person('c', operator.email))).location).toBe(refusedBy('email_not_trusted'));
  const invited = await invite(turnpike, 'invited@example.com', 'operator');
  expect((await atPartner(person('d', invited.email))).location).toBe(refusedBy('email_not_trusted'));
  expect(await turnpike.admin('GET', `/people/${invited.id}`)).toMatchObject({ status: 'invited' });
});

test('groups with a source give nothing to people of another issuer', async () => {
  const ours = await atCompany(person('e', 'eve@example.com', ['admins']));
  expect(await ours.browser.me()).toMatchObject({ role: 'operator' });
  const refused = await atPartner(person('f', 'fay@partner.example', ['admins', 'leads']));
  expect(refused.location).toBe(refusedBy('no_place'));
  const member = await atPartner(person('f', 'fay@partner.example', ['admins', 'leads', 'everybody']));
  expect(await member.browser.me()).toMatchObject({ role: 'member', account: { id: account } });
});

test('a person of one issuer is not taken over at another, nor by another subject of the same', async () => {
  const mine = person('gil', 'gil@shared.example', ['admins']);
  const first = await atCompany(mine);
  expect(await first.browser.me()).toMatchObject({ role: 'operator' });
  const again = { ...mine, groups: ['everybody'] };
  expect((await atPartner(again)).location).toBe(refusedBy('identity_taken'));
  expect((await atPartner({ ...again, sub: 'other' })).location).toBe(refusedBy('identity_taken'));
  expect((await atCompany({ ...mine, sub: 'other' })).location).toBe(refusedBy('identity_taken'));
  expect(await first.browser.me()).toMatchObject({ role: 'operator' });
});

test('the same subject at another issuer is another person', async () => {
  const one = await atCompany(person('same', 'same@example.com'));
  const other = await atPartner(person('same', 'same@partner.example'));
  expect((await one.browser.me())?.['id']).not.toBe((await other.browser.me())?.['id']);
});

test('a person with a password is bound to the first issuer that vouches for them', async () => {
  const { id, email } = await signUp(turnpike, 'hal@shared.example', 'owner', account);
  expect(await (await atPartner(person('hal', email))).browser.me()).toMatchObject({ id, role: 'owner' });
  expect(await turnpike.admin('GET', `/people/${id}`)).toMatchObject({
    identity: { issuer: partner.url, subject: 'hal' },
    managed_by: null,
  });
  expect((await atCompany(person('hal', email))).location).toBe(refusedBy('identity_taken'));
});

test('an operator frees a person from their identity, and the next sign-in binds them anew', async () => {
  const first = await atPartner(person('ivy', 'ivy@shared.example'));
  const me = await first.browser.me();
  await turnpike.admin('PATCH', `/people/${me?.['id']}`, { identity: null, managed_by: null });
  expect(await first.browser.me()).toBeNull();
  expect(await (await atCompany(person('ivy at work', 'ivy@shared.example'))).browser.me()).toMatchObject({
    id: me?.['id'],
  });
  expect((await atPartner(person('ivy', 'ivy@shared.example'))).location).toBe(refusedBy('identity_taken'));
});

test('a new issuer in place of another one binds its people anew', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'turnpike-issuers-'));
  const start = (issuer: Issuer) =>
    startTurnpike(undefined, settingsOf(issuer.url), { ...CHEAP_PASSWORDS, dataDirectory });
  await using former = await startIssuer(callbackOf('oidc'));
  await using next = await startIssuer(callbackOf('oidc'));
  try {
    const before = await start(former);
    const { id, email } = await signUp(before, 'jo@example.com', 'operator');
    expect((await signInAt(before, former, person('jo', email))).location).toBe('/console/usage');
    await before.stop();
    await using after = await start(next);
    expect(await (await signInAt(after, next, person('0007', email))).browser.me()).toMatchObject({ id });
    expect((await signInAt(after, next, person('0008', email))).location).toBe(refusedBy('identity_taken'));
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true });
  }
});
