// Managed settings, allowed models, prices and limits of people with coding agents.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { type AgentDevice, type Json, newDevice, type SignedIn, signedIn, signInAgent } from './agent-device.ts';

let turnpike: Turnpike;
let person: SignedIn;
let device: AgentDevice;
let token: unknown;

const price = { input: '6', output: '30', cache_read: '0.6', cache_write_5m: '7.5' };
const sandboxModel = { price, routes: [{ provider: 'sandbox', model: 'sandbox-echo' }] };

beforeAll(async () => {
  turnpike = await sharedTurnpike({
    settings: { agent_sign_in: 'on' },
    models: {
      'claude-agent-one': { ...sandboxModel, aliases: ['claude-agent-alias'] },
      'claude-agent-two': sandboxModel,
    },
    groups: { default: { models: ['*'], multiplier: '0.85' } },
  } as object);
  person = await signedIn(turnpike, 'owner');
  device = newDevice(turnpike);
  token = (await signInAgent(device, person))['access_token'];
});
afterAll(async () => {
  await turnpike.admin('POST', '/apply', { document: {}, remove: REMOVED });
  await turnpike.stop();
});

const REMOVED = ['base', 'works'].map((name) => ({ kind: 'agent_policy', name }));
const applyPolicies = (agent_policies: Json) => turnpike.admin('POST', '/apply', { document: { agent_policies } });
const settingsOf = async (of = token, headers = {}, from = device) =>
  await from.get('/managed/settings', { authorization: `Bearer ${of}`, ...headers });
const errorOf = ({ body }: { body: Json }) => body['error'] as Json;

test('managed settings have the prices of the person, and a checksum that the client computes, too', async () => {
  const { status, headers, body } = await settingsOf();
  expect(status).toBe(200);
  const settings = body['settings'] as Json;
  const { overrides } = settings['modelPricing'] as { overrides: Json };
  const prices = { input: 5.1, output: 25.5, cacheRead: 0.51, cacheWrite: 6.375 };
  expect(overrides).toMatchObject({ 'claude-agent-one': prices, 'claude-agent-alias': prices });
  const sorted = (value: unknown): unknown =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([name, one]) => [name, sorted(one)]),
        )
      : value;
  const checksum = `sha256:${createHash('sha256')
    .update(JSON.stringify(sorted(settings)))
    .digest('hex')}`;
  expect([body['uuid'], body['checksum'], headers.get('etag')]).toEqual([checksum, checksum, `"${checksum}"`]);
  const again = await settingsOf(token, { 'if-none-match': `"${checksum}"` });
  expect([again.status, again.headers.get('etag')]).toEqual([304, `"${checksum}"`]);
});

test('managed settings are for signed-in people alone', async () => {
  const { secret } = await turnpike.makeKey({ credit: '1' });
  expect((await settingsOf(secret)).status).toBe(404);
  expect((await settingsOf('eyJ')).status).toBe(401);
});

describe('a policy', () => {
  test('gives an account its settings over those of everybody', async () => {
    await applyPolicies({
      base: {
        settings: {
          env: { A: '1', B: '1' },
          permissions: { deny: ['Read(./.env)'], allow: ['Read'] },
          cleanupPeriodDays: 5,
        },
      },
      works: {
        accounts: [person.account],
        settings: { env: { B: '2' }, permissions: { deny: ['WebFetch'], allow: ['Bash'] } },
      },
    });
    const { body } = await settingsOf();
    expect(body['settings']).toMatchObject({
      env: { A: '1', B: '2' },
      permissions: { deny: ['Read(./.env)', 'WebFetch'], allow: ['Bash'] },
      cleanupPeriodDays: 5,
    });
    const other = newDevice(turnpike);
    const others = (await signInAgent(other, await signedIn(turnpike)))['access_token'];
    expect((await settingsOf(others, {}, other)).body['settings']).toMatchObject({
      env: { A: '1', B: '1' },
      permissions: { deny: ['Read(./.env)'], allow: ['Read'] },
    });
  });

  test('restricts the models of a person, whatever their client asks', async () => {
    await applyPolicies({ works: { accounts: [person.account], models: ['claude-agent-o*'] } });
    const { body } = await settingsOf();
    expect(body['settings']).toMatchObject({ availableModels: ['claude-agent-one'], enforceAvailableModels: true });
    expect((await device.message(token, { model: 'claude-agent-one' })).status).toBe(200);
    expect((await device.message(token, { model: 'claude-agent-alias' })).status).toBe(200);
    const refused = await device.message(token, { model: 'claude-agent-two' });
    expect(refused.status).toBe(400);
    expect(errorOf(refused)).toMatchObject({
      type: 'invalid_request_error',
      message: "model claude-agent-two is not in your role's availableModels allowlist",
    });
    const { data } = (
      await device.get('/v1/models?limit=1000', { authorization: `Bearer ${token}`, 'anthropic-version': '2023-06-01' })
    ).body as { data: Json[] };
    expect(data.map(({ id }) => id)).toEqual(['claude-agent-one']);
    const statusOf = async (id: string) =>
      (await device.get(`/v1/models/${id}`, { authorization: `Bearer ${token}` })).status;
    expect([await statusOf('claude-agent-alias'), await statusOf('claude-agent-two')]).toEqual([200, 404]);
    await applyPolicies({ works: { accounts: [person.account] } });
  });

  test.each([
    [{ settings: { modelPricing: {} } }, 'modelPricing'],
    [{ settings: { mcpServers: {} } }, 'mcpServers'],
    [{ settings: { text: 'x'.repeat(32_768) } }, '32768'],
    [{ models: [] }, 'models'],
    [{ accounts: ['acct_111111111'] }, 'accounts'],
    [{ colour: 'red' }, 'colour'],
  ])('with a fault is refused: %#', async (policy, words) => {
    await expect(applyPolicies({ wrong: policy })).rejects.toThrow(words);
  });
});

