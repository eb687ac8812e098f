// One-time links: what a link shows, what its acceptance changes, and that an invalid link reveals nothing.

import { beforeEach, describe, expect, test } from 'bun:test';
import { hasLinkShape, makeLinkSecret, type Person } from '../../../src/accounts/accounts.ts';
import { makeFirstOperator } from '../../../src/admin-api/admin-api.ts';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, NOW_MS } from './installation.ts';

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

const SHOW = '/api/v1/invitations/show';
const ACCEPT = '/api/v1/invitations/accept';
const own = { name: 'Ada', password: 'long enough' };

/** Sends the request without a token. */
const ask = (method: string, path: string, body?: unknown) =>
  installation.ask(method, path, body, { authorization: '' });

async function invite(members: Json = {}): Promise<{ id: string; secret: string }> {
  const body = { role: 'viewer', email: 'ada@example.com', ...members };
  const made = (await installation.ask('POST', '/api/v1/people', body)).body;
  return { id: String(made['id']), secret: String(made['link_secret']) };
}

/** The invitation of a first start, which has no email. */
async function inviteFirst(): Promise<string> {
  const { person, linkHash, secret } = makeFirstOperator(NOW_MS);
  await installation.stores.people.createPerson(person, linkHash, noAuditContext);
  return secret.reveal();
}

