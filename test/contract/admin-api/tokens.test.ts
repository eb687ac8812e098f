// Tokens of the admin API: how they are created, how they end, and that no token can create one with more rights.

import { beforeEach, describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, makeKey } from './installation.ts';

let installation: Installation;
let account: Json;
beforeEach(async () => {
  installation = await makeInstallation();
  account = await makeAccount(installation);
});

const make = (members: Json, token?: unknown) => askAs(token, 'POST', '/api/v1/tokens', members);

function askAs(token: unknown, method: string, path: string, body?: unknown) {
  return installation.ask(method, path, body, token === undefined ? {} : { authorization: `Bearer ${token}` });
}

async function makeOwner(members: Json = {}): Promise<Json> {
  return (await make({ role: 'owner', account: account['id'], ...members })).body;
}

describe('a new token', () => {
  test('has the rights of its role, and its secret is shown only in that response', async () => {
    const { status, body } = await make({ role: 'viewer', name: 'grafana' });
    expect(status).toBe(201);
    const { token, ...shown } = body;
    expect(shown).toEqual({
      id: expect.stringMatching(/^tok_[0-9A-Za-z]{9}$/),
      role: 'viewer',
      account: null,
      name: 'grafana',
      prefix: String(token).slice(0, 10),
      status: 'enabled',
      expires_at: null,
      person: null,
      made_by: 'local',
      created_at: '2026-11-20T10:00:00.000Z',
    });
    expect((await askAs(token, 'GET', '/api/v1/me')).body).toEqual({
      id: shown['id'],
      kind: 'token',
      name: 'grafana',
      email: null,
      hidden: [],
      base_url: null,
      role: 'viewer',
      account: null,
      expires_at: null,
    });
    expect((await askAs(token, 'GET', `/api/v1/tokens/${shown['id']}`)).body).toEqual(shown);
    expect(JSON.stringify((await askAs(token, 'GET', '/api/v1/tokens')).body)).not.toContain(String(token).slice(10));
    expect(Bun.inspect(installation.stores.tables, { depth: 9 })).not.toContain(String(token).slice(10));
  });

  test('of an account can read its account', async () => {
    const { token, id } = await makeOwner();
    expect((await askAs(token, 'GET', '/api/v1/me')).body).toMatchObject({
      id,
      role: 'owner',
      account: { id: account['id'], name: 'acme', groups: ['default'] },
    });
  });

  test('names an account exactly if its role requires one', async () => {
    for (const members of [
      { role: 'owner' },
      { role: 'member' },
      { role: 'operator', account: account['id'] },
      { role: 'viewer', account: account['id'] },
      { role: 'owner', account: 'acct_000000000' },
      { role: 'owner', account: 'nonsense' },
      { role: 'root' },
      {},
    ])
      expect([members, (await make(members)).status]).toEqual([members, 400]);
  });

  test('must expire in the future', async () => {
    expect((await make({ role: 'viewer', expires_at: '2026-11-20T10:00:00Z' })).status).toBe(400);
  });
});

describe('a token that was ended', () => {
  test('by expiry is invalid from that moment on', async () => {
    const { token } = await makeOwner({ expires_at: '2026-11-20T11:00:00Z' });
    installation.clock.advance(3_599_999);
    expect((await askAs(token, 'GET', '/api/v1/me')).status).toBe(200);
    installation.clock.advance(1);
    const late = await askAs(token, 'GET', '/api/v1/me');
    expect([late.status, errorOf(late.body).code]).toEqual([401, 'token_invalid']);
    expect(((await installation.ask('GET', '/api/v1/tokens')).body['data'] as Json[]).at(-1)?.['status']).toBe(
      'expired',
    );
  });

  test('by revocation is invalid, and the objects it created stay', async () => {
    const { token, id } = await makeOwner();
    const key = (await askAs(token, 'POST', '/api/v1/keys', { name: 'app' })).body;
    expect((await installation.ask('POST', `/api/v1/tokens/${id}/revoke`)).body['status']).toBe('revoked');
    expect((await askAs(token, 'GET', '/api/v1/me')).status).toBe(401);
    expect((await installation.ask('GET', `/api/v1/keys/${key['id']}`)).body['status']).toBe('enabled');
    expect((await installation.ask('POST', `/api/v1/tokens/${id}/revoke`)).status).toBe(200);
  });
});

