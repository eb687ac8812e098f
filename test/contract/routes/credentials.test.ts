// Several credentials of a provider: each message uses those that its account may use, the next one is tried if one
// is rejected or rate limited, and a provider that fails is not tried again with another credential.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { type Script, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, type Json, startWorld } from '../post-messages/world.ts';

const world = await startWorld({ groups: { default: { models: ['*'] }, vip: { models: ['*'] } } });
afterAll(() => world.stop());
const acme = await world.makeKey();
const vip = await world.makeKey({ groups: ['vip'] }, { groups: ['vip'] });
const anyone = await world.makeKey();

const price = { input: '3', output: '15' };
let generation = 0;

/** Applies the credentials with new values, so that nothing is known about them yet. */
async function applyCredentials(): Promise<void> {
  generation++;
  const api_key = (name: string) => `sk-${name}-${generation}`;
  const provider = { kind: 'anthropic', base_url: world.upstream.url, private_network: true };
  const credentials = {
    second: { api_key: api_key('second') },
    acme: { api_key: api_key('acme'), account: acme.account },
    vip: { api_key: api_key('vip'), group: 'vip' },
  };
  const document = {
    providers: {
      many: { ...provider, api_key: api_key('default'), credentials },
      private: { ...provider, credentials: { acme: credentials.acme } },
    },
    models: {
      shared: { price, routes: [{ provider: 'many', model: 'upstream-model' }] },
      own: { price, routes: [{ provider: 'private', model: 'upstream-model' }] },
    },
  };
  await world.admin('POST', '/apply', { document });
}

beforeEach(async () => {
  await applyCredentials();
  world.upstream.requests.length = 0;
  world.upstream.play(scripts.good());
});

/** The names of the credentials that the provider received, in order. */
const shown = () =>
  world.upstream.requests.map(({ headers }) => /^sk-(\w+)-/.exec(headers['x-api-key'] ?? '')?.[1] ?? 'none');

/** Responds according to the credential in the request. */
function byCredential(refused: Record<string, Script>): Script {
  return (answer, request) => {
    const name = /^sk-(\w+)-/.exec(request.headers['x-api-key'] ?? '')?.[1] ?? '';
    return (refused[name] ?? scripts.good())(answer, request);
  };
}

const ask = (secret: string, members: Json = {}) => world.post(secret, bodyOf({ model: 'shared', ...members }));

