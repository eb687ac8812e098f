// A provider of kind `gemini` gets the client's own body, and the client gets the provider's own answer; holds, bills and
// the end of a stream are those of every message.

import { afterAll, expect, test } from 'bun:test';
import { encodeThinking } from '../../../src/fronts/gemini/carried-thinking.ts';
import { type Script, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { expectMoney, GOOD, type Json, sharedWorld } from '../post-messages/world.ts';
import { chunksOf, expectGeminiError, postGemini, requestOf, textOf } from './gemini-world.ts';

const google = await startScriptedUpstream(scripts.html());
const price = { input: '3', output: '15' };
const google1 = { provider: 'google', model: 'gemini-3-flash' };
const world = await sharedWorld({
  providers: { google: { kind: 'gemini', base_url: google.url, api_key: 'AIza-upstream-1', private_network: true } },
  models: {
    own: { price, routes: [google1], max_output_tokens: 50 },
    long: { price, routes: [google1] },
    either: { price, routes: [google1, { provider: 'first', model: 'upstream-model', priority: 1 }] },
    other: {
      price,
      routes: [
        { provider: 'first', model: 'upstream-model' },
        { ...google1, priority: 1 },
      ],
    },
  },
});
afterAll(async () => {
  await world.stop();
  await google.close();
});

const USAGE = { promptTokenCount: 25, candidatesTokenCount: 12, totalTokenCount: 37, trafficType: 'ON_DEMAND' };
const IDENTITY = { modelVersion: 'gemini-3-flash-001', responseId: 'g-1', createTime: '2026-11-24T10:00:00Z' };
const said = (text: string, more: Json = {}, candidate: Json = {}): Json => ({
  candidates: [{ content: { parts: [{ text, ...more }], role: 'model' }, index: 0, safetyRatings: [], ...candidate }],
  ...IDENTITY,
});
const ended = (text: string): Json => ({
  ...said(text, { thoughtSignature: 'R29vZ2xl' }, { finishReason: 'STOP', avgLogprobs: -0.1 }),
  usageMetadata: USAGE,
});
const CHUNKS = [said('Hello '), {}, said('there, '), ended('world!'), { ...IDENTITY, usageMetadata: USAGE }];
const eventText = (chunk: Json) => `data: ${JSON.stringify(chunk)}\n\n`;

const CONTENTS = '"contents":[{"parts":[{"text":"a\\u0020b"}]}]';

test.each([
  [
    'its own limit',
    `{ ${CONTENTS},  "safety_settings": [{"threshold":"Y"}], "generationConfig" : {"seed":1.00, "maxOutputTokens":64 }}`,
    `{ ${CONTENTS},  "safety_settings": [{"threshold":"Y"}], "generationConfig" : {"seed":1.00, "maxOutputTokens":50 }}`,
  ],
  [
    'the other name of it',
    `{${CONTENTS},"generation_config":{"max_output_tokens":64, "top_p":0.950}}`,
    `{${CONTENTS},"generation_config":{ "top_p":0.950,"maxOutputTokens":50}}`,
  ],
  ['none', `{${CONTENTS}}`, `{${CONTENTS},"generationConfig":{"maxOutputTokens":50}}`],
  [
    'none, written out',
    `{"generationConfig":null,${CONTENTS}}`,
    `{"generationConfig":{"maxOutputTokens":50},${CONTENTS}}`,
  ],
])('the body reaches the provider byte for byte but for the limit of its output (%s)', async (_, given, sent) => {
  const answer = JSON.stringify(ended('Hi'), null, 2);
  google.play(scripts.json(answer));
  const caller = await world.makeKey();
  const response = await postGemini(world, caller.secret, {}, { model: 'own', body: given });
  expect(await response.text()).toBe(answer);
  expect(google.requests.at(-1)).toMatchObject({ path: '/v1beta/models/gemini-3-flash:generateContent', body: sent });
  expect(google.requests.at(-1)?.headers['x-goog-api-key']).toBe('AIza-upstream-1');
  await expectMoney(world, caller, [GOOD]);
});

test('a stream is relayed chunk for chunk, however its bytes are split', async () => {
  const text = CHUNKS.map(eventText).join('');
  const caller = await world.makeKey();
  for (const bytes of [1, 7, 100_000]) {
    google.play(splitStream(text, bytes));
    const response = await postGemini(world, caller.secret, {}, { model: 'own', stream: true });
    expect((await response.text()).replaceAll(/^\n/gm, '')).toBe(text.replaceAll(/^\n/gm, ''));
    expect(google.requests.at(-1)?.path).toBe('/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse');
  }
  const path = '/v1beta/models/own:streamGenerateContent';
  expect(await (await postGemini(world, caller.secret, {}, { path })).json()).toEqual(CHUNKS);
  await expectMoney(world, caller, Array(4).fill({ ...GOOD, outcome: 'completed' }));
});

function splitStream(text: string, bytesPerChunk: number): Script {
  return async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    const bytes = Buffer.from(text);
    for (let start = 0; start < bytes.length; start += bytesPerChunk)
      await answer.write(bytes.subarray(start, start + bytesPerChunk));
    answer.end();
  };
}

