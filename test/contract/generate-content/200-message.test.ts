// 200: a message in Gemini's format. The request to the provider, the response to the client, and the cost are those of
// the same message.

import { afterAll, expect, test } from 'bun:test';
import { scripts, upstreamMessage } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, GOOD, type Json, sharedWorld } from '../post-messages/world.ts';
import { candidateOf, chunksOf, postGemini, requestOf, sentOf, textOf } from './gemini-world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const ANSWER = {
  candidates: [
    { content: { parts: [{ text: 'Hello there, world!' }], role: 'model' }, finishReason: 'STOP', index: 0 },
  ],
  usageMetadata: { promptTokenCount: 25, candidatesTokenCount: 12, totalTokenCount: 37 },
  modelVersion: 'upstream-model',
  responseId: 'upstream',
};

test('the provider gets a message, and the client gets its response', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const response = await postGemini(world, caller.secret, {
    systemInstruction: { role: 'system', parts: [{ text: 'Be brief.' }] },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  });
  expect(await response.json()).toEqual(ANSWER);
  expect(world.upstream.requests.at(-1)?.path).toBe('/v1/messages');
  expect(sentOf(world)).toEqual({
    model: 'upstream-model',
    max_tokens: 64,
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Good morning!' }] }],
  });
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed', stream: false }]);
});

test('a stream is a list of the same chunks where the client does not ask for events', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const events = await (await postGemini(world, caller.secret, {}, { stream: true })).text();
  const path = '/v1beta/models/plain:streamGenerateContent';
  const response = await postGemini(world, caller.secret, {}, { path });
  expect(response.headers.get('content-type')).toBe('application/json');
  const list = await response.text();
  expect(JSON.parse(list)).toEqual(chunksOf(events));
  expect(textOf(JSON.parse(list))).toBe('Hello there, world!');
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('a request costs the same as the equivalent message, streamed or not', async () => {
  const usage = { input_tokens: 25, cache_creation_input_tokens: 7, cache_read_input_tokens: 300, output_tokens: 12 };
  world.upstream.play(scripts.good({ usage, finalUsage: { output_tokens: 12 } }));
  const caller = await world.makeKey({}, { models: ['plain'] });
  for (const stream of [false, true]) {
    await (await world.post(caller.secret, bodyOf({ stream }))).text();
    const text = await (await postGemini(world, caller.secret, {}, { stream })).text();
    const last = stream ? chunksOf(text).at(-1) : JSON.parse(text);
    expect(last).toMatchObject({
      usageMetadata: {
        promptTokenCount: 332,
        cachedContentTokenCount: 300,
        candidatesTokenCount: 12,
        totalTokenCount: 344,
      },
    });
  }
  const records = await expectMoney(world, caller, Array(4).fill({ outcome: 'completed', usage_source: 'reported' }));
  const costs = records.map(({ cost, cache_read_tokens }) => ({ cost, cache_read_tokens }));
  expect(costs).toEqual(Array(4).fill(costs[0]));
  expect(costs[0]).not.toMatchObject({ cost: '0' });
});

test('every common form of the base URL, of the model’s name and of the key works', async () => {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const bases = ['/v1beta', '/v1', '//v1beta/', '/v1/v1beta', '/v1beta/v1beta', '/v1/v1'];
  const names = ['plain', 'plain-latest', 'models/plain', 'models/plain-latest', 'models%2Fplain'];
  for (const base of bases)
    for (const name of names) {
      const response = await postGemini(world, secret, {}, { path: `${base}/models/${name}:generateContent` });
      expect({ base, name, answer: await response.json() }).toMatchObject({ answer: ANSWER });
    }
  for (const headers of [{ authorization: `Bearer ${secret}` }, { 'x-api-key': secret }]) {
    const response = await fetch(`${world.url}/v1beta/models/plain:generateContent`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(requestOf()),
    });
    expect(await response.json()).toEqual(ANSWER);
  }
});

test('models are listed and found by name and alias, on the path that other protocols share, too', async () => {
  const { secret } = await world.makeKey();
  const get = async (path: string, headers: Record<string, string> = { 'x-goog-api-key': secret }) =>
    (await (await fetch(world.url + path, { headers })).json()) as Json;
  for (const base of ['/v1beta/models', '/v1/models']) {
    const { models } = (await get(base)) as { models: Json[] };
    expect(models.map(({ name }) => name)).toEqual(expect.arrayContaining(['models/plain', 'models/paired']));
    for (const name of ['plain', 'plain-latest', 'models/plain'])
      expect(await get(`${base}/${name}`)).toMatchObject({
        name: 'models/plain',
        baseModelId: 'plain',
        supportedGenerationMethods: expect.arrayContaining(['generateContent', 'countTokens']),
      });
  }
  expect(await get('/v1/models', { authorization: `Bearer ${secret}` })).toHaveProperty('data');
});

test('tokens are counted free of charge, for contents and for a whole request', async () => {
  world.upstream.play(scripts.json('{"input_tokens":7}'));
  const caller = await world.makeKey();
  const path = '/v1beta/models/plain:countTokens';
  const whole = requestOf({ systemInstruction: { parts: [{ text: 'Be brief.' }] } });
  for (const body of [
    { contents: requestOf()['contents'] },
    { generateContentRequest: { ...whole, model: 'models/x' } },
  ]) {
    const response = await postGemini(world, caller.secret, {}, { path, body: JSON.stringify(body) });
    expect(await response.json()).toEqual({ totalTokens: 7 });
    expect(world.upstream.requests.at(-1)?.path).toBe('/v1/messages/count_tokens');
  }
  expect(sentOf(world)).toMatchObject({ system: [{ type: 'text', text: 'Be brief.' }] });
  await expectMoney(world, caller, []);
});

test('a request with an idempotency-key is answered and charged once, and another model is another request', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  for (const stream of [false, true]) {
    const post = (sending = {}) =>
      postGemini(world, caller.secret, {}, { stream, headers: { 'idempotency-key': `order-${stream}` }, ...sending });
    const answer = await (await post()).text();
    const again = await post();
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await again.text()).toBe(answer);
    expect((await post({ model: 'paired' })).status).toBe(422);
    expect((await post({ stream: !stream })).status).toBe(422);
  }
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('digits of long numbers are preserved in both directions', async () => {
  const input = '{"id":123456789012345678901}';
  const text = JSON.stringify(upstreamMessage()).replace(
    /"content":\[.*?\]/,
    `"content":[{"type":"tool_use","id":"toolu_1","name":"f","input":${input}}]`,
  );
  world.upstream.play(scripts.json(text));
  const { secret } = await world.makeKey();
  const answer = await (await postGemini(world, secret)).text();
  expect(answer).toContain(`"args":${input}`);
  const call = candidateOf(JSON.parse(answer)).content;
  const result = { functionResponse: { id: 'toolu_1', name: 'f', response: { output: 'ok' } } };
  const body = JSON.stringify(
    requestOf({ contents: [{ parts: [{ text: 'go' }] }, call, { role: 'user', parts: [result] }] }),
  ).replace(/"args":\{[^}]*\}/, `"args":${input}`);
  await postGemini(world, secret, {}, { body });
  expect(world.upstream.requests.at(-1)?.body).toContain(`"input":${input}`);
});
