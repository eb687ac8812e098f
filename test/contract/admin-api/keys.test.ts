// Keys: their secret, scope, limits and end.

import { beforeEach, describe, expect, test } from 'bun:test';
import { hasKeyShape } from '../../../src/accounts/key-secret.ts';
import { parseId } from '../../../src/base/ids.ts';
import { hashSecret } from '../../../src/secrets/secrets.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, makeKey } from './installation.ts';

let installation: Installation;
let account: Json;
beforeEach(async () => {
  installation = await makeInstallation();
  account = await makeAccount(installation, { groups: ['default', 'sandbox'] });
});
const ask: Installation['ask'] = (...request) => installation.ask(...request);

describe('a new key', () => {
  test('has the shape of the contract, and its secret gives access to the account', async () => {
    const { status, body } = await ask('POST', '/api/v1/keys', { account: account['id'] });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^key_[0-9A-Za-z]{9}$/),
      account: account['id'],
      name: '',
      prefix: expect.stringMatching(/^sk-tp-[0-9A-Za-z]{4}$/),
      groups: ['default', 'sandbox'],
      models: null,
      quota: null,
      quota_period: 'total',
      quota_used: '0',
      rpm: null,
      input_tpm: null,
      output_tpm: null,
      concurrency: null,
      origins: null,
      addresses: null,
      status: 'enabled',
      expires_at: null,
      last_used_at: null,
      locked: [],
      person: null,
      made_by: 'local',
      tags: {},
      created_at: '2026-11-20T10:00:00.000Z',
      key: expect.any(String),
    });
    const secret = String(body['key']);
    expect(hasKeyShape(secret)).toBe(true);
    const caller = await installation.stores.accounts.findKeyBySecretHash([hashSecret(secret)]);
    expect(caller?.key.id).toBe(parseId('key', String(body['id'])) as number);
  });

  test('shows its secret only in the response that creates it, and the secret is stored nowhere', async () => {
    const key = await makeKey(installation, account['id']);
    const secret = String(key['key']);
    for (const path of [`/api/v1/keys/${key['id']}`, '/api/v1/keys'])
      expect(JSON.stringify((await ask('GET', path)).body)).not.toContain(secret.slice(10));
    expect(Bun.inspect(installation.stores.tables, { depth: 9 })).not.toContain(secret.slice(10));
  });

  test('keeps every limit that was set', async () => {
    const limits = {
      name: 'ci',
      groups: ['sandbox'],
      models: ['sandbox-*', 'claude-*'],
      quota: '5',
      quota_period: 'day',
      rpm: 60,
      input_tpm: 1_000,
      output_tpm: 2_000,
      concurrency: 3,
      expires_at: '2026-12-01T00:00:00+01:00',
      origins: ['https://app.example.com', 'http://localhost:3000'],
      addresses: ['203.0.113.0/24', '2001:db8::/32', '192.0.2.7'],
    };
    const key = await makeKey(installation, account['id'], limits);
    expect(key).toMatchObject({ ...limits, quota: '5.00', expires_at: '2026-11-30T23:00:00.000Z' });
  });

  test('requires an existing account', async () => {
    for (const id of ['acct_000000000', 'x', '']) {
      const { status, body } = await ask('POST', '/api/v1/keys', { account: id });
      expect([status, errorOf(body).message]).toEqual([400, `account: there is no account "${id}"`]);
    }
    expect(errorOf((await ask('POST', '/api/v1/keys', {})).body).message).toBe('account: is required');
  });

  test('with an invalid field is refused with the name of the field', async () => {
    const wrong: [string, unknown, string][] = [
      ['groups', ['default', 'vip'], 'groups.1: "vip" is not one of the account\'s groups (default, sandbox)'],
      ['groups', ['default', 'default'], 'groups: must not contain duplicates'],
      ['groups', [], 'groups: must not be an empty list'],
      ['models', ['gpt-[45]'], 'models.0: must be a model name; * matches any characters'],
      ['models', ['a b'], 'models.0: must be'],
      ['models', 'a', 'models: must be a list'],
      ['quota', '-1', 'quota: must not be negative'],
      ['quota', 5, 'quota: must be an amount in USD'],
      ['quota_period', 'year', 'quota_period: must be total, day, week or month'],
      ['rpm', 0, 'rpm: must be at least 1; null means no limit'],
      ['rpm', 1.5, 'rpm: must be a whole number'],
      ['concurrency', '5', 'concurrency: must be a whole number'],
      ['expires_at', '2026-11-20T10:00:00Z', 'expires_at: must be in the future'],
      ['expires_at', '2027-02-30T00:00:00Z', 'expires_at: must be a time in ISO 8601'],
      ['expires_at', 'tomorrow', 'expires_at: must be a time in ISO 8601'],
      ['origins', ['https://app.example.com/'], 'origins.0: must be an origin in the form'],
      ['origins', ['*'], 'origins.0: must be an origin in the form'],
      ['origins', ['https://*.example.com'], 'origins.0: must be an origin in the form'],
      ['origins', ['https://APP.example.com'], 'origins.0: must be an origin in the form'],
      ['origins', ['https://app.example.com:443'], 'origins.0: must be an origin in the form'],
      ['origins', ['https://a@app.example.com'], 'origins.0: must be an origin in the form'],
      ['origins', ['null'], 'origins.0: must be an origin in the form'],
      ['origins', [`https://${'a'.repeat(300)}.example`], 'origins.0: must have at most 300 characters'],
      ['models', Array.from({ length: 101 }, (_, at) => `m${at}`), 'models: must have at most 100 members'],
      ['addresses', ['10.0.0.0/33'], 'addresses.0: must be an address or a CIDR range'],
      ['addresses', ['10.0.0'], 'addresses.0: must be an address or a CIDR range'],
      ['addresses', ['example.com'], 'addresses.0: must be an address or a CIDR range'],
      ['name', '', 'name: must not be empty'],
      ['name', 'a\u001b[2J', 'name: must not be blank or contain control characters'],
      ['secret', 'mine', 'secret: unknown member'],
    ];
    for (const [member, value, words] of wrong) {
      const { status, body } = await ask('POST', '/api/v1/keys', { account: account['id'], [member]: value });
      expect([status, member, errorOf(body).message.slice(0, words.length)]).toEqual([400, member, words]);
    }
    expect((await ask('GET', '/api/v1/keys')).body['data']).toEqual([]);
  });

  test('may be restricted to the origin of a browser extension', async () => {
    const origins = ['chrome-extension://abcdefghijklmnopabcdefghijklmnop'];
    expect((await makeKey(installation, account['id'], { origins }))['origins']).toEqual(origins);
  });
});

