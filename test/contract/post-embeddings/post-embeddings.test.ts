// POST /v1/embeddings: what providers are sent, what clients get, and what is charged.

import { afterAll, describe, expect, test } from 'bun:test';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { chatCompletions } from '../fronts/drivers/chat-completions.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Caller, expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const answers =
  (status: number, body: Json): Script =>
  (answer) =>
    answer.send(status, JSON_HEADERS, JSON.stringify(body));
/** OpenAI's answer for these vectors. */
const listOf = (vectors: unknown[], tokens: number | null): Json => ({
  object: 'list',
  data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  model: 'small-embedding',
  ...(tokens !== null && { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
});

const upstream = await startScriptedUpstream(answers(200, listOf([[0.5, -1]], 8)));
const providers = Object.fromEntries(
  ['openai', 'openai-responses', 'gemini'].map((kind) => [
    kind,
    { kind, base_url: upstream.url, api_key: 'sk-upstream-credential-3', private_network: true },
  ]),
);
const embedder = (provider: string) => ({
  serves: 'embeddings',
  price: { input: '0.02' },
  routes: [{ provider, model: 'small-embedding' }],
});
const world = await sharedWorld({
  providers,
  models: {
    'of-openai': embedder('openai'),
    'of-responses': embedder('openai-responses'),
    'of-gemini': embedder('gemini'),
    'of-first': embedder('first'),
  },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

const post = ({ secret }: Caller, members: Json, headers: Record<string, string> = {}) =>
  fetch(`${world.url}/v1/embeddings`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, authorization: `Bearer ${secret}`, ...headers },
    body: JSON.stringify({ model: 'of-openai', input: 'a text', ...members }),
  });
const sent = () => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
const pathSent = () => upstream.requests.at(-1)?.path;

test.each([
  ['of-openai', 'openai'],
  ['of-responses', 'openai-responses'],
])('%s: the answer is the provider’s own, and its prompt tokens are charged', async (model, provider) => {
  const caller = await world.makeKey();
  const answer = listOf(['AAAAPw==', 'AACAvw=='], 1_000);
  upstream.play(answers(200, answer));
  const response = await post(caller, { model, input: ['one', 'two'], dimensions: 2, encoding_format: 'base64' });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual(answer);
  expect(pathSent()).toBe('/v1/embeddings');
  expect(sent()).toEqual({ model: 'small-embedding', input: ['one', 'two'], dimensions: 2, encoding_format: 'base64' });
  await expectMoney(world, caller, [{ model, provider, input_tokens: 1_000, output_tokens: 0, cost: '0.00002' }]);
});

test('lists of tokens are inputs, and other fields are left out', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(200, listOf([[1], [2]], 5)));
  expect((await post(caller, { input: [[1, 2], [3]], extra_body: { store: true } })).status).toBe(200);
  expect(sent()).toEqual({ model: 'small-embedding', input: [[1, 2], [3]] });
  upstream.play(answers(200, listOf([[1]], 5)));
  expect((await post(caller, { input: [1, 2, 3] })).status).toBe(200);
  expect(sent()['input']).toEqual([[1, 2, 3]]);
});

test('Gemini gets one batch, and the answer has OpenAI’s format', async () => {
  const caller = await world.makeKey();
  const batch = (values: number[][]) => ({
    embeddings: values.map((one) => ({ values: one })),
    usageMetadata: { promptTokenCount: 200 },
  });
  const vectors = Array.from({ length: 100 }, (_, place) => [place, 0.5]);
  upstream.play(answers(200, batch(vectors)));
  const input = Array.from({ length: 100 }, (_, place) => `text ${place}`);
  const body = (await (await post(caller, { model: 'of-gemini', input, dimensions: 2 })).json()) as Json;
  expect(body).toEqual({
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: 'small-embedding',
    usage: { prompt_tokens: 200, total_tokens: 200 },
  });
  expect(pathSent()).toBe('/v1beta/models/small-embedding:batchEmbedContents');
  const last = { model: 'models/small-embedding', content: { parts: [{ text: 'text 99' }] }, outputDimensionality: 2 };
  expect((sent()['requests'] as Json[]).at(-1)).toEqual(last);
  upstream.play(answers(200, batch([[0.5]])));
  const packed = await post(caller, { model: 'of-gemini', encoding_format: 'base64' });
  expect(await packed.json()).toMatchObject({ data: [{ embedding: 'AAAAPw==' }] });
  await expectMoney(world, caller, [{ input_tokens: 200 }, { input_tokens: 200, cost: '0.000004' }]);
});

