// Consent to the terms: who must agree, to which version, what is stored about it, and what a person who has not agreed can do.

import { beforeEach, describe, expect, test } from 'bun:test';
import { parseId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import {
  ADDRESS,
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
} from './installation.ts';

const ACCEPT = '/api/v1/invitations/accept';
const CONSENT = '/api/v1/me/consent';
const TERMS = { terms_version: '1', terms_of_service: 'Be kind.', privacy_policy: 'https://example.com/privacy' };
const page = { 'sec-fetch-site': 'same-origin' };

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
  await set(TERMS);
});

async function set(settings: Json): Promise<void> {
  expect((await installation.ask('POST', '/api/v1/apply', { document: { settings } })).status).toBe(200);
}

async function invite(members: Json = {}): Promise<{ id: string; secret: string }> {
  const body = { role: 'viewer', email: 'ada@example.com', ...members };
  const made = (await installation.ask('POST', '/api/v1/people', body)).body;
  return { id: String(made['id']), secret: String(made['link_secret']) };
}

const accept = (secret: string, more: Json = {}) =>
  installation.ask('POST', ACCEPT, { secret, name: 'Ada', password: 'long enough', ...more }, { authorization: '' });
const asPerson = (id: string, method: string, path: string, body?: unknown) =>
  installation.ask(method, path, body, { authorization: '', cookie: `session=${id}`, ...page });
const agree = (id: string, version: string) => asPerson(id, 'POST', CONSENT, { version });

async function consentsOf(id: string): Promise<unknown> {
  return (await installation.ask('GET', `/api/v1/people/${id}`)).body['consents'];
}

async function auditOf(id: string): Promise<Json[]> {
  const { body } = await installation.ask('GET', `/api/v1/audit?object=${id}`);
  return (body['data'] as Json[]).filter(({ action }) => action === 'person.consent');
}

describe('an invitation', () => {
  test('is accepted only with consent to the version in force', async () => {
    const { id, secret } = await invite();
    for (const [given, words] of [
      [{}, 'is required: agree to version "1" of the terms'],
      [{ consent: '0' }, 'must be "1", the version of the terms that is in force: read them again'],
      [{ consent: '' }, 'must be "1", the version of the terms that is in force: read them again'],
    ] as const) {
      const { status, body } = await accept(secret, given);
      expect([status, errorOf(body)]).toMatchObject([400, { faults: [{ path: ['consent'], message: words }] }]);
    }
    expect(installation.passwords.size).toBe(0);
    expect((await accept(secret, { consent: '1' })).status).toBe(200);
    const at = new Date(installation.clock.nowMs()).toISOString();
    expect(await consentsOf(id)).toEqual([{ version: '1', at, address: ADDRESS }]);
    expect(await auditOf(id)).toMatchObject([{ actor: id, address: ADDRESS, after: { terms_version: '1' } }]);
    expect((await asPerson(id, 'GET', '/api/v1/me')).status).toBe(200);
  });

  test('needs no consent while there are no terms, or none that people must agree to', async () => {
    for (const settings of [{}, { terms_of_service: 'Be kind.' }]) {
      await set(settings);
      const { id, secret } = await invite({ email: `ada${Object.keys(settings).length}@example.com` });
      expect((await accept(secret, { consent: '1' })).status).toBe(200);
      expect([await consentsOf(id), await auditOf(id)]).toEqual([[], []]);
    }
  });

  test('to choose a new password needs none: the session asks', async () => {
    await set({});
    const { id, secret } = await invite();
    await accept(secret);
    await set(TERMS);
    const link = (await installation.ask('POST', `/api/v1/people/${id}/link`, {})).body;
    expect((await accept(String(link['link_secret']))).status).toBe(200);
    expect(errorOf((await asPerson(id, 'GET', '/api/v1/me')).body).code).toBe('consent_required');
  });
});