test('keys are found by a part of their name, secret, tag or account, and by status, each role its own', async () => {
  const other = await makeAccount(installation, { name: 'Globex' });
  const keys = [await makeKey(installation, account['id'], { name: 'Nightly batch', tags: { team: 'search' } })];
  installation.clock.advance(1); // the order is that of their creation
  keys.push(await makeKey(installation, other['id'], { name: 'nightly reports' }));
  await ask('PATCH', `/api/v1/keys/${keys[1]?.['id']}`, { status: 'disabled' });
  const found = async (query: string, headers?: Record<string, string>) =>
    ((await ask('GET', `/api/v1/keys?${query}`, undefined, headers)).body['data'] as Json[]).map(({ name }) => name);
  expect(await found('search=NIGHTLY')).toEqual(['Nightly batch', 'nightly reports']);
  expect(await found('search=nightly&sort=name&order=desc')).toEqual(['nightly reports', 'Nightly batch']);
  expect(await found('search=globex')).toEqual(['nightly reports']);
  expect(await found('search=team:search')).toEqual(['Nightly batch']);
  expect(await found('search=team%3Dsearch')).toEqual(['Nightly batch']);
  expect(await found(`search=${keys[1]?.['prefix']}`)).toEqual(['nightly reports']);
  expect(await found('status=disabled')).toEqual(['nightly reports']);
  expect(await found(`search=nightly&account=${account['id']}&status=enabled`)).toEqual(['Nightly batch']);
  const { body: token } = await ask('POST', '/api/v1/tokens', { name: 'o', role: 'owner', account: account['id'] });
  const owner = { authorization: `Bearer ${token['token']}` };
  expect(await found('search=nightly', owner)).toEqual(['Nightly batch']);
  expect(await found('search=globex', owner)).toEqual([]);
  const first = await ask('GET', '/api/v1/keys?search=nightly&limit=1');
  expect(await found(`search=nightly&limit=1&cursor=${first.body['next_cursor']}`)).toEqual(['nightly reports']);
  const both = await ask('GET', `/api/v1/keys?search=nightly&ids=${keys[0]?.['id']}`);
  expect(both.status).toBe(400);
});

test('keys are listed by account, in pages', async () => {
  const other = await makeAccount(installation);
  const mine: unknown[] = [];
  for (let at = 0; at < 3; at++) {
    mine.push((await makeKey(installation, account['id']))['id']);
    await makeKey(installation, other['id']);
    installation.clock.advance(1);
  }
  const first = await ask('GET', `/api/v1/keys?account=${account['id']}&limit=2`);
  const rest = await ask('GET', `/api/v1/keys?account=${account['id']}&limit=2&cursor=${first.body['next_cursor']}`);
  const ids = [first, rest].flatMap(({ body }) => (body['data'] as Json[]).map((key) => key['id']));
  expect([ids, rest.body['next_cursor']]).toEqual([mine, null]);
  expect((await ask('GET', '/api/v1/keys')).body['data']).toHaveLength(6);
  expect((await ask('GET', '/api/v1/keys?account=acct_000000000')).status).toBe(404);
});

