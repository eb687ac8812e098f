// Rotation: a key gets another secret, and the one of before opens it for a grace.

import { beforeEach, expect, test } from 'bun:test';
import { authenticate, FailureCounter, KeyDirectory } from '../../src/accounts/accounts.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, makeKey } from './installation.ts';

let installation: Installation;
let key: Json;
beforeEach(async () => {
  installation = await makeInstallation();
  key = await makeKey(installation, (await makeAccount(installation))['id'], { quota: '1.00' });
});

const rotate = (body: Json = {}) => installation.ask('POST', `/api/v1/keys/${key['id']}/rotate`, body);

/** "opens", or the code of the refusal, of a secret that is shown at the front door now. */
async function doorSays(secret: unknown): Promise<string> {
  const { stores, vault, clock } = installation;
  const gatehouse = { keys: new KeyDirectory(stores.accounts, vault.hash), failures: new FailureCounter() };
  try {
    await authenticate(String(secret), { nowMs: clock.nowMs(), origin: null, address: '192.0.2.1' }, gatehouse);
    return 'opens';
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
}

test('the new secret opens the key at once, the old one until the grace ends', async () => {
  const { status, body } = await rotate({ grace: '1h' });
  expect(status).toBe(201);
  expect(body).toMatchObject({ id: key['id'], quota: '1.00', grace_ends_at: '2026-11-20T11:00:00.000Z' });
  expect(body['key']).not.toBe(key['key']);
  expect(String(body['key'])).toStartWith(String(body['prefix']));
  expect([await doorSays(body['key']), await doorSays(key['key'])]).toEqual(['opens', 'opens']);
  installation.clock.advance(3_600_000);
  expect([await doorSays(body['key']), await doorSays(key['key'])]).toEqual(['opens', 'key_expired']);
});

test('without a grace given it is a day; with none the old secret ends at once', async () => {
  expect((await rotate()).body['grace_ends_at']).toBe('2026-11-21T10:00:00.000Z');
  expect(await doorSays(key['key'])).toBe('opens');
  await rotate({ grace: '0s' });
  expect(await doorSays(key['key'])).toBe('key_expired');
});

test('a second rotation ends no secret later than the first did', async () => {
  const first = await rotate({ grace: '1h' });
  const second = await rotate({ grace: '24h' });
  installation.clock.advance(3_600_000);
  expect(await doorSays(key['key'])).toBe('key_expired');
  expect(await doorSays(first.body['key'])).toBe('opens');
  installation.clock.advance(23 * 3_600_000);
  expect(await doorSays(first.body['key'])).toBe('key_expired');
  expect(await doorSays(second.body['key'])).toBe('opens');
});

test('what a key has used and may use is the same after it', async () => {
  const { body } = await rotate();
  const shown = (await installation.ask('GET', `/api/v1/keys/${key['id']}`)).body;
  const { key: _, grace_ends_at: __, ...rotated } = body;
  expect(rotated).toEqual(shown);
});

test('a revoked key gets no new secret, and a grace that is none is refused', async () => {
  for (const grace of ['soon', '31d', '-1h', '1.5h', 5]) expect((await rotate({ grace })).status).toBe(400);
  await installation.ask('POST', `/api/v1/keys/${key['id']}/revoke`);
  const late = await rotate();
  expect([late.status, errorOf(late.body).code]).toEqual([409, 'conflict']);
  expect(await doorSays(key['key'])).toBe('key_disabled');
});

test('the rest of the service forgets the key, so that the next message sees it', async () => {
  await rotate();
  expect(installation.told.at(-1)).toMatch(/^forget key \d+$/);
});
