// Images for clients of Gemini: `predict`, and generateContent that asks for images.

import { afterAll, expect, test } from 'bun:test';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { generateContent } from '../fronts/drivers/generate-content.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Caller, expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const json = (value: unknown): string => JSON.stringify(value);
const answers =
  (value: unknown): Script =>
  (answer) =>
    answer.send(200, { 'content-type': 'application/json' }, json(value));
const upstream = await startScriptedUpstream(answers({}));
const of = (kind: string) => ({ kind, base_url: upstream.url, api_key: 'k', private_network: true });
const image = (provider: string, model: string, price: Json = { units: { per_image: '0.04' } }) => ({
  serves: 'images',
  price,
  routes: [{ provider, model }],
});
const world = await sharedWorld({
  providers: { google: of('gemini'), open: of('openai') },
  models: {
    imagen: image('google', 'imagen-4'),
    'gemini-image': image('google', 'gemini-3-pro-image', { input: '2', output: '12', units: { image_output: '120' } }),
    'gpt-image': image('open', 'gpt-image-2'),
  },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

const post = ({ secret }: Caller, path: string, body: Json) =>
  fetch(`${world.url}/v1beta/models/${path}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': secret, 'content-type': 'application/json' },
    body: json(body),
  });
const sent = (): Json => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
const predict = (caller: Caller, model: string, parameters: Json = {}, instance: Json = {}) =>
  post(caller, `${model}:predict`, { instances: [{ prompt: 'a dot', ...instance }], parameters });
const PREDICTED = { predictions: [{ bytesBase64Encoded: PNG, mimeType: 'image/png' }] };
const text = (value: string): Json => ({ text: value });
const picture: Json = { inlineData: { mimeType: 'image/png', data: PNG } };
const draw = (caller: Caller, model: string, members: Json = {}, config: Json = {}) =>
  post(caller, `${model}:generateContent`, {
    contents: [{ role: 'user', parts: [text('a dot')] }],
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'], ...config },
    ...members,
  });

test('predict reaches Imagen with its ratio, size and count, and answers in its form', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ predictions: [PREDICTED.predictions[0], PREDICTED.predictions[0]] }));
  const asked = { sampleCount: 2, aspectRatio: '9:16', sampleImageSize: '2K', personGeneration: 'allow_adult' };
  const response = await predict(caller, 'imagen', asked);
  expect(await response.json()).toEqual({ predictions: [PREDICTED.predictions[0], PREDICTED.predictions[0]] });
  expect(upstream.requests.at(-1)?.path).toEndWith('/models/imagen-4:predict');
  expect(sent()).toEqual({
    instances: [{ prompt: 'a dot' }],
    parameters: { sampleCount: 2, aspectRatio: '9:16', sampleImageSize: '2K' },
  });
  await expectMoney(world, caller, [{ endpoint: 'images', units: { images: 2 }, cost: '0.08' }]);
});

test('predict reaches OpenAI’s models with the nearest size, and a retry of the sandbox gets the same image', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ created: 1, data: [{ b64_json: PNG }] }));
  const asked = { aspectRatio: '16:9', outputOptions: { mimeType: 'image/jpeg' } };
  expect(await (await predict(caller, 'gpt-image', asked)).json()).toEqual(PREDICTED);
  expect(sent()).toEqual({ model: 'gpt-image-2', prompt: 'a dot', n: 1, size: '1536x1024', output_format: 'jpeg' });
  const drawn = (await (await predict(caller, 'sandbox-image')).json()) as typeof PREDICTED;
  expect(Buffer.from(drawn.predictions[0]?.bytesBase64Encoded ?? '', 'base64').toString('latin1')).toStartWith(
    '\x89PNG',
  );
  await expectMoney(world, caller, [{ cost: '0.01' }, { cost: '0.04' }]);
});

const GENERATED = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Here' }, picture] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 1_290 },
};
const COST = String((12 * 2 + 1_290 * 120) / 1e6);

test('generateContent that asks for images reaches Gemini’s image models, with its ratio and its images', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(GENERATED));
  const contents = [
    { role: 'user', parts: [text('a dot')] },
    { role: 'model', parts: [{ text: 'thinking', thought: true }, picture] },
    { role: 'user', parts: [text('in blue')] },
  ];
  const response = await draw(caller, 'gemini-image', { contents }, { imageConfig: { aspectRatio: '4:5' } });
  expect(await response.json()).toMatchObject({
    candidates: [{ content: { role: 'model', parts: [picture] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 1_290, totalTokenCount: 1_302 },
    modelVersion: 'gemini-image',
  });
  expect(sent()).toEqual({
    contents: [{ role: 'user', parts: [picture, text('a dot\n\nin blue')] }],
    generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '4:5' } },
  });
  await expectMoney(world, caller, [
    { endpoint: 'images', units: { images: 1, output_image_tokens: 1_290 }, input_tokens: 12, cost: COST },
  ]);
});

test('it reaches OpenAI’s models, too, as an image or as an edit', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ created: 1, data: [{ b64_json: PNG }] }));
  expect((await draw(caller, 'gpt-image', { systemInstruction: { parts: [text('Be brief')] } })).status).toBe(200);
  expect(sent()).toEqual({ model: 'gpt-image-2', prompt: 'Be brief\n\na dot', n: 1 });
  expect((await draw(caller, 'gpt-image', { contents: [{ parts: [picture, text('in blue')] }] })).status).toBe(200);
  expect(upstream.requests.at(-1)?.path).toBe('/v1/images/edits');
  const { bytes, headers } = upstream.requests.at(-1) ?? {};
  const form = await new Response(new Uint8Array(bytes ?? []), { headers: headers ?? {} }).formData();
  expect([...form.keys()]).toEqual(['model', 'prompt', 'n', 'image']);
  await expectMoney(world, caller, [{ cost: '0.04' }, { cost: '0.04' }]);
});

test.each<[string, string, string]>([
  ['1K', '1:1', '1024x1024'],
  ['1K', '16:9', '1536x1024'],
  ['2K', '9:16', '2048x3072'],
])(
  'a size of %s with the ratio %s reaches Gemini as it is, and other kinds as %s',
  async (imageSize, aspectRatio, size) => {
    const caller = await world.makeKey();
    const shape = { imageConfig: { imageSize, aspectRatio } };
    upstream.play(answers(GENERATED));
    expect((await draw(caller, 'gemini-image', {}, shape)).status).toBe(200);
    expect(sent()).toMatchObject({ generationConfig: shape });
    upstream.play(answers({ created: 1, data: [{ b64_json: PNG }] }));
    expect((await draw(caller, 'gpt-image', {}, shape)).status).toBe(200);
    expect(sent()).toMatchObject({ size });
    const drawn = (await (await draw(caller, 'sandbox-image', {}, shape)).json()) as {
      candidates: [{ content: { parts: [{ inlineData: { data: string } }] } }];
    };
    const png = Buffer.from(drawn.candidates[0].content.parts[0].inlineData.data, 'base64');
    expect(`${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`).toBe(size);
  },
);

test('the tokens of an image of Gemini are billed as they are reported, whatever quality was asked for', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(GENERATED));
  const response = await fetch(`${world.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.secret}`, 'content-type': 'application/json' },
    body: json({ model: 'gemini-image', prompt: 'a dot', size: '1024x1024', quality: 'low' }),
  });
  expect(response.status).toBe(200);
  await expectMoney(world, caller, [{ units: { images: 1, output_image_tokens: 1_290 }, cost: COST }]);
});

test('predict takes an instance that is alone, as Open WebUI sends it', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(PREDICTED));
  const instances = { prompt: 'a dot' };
  const parameters = { sampleCount: 1, outputOptions: { mimeType: 'image/png' } };
  expect((await post(caller, 'imagen:predict', { instances, parameters })).status).toBe(200);
  expect(sent()).toMatchObject({ instances: [instances], parameters: { sampleCount: 1 } });
});

test.each<[string, string, (text: string) => unknown]>([
  ['events', '?alt=sse', (body) => JSON.parse(body.replace(/^data: /, ''))],
  ['a list', '', (body) => (JSON.parse(body) as unknown[])[0]],
])('a stream has one piece, as %s', async (_, query, read) => {
  const caller = await world.makeKey();
  upstream.play(answers(GENERATED));
  const body = { contents: [{ parts: [text('a dot')] }], generationConfig: { response_modalities: ['image'] } };
  const response = await post(caller, `gemini-image:streamGenerateContent${query}`, body);
  expect(read(await response.text())).toMatchObject({ candidates: [{ content: { parts: [picture] } }] });
  await expectMoney(world, caller, [{ units: { images: 1, output_image_tokens: 1_290 }, cost: COST }]);
});

test.each<[string, (caller: Caller) => Promise<Response>]>([
  ['instances', (caller) => post(caller, 'imagen:predict', { instances: [] })],
  ['instances.0.prompt', (caller) => predict(caller, 'imagen', {}, { prompt: '' })],
  ['instances.0.image', (caller) => predict(caller, 'imagen', {}, { image: {} })],
  ['parameters.sampleCount', (caller) => predict(caller, 'imagen', { sampleCount: 11 })],
  ['parameters.aspectRatio', (caller) => predict(caller, 'imagen', { aspectRatio: 'wide' })],
  ['parameters.sampleImageSize', (caller) => predict(caller, 'imagen', { sampleImageSize: 'big' })],
  [
    'generationConfig.imageConfig.imageSize',
    (caller) => draw(caller, 'imagen', {}, { imageConfig: { imageSize: 'big' } }),
  ],
  ['contents', (caller) => draw(caller, 'imagen', { contents: [{ parts: [picture] }] })],
  [
    'contents.0.parts.0.inlineData.mimeType',
    (caller) =>
      draw(caller, 'imagen', { contents: [{ parts: [{ inlineData: { mimeType: 'audio/wav', data: 'AA==' } }] }] }),
  ],
  [
    'contents.0.parts.0.functionCall',
    (caller) => draw(caller, 'imagen', { contents: [{ role: 'model', parts: [{ functionCall: { name: 'f' } }] }] }),
  ],
  ['tools', (caller) => draw(caller, 'imagen', { tools: [{ functionDeclarations: [{ name: 'f' }] }] })],
])('%s is refused by its name', async (path, ask) => {
  const caller = await world.makeKey();
  await expectError(generateContent, await ask(caller), 'invalid_request', path);
  await expectNoTrace(world, caller);
});

test('a ratio that the model does not have, and an edit by Imagen, are refused', async () => {
  const caller = await world.makeKey();
  await expectError(
    generateContent,
    await predict(caller, 'imagen', { aspectRatio: '7:1' }),
    'upstream_rejected',
    'aspectRatio',
  );
  const edit = await draw(caller, 'imagen', { contents: [{ parts: [picture, text('in blue')] }] });
  await expectError(generateContent, edit, 'upstream_rejected', 'image');
  await expectMoney(world, caller, [{ cost: '0' }, { cost: '0' }]);
});

test('a model for messages makes no images', async () => {
  const caller = await world.makeKey();
  await expectError(generateContent, await draw(caller, 'plain'), 'model_not_found', 'model');
  await expectNoTrace(world, caller);
});
