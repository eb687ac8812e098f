// One entry for all models of a provider's list: what clients see and can use, what is recorded, and what an attacker who
// invents names achieves.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { type Script, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, type Json } from './world.ts';

const PRICE = { input: '2', output: '4' };
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** A server that answers for the models that it lists, and whose list changes. */
const PULLED = ['qwen3:8b', 'hf.co/someone/Model-GGUF:Q4_K_M', 'named'];
let pulled = PULLED;
const serve: Script = (answer, request) => {
  const { method, path, body } = request;
  if (method === 'GET' && path.endsWith('/models'))
    return scripts.json(JSON.stringify({ object: 'list', data: pulled.map((id) => ({ id, object: 'model' })) }))(
      answer,
      request,
    );
  const { model } = JSON.parse(body) as { model: string };
  const message = { role: 'assistant', content: `I am ${model}` };
  const answered = {
    id: 'c1',
    object: 'chat.completion',
    model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: USAGE,
  };
  answer.send(200, { 'content-type': 'application/json' }, JSON.stringify(answered));
};
const server = await startScriptedUpstream(serve);
const unread = await startScriptedUpstream(scripts.error(503, 'overloaded_error', 'starting'));
const at = ({ url }: { url: string }) => ({ kind: 'openai', base_url: `${url}/v1`, private_network: true });
const turnpike = await sharedTurnpike({
  providers: { local: at(server), unread: at(unread) },
  models: {
    'local/*': { price: PRICE, routes: [{ provider: 'local', model: '*', cost: { input: '1', output: '1' } }] },
    'unread/*': { price: PRICE, routes: [{ provider: 'unread', model: '*' }] },
    'local/named': { price: { input: '8', output: '8' }, routes: [{ provider: 'local', model: 'qwen3:8b' }] },
  },
  groups: { some: { models: ['local/qwen*'] } },
} as { groups: object });
afterAll(async () => {
  await turnpike.stop();
  await server.close();
  await unread.close();
});
beforeEach(() => {
  pulled = PULLED;
});

const get = async (path: string, secret: string) =>
  (await (await fetch(turnpike.url + path, { headers: { 'x-api-key': secret } })).json()) as Json;
const idsOf = async (secret: string) =>
  ((await get('/v1/models', secret))['data'] as { id: string }[])
    .map(({ id }) => id)
    .filter((id) => !id.startsWith('sandbox'));
