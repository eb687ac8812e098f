// Images of models that make them, for clients of Messages, and of generateContent that does not ask for images.

import { afterAll, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { generateContent } from '../fronts/drivers/generate-content.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Caller, expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const answers =
  (value: unknown): Script =>
  (answer) =>
    answer.send(200, { 'content-type': 'application/json' }, JSON.stringify(value));
const upstream = await startScriptedUpstream(answers({}));
const of = (kind: string) => ({ kind, base_url: upstream.url, api_key: 'k', private_network: true });
const image = (provider: string, model: string, price: Json) => ({
  serves: 'images',
  price,
  routes: [{ provider, model }],
});
const world = await sharedWorld({
  providers: { google: of('gemini'), open: of('openai') },
  models: {
    'gemini-image': image('google', 'gemini-3-pro-image', { input: '2', output: '12', units: { image_output: '120' } }),
    'gpt-image': image('open', 'gpt-image-2', { units: { per_image: '0.04' } }),
  },
  groups: { texts: { models: ['plain'] } },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

const clientOf = ({ secret }: Caller) => new Anthropic({ baseURL: world.url, apiKey: secret, maxRetries: 0 });
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } } as const;
const drawn = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
const asked = (model: string, content: Anthropic.MessageParam['content'] = 'a dot') => ({
  model,
  max_tokens: 100,
  system: 'Be brief',
  messages: [{ role: 'user' as const, content }],
});
const sent = (): Json => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
const GENERATED = {
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'Here' }, { inlineData: { mimeType: 'image/png', data: PNG } }] },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 1_290 },
};
const BILLED = {
  endpoint: 'images',
  units: { images: 1, output_image_tokens: 1_290 },
  input_tokens: 12,
  cost: String((12 * 2 + 1_290 * 120) / 1e6),
};

test('a message to a model that makes images is answered by an image, and billed as one', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(GENERATED));
  const message = await clientOf(caller).messages.create(asked('gemini-image'));
  expect(message as unknown as Json).toMatchObject({
    type: 'message',
    role: 'assistant',
    model: 'gemini-image',
    content: [drawn],
    stop_reason: 'end_turn',
    usage: { input_tokens: 12, output_tokens: 1_290 },
  });
  expect(sent()).toMatchObject({ contents: [{ role: 'user', parts: [{ text: 'Be brief\n\na dot' }] }] });
  await expectMoney(world, caller, [BILLED]);
});

test('a stream of the official client has the image in one piece', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(GENERATED));
  const stream = clientOf(caller).messages.stream(asked('gemini-image'));
  const types: string[] = [];
  stream.on('streamEvent', ({ type }) => types.push(type));
  const message = await stream.finalMessage();
  expect(message.content as unknown[]).toEqual([drawn]);
  expect(message.usage.output_tokens).toBe(1_290);
  expect(types).toEqual([
    'message_start',
    'content_block_start',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  await expectMoney(world, caller, [BILLED]);
});

test('images of all turns are edited, by any kind of provider', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ created: 1, data: [{ b64_json: PNG }] }));
  const message = await clientOf(caller).messages.create({
    ...asked('gpt-image'),
    messages: [
      { role: 'user', content: 'a dot' },
      { role: 'assistant', content: [picture as unknown as Anthropic.TextBlockParam] },
      { role: 'user', content: [picture, { type: 'text', text: 'in blue' }] },
    ],
  });
  expect(message.content as unknown[]).toEqual([drawn]);
  const { bytes, headers, path } = upstream.requests.at(-1) ?? {};
  expect(path).toBe('/v1/images/edits');
  const form = await new Response(new Uint8Array(bytes ?? []), { headers: headers ?? {} }).formData();
  expect([...form.keys()]).toEqual(['model', 'prompt', 'n', 'image[]', 'image[]']);
  expect(form.get('prompt')).toBe('Be brief\n\na dot\n\nin blue');
  await expectMoney(world, caller, [{ endpoint: 'images', units: { images: 1 }, cost: '0.04' }]);
});

test('a retry with the idempotency key gets the same image of the sandbox, and is charged once', async () => {
  const caller = await world.makeKey();
  const send = () =>
    clientOf(caller).messages.create(asked('sandbox-image'), { headers: { 'idempotency-key': 'once' } });
  const first = await send();
  expect(first.content).toHaveLength(1);
  expect(await send()).toEqual(first);
  await expectMoney(world, caller, [{ endpoint: 'images', cost: '0.01' }]);
});

test('generateContent needs no modalities for a model that makes images', async () => {
  const caller = await world.makeKey();
  const post = (method: string, body: Json) =>
    fetch(`${world.url}/v1beta/models/gemini-image:${method}`, {
      method: 'POST',
      headers: { 'x-goog-api-key': caller.secret, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const contents = [{ parts: [{ text: 'a dot' }] }];
  const part = { inlineData: { mimeType: 'image/png', data: PNG } };
  upstream.play(answers(GENERATED));
  expect(await (await post('generateContent', { contents })).json()).toMatchObject({
    candidates: [{ content: { parts: [part] } }],
  });
  upstream.play(answers(GENERATED));
  const stream = await (await post('streamGenerateContent?alt=sse', { contents })).text();
  expect(JSON.parse(stream.replace(/^data: /, ''))).toMatchObject({ candidates: [{ content: { parts: [part] } }] });
  upstream.play(answers(GENERATED));
  await post('generateContent', { contents, generationConfig: { imageConfig: { aspectRatio: '4:5' } } });
  expect(sent()['generationConfig']).toEqual({ responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '4:5' } });
  await expectMoney(world, caller, [BILLED, BILLED, BILLED]);
  const called = [{ role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] }];
  await expectError(
    generateContent,
    await post('generateContent', { contents: called }),
    'invalid_request',
    'contents',
  );
});

const refused: [string, Json][] = [
  ['tools', { tools: [{ name: 'f', input_schema: { type: 'object' } }] }],
  ['messages', { messages: [{ role: 'user', content: [picture] }], system: undefined }],
  [
    'messages.0.content.0.type',
    { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] }] },
  ],
  [
    'messages.0.content.0.source',
    { messages: [{ role: 'user', content: [{ ...picture, source: { type: 'other' } }] }] },
  ],
];
test.each(refused)('%s is refused by its name', async (path, members) => {
  const caller = await world.makeKey();
  const sending = clientOf(caller).messages.create({
    ...asked('gpt-image'),
    ...members,
  } as Anthropic.MessageCreateParamsNonStreaming);
  const failure = (await sending.catch((thrown: unknown) => thrown)) as InstanceType<typeof Anthropic.APIError>;
  expect([failure.status, failure.message]).toEqual([400, expect.stringContaining(`${path}:`)]);
  await expectNoTrace(world, caller);
});

test('a key that may not use the model is not told that it exists', async () => {
  const caller = await world.makeKey({ groups: ['texts'] });
  const errorOf = async (model: string) => {
    const sending = clientOf(caller).messages.create({
      ...asked(model),
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    });
    const failure = (await sending.catch((thrown: unknown) => thrown)) as InstanceType<typeof Anthropic.APIError>;
    return [failure.status, failure.message.replaceAll(model, 'M').replace(/req_\w+/g, '')];
  };
  expect(await errorOf('gpt-image')).toEqual(await errorOf('never-there'));
  await expectNoTrace(world, caller);
});