describe('a session of a person who has not agreed to the version in force', () => {
  let id: string;
  let account: Json;
  beforeEach(async () => {
    account = await makeAccount(installation);
    const invited = await invite({ role: 'owner', account: account['id'] });
    id = invited.id;
    await accept(invited.secret, { consent: '1' });
    await set({ ...TERMS, terms_version: '2' });
  });

  test('can only agree to it', async () => {
    for (const [method, path, body] of [
      ['GET', '/api/v1/me'],
      ['GET', '/api/v1/keys'],
      ['POST', '/api/v1/keys', { account: account['id'], name: 'mine' }],
      ['POST', '/api/v1/tokens', { role: 'owner' }],
    ] as const)
      expect([path, errorOf((await asPerson(id, method, path, body)).body).code]).toEqual([path, 'consent_required']);
    expect((await agree(id, '1')).status).toBe(409);
    expect((await asPerson(id, 'GET', '/api/v1/me')).status).toBe(403);
    installation.clock.advance(1_000);
    expect((await agree(id, '2')).body).toMatchObject({ version: '2', address: ADDRESS });
    expect((await asPerson(id, 'GET', '/api/v1/me')).status).toBe(200);
    expect(await consentsOf(id)).toMatchObject([{ version: '1' }, { version: '2' }]);
    expect(await auditOf(id)).toMatchObject([{ after: { terms_version: '2' } }, { after: { terms_version: '1' } }]);
  });

  test('agrees once, however often the request is repeated, and not again to a version that comes back', async () => {
    for (const _ of [1, 2]) expect((await agree(id, '2')).body).toMatchObject({ version: '2' });
    await set(TERMS);
    expect((await asPerson(id, 'GET', '/api/v1/me')).status).toBe(200);
    expect(await consentsOf(id)).toMatchObject([{ version: '1' }, { version: '2' }]);
  });

  test('can agree although the account is disabled, and then read', async () => {
    await installation.ask('PATCH', `/api/v1/accounts/${account['id']}`, { status: 'disabled' });
    expect((await agree(id, '2')).status).toBe(200);
    expect((await asPerson(id, 'GET', '/api/v1/keys')).status).toBe(200);
    expect((await asPerson(id, 'POST', '/api/v1/keys', { name: 'mine' })).status).toBe(403);
  });

  test('does not stop the tokens and keys of the person', async () => {
    await agree(id, '2');
    const { token } = (await asPerson(id, 'POST', '/api/v1/tokens', { role: 'owner' })).body;
    const key = await makeKey(installation, account['id']);
    await set({ ...TERMS, terms_version: '3' });
    const authorization = `Bearer ${token}`;
    expect((await installation.ask('GET', '/api/v1/keys', undefined, { authorization })).status).toBe(200);
    expect((await installation.ask('POST', CONSENT, { version: '3' }, { authorization })).status).toBe(409);
    const keyNumber = parseId('key', String(key['id'])) ?? 0;
    expect(await installation.stores.accounts.getKey(keyNumber)).toMatchObject({ status: 'enabled' });
  });

  test('is one of an operator, too; who sees consents belongs to the installation', async () => {
    const operator = await invite({ role: 'operator', email: 'bob@example.com' });
    await accept(operator.secret, { consent: '2' });
    await set({ ...TERMS, terms_version: '3' });
    expect((await asPerson(operator.id, 'GET', '/api/v1/people')).status).toBe(403);
    await agree(operator.id, '3');
    await agree(id, '3');
    const seenBy = async (who: string) => {
      const { data } = (await asPerson(who, 'GET', '/api/v1/people')).body;
      return (data as Json[]).find((person) => person['id'] === id)?.['consents'];
    };
    expect(await seenBy(operator.id)).toMatchObject([{ version: '1' }, { version: '3' }]);
    expect(await seenBy(id)).toEqual([]);
    expect((await asPerson(id, 'GET', `/api/v1/people/${id}`)).body['consents']).toEqual([]);
  });

  test('keeps the latest consents of a person, and the audit log all of them', async () => {
    const count = bounds.consentsKeptMax + 2;
    for (let version = 2; version <= count; version++) {
      await set({ ...TERMS, terms_version: String(version) });
      expect((await agree(id, String(version))).status).toBe(200);
    }
    const kept = (await consentsOf(id)) as Json[];
    expect([kept.length, kept[0], kept.at(-1)]).toMatchObject([
      bounds.consentsKeptMax,
      { version: '3' },
      { version: String(count) },
    ]);
    expect(await auditOf(id)).toHaveLength(count);
  });
});

describe('the terms', () => {
  test('are read without a token, and say where each document is', async () => {
    const read = async (path: string) => (await installation.ask('GET', path, undefined, { authorization: '' })).body;
    expect((await read('/api/v1/sign-in'))['terms']).toEqual({
      version: '1',
      terms_of_service: '/console/terms',
      privacy_policy: 'https://example.com/privacy',
    });
    expect(await read('/api/v1/public/terms')).toEqual({
      version: '1',
      terms_of_service: 'Be kind.',
      privacy_policy: 'https://example.com/privacy',
    });
    await set({});
    expect((await read('/api/v1/sign-in'))['terms']).toBeNull();
    expect(errorOf(await read('/api/v1/public/terms')).code).toBe('object_not_found');
  });

  test('that nobody must agree to cannot be agreed to', async () => {
    const { id, secret } = await invite();
    await accept(secret, { consent: '1' });
    await set({ terms_of_service: 'Be kind.' });
    expect((await agree(id, '1')).status).toBe(404);
  });
});
