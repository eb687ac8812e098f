// One-time links: what is told to who shows one, what their acceptance changes, and that what opens nothing tells nothing.

import { beforeEach, describe, expect, test } from 'bun:test';
import { hasLinkShape, makeLinkSecret, type Person } from '../../src/accounts/accounts.ts';
import { makeFirstOperator } from '../../src/admin-api/admin-api.ts';
import { bounds } from '../../src/config.ts';
import { TurnpikeError } from '../../src/errors.ts';
import { noTrail } from '../support/no-trail.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, NOW_MS } from './installation.ts';

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

const SHOW = '/api/v1/invitations/show';
const ACCEPT = '/api/v1/invitations/accept';
const own = { name: 'Ada', password: 'long enough' };

/** Shows no token. */
const ask = (method: string, path: string, body?: unknown) =>
  installation.ask(method, path, body, { authorization: '' });

async function invite(members: Json = {}): Promise<{ id: string; secret: string }> {
  const body = { role: 'viewer', email: 'ada@example.com', ...members };
  const made = (await installation.ask('POST', '/api/v1/people', body)).body;
  return { id: String(made['id']), secret: String(made['link_secret']) };
}

/** The invitation of a first start, which has no e-mail. */
async function inviteFirst(): Promise<string> {
  const { person, linkHash, secret } = makeFirstOperator(installation.vault, NOW_MS);
  await installation.stores.people.createPerson(person, linkHash, noTrail);
  return secret.reveal();
}

describe('an invitation', () => {
  test('says to who shows its link what it is for', async () => {
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

  test('is accepted once: the person has that name and password, and is in the audit as who did it', async () => {
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

  test('is accepted once by two at the same time', async () => {
    const { secret } = await invite();
    const answers = await Promise.all(
      ['the first one', 'the second one'].map((password) => ask('POST', ACCEPT, { secret, name: 'Ada', password })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    expect(installation.passwords.get('ada@example.com')?.password).toBe('the first one');
  });

  test('whose password cannot be kept still opens what it opened', async () => {
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

  test('that has an e-mail takes no other, and one that has none takes one that nobody has', async () => {
    const { secret } = await invite();
    expect((await ask('POST', ACCEPT, { secret, ...own, email: 'other@example.com' })).status).toBe(400);
    const first = await inviteFirst();
    expect((await ask('POST', SHOW, { secret: first })).body).toMatchObject({ email: null, role: 'operator' });
    const missing = await ask('POST', ACCEPT, { secret: first, ...own });
    expect([missing.status, errorOf(missing.body).message]).toEqual([400, 'email: is required']);
    const taken = await ask('POST', ACCEPT, { secret: first, ...own, email: 'ADA@example.com' });
    expect([taken.status, errorOf(taken.body).message]).toEqual([409, expect.stringMatching(/^email: /)]);
    expect(installation.passwords.size).toBe(0);
    const accepted = await ask('POST', ACCEPT, { secret: first, ...own, email: 'First@example.com' });
    expect(accepted.body).toEqual({ email: 'first@example.com', role: 'operator' });
  });

  test('takes passwords of 10 to 128 characters, and names the member that is wrong', async () => {
    const { secret } = await invite();
    for (const password of ['123456789', 'x'.repeat(129)]) {
      const { status, body } = await ask('POST', ACCEPT, { secret, ...own, password });
      expect([status, errorOf(body).faults]).toMatchObject([400, [{ path: ['password'] }]]);
    }
    const { body } = await ask('POST', ACCEPT, { secret, name: '', password: 'short' });
    expect(new Set(errorOf(body).faults?.map(({ path }) => String(path)))).toEqual(new Set(['name', 'password']));
    expect((await ask('POST', ACCEPT, { secret, ...own, password: '1234567890' })).status).toBe(200);
  });
});

test('a link of somebody who is let in already is for recovery, and is accepted like one', async () => {
  const { id, secret } = await invite();
  await ask('POST', ACCEPT, { secret, ...own });
  const link = (await installation.ask('POST', `/api/v1/people/${id}/link`)).body['link_secret'];
  expect((await ask('POST', SHOW, { secret: link })).body['purpose']).toBe('recovery');
  expect((await ask('POST', ACCEPT, { secret: link, ...own, password: 'a new password' })).status).toBe(200);
  expect(installation.passwords.get('ada@example.com')?.password).toBe('a new password');
  expect((await ask('POST', SHOW, { secret: link })).status).toBe(404);
});

describe('a link that is unknown, misspelt, used, over, or of who was disabled', () => {
  test('is answered in the same words, and each is counted against its address', async () => {
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
    installation.told.length = 0;
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

  test('is answered 429 once there were too many, while one that is right is still taken', async () => {
    const { secret } = await invite();
    installation.refusal = new TurnpikeError('too_many_failures', 'Too many.', { retryAfterMs: 5_000 });
    expect((await ask('POST', SHOW, { secret: 'wrong' })).status).toBe(429);
    expect((await ask('POST', ACCEPT, { secret: makeLinkSecret().reveal(), ...own })).status).toBe(429);
    expect((await ask('POST', ACCEPT, { secret, ...own })).status).toBe(200);
  });

  test('lets nobody in who is disabled, though it were still kept', async () => {
    const { secret } = await invite();
    const { people } = installation.stores;
    const person = (await people.findPersonByEmail('ada@example.com')) as Person;
    await people.updatePerson({ ...person, status: 'disabled' }, 'as it is', noTrail);
    expect((await ask('POST', ACCEPT, { secret, ...own })).status).toBe(404);
  });

  test('does not keep others from their turn', async () => {
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

test('anyone is told how one signs in, and whether somebody is still to be the first operator', async () => {
  const shown = async () => (await ask('GET', '/api/v1/sign-in')).body;
  const secret = await inviteFirst();
  expect(await shown()).toEqual({ password: true, oidc: null, first_operator: true });
  await ask('POST', ACCEPT, { secret, ...own, email: 'first@example.com' });
  expect(await shown()).toEqual({ password: true, oidc: null, first_operator: false });
  installation.signIn.oidcName = 'Example';
  expect((await shown())['oidc']).toEqual({ name: 'Example' });
});

test('what anyone may ask takes no other method, from anyone', async () => {
  for (const path of [SHOW, ACCEPT, '/api/v1/sign-in', '/api/v1/openapi.json'])
    for (const method of ['DELETE', 'QUERY', 'PATCH'])
      expect([path, method, (await ask(method, path, {})).status]).toEqual([path, method, 405]);
});

test('what anyone may ask takes small bodies alone', async () => {
  const { status } = await ask('POST', SHOW, { secret: 'x'.repeat(bounds.signInBodyBytesMax) });
  expect(status).toBe(413);
});

test('a link’s secret is none of a key or a token, and one digit that is wrong is seen', () => {
  const secret = makeLinkSecret().reveal();
  expect(hasLinkShape(secret)).toBe(true);
  expect(hasLinkShape(secret.replace('tk-inv-', 'tk-tp-'))).toBe(false);
  expect(hasLinkShape(`${secret.slice(0, 20)}${secret[20] === 'x' ? 'y' : 'x'}${secret.slice(21)}`)).toBe(false);
  expect(makeLinkSecret().reveal()).not.toBe(secret);
});