describe('an invitation', () => {
  test('shows its purpose before it is accepted', async () => {
    const account = await makeAccount(installation);
    const { secret } = await invite({ role: 'owner', account: account['id'] });
    expect((await ask('POST', SHOW, { secret })).body).toEqual({
      email: 'ada@example.com',
      role: 'owner',
      account: { id: account['id'], name: 'acme' },
      purpose: 'invitation',
      expires_at: new Date(NOW_MS + bounds.linkMs).toISOString(),
    });
  });

  test('is accepted once: the person gets that name and password, and is the actor in the audit log', async () => {
    const { id, secret } = await invite();
    const { status, body } = await ask('POST', ACCEPT, { secret, ...own });
    expect([status, body]).toEqual([200, { email: 'ada@example.com', role: 'viewer' }]);
    expect(installation.passwords).toEqual(new Map([['ada@example.com', own]]));
    const shown = (await installation.ask('GET', `/api/v1/people/${id}`)).body;
    expect(shown).toMatchObject({ name: 'Ada', status: 'enabled', link_expires_at: null });
    const [record] = (await installation.ask('GET', `/api/v1/audit?object=${id}`)).body['data'] as Json[];
    expect(record).toMatchObject({ action: 'person.accept', actor: id, role: 'viewer', after: { status: 'enabled' } });
    expect(installation.answers.find(({ path }) => path === ACCEPT)?.actor).toBe(id);
    expect((await ask('POST', ACCEPT, { secret, ...own, password: 'another, as long' })).status).toBe(404);
    expect(installation.passwords.get('ada@example.com')).toEqual(own);
    expect([...installation.stores.tables.people.values()].map(({ linkHash }) => linkHash)).toEqual([null]);
    const kept = Bun.inspect([installation.stores.tables, installation.answers], { depth: 9 });
    for (const word of [secret.slice(7), own.password]) expect(kept).not.toContain(word);
  });

  test('is accepted once by two concurrent requests', async () => {
    const { secret } = await invite();
    const answers = await Promise.all(
      ['the first one', 'the second one'].map((password) => ask('POST', ACCEPT, { secret, name: 'Ada', password })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    expect(installation.passwords.get('ada@example.com')?.password).toBe('the first one');
  });

  test('can be accepted again if the password could not be stored', async () => {
    const { id, secret } = await invite();
    const { setPassword } = installation.signIn;
    installation.signIn.setPassword = async () => {
      throw new TurnpikeError('store_unavailable', 'The store is gone.');
    };
    expect((await ask('POST', ACCEPT, { secret, ...own })).status).toBe(503);
    expect((await installation.ask('GET', `/api/v1/people/${id}`)).body['status']).toBe('invited');
    installation.signIn.setPassword = setPassword;
    expect((await ask('POST', ACCEPT, { secret, ...own })).status).toBe(200);
  });

  test('with an email cannot be accepted with another one, and one without accepts any unused email', async () => {
    const { secret } = await invite();
    expect((await ask('POST', ACCEPT, { secret, ...own, email: 'other@example.com' })).status).toBe(400);
    const first = await inviteFirst();
    expect((await ask('POST', SHOW, { secret: first })).body).toMatchObject({ email: null, role: 'operator' });
    const missing = await ask('POST', ACCEPT, { secret: first, ...own });
    expect([missing.status, errorOf(missing.body).message]).toEqual([400, 'email: is required']);
    const conflict = await ask('POST', ACCEPT, { secret: first, ...own, email: 'ADA@example.com' });
    expect([conflict.status, errorOf(conflict.body).message]).toEqual([409, expect.stringMatching(/^email: /)]);
    expect(installation.passwords.size).toBe(0);
    const accepted = await ask('POST', ACCEPT, { secret: first, ...own, email: 'First@example.com' });
    expect(accepted.body).toEqual({ email: 'first@example.com', role: 'operator' });
  });

  test('accepts passwords of 10 to 128 characters, and names the invalid field', async () => {
    const { secret } = await invite();
    for (const password of ['123456789', 'x'.repeat(129)]) {
      const { status, body } = await ask('POST', ACCEPT, { secret, ...own, password });
      expect([status, errorOf(body).faults]).toMatchObject([400, [{ path: ['password'] }]]);
    }
    const { body } = await ask('POST', ACCEPT, { secret, name: '', password: 'short' });
    expect(new Set(errorOf(body).faults?.map(({ path }) => String(path)))).toEqual(new Set(['name', 'password']));
    expect((await ask('POST', ACCEPT, { secret, ...own, password: 'xk4Tq9wPz2' })).status).toBe(200);
  });
});

test('a link of a person who already has access is a recovery link, and is accepted like an invitation', async () => {
  const { id, secret } = await invite();
  await ask('POST', ACCEPT, { secret, ...own });
  const link = (await installation.ask('POST', `/api/v1/people/${id}/link`)).body['link_secret'];
  expect((await ask('POST', SHOW, { secret: link })).body['purpose']).toBe('recovery');
  expect((await ask('POST', ACCEPT, { secret: link, ...own, password: 'a new password' })).status).toBe(200);
  expect(installation.passwords.get('ada@example.com')?.password).toBe('a new password');
  expect((await ask('POST', SHOW, { secret: link })).status).toBe(404);
});

describe('a link that is unknown, mistyped, used, expired, or of a disabled person', () => {
  test('gets the same error text, and each attempt counts against the client address', async () => {
    const used = await invite({ email: 'used@example.com' });
    await ask('POST', ACCEPT, { secret: used.secret, ...own });
    const disabled = await invite({ email: 'disabled@example.com' });
    await installation.ask('PATCH', `/api/v1/people/${disabled.id}`, { status: 'disabled' });
    const over = await invite({ email: 'over@example.com' });
    installation.clock.advance(bounds.linkMs - 1);
    expect((await ask('POST', SHOW, { secret: over.secret })).status).toBe(200);
    installation.clock.advance(1);
    const misspelt = `${over.secret.slice(0, -1)}${over.secret.endsWith('a') ? 'b' : 'a'}`;
    const wrong = [makeLinkSecret().reveal(), misspelt, '', used.secret, disabled.secret, over.secret];
    installation.notifications.length = 0;
    const words = new Set<string>();
    for (const secret of wrong)
      for (const [path, more] of [
        [SHOW, {}],
        [ACCEPT, own],
      ] as const) {
        const { status, body } = await ask('POST', path, { secret, ...more });
        expect(status).toBe(404);
        words.add(`${errorOf(body).code} ${errorOf(body).message}`);
      }
    expect([...words]).toEqual([expect.stringMatching(/^object_not_found /)]);
    expect(installation.failures).toBe(wrong.length * 2);
  });

  test('gets 429 after too many attempts, while a valid link is still accepted', async () => {
    const { secret } = await invite();
    installation.refusal = new TurnpikeError('too_many_failures', 'Too many.', { retryAfterMs: 5_000 });
    expect((await ask('POST', SHOW, { secret: 'wrong' })).status).toBe(429);
    expect((await ask('POST', ACCEPT, { secret: makeLinkSecret().reveal(), ...own })).status).toBe(429);
    expect((await ask('POST', ACCEPT, { secret, ...own })).status).toBe(200);
  });

  test('gives a disabled person no access, even if it is still stored', async () => {
    const { secret } = await invite();
    const { people } = installation.stores;
    const person = (await people.findPersonByEmail('ada@example.com')) as Person;
    await people.updatePerson({ ...person, status: 'disabled' }, 'as it is', noAuditContext);
    expect((await ask('POST', ACCEPT, { secret, ...own })).status).toBe(404);
  });

  test('does not delay other requests', async () => {
    const { findPersonByLinkHash } = installation.stores.people;
    const { promise, resolve } = Promise.withResolvers<void>();
    installation.stores.people.findPersonByLinkHash = async (hash) => {
      await promise;
      return findPersonByLinkHash(hash);
    };
    const waiting = ask('POST', ACCEPT, { secret: makeLinkSecret().reveal(), ...own });
    expect((await installation.ask('POST', '/api/v1/accounts', { name: 'meanwhile' })).status).toBe(201);
    resolve();
    expect((await waiting).status).toBe(404);
  });
});

const TURNPIKE = { name: 'Turnpike', logo: null, support: null };

test('any client can read the sign-in methods and whether the first operator is still missing', async () => {
  const shown = async () => (await ask('GET', '/api/v1/sign-in')).body;
  const secret = await inviteFirst();
  const methods = {
    password: true,
    oidc: null,
    issuers: [],
    sign_up: null,
    password_reset: false,
    terms: null,
    pages: { landing: false, models: false, status: false },
    installation: TURNPIKE,
  };
  expect(await shown()).toEqual({ ...methods, first_operator: true });
  await ask('POST', ACCEPT, { secret, ...own, email: 'first@example.com' });
  expect(await shown()).toEqual({ ...methods, first_operator: false });
  const [first, second] = ['Example', 'Partner'].map((name, at) => ({
    ...{ id: `oidc-${at}`, name, issuer: 'https://id', domains: null },
  }));
  if (first && second) installation.signIn.issuers = [first, second];
  expect(await shown()).toMatchObject({
    oidc: { name: 'Example' },
    issuers: [
      { id: 'oidc-0', name: 'Example' },
      { id: 'oidc-1', name: 'Partner' },
    ],
  });
});

test('public routes refuse other methods from every client', async () => {
  for (const path of [SHOW, ACCEPT, '/api/v1/sign-in', '/api/v1/openapi.json'])
    for (const method of ['DELETE', 'QUERY', 'PATCH'])
      expect([path, method, (await ask(method, path, {})).status]).toEqual([path, method, 405]);
});

test('public routes accept small bodies only', async () => {
  const { status } = await ask('POST', SHOW, { secret: 'x'.repeat(bounds.signInBodyBytesMax) });
  expect(status).toBe(413);
});

test('a link’s secret is not accepted as a key or a token, and a single wrong digit is detected', () => {
  const secret = makeLinkSecret().reveal();
  expect(hasLinkShape(secret)).toBe(true);
  expect(hasLinkShape(secret.replace('tk-inv-', 'tk-tp-'))).toBe(false);
  expect(hasLinkShape(`${secret.slice(0, 20)}${secret[20] === 'x' ? 'y' : 'x'}${secret.slice(21)}`)).toBe(false);
  expect(makeLinkSecret().reveal()).not.toBe(secret);
});