describe('an owner', () => {
  test('has all rights that managing an account needs, and no more', async () => {
    const { token } = await makeOwner();
    const key = (await askAs(token, 'POST', '/api/v1/keys', { quota: '1.00' })).body;
    expect(key).toMatchObject({ account: account['id'], quota: '1.00' });
    expect((await askAs(token, 'GET', '/api/v1/accounts')).body['data']).toMatchObject([{ id: account['id'] }]);
    expect((await askAs(token, 'GET', `/api/v1/accounts/${account['id']}/entries`)).status).toBe(200);
    expect((await askAs(token, 'POST', `/api/v1/keys/${key['id']}/revoke`)).status).toBe(200);
    const credit = await askAs(token, 'POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '1.00' });
    expect([credit.status, errorOf(credit.body).code]).toEqual([403, 'role_not_allowed']);
  });

  test('creates tokens for the account only, none of which outlives the owner’s own', async () => {
    const { token } = await makeOwner({ expires_at: '2026-12-01' });
    const member = await make({ role: 'member' }, token);
    expect(member.body).toMatchObject({ account: account['id'], expires_at: '2026-12-01T00:00:00.000Z' });
    expect((await make({ role: 'owner', expires_at: '2026-11-30' }, token)).status).toBe(201);
    const other = await makeAccount(installation, { name: 'other' });
    for (const members of [
      { role: 'operator' },
      { role: 'viewer' },
      { role: 'owner', account: other['id'] },
      { role: 'owner', expires_at: '2026-12-02' },
      { role: 'owner', expires_at: null },
    ])
      expect([members, (await make(members, token)).status]).toEqual([members, 400]);
  });
});

test('a member creates keys, and sees only those', async () => {
  const [first, second] = [
    await make({ role: 'member', account: account['id'] }),
    await make({ role: 'member', account: account['id'] }),
  ];
  const mine = (await askAs(first.body['token'], 'POST', '/api/v1/keys', { name: 'mine' })).body;
  const theirs = (await askAs(second.body['token'], 'POST', '/api/v1/keys', { name: 'theirs' })).body;
  const others = await makeKey(installation, account['id']);
  const listed = (await askAs(first.body['token'], 'GET', '/api/v1/keys')).body['data'] as Json[];
  expect(listed.map((key) => key['id'])).toEqual([mine['id']]);
  for (const key of [theirs, others])
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['POST', '/revoke'],
      ['POST', '/rotate'],
    ] as const)
      expect(
        (
          await askAs(
            first.body['token'],
            method,
            `/api/v1/keys/${key['id']}${path}`,
            method === 'GET' ? undefined : {},
          )
        ).status,
      ).toBe(404);
});

test('tokens of an account can create a bounded number of keys and tokens; operators have no such limit', async () => {
  const { token } = await makeOwner();
  const { accounts, tokens } = installation.stores;
  accounts.countKeys = async () => bounds.keysPerAccountMax;
  tokens.countTokens = async () => bounds.tokensPerAccountMax;
  const key = await askAs(token, 'POST', '/api/v1/keys', {});
  expect([key.status, errorOf(key.body).code]).toEqual([409, 'conflict']);
  expect((await make({ role: 'member' }, token)).status).toBe(409);
  expect((await installation.ask('POST', '/api/v1/keys', { account: account['id'] })).status).toBe(201);
  expect((await make({ role: 'member', account: account['id'] })).status).toBe(201);
});
