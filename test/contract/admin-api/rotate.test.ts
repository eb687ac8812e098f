// Rotation: a key gets a new secret, and the old one stays valid for a grace period.

import { beforeEach, expect, test } from 'bun:test';
import { authenticate, KeyDirectory, NetworkCounter } from '../../../src/accounts/accounts.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { hashSecret } from '../../../src/secrets/secrets.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, makeKey } from './installation.ts';

let installation: Installation;
let key: Json;
beforeEach(async () => {
  installation = await makeInstallation();
  key = await makeKey(installation, (await makeAccount(installation))['id'], { quota: '1.00' });
});

const rotate = (body: Json = {}) => installation.ask('POST', `/api/v1/keys/${key['id']}/rotate`, body);

/** "opens", or the error code that a request with the secret gets now. */
async function resultOf(secret: unknown): Promise<string> {
  const { stores, clock } = installation;
  const authenticator = {
    keys: new KeyDirectory(stores.accounts, (text) => [hashSecret(text)]),
    failures: new NetworkCounter(),
  };
  const sender = { origin: null, address: '192.0.2.1', bearer: null, caller: null, agent: null, item: null };
  const found = await authenticate(String(secret), sender, clock.nowMs(), authenticator);
  return found instanceof TurnpikeError ? found.code : 'opens';
}

test('the new secret is valid at once, the old one until the grace period ends', async () => {
  const { status, body } = await rotate({ grace: '1h' });
  expect(status).toBe(201);
  expect(body).toMatchObject({ id: key['id'], quota: '1.00', grace_ends_at: '2026-11-20T11:00:00.000Z' });
  expect(body['key']).not.toBe(key['key']);
  expect(String(body['key'])).toStartWith(String(body['prefix']));
  expect([await resultOf(body['key']), await resultOf(key['key'])]).toEqual(['opens', 'opens']);
  installation.clock.advance(3_600_000);
  expect([await resultOf(body['key']), await resultOf(key['key'])]).toEqual(['opens', 'key_expired']);
});

test('the default grace period is a day; with a grace period of zero the old secret ends at once', async () => {
  expect((await rotate()).body['grace_ends_at']).toBe('2026-11-21T10:00:00.000Z');
  expect(await resultOf(key['key'])).toBe('opens');
  await rotate({ grace: '0s' });
  expect(await resultOf(key['key'])).toBe('key_expired');
});

test('a second rotation does not extend the secrets of the first', async () => {
  const first = await rotate({ grace: '1h' });
  const second = await rotate({ grace: '24h' });
  installation.clock.advance(3_600_000);
  expect(await resultOf(key['key'])).toBe('key_expired');
  expect(await resultOf(first.body['key'])).toBe('opens');
  installation.clock.advance(23 * 3_600_000);
  expect(await resultOf(first.body['key'])).toBe('key_expired');
  expect(await resultOf(second.body['key'])).toBe('opens');
});

test('the usage and limits of a key are the same after a rotation', async () => {
  const { body } = await rotate();
  const shown = (await installation.ask('GET', `/api/v1/keys/${key['id']}`)).body;
  const { key: _, grace_ends_at: __, ...rotated } = body;
  expect(rotated).toEqual(shown);
});

test('a revoked key gets no new secret, and an invalid grace period is refused', async () => {
  for (const grace of ['soon', '31d', '-1h', '1.5h', 5]) expect((await rotate({ grace })).status).toBe(400);
  await installation.ask('POST', `/api/v1/keys/${key['id']}/revoke`);
  const late = await rotate();
  expect([late.status, errorOf(late.body).code]).toEqual([409, 'conflict']);
  expect(await resultOf(key['key'])).toBe('key_disabled');
});

test('the rest of the service drops its cached copy of the key, so that the next message uses the new secret', async () => {
  await rotate();
  expect(installation.notifications.at(-1)).toMatch(/^forget key \d+$/);
});