test('when the money runs out no more output of the provider is sent', async () => {
  google.play(async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (let piece = 0; piece < 500 && !answer.isGone; piece++) {
      await answer.write(eventText(said('word '.repeat(40))));
      await Bun.sleep(1);
    }
    await answer.write(eventText(ended('end')));
    answer.end();
  });
  const caller = await world.makeKey({ credit: '0.02' });
  const response = await postGemini(
    world,
    caller.secret,
    { generationConfig: { maxOutputTokens: 30_000 } },
    { model: 'long', stream: true },
  );
  const chunks = chunksOf(await response.text());
  expect(chunks.at(-1)).toMatchObject({ error: { details: [{ metadata: { code: 'insufficient_user_quota' } }] } });
  const [record] = await expectMoney(world, caller, [{ outcome: 'quota_cut', written_off: '0' }], '0.02');
  const relayed = textOf(chunks).length;
  expect(relayed).toBeGreaterThan(500);
  expect(relayed / 5).toBeLessThanOrEqual(record?.['output_tokens'] as number); // each word is a token
});

test('a failure of the provider has our words and code, in its answer and within a stream', async () => {
  const error = { code: 429, message: 'Quota of project 4711', status: 'RESOURCE_EXHAUSTED', details: [] };
  const caller = await world.makeKey();
  google.play((answer) => answer.send(429, { 'content-type': 'application/json' }, JSON.stringify({ error })));
  const refused = await postGemini(world, caller.secret, {}, { model: 'own' });
  expect(JSON.stringify(await expectGeminiError(refused, 429, 'upstream_rate_limited'))).not.toContain('4711');
  google.play(splitStream(eventText(said('Hello')) + eventText({ error }), 100_000));
  const text = await (await postGemini(world, caller.secret, {}, { model: 'own', stream: true })).text();
  expect(chunksOf(text)).toMatchObject([
    said('Hello'),
    { error: { details: [{ metadata: { code: 'upstream_rate_limited' } }] } },
  ]);
  expect(text).not.toContain('4711');
  await expectMoney(world, caller, [{ outcome: 'upstream_cut' }, { cost: '0' }]);
});

