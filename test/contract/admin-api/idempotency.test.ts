// Creations with an idempotency key: equal requests within a day create one object and get the same response.

import { beforeEach, describe, expect, test } from 'bun:test';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

let installation: Installation;
let account: Json;
beforeEach(async () => {
  installation = await makeInstallation();
  account = await makeAccount(installation);
});

function post(path: string, body: Json, key: string, headers: Record<string, string> = {}) {
  return installation.ask('POST', `/api/v1${path}`, body, { 'idempotency-key': key, ...headers });
}

describe('two creations with the same idempotency key', () => {
  test('create one key, and both responses show its secret', async () => {
    const body = { account: account['id'], name: 'app' };
    const [first, second] = [await post('/keys', body, 'k1'), await post('/keys', body, 'k1')];
    expect(first.status).toBe(201);
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(installation.stores.tables.keys.size).toBe(1);
    expect((await post('/keys', body, 'k2')).body['id']).not.toBe(first.body['id']);
  });

  test('create one key also when sent concurrently', async () => {
    const both = await Promise.all(
      ['same', 'same'].map((key) => post('/accounts', { name: 'twin', credit: '3' }, key)),
    );
    expect(both[0]?.body).toEqual(both[1]?.body as Json);
    expect(installation.stores.tables.accounts.size).toBe(2);
  });

  test('give one credit', async () => {
    const path = `/accounts/${account['id']}/credits`;
    expect((await post(path, { amount: '1.00' }, 'c1')).body).toMatchObject({ balance: '11.00', repeated: false });
    expect(await post(path, { amount: '1.00' }, 'c1')).toMatchObject({
      status: 200,
      body: { balance: '11.00', repeated: true },
    });
  });

  test('create one token, and rotate a key once', async () => {
    const token = { role: 'viewer' };
    expect((await post('/tokens', token, 't')).body).toEqual((await post('/tokens', token, 't')).body);
    const key = (await post('/keys', { account: account['id'] }, 'k')).body;
    const [first, second] = [
      await post(`/keys/${key['id']}/rotate`, {}, 'r'),
      await post(`/keys/${key['id']}/rotate`, {}, 'r'),
    ];
    expect(second.body).toEqual(first.body);
    expect(installation.stores.tables.keySecrets.size).toBe(2);
  });
});

test('another body or route with the same idempotency key is refused', async () => {
  await post('/accounts', { name: 'a' }, 'k');
  const other = await post('/accounts', { name: 'b' }, 'k');
  expect([other.status, errorOf(other.body).code]).toEqual([422, 'idempotency_mismatch']);
  expect((await post('/keys', { account: account['id'] }, 'k')).status).toBe(422);
});

test('an idempotency key belongs to its principal and expires after a day', async () => {
  const token = (await installation.ask('POST', '/api/v1/tokens', { role: 'operator' })).body['token'];
  const first = await post('/accounts', { name: 'a' }, 'k');
  const theirs = await post('/accounts', { name: 'a' }, 'k', { authorization: `Bearer ${token}` });
  expect(theirs.body['id']).not.toBe(first.body['id']);
  installation.clock.advance(24 * 3_600_000);
  expect((await post('/accounts', { name: 'b' }, 'k')).status).toBe(201);
  expect(installation.stores.tables.creations.size).toBe(1);
});

test('a refused creation is not stored', async () => {
  expect((await post('/keys', { account: 'acct_000000000' }, 'k')).status).toBe(400);
  expect((await post('/keys', { account: account['id'] }, 'k')).status).toBe(201);
});

test('an invalid idempotency key is refused and creates nothing', async () => {
  for (const key of ['x'.repeat(256), 'two words'])
    expect((await post('/accounts', { name: 'a' }, key)).status).toBe(400);
  expect(installation.stores.tables.accounts.size).toBe(1);
});

test('a stored response contains no secret in the clear', async () => {
  const key = (await post('/keys', { account: account['id'] }, 'k')).body['key'];
  expect(Bun.inspect(installation.stores.tables, { depth: 9 })).not.toContain(String(key).slice(12));
});