describe('a change of a key', () => {
  test('changes only the fields it names, and this node drops its cached copy', async () => {
    const { key: _secret, ...key } = await makeKey(installation, account['id'], { quota: '5', rpm: 7, models: ['a'] });
    const path = `/api/v1/keys/${key['id']}`;
    expect((await ask('PATCH', path, { status: 'disabled' })).body).toEqual({
      ...key,
      status: 'disabled',
      locked: ['models', 'quota', 'rpm', 'status'],
    });
    expect((await ask('PATCH', path, { status: 'enabled', quota: null, models: null })).body).toEqual({
      ...key,
      quota: null,
      models: null,
      locked: ['rpm'],
    });
    const number = parseId('key', String(key['id'])) as number;
    expect(installation.notifications).toEqual([`forget key ${number}`, `forget key ${number}`]);
    expect(installation.stores.tables.keyMeters.get(number)).toMatchObject({ status: 'enabled', quota: null });
  });

  test('does not undo a concurrent disabling', async () => {
    const key = await makeKey(installation, account['id']);
    const path = `/api/v1/keys/${key['id']}`;
    await Promise.all([
      ask('PATCH', path, { name: 'a' }),
      ask('PATCH', path, { status: 'disabled' }),
      ask('PATCH', path, { rpm: 5 }),
    ]);
    expect((await ask('GET', path)).body).toMatchObject({ status: 'disabled', name: 'a', rpm: 5 });
  });

  test('keeps its secret working', async () => {
    const key = await makeKey(installation, account['id']);
    await ask('PATCH', `/api/v1/keys/${key['id']}`, { name: 'renamed' });
    const caller = await installation.stores.accounts.findKeyBySecretHash([hashSecret(String(key['key']))]);
    expect(caller?.key.name).toBe('renamed');
  });

  test('cannot set an expiry in the past, or groups that its account does not have', async () => {
    const key = await makeKey(installation, account['id']);
    const path = `/api/v1/keys/${key['id']}`;
    expect((await ask('PATCH', path, { expires_at: '2020-01-01' })).status).toBe(400);
    expect((await ask('PATCH', path, { groups: ['vip'] })).status).toBe(400);
    expect((await ask('PATCH', path, { status: 'revoked' })).status).toBe(400);
    expect((await ask('PATCH', path, { account: account['id'] })).status).toBe(400);
  });
});

test('an expired key is shown as expired, unless it was revoked or disabled before it expired', async () => {
  const expires = { expires_at: '2026-11-21' };
  const [late, disabled, revoked] = await Promise.all([
    makeKey(installation, account['id'], expires),
    makeKey(installation, account['id'], expires),
    makeKey(installation, account['id'], expires),
  ]);
  await ask('PATCH', `/api/v1/keys/${disabled['id']}`, { status: 'disabled' });
  await ask('POST', `/api/v1/keys/${revoked['id']}/revoke`);
  installation.clock.advance(2 * 86_400_000);
  const statusOf = async (key: Json) => (await ask('GET', `/api/v1/keys/${key['id']}`)).body['status'];
  expect([await statusOf(late), await statusOf(disabled), await statusOf(revoked)]).toEqual([
    'expired',
    'disabled',
    'revoked',
  ]);
});

describe('a revoked key', () => {
  test('stays revoked: no change enables it again', async () => {
    const key = await makeKey(installation, account['id']);
    const path = `/api/v1/keys/${key['id']}`;
    expect((await ask('POST', `${path}/revoke`, {})).body['status']).toBe('revoked');
    const again = await ask('PATCH', path, { status: 'enabled' });
    expect([again.status, errorOf(again.body).code]).toEqual([409, 'conflict']);
    expect((await ask('PATCH', path, { name: 'x' })).status).toBe(409);
    expect((await ask('POST', `${path}/revoke`)).status).toBe(200);
    expect(installation.stores.tables.keyMeters.get(parseId('key', String(key['id'])) as number)?.status).toBe(
      'revoked',
    );
  });

  test('loses its running messages only on request, and only after the revocation was stored', async () => {
    const key = await makeKey(installation, account['id']);
    const number = parseId('key', String(key['id']));
    await ask('POST', `/api/v1/keys/${key['id']}/revoke`, { now: false });
    expect(installation.notifications).toEqual([`forget key ${number}`]);
    await ask('POST', `/api/v1/keys/${key['id']}/revoke`, { now: true });
    expect(installation.notifications.at(-1)).toBe(`end messages of key ${number}`);
    expect((await ask('POST', '/api/v1/keys/key_000000000/revoke')).status).toBe(404);
  });
});