const part = (one: Json) => ({ contents: [{ parts: [{ text: 'a' }, one] }] });
const config = (one: Json) => ({ generationConfig: one });
const file = (fileUri: string, mimeType = 'image/png') => part({ fileData: { fileUri, mimeType } });
const STORED = { mimeType: 'image/png', fileUri: 'gs://bucket/a' };
const CALL = { functionCall: { name: 'f', args: {} } };
const resultOf = (parts: Json[]) => ({ functionResponse: { name: 'f', response: {}, parts } });
const NOT_OFFERED: [path: string, members: Json][] = [
  ['cachedContent', { cachedContent: 'cachedContents/1' }],
  ['cached_content', { cached_content: 'cachedContents/1' }],
  ['serviceTier', { serviceTier: 'FLEX' }],
  ['store', { store: true }],
  ...['googleSearch', 'google_search', 'googleSearchRetrieval', 'codeExecution', 'urlContext', 'fileSearch'].map(
    (name): [string, Json] => [`tools.0.${name}`, { tools: [{ [name]: {} }] }],
  ),
  ...['computerUse', 'googleMaps', 'retrieval', 'aToolOfTomorrow'].map((name): [string, Json] => [
    `tools.1.${name}`,
    { tools: [{ functionDeclarations: [] }, { [name]: {} }] },
  ]),
  ['generationConfig.responseModalities', config({ responseModalities: ['TEXT', 'IMAGE'] })],
  ['generationConfig.response_modalities', config({ response_modalities: ['AUDIO'] })],
  ['generationConfig.candidateCount', config({ candidateCount: 2 })],
  ['generationConfig.max_output_tokens', config({ maxOutputTokens: 5, max_output_tokens: 50 })],
  ['generationConfig.speechConfig', config({ speechConfig: {} })],
  ['generationConfig.imageConfig', config({ imageConfig: {} })],
  ['contents.0.parts.1.fileData.fileUri', file('https://generativelanguage.googleapis.com/v1beta/files/a')],
  ['contents.0.parts.1.fileData.fileUri', file('https://youtu.be/a', 'video/mp4')],
  ['contents.0.parts.1.fileData.fileUri', file('gs://bucket/a')],
  ['contents.0.parts.1.fileData.fileUri', file('http://example.com/a.png')],
  ['contents.0.parts.1.fileData.mimeType', file('https://example.com/a.mp4', 'video/mp4')],
  ['contents.0.parts.1.fileData.mimeType', part({ fileData: { fileUri: 'https://example.com/a' } })],
  ['contents.0.parts.1.inlineData.mimeType', part({ inlineData: { mimeType: 'audio/wav', data: 'AAAA' } })],
  ...[{ text: 'b' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }, { thought: true }].map(
    (beside): [string, Json] => ['contents.0.parts.1', part({ ...beside, fileData: STORED })],
  ),
  ['systemInstruction.parts.0', { systemInstruction: { parts: [{ text: 'a', fileData: STORED }] } }],
  ['systemInstruction.parts.0', { systemInstruction: { parts: [{ fileData: STORED }] } }],
  ['contents.1.parts.0.fileData', { contents: [{ parts: [] }, { role: 'model', parts: [{ fileData: STORED }] }] }],
  ['contents.1.parts.0', { contents: [{ parts: [] }, { role: 'model', parts: [{ ...CALL, fileData: STORED }] }] }],
  [
    'contents.1.parts.0',
    { contents: [{ parts: [] }, { role: 'model', parts: [{ thought: true, fileData: STORED }] }] },
  ],
  [
    'contents.1.parts.1.functionResponse.parts.0.fileData.fileUri',
    { contents: [{ role: 'model', parts: [CALL] }, { parts: [resultOf([]), resultOf([{ fileData: STORED }])] }] },
  ],
  [
    'contents.1.parts.0.functionResponse.parts.0',
    { contents: [{ role: 'model', parts: [CALL] }, { parts: [resultOf([{ inlineData: STORED, fileData: STORED }])] }] },
  ],
  ['contents.0.parts.1.videoMetadata', part({ text: 'b', videoMetadata: { fps: 1 } })],
  ['contents.0.parts.1.executableCode', part({ executableCode: { code: '1' } })],
  ['contents.0.parts.1.aPartOfTomorrow', part({ aPartOfTomorrow: 1 })],
  [
    'contents.1.parts.0.functionResponse.parts.0.fileData.fileUri',
    { contents: [{ role: 'model', parts: [CALL] }, { parts: [resultOf([{ fileData: STORED }])] }] },
  ],
];

test('what has no price or reads stored objects is refused by name, and the provider is not asked', async () => {
  const asked = google.requests.length;
  const caller = await world.makeKey();
  for (const [path, members] of NOT_OFFERED) {
    const response = await postGemini(world, caller.secret, members, { model: 'own' });
    const { error } = (await response.json()) as { error: { message: string } };
    expect({ status: response.status, message: error.message }).toEqual({
      status: 400,
      message: expect.stringContaining(`${path}: `),
    });
  }
  expect(google.requests).toHaveLength(asked);
  await expectMoney(world, caller, []);
});