const postTo = (path: string, secret: string, body: Json) =>
  fetch(turnpike.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test('clients see the models of the list, use them in every front, and the record names model and price', async () => {
  using _ = setBounds({ modelListGapMs: 0 });
  const caller = await turnpike.makeKey();
  const name = 'local/qwen3:8b';
  expect((await turnpike.post(caller.secret, bodyOf({ model: 'local/unknown' }))).status).toBe(400); // the list is read
  expect((await turnpike.post(caller.secret, bodyOf({ model: name }))).status).toBe(200);
  expect(await idsOf(caller.secret)).toEqual(
    expect.arrayContaining(['local/hf.co/someone/Model-GGUF:Q4_K_M', 'local/named', name]),
  );
  expect(await get(`/v1/models/${name}`, caller.secret)).toMatchObject({ id: name, display_name: name });
  expect(await get(`/v1beta/models/${encodeURIComponent(name)}`, caller.secret)).toMatchObject({
    name: `models/${name}`,
  });
  const messages = [{ role: 'user', content: 'Hello' }];
  const chat = await postTo('/v1/chat/completions', caller.secret, { model: name, messages });
  expect(await chat.json()).toMatchObject({ choices: [{ message: { content: 'I am qwen3:8b' } }] });
  const gemini = await postTo(`/v1beta/models/${name}:generateContent`, caller.secret, {
    contents: [{ parts: [{ text: 'Hello' }] }],
  });
  expect(await gemini.json()).toMatchObject({ candidates: [{ content: { parts: [{ text: 'I am qwen3:8b' }] } }] });
  const record = {
    model: name,
    provider: 'local',
    upstream_model: 'qwen3:8b',
    cost: '0.00004',
    provider_cost: '0.000015',
  };
  await expectMoney(turnpike, caller, [record, record, record]);
});

test('a model with its own entry keeps its price and its route', async () => {
  const caller = await turnpike.makeKey();
  expect((await turnpike.post(caller.secret, bodyOf({ model: 'local/named' }))).status).toBe(200);
  await expectMoney(turnpike, caller, [{ model: 'local/named', upstream_model: 'qwen3:8b', cost: '0.00012' }]);
});

test('a new model works at once, and one that the provider removed is unknown after the next reading', async () => {
  using _ = setBounds({ modelListGapMs: 0, modelListAgeMsMax: 0 });
  const { secret } = await turnpike.makeKey();
  const ask = async (model: string) => (await turnpike.post(secret, bodyOf({ model }))).status;
  expect(await ask('local/brand-new')).toBe(400);
  pulled = [...PULLED, 'brand-new'];
  expect(await ask('local/brand-new')).toBe(200);
  pulled = ['qwen3:8b'];
  for (let status = 200; status === 200; ) status = await ask('local/brand-new'); // the list is read in the background
  expect(await ask('local/qwen3:8b')).toBe(200);
});

test('scopes of groups and keys match the whole name', async () => {
  const { secret } = await turnpike.makeKey({ groups: ['some'] });
  expect(await idsOf(secret)).toEqual(['local/qwen3:8b']);
  const narrow = await turnpike.makeKey({}, { models: ['qwen*'] });
  await expectError(
    await turnpike.post(narrow.secret, bodyOf({ model: 'local/qwen3:8b' })),
    400,
    'not_found_error',
    'model_not_found',
  );
});

test('a provider that does not tell its models is a fault of the provider, and hides no other model', async () => {
  const caller = await turnpike.makeKey();
  await expectError(
    await turnpike.post(caller.secret, bodyOf({ model: 'unread/x' })),
    502,
    'api_error',
    'upstream_failed',
  );
  const listed = await turnpike.admin('GET', '/providers/unread');
  expect(listed['model_list']).toMatchObject({
    models: null,
    read_at: null,
    failure: expect.stringContaining('starting'),
  });
  expect(await idsOf(caller.secret)).toContain('local/qwen3:8b');
  await expectNoTrace(turnpike, caller);
});

test('the admin API has the entry, its models, and the state of the list', async () => {
  const { secret } = await turnpike.makeKey();
  await idsOf(secret);
  const { data } = (await turnpike.admin('GET', '/models?limit=1000')) as { data: Json[] };
  expect(data.find(({ name }) => name === 'local/*')).toMatchObject({
    entry: null,
    groups: expect.arrayContaining(['default']),
  });
  expect(data.find(({ name }) => name === 'local/qwen3:8b')).toMatchObject({ entry: 'local/*', price: { input: '2' } });
  const { model_list } = await turnpike.admin('GET', '/providers/local');
  expect(model_list).toMatchObject({ models: expect.any(Number), read_at: expect.any(String), failure: null });
});

test('write-offs are at zero for each written model, and for those of a list that were used', async () => {
  using _ = setBounds({ modelListGapMs: 0 });
  const { secret } = await turnpike.makeKey();
  expect((await turnpike.post(secret, bodyOf({ model: 'local/unknown' }))).status).toBe(400); // the list is read
  expect(await idsOf(secret)).toContain('local/hf.co/someone/Model-GGUF:Q4_K_M');
  expect((await turnpike.post(secret, bodyOf({ model: 'local/qwen3:8b' }))).status).toBe(200);
  const text = await (await turnpike.scrape()).text();
  for (const model of ['local/named', 'local/qwen3:8b'])
    expect(text).toContain(`turnpike_written_off_usd_total{model="${model}",reason="prompt"} 0`);
  expect(text).not.toContain('Model-GGUF');
});

test('invented names are refused before anything is sent, held or remembered', async () => {
  const caller = await turnpike.makeKey();
  await idsOf(caller.secret);
  const before = server.requests.filter(({ method }) => method === 'POST').length;
  const tricks = ['../../admin', '..%2f..', 'a\nb', 'a b', '*', '', 'x'.repeat(250), 'qwen3:8b/../x', '\u0000'];
  const invented = Array.from({ length: 50 }, (_, at) => `invented-${at}`);
  for (const text of [...tricks, ...invented]) {
    const response = await turnpike.post(caller.secret, bodyOf({ model: `local/${text}` }));
    await expectError(response, 400, 'not_found_error', 'model_not_found');
  }
  expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(before);
  await expectNoTrace(turnpike, caller);
  expect(await (await turnpike.scrape()).text()).not.toContain('invented-');
  const { routes } = (await turnpike.admin('GET', '/providers/local')) as { routes: { model: string }[] };
  expect(routes.filter(({ model }) => model.startsWith('invented-'))).toEqual([]);
});