async function countTokens(secret: string, model: string): Promise<unknown> {
  const answer = await fetch(`${world.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': secret },
    body: JSON.stringify(bodyOf({ model })),
  });
  return ((await answer.json()) as Json)['input_tokens'];
}

test('an account uses only its own credential, otherwise its group’s, otherwise the shared ones', async () => {
  for (let time = 0; time < 6; time++) {
    expect((await ask(acme.secret)).status).toBe(200);
    expect((await ask(vip.secret)).status).toBe(200);
    expect((await ask(anyone.secret)).status).toBe(200);
  }
  const names = shown();
  expect(new Set(names.filter((_, place) => place % 3 === 0))).toEqual(new Set(['acme']));
  expect(new Set(names.filter((_, place) => place % 3 === 1))).toEqual(new Set(['vip']));
  for (const name of names.filter((_, place) => place % 3 === 2)) expect(['default', 'second']).toContain(name);
});

test('if an account’s own credential fails, no other credential is used', async () => {
  world.upstream.play(byCredential({ acme: scripts.unauthorized() }));
  await expectError(await ask(acme.secret), 502, 'api_error', 'upstream_credentials');
  expect(shown()).toEqual(['acme']);
});

test('a provider that has only credentials of other accounts is invisible, for messages and in lists', async () => {
  const own = (secret: string) => world.post(secret, bodyOf({ model: 'own' }));
  expect((await own(acme.secret)).status).toBe(200);
  await expectError(await own(anyone.secret), 400, 'not_found_error', 'model_not_found');
  const listed = async (secret: string) => {
    const answer = await fetch(`${world.url}/v1/models?limit=1000`, { headers: { 'x-api-key': secret } });
    return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  expect(await listed(acme.secret)).toContain('own');
  expect(await listed(anyone.secret)).not.toContain('own');
});

test('a rejected credential is followed by the next; a failing provider is not tried twice', async () => {
  world.upstream.play(byCredential({ default: scripts.unauthorized(), second: scripts.unauthorized() }));
  await expectError(await ask(anyone.secret), 502, 'api_error', 'upstream_credentials');
  expect(shown().sort()).toEqual(['default', 'second']);
  world.upstream.requests.length = 0;
  world.upstream.play(scripts.error(500, 'api_error', 'Internal server error'));
  await expectError(await ask(anyone.secret), 502, 'api_error', 'upstream_failed');
  expect(shown()).toHaveLength(1);
});

test('a credential in cooldown is not used while another is available, and each message is billed once', async () => {
  world.upstream.play(byCredential({ default: scripts.rateLimited('60') }));
  const caller = await world.makeKey();
  const records: Json[] = [];
  for (let time = 0; time < 12; time++) {
    expect((await ask(caller.secret)).status).toBe(200);
    records.push({ outcome: 'completed', provider: 'many' });
  }
  expect(shown().filter((name) => name === 'default').length).toBeLessThanOrEqual(1);
  await expectMoney(world, caller, records);
});

test('if all credentials are in cooldown, one message at a time probes and the others get retry-after', async () => {
  world.upstream.play(scripts.rateLimited('60'));
  const first = await ask(anyone.secret);
  expect(first.headers.get('retry-after')).toBe('60');
  await expectError(first, 429, 'rate_limit_error', 'upstream_rate_limited');
  expect(shown().sort()).toEqual(['default', 'second']);
  world.upstream.requests.length = 0;
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    await promise;
    await scripts.good()(answer, request);
  });
  const pending = [ask(anyone.secret), ask(anyone.secret)];
  while (world.upstream.requests.length < 2) await Bun.sleep(2);
  const rateLimited = await ask(anyone.secret);
  expect(Number(rateLimited.headers.get('retry-after'))).toBeGreaterThan(50);
  await expectError(rateLimited, 429, 'rate_limit_error', 'upstream_rate_limited');
  goOn();
  for (const answer of await Promise.all(pending)) expect(answer.status).toBe(200);
  expect(shown()).toHaveLength(2);
  expect((await ask(anyone.secret)).status).toBe(200); // the probe succeeded: the cooldown is over
});

test('messages that may not probe an overloaded provider get the same error as the probe', async () => {
  world.upstream.play(scripts.overloaded({ 'retry-after': '60' }));
  await expectError(await ask(acme.secret), 529, 'overloaded_error', 'upstream_overloaded');
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  world.upstream.requests.length = 0;
  world.upstream.play(async (answer, request) => {
    await promise;
    await scripts.good()(answer, request);
  });
  const pending = ask(acme.secret);
  while (world.upstream.requests.length < 1) await Bun.sleep(2);
  const rateLimited = await ask(acme.secret);
  expect(Number(rateLimited.headers.get('retry-after'))).toBeGreaterThan(50);
  await expectError(rateLimited, 529, 'overloaded_error', 'upstream_overloaded');
  goOn();
  expect((await pending).status).toBe(200);
});

test('a token count uses no credential in cooldown and is estimated if none is left', async () => {
  world.upstream.play(scripts.rateLimited('60'));
  await expectError(await ask(anyone.secret), 429, 'rate_limit_error', 'upstream_rate_limited');
  world.upstream.requests.length = 0;
  world.upstream.play(scripts.json('{"input_tokens":2095}'));
  expect(await countTokens(anyone.secret, 'shared')).toBeLessThan(100);
  expect(shown()).toEqual([]);
  expect(await countTokens(acme.secret, 'shared')).toBe(2095);
});

test('only a bounded number of rejected credentials is tried, for counts and messages, before the next route', async () => {
  const names = Array.from({ length: 12 }, (_, place) => `no${place}`);
  const credentials = Object.fromEntries(names.map((name) => [name, { api_key: `sk-${name}-${generation}` }]));
  const provider = { kind: 'anthropic', base_url: world.upstream.url, private_network: true };
  const routes = ['crowd', 'spare'].map((name, priority) => ({ provider: name, model: 'upstream-model', priority }));
  const spare = { ...provider, api_key: `sk-spare-${generation}` };
  await world.admin('POST', '/apply', {
    document: {
      providers: { crowd: { ...provider, credentials }, spare },
      models: { crowded: { price, routes } },
    },
  });
  const refused = (good: Script) =>
    byCredential({ ...Object.fromEntries(names.map((name) => [name, scripts.unauthorized()])), spare: good });
  world.upstream.play(refused(scripts.good()));
  expect((await world.post(anyone.secret, bodyOf({ model: 'crowded' }))).status).toBe(200);
  expect([shown().length, shown().at(-1)]).toEqual([8, 'spare']);
  world.upstream.requests.length = 0;
  world.upstream.play(refused(scripts.json('{"input_tokens":2095}')));
  expect(await countTokens(anyone.secret, 'crowded')).toBe(2095);
  expect([shown().length, shown().at(-1)]).toEqual([8, 'spare']);
});

test('objects stored at a provider are available only to accounts with their own credential there, through that credential', async () => {
  const source = { type: 'file', file_id: 'file_011CNha8iCJcU1wXNR6q4V8w' };
  const messages = [{ role: 'user', content: [{ type: 'document', source }] }];
  expect((await ask(acme.secret, { messages })).status).toBe(200);
  expect(shown()).toEqual(['acme', 'acme']); // a file of unknown size is counted first
  for (const { body } of world.upstream.requests) expect(JSON.parse(body).messages).toEqual(messages);
  const words = /^messages\.0\.content\.0\.source\.file_id: /;
  for (const { secret } of [vip, anyone])
    await expectError(await ask(secret, { messages }), 400, 'invalid_request_error', 'feature_unavailable', words);
  expect(shown()).toHaveLength(2);
});

test('headers that select an object of the provider’s account are forwarded with the account’s own credential', async () => {
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-workspace-id': 'wrkspc_1' };
  const diagnostics = { previous_message_id: 'msg_1' };
  const body = bodyOf({ model: 'shared', diagnostics });
  expect((await world.post(acme.secret, body, { headers })).status).toBe(200);
  expect((await ask(acme.secret)).status).toBe(200);
  expect(shown()).toEqual(['acme', 'acme']);
  const [selected, plain] = world.upstream.requests;
  expect(selected?.headers['anthropic-workspace-id']).toBe('wrkspc_1');
  expect(JSON.parse(selected?.body ?? '').diagnostics).toEqual(diagnostics);
  expect(plain?.headers).not.toHaveProperty('anthropic-workspace-id');
  const refused = await world.post(anyone.secret, body, { headers });
  await expectError(refused, 400, 'invalid_request_error', 'feature_unavailable', /^anthropic-workspace-id: /);
});

test('a credential is sent as a bearer token where the provider is configured so', async () => {
  const provider = { kind: 'anthropic', base_url: world.upstream.url, private_network: true, api_key: 'sk-bearer' };
  const models = { borne: { price, routes: [{ provider: 'borne', model: 'upstream-model' }] } };
  const apply = (bearer: boolean) =>
    world.admin('POST', '/apply', { document: { providers: { borne: { ...provider, bearer } }, models } });
  const sent = async () => {
    expect((await ask(anyone.secret, { model: 'borne' })).status).toBe(200);
    const { headers } = world.upstream.requests.at(-1) as { headers: Record<string, string> };
    return [headers['authorization'] ?? null, headers['x-api-key'] ?? null];
  };
  await apply(true);
  expect(await sent()).toEqual(['Bearer sk-bearer', null]);
  const { document } = await world.admin('GET', '/catalogue');
  expect((document as { providers: Json }).providers['borne']).toMatchObject({ bearer: true });
  world.upstream.play(scripts.json('{"data":[]}'));
  await world.admin('POST', '/providers/borne/test', {});
  expect(world.upstream.requests.at(-1)?.headers['authorization']).toBe('Bearer sk-bearer');
  world.upstream.play(scripts.good());
  await apply(false);
  expect(await sent()).toEqual([null, 'sk-bearer']);
});

test('a request names the workspace of its provider, and the client’s own with a credential of its account', async () => {
  const provider = { kind: 'anthropic', base_url: world.upstream.url, private_network: true, workspace: 'wrkspc_op' };
  const credentials = { acme: { api_key: 'acme', account: acme.account } };
  const document = {
    providers: { working: { ...provider, api_key: 'shared', credentials } },
    models: { worked: { price, routes: [{ provider: 'working', model: 'upstream-model' }] } },
  };
  await world.admin('POST', '/apply', { document });
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-workspace-id': 'wrkspc_1' };
  const body = bodyOf({ model: 'worked' });
  expect((await world.post(anyone.secret, body)).status).toBe(200);
  expect((await world.post(acme.secret, body)).status).toBe(200);
  expect((await world.post(acme.secret, body, { headers })).status).toBe(200);
  const sent = world.upstream.requests.slice(-3).map((request) => request.headers['anthropic-workspace-id']);
  expect(sent).toEqual(['wrkspc_op', 'wrkspc_op', 'wrkspc_1']);
});

test('the record names the credentials tried and their failures, to the operator only', async () => {
  world.upstream.play(byCredential({ acme: scripts.unauthorized() }));
  const refused = await ask(acme.secret);
  const id = refused.headers.get('request-id');
  const record = await world.admin('GET', `/usage/${id}`);
  expect(record['attempts']).toMatchObject([
    { provider: 'many', credential: 'acme', result: 'credentials', status: 401, reason: 'invalid x-api-key' },
  ]);
  const token = await world.admin('POST', '/tokens', { role: 'owner', account: acme.account });
  const answer = await fetch(`${world.url}/api/v1/usage/${id}`, {
    headers: { authorization: `Bearer ${token['token']}` },
  });
  expect(((await answer.json()) as Json)['attempts']).toMatchObject([
    { provider: 'many', credential: null, result: 'credentials', status: 401, reason: null },
  ]);
});
