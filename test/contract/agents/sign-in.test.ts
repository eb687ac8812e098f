// Coding agents sign in by the device flow: codes, approval, tokens, refresh and revocation, as the client and the person see them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { setBounds } from '../../support/set-bounds.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { type AgentDevice, claimsOf, type Json, newDevice, signedIn, signInAgent } from './agent-device.ts';

let turnpike: Turnpike;
const ON: object = { settings: { agent_sign_in: 'on' } };

beforeAll(async () => {
  turnpike = await sharedTurnpike(ON);
});
afterAll(() => turnpike.stop());

const codeOf = async (device: AgentDevice) => (await device.begin()).body;
const errorCodeOf = (body: Json) => (body['error'] as Json)['code'];

describe('sign-in', () => {
  test('is described where clients look for it, at the origin that they used', async () => {
    const { status, body } = await newDevice(turnpike).get('/.well-known/oauth-authorization-server');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      issuer: turnpike.url,
      device_authorization_endpoint: `${turnpike.url}/oauth/device_authorization`,
      token_endpoint: `${turnpike.url}/oauth/token`,
      revocation_endpoint: `${turnpike.url}/oauth/revoke`,
      gateway_protocol_version: 1,
    });
  });

  test('gives a device two codes, and leads the person to the console', async () => {
    const device = newDevice(turnpike);
    const { status, headers, body } = await device.begin();
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${turnpike.url}/device`,
      verification_uri_complete: `${turnpike.url}/device?user_code=${body['user_code']}`,
      expires_in: 600,
      interval: 5,
    });
    const led = await device.get(`/device?user_code=${body['user_code']}`);
    expect(led.status).toBe(302);
    expect(led.headers.get('location')).toEndWith(`/console/device?user_code=${body['user_code']}`);
    const hostile = await device.get('/device?user_code=%0d%0aevil:1');
    expect(hostile.headers.get('location')).toEndWith('/console/device');
  });

  test.each(['constructor', '__proto__', 'toString', ''])('is refused to an unknown surface: "%s"', async (surface) => {
    const { status, body } = await newDevice(turnpike).begin(surface);
    expect([status, body['error']]).toEqual([400, 'invalid_request']);
  });

  test('waits for a person of an account to approve the code', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const { device_code, user_code } = await codeOf(device);
    const pending = await device.poll(device_code);
    expect([pending.status, pending.body['error']]).toEqual([400, 'authorization_pending']);
    const shown = await person.browser.get(`/api/v1/device-codes/${String(user_code).toLowerCase()}`);
    expect(shown.body).toMatchObject({ code: user_code, client: 'claude-code', status: 'pending' });
    const approved = await person.browser.post(`/api/v1/device-codes/${user_code}/approve`);
    expect(approved.body).toMatchObject({ person: person.person, account: person.account, status: 'enabled' });
  });

  test('tells a device that asks too often to slow down', async () => {
    const device = newDevice(turnpike);
    const { device_code } = await codeOf(device);
    await device.poll(device_code);
    const early = await device.poll(device_code);
    expect([early.status, early.body['error']]).toEqual([400, 'slow_down']);
  });

  test('gives tokens with which messages are paid by a key of the person', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const tokens = await signInAgent(device, person);
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      refresh_token: expect.stringMatching(/^tk-ar-/),
      email: person.email,
    });
    expect(claimsOf(tokens['access_token'])).toMatchObject({ sub: person.person, email: person.email, groups: [] });
    expect((await device.message(tokens['access_token'])).status).toBe(200);
    const again = await signInAgent(newDevice(turnpike), person);
    expect((await device.message(again['access_token'])).status).toBe(200);
    const { data } = (await person.browser.get('/api/v1/keys')).body as { data: Json[] };
    expect(data).toMatchObject([{ name: 'Claude Code', account: person.account, made_by: person.person }]);
    const key = data[0]?.['id'];
    const usage = (await turnpike.admin('GET', `/usage?key=${key}`)) as { data: Json[] };
    expect(usage.data).toHaveLength(2);
  });

  test('ends a code with its use', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const { device_code, user_code } = await codeOf(device);
    await person.browser.post(`/api/v1/device-codes/${user_code}/approve`);
    expect((await device.poll(device_code)).status).toBe(200);
    const second = await device.poll(device_code);
    expect([second.status, second.body['error']]).toEqual([400, 'expired_token']);
    const approvedAgain = await person.browser.post(`/api/v1/device-codes/${user_code}/approve`);
    expect(approvedAgain.status).toBe(404);
  });

  test('is refused to a device that the person denies', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const { device_code, user_code } = await codeOf(device);
    const denied = await person.browser.post(`/api/v1/device-codes/${user_code}/deny`);
    expect(denied.body).toMatchObject({ status: 'denied' });
    const polled = await device.poll(device_code);
    expect([polled.status, polled.body['error']]).toEqual([400, 'access_denied']);
    expect((await person.browser.post(`/api/v1/device-codes/${user_code}/approve`)).status).toBe(409);
  });

  test('is approved by people of accounts only, and from the console only', async () => {
    const device = newDevice(turnpike);
    const { user_code } = await codeOf(device);
    const path = `/api/v1/device-codes/${user_code}/approve`;
    await expect(turnpike.admin('POST', path.slice('/api/v1'.length), {})).rejects.toThrow('role_not_allowed');
    const person = await signedIn(turnpike, 'owner');
    const { token } = await turnpike.admin('POST', '/tokens', { role: 'owner', account: person.account });
    const byToken = await person.browser.post(path, {}, { authorization: `Bearer ${token}` });
    expect([byToken.status, byToken.code]).toEqual([403, 'role_not_allowed']);
    const foreign = await person.browser.post(
      path,
      {},
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    );
    expect([foreign.status, foreign.code]).toEqual([403, 'cross_site_refused']);
  });

  test('makes no more keys than a company may have, counted over all of its accounts', async () => {
    using _few = setBounds({ keysPerAccountMax: 1 });
    const person = await signedIn(turnpike);
    const below = { name: 'below', parent: person.account, pays_from: 'parent' };
    const { id } = await turnpike.admin('POST', '/accounts', below);
    await turnpike.admin('POST', '/keys', { account: id });
    const approve = async () =>
      person.browser.post(`/api/v1/device-codes/${(await codeOf(newDevice(turnpike)))['user_code']}/approve`);
    const refused = await approve();
    expect([refused.status, errorCodeOf(refused.body)]).toEqual([409, 'conflict']);
    using _more = setBounds({ keysPerAccountMax: 2 });
    expect([(await approve()).status, (await approve()).status]).toEqual([200, 200]); // the second has the key already
  });

  test('bounds the codes that a person may guess', async () => {
    const { browser } = await signedIn(turnpike);
    const codes = Array.from({ length: 11 }, () => browser.get('/api/v1/device-codes/BBBB-BBBB'));
    const statuses = (await Promise.all(codes)).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(10).fill(404), 429]);
  });

  test('bounds the codes that an address may ask for', async () => {
    const device = newDevice(turnpike);
    const answers = await Promise.all(Array.from({ length: 31 }, () => device.begin()));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.body['error']).toBe('slow_down');
  });
});

describe('a refresh', () => {
  test('gives a new pair, and the same pair again to a process that used the former token at the same time', async () => {
    const device = newDevice(turnpike);
    const { refresh_token, access_token } = await signInAgent(device, await signedIn(turnpike));
    const answers = await Promise.all([1, 2, 3].map(() => device.refresh(refresh_token)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const tokens = new Set(answers.map(({ body }) => `${body['access_token']} ${body['refresh_token']}`));
    expect(tokens.size).toBe(1);
    expect(answers[0]?.body['refresh_token']).not.toBe(refresh_token);
    expect(answers[0]?.body['access_token']).not.toBe(access_token);
    expect((await device.message(answers[0]?.body['access_token'])).status).toBe(200);
    expect((await device.message(access_token)).status).toBe(200);
  });

  test('with a token of two generations ago ends the sign-in', async () => {
    const device = newDevice(turnpike);
    const first = await signInAgent(device, await signedIn(turnpike));
    const second = (await device.refresh(first['refresh_token'])).body;
    const third = (await device.refresh(second['refresh_token'])).body;
    const reused = await device.refresh(first['refresh_token']);
    expect([reused.status, reused.body['error']]).toEqual([401, 'invalid_grant']);
    expect((await device.refresh(third['refresh_token'])).status).toBe(401);
    expect((await device.message(third['access_token'])).status).toBe(401);
  });

  test.each(['', 'tk-ar-', 'tk-ar-agent_000000001.1.x', 'tk-ar-agent_000000001.1'])(
    'with "%s" is refused',
    async (token) => {
      const { status, body } = await newDevice(turnpike).refresh(token);
      expect([status, body['error']]).toEqual([401, 'invalid_grant']);
    },
  );

  test('is refused to a disabled person', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const { refresh_token } = await signInAgent(device, person);
    await turnpike.admin('PATCH', `/people/${person.person}`, { status: 'disabled' });
    expect((await device.refresh(refresh_token)).status).toBe(401);
  });
});

describe('a sign-in', () => {
  test('that its person revokes is refused at once, and not retried', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const { access_token, refresh_token } = await signInAgent(device, person);
    expect((await device.message(access_token)).status).toBe(200);
    const { data } = (await person.browser.get('/api/v1/agent-sign-ins')).body as { data: Json[] };
    expect(data).toMatchObject([{ person: person.person, status: 'enabled', client: 'claude-code' }]);
    const ended = await person.browser.post(`/api/v1/agent-sign-ins/${data[0]?.['id']}/revoke`);
    expect(ended.body).toMatchObject({ status: 'revoked' });
    const refused = await device.message(access_token);
    expect([refused.status, errorCodeOf(refused.body)]).toEqual([401, 'key_expired']);
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect((await device.refresh(refresh_token)).status).toBe(401);
    const audit = (await turnpike.admin('GET', `/audit?object=${data[0]?.['id']}`)) as { data: Json[] };
    expect(audit.data.map(({ action, actor }) => [action, actor])).toEqual([
      ['agent.revoke', person.person],
      ['agent.create', person.person],
    ]);
  });

  test.each(['access_token', 'refresh_token'])('ends when its client signs out with its %s', async (name) => {
    const device = newDevice(turnpike);
    const tokens = await signInAgent(device, await signedIn(turnpike));
    expect((await device.form('/oauth/revoke', { token: String(tokens[name]) })).status).toBe(200);
    expect((await device.message(tokens['access_token'])).status).toBe(401);
    expect((await device.refresh(tokens['refresh_token'])).status).toBe(401);
    expect((await device.form('/oauth/revoke', { token: String(tokens[name]) })).status).toBe(200);
  });

  test('is seen and revoked by owners of its account, and by no other member', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const { access_token } = await signInAgent(device, person);
    const [member, owner, stranger] = [
      await signedIn(turnpike, 'member', person.account),
      await signedIn(turnpike, 'owner', person.account),
      await signedIn(turnpike, 'owner'),
    ];
    const listed = async ({ browser }: typeof member) =>
      ((await browser.get('/api/v1/agent-sign-ins')).body as { data: Json[] }).data;
    const [found] = await listed(owner);
    expect(found).toMatchObject({ person: person.person });
    expect([await listed(member), await listed(stranger)]).toEqual([[], []]);
    const path = `/api/v1/agent-sign-ins/${found?.['id']}/revoke`;
    expect((await member.browser.post(path)).status).toBe(404);
    expect((await stranger.browser.post(path)).status).toBe(404);
    expect((await owner.browser.post(path)).status).toBe(200);
    expect((await device.message(access_token)).status).toBe(401);
  });

  test('ends with its key', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const { access_token, refresh_token } = await signInAgent(device, person);
    const { data } = (await person.browser.get('/api/v1/keys')).body as { data: Json[] };
    await person.browser.post(`/api/v1/keys/${data[0]?.['id']}/revoke`);
    const refused = await device.message(access_token);
    expect([refused.status, errorCodeOf(refused.body)]).toEqual([401, 'key_disabled']);
    expect((await device.refresh(refresh_token)).status).toBe(401);
    const next = await signInAgent(newDevice(turnpike), person);
    expect((await device.message(next['access_token'])).status).toBe(200);
  });

  test.each(['another person', 'nobody'])('ends when its key is given to %s', async (to) => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const { access_token, refresh_token } = await signInAgent(device, person);
    expect((await device.message(access_token)).status).toBe(200);
    const other = await signedIn(turnpike, 'member', person.account);
    const { data } = (await person.browser.get('/api/v1/keys')).body as { data: Json[] };
    const given = { person: to === 'nobody' ? null : other.person };
    const key = await turnpike.admin('PATCH', `/keys/${data[0]?.['id']}`, given);
    const refused = await device.message(access_token);
    expect([refused.status, errorCodeOf(refused.body)]).toEqual([401, 'key_expired']);
    expect((await device.refresh(refresh_token)).status).toBe(401);
    const next = await signInAgent(newDevice(turnpike), person);
    expect((await device.message(next['access_token'])).status).toBe(200);
    const own = (await person.browser.get('/api/v1/keys')).body as { data: Json[] };
    expect(own.data).toMatchObject([{ person: person.person, status: 'enabled' }]);
    expect(own.data[0]?.['id']).not.toBe(key['id']);
  });

  test('is not forged by a changed token', async () => {
    const [device, person] = [newDevice(turnpike), await signedIn(turnpike)];
    const token = String((await signInAgent(device, person))['access_token']);
    const [head, claims, signature] = token.split('.') as [string, string, string];
    const longer = Buffer.from(JSON.stringify({ ...claimsOf(token), exp: 9_999_999_999 })).toString('base64url');
    const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url');
    for (const forged of [`${head}.${longer}.${signature}`, `${none}.${claims}.`, `${head}.${claims}.`, `${token}x`]) {
      const { status, body } = await device.message(forged);
      expect([status, errorCodeOf(body)]).toEqual([401, 'key_invalid']);
    }
  });
});

test('nothing of it is there while it is off', async () => {
  await turnpike.admin('POST', '/apply', { document: { settings: { agent_sign_in: 'off' } } });
  const device = newDevice(turnpike);
  for (const path of ['/.well-known/oauth-authorization-server', '/device'])
    expect((await device.get(path)).status).toBe(404);
  for (const path of ['/oauth/device_authorization', '/oauth/token', '/oauth/revoke'])
    expect((await device.form(path, {})).status).toBe(404);
  await turnpike.admin('POST', '/apply', { document: { settings: { agent_sign_in: 'on' } } });
});