describe('a limit', () => {
  test('is shown with each answer, and ends messages in the words of Claude Code', async () => {
    const limited = await signedIn(turnpike, 'owner');
    const [agent, owner] = [newDevice(turnpike), limited.browser];
    const { access_token } = await signInAgent(agent, limited);
    const { data } = (await owner.get('/api/v1/keys')).body as { data: Json[] };
    const path = `/api/v1/keys/${data[0]?.['id']}`;
    await owner.ask('PATCH', path, { quota: '1.00', quota_period: 'month' });
    const model = 'claude-agent-one';
    const first = await agent.message(access_token, { model });
    expect(first.headers.get('anthropic-ratelimit-unified-status')).toBe('allowed');
    expect(first.headers.get('anthropic-ratelimit-unified-representative-claim')).toBe('overage');
    const { cost } = ((await turnpike.admin('GET', `/usage?key=${data[0]?.['id']}`)) as { data: Json[] }).data[0] as {
      cost: string;
    };
    await owner.ask('PATCH', path, { quota: (Number(cost) / 0.96).toFixed(9) });
    const usage = await agent.get('/api/oauth/usage', { authorization: `Bearer ${access_token}` });
    expect(usage.body).toMatchObject({
      extra_usage: { utilization: 96 },
      limits: [{ kind: 'spend', group: 'monthly', percent: 96 }],
    });
    await turnpike.admin('POST', '/apply', { document: { agent_policies: { base: { contact: 'finops' } } } });
    const refused = await agent.message(access_token, { model });
    expect([refused.status, errorOf(refused)['type']]).toEqual([429, 'billing_error']);
    expect(errorOf(refused)['message']).toMatch(/^spend limit reached · resets (\w{3} 1|00:00 UTC) · ask finops$/);
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      'x-should-retry': 'false',
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-overage-period': 'monthly',
      'anthropic-ratelimit-unified-overage-disabled-reason': 'org_spend_cap_reached',
      'anthropic-ratelimit-unified-overage-reset': expect.stringMatching(/^\d{10}$/),
    });
    const codex = newDevice(turnpike);
    const ofCodex = (await signInAgent(codex, limited, 'codex'))['access_token'];
    await owner.ask(
      'PATCH',
      `/api/v1/keys/${(((await owner.get('/api/v1/keys')).body as { data: Json[] }).data[1] as Json)['id']}`,
      { quota: '0' },
    );
    const byCodex = await codex.message(ofCodex, { model });
    expect([byCodex.status, errorOf(byCodex)['message']]).toEqual([400, 'spend limit reached · ask finops']);
  });

  test('of the balance alone is named as such', async () => {
    const { id } = await turnpike.admin('POST', '/accounts', { name: 'poor' });
    const [agent, poor] = [newDevice(turnpike), await signedIn(turnpike, 'member', String(id))];
    const refused = await agent.message((await signInAgent(agent, poor))['access_token'], {
      model: 'claude-agent-one',
    });
    expect(refused.status).toBe(429);
    expect(errorOf(refused)['message']).toMatch(/^spend limit reached · the balance of the account is exhausted/);
  });
});

test('telemetry is taken, and dropped without a collector', async () => {
  for (const signal of ['metrics', 'logs', 'traces']) {
    const response = await fetch(`${turnpike.url}/v1/${signal}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-protobuf' },
      body: new Uint8Array(10),
    });
    expect(response.status).toBe(200);
  }
});
