// The work of an account holder who has only a token of the account, from creating a key to revoking it, over real
// sockets.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../../src/base/money.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

let turnpike: Turnpike;
let account: string;
let token: string;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
});
beforeEach(async () => {
  const made = await turnpike.admin('POST', '/accounts', { name: 'acme', credit: '1.00', groups: ['sandbox'] });
  account = String(made['id']);
  token = String((await turnpike.admin('POST', '/tokens', { role: 'owner', account }))['token']);
});
afterAll(() => turnpike.stop());

type Json = Record<string, unknown>;

async function ask(method: string, path: string, body?: object): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${turnpike.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Json };
}

const hello = { model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: 'Hello, Turnpike' }] };

describe('an account holder with only an owner’s token', () => {
  test('creates a key, sends a message, sees its cost, revokes the key, and sees the next message refused', async () => {
    const key = (await ask('POST', '/keys', { name: 'app', quota: '0.50' })).body;
    const secret = String(key['key']);

    const answer = await turnpike.post(secret, hello);
    expect(answer.status).toBe(200);
    const requestId = answer.headers.get('request-id');
    const { usage } = (await answer.json()) as { usage: { input_tokens: number; output_tokens: number } };

    // Input costs 1 and output 5 USD per million tokens: 1,000 and 5,000 nanodollars per token.
    const cost = usage.input_tokens * 1_000 + usage.output_tokens * 5_000;
    const record = (await ask('GET', `/usage/${requestId}`)).body;
    expect(parseUsd(String(record['cost']))).toBe(cost);
    expect(record).toMatchObject({ account, key: key['id'], outcome: 'completed', provider_cost: null });
    const shown = (await ask('GET', `/accounts/${account}`)).body;
    expect(parseUsd(String(shown['balance']))).toBe(1_000_000_000 - cost);
    const [entry] = (await ask('GET', `/accounts/${account}/entries`)).body['data'] as Json[];
    expect([parseUsd(String(entry?.['amount'])), entry?.['reference']]).toEqual([cost, requestId]);

    expect((await ask('POST', `/keys/${key['id']}/revoke`, {})).body['status']).toBe('revoked');
    const refused = await turnpike.post(secret, hello);
    expect([refused.status, ((await refused.json()) as { error: { code: string } }).error.code]).toEqual([
      401,
      'key_disabled',
    ]);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test('rotates a secret without a refused message, and the old one ends after its grace period', async () => {
    const key = (await ask('POST', '/keys', {})).body;
    const rotated = (await ask('POST', `/keys/${key['id']}/rotate`, { grace: '2s' })).body;
    const statusOf = async (secret: unknown) => (await turnpike.post(String(secret), hello)).status;
    expect([await statusOf(key['key']), await statusOf(rotated['key'])]).toEqual([200, 200]);
    await Bun.sleep(2_100);
    expect([await statusOf(key['key']), await statusOf(rotated['key'])]).toEqual([401, 200]);
  });

  test('gives a colleague a token for keys of their own, and revokes it', async () => {
    const member = (await ask('POST', '/tokens', { role: 'member', name: 'colleague' })).body;
    const asMember = (method: string, path: string) =>
      fetch(`${turnpike.url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${member['token']}`, 'content-type': 'application/json' },
      });
    expect((await asMember('POST', '/keys')).status).toBe(201);
    expect((await asMember('GET', `/accounts/${account}`)).status).toBe(403);
    expect((await ask('POST', `/tokens/${member['id']}/revoke`)).status).toBe(200);
    expect((await asMember('POST', '/keys')).status).toBe(401);
  });

  test('can neither see nor change anything of another account', async () => {
    const other = await turnpike.makeKey();
    for (const path of [`/accounts/${other.account}`, `/accounts/${other.account}/entries`, `/keys/${other.key}`])
      expect([path, (await ask('GET', path)).status]).toEqual([path, 404]);
    expect((await ask('POST', `/keys/${other.key}/revoke`, { now: true })).status).toBe(404);
    expect((await ask('POST', '/keys', { account: other.account })).status).toBe(400);
    expect((await turnpike.post(other.secret, hello)).status).toBe(200);
  });
});