test('an idempotency-key is bound to the whole body, although the message has less of it', async () => {
  google.play(scripts.json(JSON.stringify(ended('Hi'))));
  const caller = await world.makeKey();
  const post = (members: Json) =>
    postGemini(world, caller.secret, members, { model: 'own', headers: { 'idempotency-key': 'order-1' } });
  expect((await post({})).status).toBe(200);
  await expectGeminiError(await post({ safetySettings: [] }), 422, 'idempotency_mismatch');
  expect(await (await post({})).json()).toEqual(ended('Hi'));
  await expectMoney(world, caller, [GOOD]);
});

test('members that are not known to be free are left out', async () => {
  google.play(scripts.json(JSON.stringify(ended('Hi'))));
  const { secret } = await world.makeKey();
  const known = requestOf({ toolConfig: { functionCallingConfig: { mode: 'AUTO' } }, generationConfig: { topK: 1 } });
  const given = {
    ...known,
    model: 'models/gemini-3-pro',
    labels: { team: 'a' },
    a_field_of_tomorrow: true,
    toolConfig: { ...(known['toolConfig'] as Json), retrievalConfig: { latLng: {} } },
    generationConfig: { topK: 1, routingConfig: { autoMode: {} } },
  };
  await postGemini(world, secret, {}, { model: 'own', body: JSON.stringify(given) });
  expect(JSON.parse(google.requests.at(-1)?.body ?? '')).toEqual({
    ...known,
    generationConfig: { topK: 1, maxOutputTokens: 50 },
  });
});

const called = (thoughtSignature: string) => ({
  contents: [
    { parts: [{ text: 'go' }] },
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature }] },
    { parts: [{ functionResponse: { name: 'f', response: { output: 'done' } } }] },
  ],
});

test('another provider answers after a failure: it gets a message, and no signature of Google', async () => {
  google.play(scripts.overloaded());
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const response = await postGemini(world, secret, called('R29vZ2xl'), { model: 'either' });
  expect(await response.json()).toMatchObject({ responseId: 'upstream' });
  expect(JSON.parse(world.upstream.requests.at(-1)?.body ?? '')).toMatchObject({
    messages: [
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', name: 'f' }] },
      { role: 'user', content: [{ type: 'tool_result', content: 'done' }] },
    ],
  });
});

test('a provider of Gemini gets no thinking of another one as a signature', async () => {
  world.upstream.play(scripts.overloaded());
  google.play(scripts.json(JSON.stringify(ended('Hi'))));
  const { secret } = await world.makeKey();
  const carried = encodeThinking([{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }]) as string;
  const { contents } = called(carried);
  const said = { role: 'model', parts: [{ text: 'Yes.' }, { text: '', thoughtSignature: carried }] };
  const ask = { contents: [...contents, said, { parts: [{ text: 'And?' }] }] };
  const response = await postGemini(world, secret, ask, { model: 'other' });
  expect(await response.json()).toEqual(ended('Hi'));
  const sent = google.requests.at(-1)?.body ?? '';
  expect(sent).toContain('"thoughtSignature":"skip_thought_signature_validator"');
  expect(sent).not.toContain(carried);
  expect(JSON.parse(sent).contents[3].parts).toEqual([{ text: 'Yes.' }]);
});

test('tokens of the client’s own body are counted by the provider', async () => {
  google.play(scripts.json('{"totalTokens":777}'));
  const { secret } = await world.makeKey();
  const body = '{"contents":[{"parts":[{"text":"a\\u0020b"}]}]}';
  const response = await postGemini(world, secret, {}, { path: '/v1beta/models/own:countTokens', body });
  expect(await response.json()).toEqual({ totalTokens: 777 });
  expect(google.requests.at(-1)).toMatchObject({
    path: '/v1beta/models/gemini-3-flash:countTokens',
    body: `{"generateContentRequest":${body.slice(0, -1)},"model":"models/gemini-3-flash"}}`,
  });
});