test('more inputs than a provider answers in one request are refused before anything is sent', async () => {
  const caller = await world.makeKey();
  const before = upstream.requests.length;
  const input = Array.from({ length: 101 }, (_, place) => `text ${place}`);
  const response = await post(caller, { model: 'of-gemini', input });
  expect(await expectError(chatCompletions, response, 'upstream_rejected', 'input')).toContain('at most 100');
  expect(upstream.requests).toHaveLength(before);
  await expectMoney(world, caller, [{ cost: '0' }]);
});

test('many inputs are answered as numbers, which the provider is asked for in base64', async () => {
  const caller = await world.makeKey();
  const input = Array.from({ length: 2_048 }, () => 'a');
  const vector = Buffer.from(new Float32Array([0.1, -1e-10]).buffer).toString('base64');
  upstream.play(answers(200, listOf(Array(input.length).fill(vector), 2_048)));
  const response = await post(caller, { input, encoding_format: 'float' });
  expect(await response.json()).toEqual(listOf(Array(input.length).fill([0.100000001, -1.00000001e-10]), 2_048));
  expect(sent()).toMatchObject({ encoding_format: 'base64' });
  upstream.play(answers(200, listOf(Array(512).fill([0.5]), 512)));
  expect((await post(caller, { input: input.slice(0, 512), encoding_format: 'float' })).status).toBe(200);
  expect(sent()).not.toContainKey('encoding_format');
  await expectMoney(world, caller, [{ input_tokens: 512 }, { input_tokens: 2_048 }]);
});

test('without a count by the provider, the tokens are estimated and charged', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(200, { embeddings: [{ values: [1] }] }));
  expect((await post(caller, { model: 'of-gemini', input: 'a'.repeat(4_000) })).status).toBe(200);
  const [record] = await expectMoney(world, caller, [{ usage_source: 'estimated', output_tokens: 0 }]);
  expect(record?.['input_tokens']).toBeGreaterThanOrEqual(500);
  upstream.play(answers(200, listOf([[1]], null)));
  const response = await post(caller, { input: 'a'.repeat(4_000) });
  expect(await response.json()).toEqual(listOf([[1]], null));
  await expectMoney(world, caller, [{ usage_source: 'estimated' }, { usage_source: 'estimated' }]);
});

test.each([
  [{ prompt_tokens: 0, total_tokens: 5 }, 5],
  [{ total_tokens: 5 }, 5],
  [{ prompt_tokens: 4, total_tokens: 5 }, 4],
])('of the counts %j, %d are charged', async (usage, input_tokens) => {
  const caller = await world.makeKey();
  upstream.play(answers(200, { ...listOf([[1]], null), usage }));
  expect((await post(caller, { encoding_format: 'float' })).status).toBe(200);
  expect(sent()).not.toContainKey('encoding_format');
  await expectMoney(world, caller, [{ input_tokens, usage_source: 'reported' }]);
});

test('a count above what the input can have is not charged', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(200, listOf([[1]], 999_999_999)));
  expect((await post(caller, {})).status).toBe(200);
  const [record] = await expectMoney(world, caller, [{ output_tokens: 0 }]);
  expect(record?.['input_tokens']).toBeLessThan(1_000);
});

test.each([
  ['another number of vectors', listOf([[1], [2]], 4)],
  ['a vector that is none', listOf([['x']], 4)],
  ['an error with status 200', { error: { message: 'no' } }],
])('%s is a failure of the provider, and not charged', async (_, answer) => {
  const caller = await world.makeKey();
  upstream.play(answers(200, answer as Json));
  await expectError(chatCompletions, await post(caller, {}), 'upstream_failed');
  await expectMoney(world, caller, [{ cost: '0' }]);
});

test.each([
  [{ input: [] }, 'input'],
  [{ input: '' }, 'input'],
  [{ input: ['a', ''] }, 'input.1'],
  [{ input: [1.5] }, 'input.0'],
  [{ input: Array.from({ length: 2_049 }, () => 'a') }, 'input'],
  [{ input: null }, 'input'],
  [{ dimensions: -1 }, 'dimensions'],
  [{ dimensions: '2' }, 'dimensions'],
  [{ encoding_format: 'hex' }, 'encoding_format'],
  [{ model: 5 }, 'model'],
])('%j is refused by the path of its field', async (members, path) => {
  const caller = await world.makeKey();
  const response = await post(caller, members as Json);
  expect(await expectError(chatCompletions, response, 'invalid_request', path)).toStartWith(`${path}: `);
  await expectNoTrace(world, caller);
});

test('a model of messages has no embeddings, and a model of embeddings no messages', async () => {
  const caller = await world.makeKey();
  await expectError(chatCompletions, await post(caller, { model: 'plain' }), 'model_not_found', 'model');
  upstream.play(answers(200, listOf([[1]], 1)));
  expect((await post(caller, {})).status).toBe(200); // its model is known for the next request
  const chat = { model: 'of-openai', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] };
  const response = await fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, authorization: `Bearer ${caller.secret}` },
    body: JSON.stringify(chat),
  });
  await expectError(chatCompletions, response, 'model_not_found', 'model');
  await expectMoney(world, caller, [{ model: 'of-openai' }]);
});

test('the input is held before it is sent', async () => {
  const poor = await world.makeKey({ credit: '0.000001' });
  const before = upstream.requests.length;
  const refused = await post(poor, { input: 'a'.repeat(10_000) });
  await expectError(chatCompletions, refused, 'insufficient_user_quota');
  expect(upstream.requests).toHaveLength(before);
  await expectNoTrace(world, poor, '0.000001');
});

test('a kind without embeddings, and a token list for a kind of texts, are refused with the reason', async () => {
  const caller = await world.makeKey();
  const refused = await post(caller, { model: 'of-first' });
  expect(await expectError(chatCompletions, refused, 'upstream_rejected', 'model')).toContain('has no embeddings');
  const tokens = await post(caller, { model: 'of-gemini', input: [[1]] });
  expect(await expectError(chatCompletions, tokens, 'upstream_rejected', 'input.0')).toStartWith('input.0: ');
  await expectMoney(world, caller, [{ cost: '0' }, { cost: '0' }]);
});

test('an idempotency key is charged once, and its answer is repeated', async () => {
  const caller = await world.makeKey();
  const answer = listOf([[0.25]], 10);
  upstream.play(answers(200, answer));
  for (let count = 0; count < 2; count++) {
    const response = await post(caller, {}, { 'idempotency-key': 'once' });
    expect(await response.json()).toEqual(answer);
  }
  await expectMoney(world, caller, [{ input_tokens: 10 }]);
});

describe('in Gemini’s form', () => {
  const embed = ({ secret }: Caller, method: string, body: Json, model = 'of-openai') =>
    fetch(`${world.url}/v1beta/models/${model}:${method}`, {
      method: 'POST',
      headers: { ...JSON_HEADERS, 'x-goog-api-key': secret },
      body: JSON.stringify(body),
    });
  const contentOf = (...texts: string[]) => ({ parts: texts.map((text) => ({ text })) });

  test('one content has one embedding, over a provider of OpenAI’s form', async () => {
    const caller = await world.makeKey();
    upstream.play(answers(200, listOf([[0.5, -1]], 1_000)));
    const response = await embed(caller, 'embedContent', { content: contentOf('a', 'b'), outputDimensionality: 2 });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      embedding: { values: [0.5, -1] },
      usageMetadata: { promptTokenCount: 1_000 },
    });
    expect(sent()).toEqual({ model: 'small-embedding', input: ['a\nb'], dimensions: 2 });
    await expectMoney(world, caller, [
      { model: 'of-openai', endpoint: 'embeddings', input_tokens: 1_000, cost: '0.00002' },
    ]);
  });

  test('a list of requests has a list of embeddings, and keeps its purpose at Google', async () => {
    const caller = await world.makeKey();
    const request = (text: string) => ({ content: contentOf(text), task_type: 'RETRIEVAL_QUERY' });
    const embeddings = [{ values: [1] }, { values: [2] }];
    upstream.play(answers(200, { embeddings, usageMetadata: { promptTokenCount: 7 } }));
    const response = await embed(caller, 'batchEmbedContents', { requests: [request('a'), request('b')] }, 'of-gemini');
    expect(await response.json()).toEqual({ embeddings, usageMetadata: { promptTokenCount: 7 } });
    expect((sent()['requests'] as Json[])[1]).toMatchObject({ taskType: 'RETRIEVAL_QUERY' });
  });

  test.each([
    [{}, 'content'],
    [{ content: contentOf('') }, 'content'],
    [{ content: { parts: [{ inlineData: {} }] } }, 'content.parts.0.text'],
    [{ content: contentOf('a'), outputDimensionality: 0 }, 'outputDimensionality'],
    [{ requests: [] }, 'requests'],
    [{ requests: [{ content: contentOf('a') }, { content: contentOf('b'), taskType: 'CLUSTERING' }] }, 'requests.1'],
  ])('refuses %j by the name of its field, in Google’s form', async (body, path) => {
    const response = await embed(await world.makeKey(), 'embedContent', body as Json);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining(`${path}:`) },
    });
  });
});
