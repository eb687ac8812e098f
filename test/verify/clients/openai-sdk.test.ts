// The official OpenAI SDK against the service, unmodified except for base URL and key: answers, streams, tools,
// schemas, errors and models.

import { afterAll, expect, test } from 'bun:test';
import { crc32, inflateSync } from 'node:zlib';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { z } from 'zod';
import { expectMoney, GOOD, type Json, sharedWorld } from '../../contract/post-messages/world.ts';
import { costOf, countText } from '../../support/count-text.ts';
import {
  eventText,
  type Script,
  scripts,
  startScriptedUpstream,
  UPSTREAM_USAGE,
  upstreamMessage,
} from '../../support/scripted-upstream.ts';

const speaker = await startScriptedUpstream(scripts.json('{}'));
const world = await sharedWorld({
  providers: {
    speaker: { kind: 'openai', base_url: speaker.url, api_key: 'k', private_network: true },
    compactor: { kind: 'openai-responses', base_url: speaker.url, api_key: 'k', private_network: true },
  },
  models: {
    'gpt-6-sol': { price: { input: '2', output: '10' }, max_output_tokens: 1_000, routes: [{ provider: 'compactor' }] },
    'gpt-audio': {
      price: { input: '2.5', output: '10', units: { audio_input: '32', audio_output: '64' } },
      routes: [{ provider: 'speaker' }],
    },
  },
});
afterAll(async () => {
  await world.stop();
  await speaker.close();
});

const clientOf = (apiKey: string, maxRetries = 0) => new OpenAI({ apiKey, baseURL: `${world.url}/v1`, maxRetries });
const hello: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Good morning!' }];
const weather: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
/** Returns the rejection of an SDK promise, which sends only when awaited; null if it succeeds. */
const failureOf = (promise: PromiseLike<unknown>) =>
  promise.then(
    () => null,
    (failure) => failure,
  );
const tokens = (text: string) => Math.ceil(Buffer.byteLength(text) / 4);
const sent = () => JSON.parse(world.upstream.requests.at(-1)?.body ?? '{}') as Json & { messages: Json[] };

/** Answers with these blocks of content, streamed where that is asked for. */
function saying(content: Json[], stop_reason = 'end_turn'): Script {
  const message = { ...upstreamMessage(), content, stop_reason };
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: { ...block, ...startOf(block) } },
      ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null },
      usage: { ...UPSTREAM_USAGE, output_tokens: 12 },
    },
    { type: 'message_stop' },
  ];
  return (answer, request) =>
    JSON.parse(request.body).stream === true
      ? scripts.rawStream(events.map((event) => eventText(event)).join(''))(answer, request)
      : scripts.json(JSON.stringify(message))(answer, request);
}

function startOf({ type }: Json): Json {
  if (type === 'text') return { text: '' };
  return type === 'thinking' ? { thinking: '', signature: '' } : { input: {} };
}

function deltasOf(block: Json): Json[] {
  if (block['type'] === 'text') return [{ type: 'text_delta', text: block['text'] }];
  if (block['type'] === 'thinking')
    return [
      { type: 'thinking_delta', thinking: block['thinking'] },
      { type: 'signature_delta', signature: block['signature'] },
    ];
  const json = JSON.stringify(block['input']);
  return [json.slice(0, 4), json.slice(4)].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
}

const asks = (...cities: string[]): Script =>
  saying(
    [
      { type: 'thinking', thinking: 'I need the weather.', signature: 'c2lnbmVk' },
      ...cities.map((city, index) => ({
        type: 'tool_use',
        id: `toolu_${index}`,
        name: 'get_weather',
        input: { city },
      })),
    ],
    'tool_use',
  );

test('reads an answer with its text, usage, finish reason and request id', async () => {
  const { secret } = await world.makeKey();
  const said = 'ünïcödé ✓';
  const completion = await clientOf(secret).chat.completions.create({
    model: 'sandbox-echo',
    messages: [{ role: 'user', content: said }],
  });
  expect(completion).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { role: 'assistant', content: said }, finish_reason: 'stop' }],
    usage: { prompt_tokens: tokens(said), completion_tokens: tokens(said) },
  });
  expect(await world.admin('GET', `/usage/${completion._request_id}`)).toMatchObject({ outcome: 'completed' });
});

test('reads a stream with its usage, and one that was cut by max_tokens', async () => {
  const { secret } = await world.makeKey();
  const stream = await clientOf(secret).chat.completions.create({
    model: 'sandbox-lorem',
    messages: hello,
    max_completion_tokens: 20,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let finish: string | null = null;
  let usage: unknown;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage;
  }
  expect({ finish, tokens: tokens(text) }).toEqual({ finish: 'length', tokens: 20 });
  expect(usage).toMatchObject({ completion_tokens: 20 });
});

test('shows images and a PDF', async () => {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  await clientOf(secret).chat.completions.create({
    model: 'plain',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Which?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://example.org/a.png', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
        ],
      },
    ],
  });
  expect(sent().messages[0]?.['content']).toMatchObject([
    { type: 'text' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf' } },
  ]);
});

test('completes a tool loop with its own runner, in parallel', async () => {
  const caller = await world.makeKey();
  for (const stream of [false, true]) {
    world.upstream.play(asks('Köln', 'Bonn'), saying([{ type: 'text', text: 'Rain in both.' }]));
    const asked: string[] = [];
    const callback = async ({ city }: { city: string }) => {
      asked.push(city);
      return `rain in ${city}`;
    };
    const runnable = { ...weather, function: { ...weather.function, parse: JSON.parse, function: callback } };
    const request = { model: 'plain', messages: hello, max_tokens: 64, tools: [runnable] };
    const completions = clientOf(caller.secret).chat.completions;
    const runner = stream
      ? completions.runTools({ ...request, stream: true } as never)
      : completions.runTools(request as never);
    expect(await runner.finalContent()).toBe('Rain in both.');
    expect(asked).toEqual(['Köln', 'Bonn']);
    expect(sent().messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'toolu_0', name: 'get_weather', input: { city: 'Köln' } },
          { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Bonn' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_0', content: 'rain in Köln' },
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'rain in Bonn' },
        ],
      },
    ]);
  }
  await expectMoney(world, caller, Array(4).fill({ ...GOOD, outcome: 'completed' }));
});

test('sends signed thinking back if its message is sent back unchanged', async () => {
  const { secret } = await world.makeKey();
  const { completions } = clientOf(secret).chat;
  const request = { model: 'plain', messages: hello, tools: [weather] };
  for (const ask of [
    () => completions.create(request),
    () => completions.stream(request).finalChatCompletion(), // of `reasoning_details` its helper keeps what came last
  ]) {
    world.upstream.play(asks('Köln'));
    const message = (await ask()).choices[0]?.message as ChatCompletionMessageParam;
    world.upstream.play(scripts.good());
    const result: ChatCompletionMessageParam = { role: 'tool', tool_call_id: 'toolu_0', content: 'rain' };
    await completions.create({ ...request, messages: [...hello, message, result] });
    expect(sent().messages[1]?.['content']).toEqual([
      { type: 'thinking', thinking: 'I need the weather.', signature: 'c2lnbmVk' },
      { type: 'tool_use', id: 'toolu_0', name: 'get_weather', input: { city: 'Köln' } },
    ]);
  }
});

test('accumulates a stream with its own helper', async () => {
  world.upstream.play(asks('Köln'));
  const { secret } = await world.makeKey();
  const stream = clientOf(secret).chat.completions.stream({ model: 'plain', messages: hello, tools: [weather] });
  const pieces: string[] = [];
  stream.on('tool_calls.function.arguments.delta', ({ arguments_delta }) => pieces.push(arguments_delta));
  const completion = await stream.finalChatCompletion();
  expect(completion.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ id: 'toolu_0', function: { name: 'get_weather', arguments: '{"city":"Köln"}' } }] },
  });
  expect(pieces.join('')).toBe('{"city":"Köln"}');
});

test('parses an answer by a schema, whole and streamed', async () => {
  const Place = z.object({ city: z.string(), days: z.number() });
  world.upstream.play(saying([{ type: 'text', text: '{"city":"Köln","days":3}' }]));
  const { secret } = await world.makeKey();
  const request = { model: 'plain', messages: hello, response_format: zodResponseFormat(Place, 'place') };
  const whole = await clientOf(secret).chat.completions.parse(request);
  expect(whole.choices[0]?.message.parsed).toEqual({ city: 'Köln', days: 3 });
  expect(sent()['output_config']).toMatchObject({
    format: {
      type: 'json_schema',
      schema: { type: 'object', required: ['city', 'days'], additionalProperties: false },
    },
  });
  const streamed = await clientOf(secret).chat.completions.stream(request).finalChatCompletion();
  expect(streamed.choices[0]?.message.parsed).toEqual({ city: 'Köln', days: 3 });
});

test('throws the error of its class, with type, code, field and request id', async () => {
  const { secret } = await world.makeKey();
  const ask = (apiKey: string, model: string, more: object = {}) =>
    failureOf(clientOf(apiKey).chat.completions.create({ model, messages: hello, ...more }));
  const unknown = await ask('sk-tp-wrong', 'plain');
  expect(unknown).toBeInstanceOf(OpenAI.AuthenticationError);
  expect(unknown).toMatchObject({ code: 'key_invalid', type: 'authentication_error' });
  expect(unknown.requestID).toMatch(/^req_\w+$/);
  const none = await ask(secret, 'none');
  expect(none).toBeInstanceOf(OpenAI.BadRequestError);
  expect(none).toMatchObject({ code: 'model_not_found', param: 'model' });
  expect(await ask(secret, 'plain', { n: 2 })).toMatchObject({ status: 400, param: 'n' });
  expect(await ask(secret, 'sandbox-error-429')).toBeInstanceOf(OpenAI.RateLimitError);
  expect(await ask(secret, 'sandbox-error-500')).toBeInstanceOf(OpenAI.InternalServerError);
  const file = { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] };
  expect(await ask(secret, 'plain', { messages: [file] })).toMatchObject({ code: 'feature_unavailable' });
});

test('retries only what may succeed later', async () => {
  const caller = await world.makeKey();
  world.upstream.play(scripts.overloaded(), scripts.good());
  const completion = await clientOf(caller.secret, 2).chat.completions.create({ model: 'plain', messages: hello });
  expect(completion.choices[0]?.message.content).toBe('Hello there, world!');
  world.upstream.play(scripts.unauthorized());
  const before = world.upstream.requests.length;
  const pending = clientOf(caller.secret, 2).chat.completions.create({ model: 'plain', messages: hello });
  expect(await failureOf(pending)).toMatchObject({ status: 502, code: 'upstream_credentials' });
  expect(world.upstream.requests.length).toBe(before + 1);
});

test('throws if a stream breaks off', async () => {
  const { secret } = await world.makeKey();
  const stream = await clientOf(secret).chat.completions.create({
    model: 'sandbox-cut',
    messages: hello,
    stream: true,
  });
  const read = async () => {
    for await (const _chunk of stream);
  };
  await expect(read()).rejects.toMatchObject({ code: 'upstream_failed' });
});

test('can abort a stream, and pays for what it received', async () => {
  const caller = await world.makeKey();
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(scripts.hangMidStream({ text: 'x'.repeat(400), pieces: 10 }));
  const stream = await clientOf(caller.secret).chat.completions.create({
    model: 'plain',
    messages: hello,
    max_tokens: 1_000,
    stream: true,
  });
  let count = 0;
  for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? '') !== '' && ++count === 5) break;
  await world.upstream.aborted(abortedBefore + 1);
  const tokens = countText('x'.repeat(200));
  await expectMoney(world, caller, [
    { outcome: 'client_gone', output_tokens: tokens, cost: costOf(25, 3, tokens, 15) },
  ]);
});

test('lists and finds the models of its key', async () => {
  const { secret } = await world.makeKey({}, { models: ['plain', 'sandbox-*'] });
  const client = clientOf(secret);
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  expect(ids).toContain('plain');
  expect(ids).not.toContain('paired');
  expect(new Set(ids).size).toBe(ids.length);
  const found = await client.models.retrieve('plain');
  expect(found).toMatchObject({ id: 'plain', object: 'model', owned_by: 'turnpike', created: expect.any(Number) });
  expect(found._request_id).toMatch(/^req_\w+$/);
  expect(await failureOf(client.models.retrieve('paired'))).toBeInstanceOf(OpenAI.NotFoundError);
});

test('a text is completed by the older endpoint, streamed or not', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const { completions } = clientOf(caller.secret);
  const asked = { model: 'plain', prompt: 'def f(n):', suffix: 'f(7)', max_tokens: 64, stop: '\n\n' } as const;
  const completion = await completions.create(asked);
  expect(completion).toMatchObject({
    object: 'text_completion',
    choices: [{ text: 'Hello there, world!', finish_reason: 'stop' }],
    usage: { prompt_tokens: 25, completion_tokens: 12, total_tokens: 37 },
  });
  let text = '';
  let reason: string | null = null;
  for await (const chunk of await completions.create({ ...asked, stream: true })) {
    text += chunk.choices[0]?.text ?? '';
    reason = chunk.choices[0]?.finish_reason ?? reason;
  }
  expect({ text, reason }).toEqual({ text: 'Hello there, world!', reason: 'stop' });
  await expectMoney(world, caller, [GOOD, GOOD]);
  const refused = await failureOf(completions.create({ ...asked, logprobs: 5 }));
  expect(refused).toMatchObject({ status: 400, param: 'logprobs', code: 'invalid_request' });
});

test('draws an image, whole and in a stream, that a decoder reads', async () => {
  const caller = await world.makeKey();
  const { images } = clientOf(caller.secret);
  const asked = { model: 'sandbox-image', prompt: 'a cat', size: '300x200' as '1024x1024' };
  const { data = [] } = await images.generate({ ...asked, n: 2 });
  expect(data).toHaveLength(2);
  const events = await Array.fromAsync(await images.generate({ ...asked, stream: true, partial_images: 1 }));
  expect(events.map(({ type }) => type)).toEqual(['image_generation.completed']);
  const [last] = events;
  expect(last?.b64_json).toBe(data[0]?.b64_json);
  expect(pixelsOf(Buffer.from(data[1]?.b64_json ?? '', 'base64'))).toEqual({
    width: 300,
    height: 200,
    bytes: 301 * 200,
  });
  await expectMoney(world, caller, [
    { endpoint: 'images', cost: '0.01' },
    { cost: '0.02', units: { images: 2 } },
  ]);
});

/** The size of a PNG file of one byte for each pixel, and the bytes of its rows. Throws unless its checks are right. */
function pixelsOf(file: Buffer): { width: number; height: number; bytes: number } {
  const rows: Buffer[] = [];
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') rows.push(file.subarray(at + 8, at + 8 + length));
    expect(file.readUInt32BE(at + 8 + length)).toBe(crc32(file.subarray(at + 4, at + 8 + length)));
    at += length + 12;
  }
  const bytes = inflateSync(Buffer.concat(rows)).length;
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20), bytes };
}

test('edits images, whole and in a stream', async () => {
  const caller = await world.makeKey();
  const { images } = clientOf(caller.secret);
  const fileOf = (text: string) => new File([text], `${text}.png`, { type: 'image/png' });
  const asked = { model: 'sandbox-image', prompt: 'in blue', size: '64x64' as '256x256' };
  const { data = [] } = await images.edit({ ...asked, image: [fileOf('a'), fileOf('b')], mask: fileOf('m') });
  expect(pixelsOf(Buffer.from(data[0]?.b64_json ?? '', 'base64'))).toMatchObject({ width: 64, height: 64 });
  const events = await Array.fromAsync(await images.edit({ ...asked, image: fileOf('a'), stream: true }));
  expect(events.map(({ type }) => type)).toEqual(['image_edit.completed']);
  await expectMoney(world, caller, [{ cost: '0.01' }, { endpoint: 'images', cost: '0.01' }]);
});

test('speaks, whole and in events', async () => {
  const caller = await world.makeKey();
  const { speech } = clientOf(caller.secret).audio;
  const asked = { model: 'sandbox-speech', voice: 'alloy', input: 'Good morning!', response_format: 'wav' } as const;
  const whole = Buffer.from(await (await speech.create(asked)).arrayBuffer());
  expect({ head: whole.toString('latin1', 0, 4), rate: whole.readUInt32LE(24) }).toEqual({
    head: 'RIFF',
    rate: 16_000,
  });
  expect(whole.readUInt32LE(40)).toBe(whole.length - 44);
  const streamed = await (await speech.create({ ...asked, stream_format: 'sse' })).text();
  const events = streamed.split('\n\n').filter((event) => event !== '');
  const sound = events.map((event) => (JSON.parse(event.slice('data: '.length)) as { audio?: string }).audio ?? '');
  expect(Buffer.concat(sound.map((part) => Buffer.from(part, 'base64')))).toEqual(whole);
  const record = { endpoint: 'speech', units: { characters: 13 }, cost: '0.000195' };
  await expectMoney(world, caller, [record, record]);
});

test('sends sound in a conversation, and gets a spoken answer, whole and in a stream', async () => {
  const caller = await world.makeKey();
  const { completions } = clientOf(caller.secret).chat;
  const audio = { id: 'audio_1', data: 'AAEC', transcript: 'Good morning!', expires_at: 4_000_000_000 };
  const usage = {
    prompt_tokens: 45,
    completion_tokens: 60,
    total_tokens: 105,
    prompt_tokens_details: { audio_tokens: 30 },
    completion_tokens_details: { audio_tokens: 48 },
  };
  const head = { id: 'chatcmpl-1', model: 'gpt-audio', created: 1 };
  const message = { role: 'assistant', content: null, refusal: null, audio };
  const whole = { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
  const piece = (delta: Json, finish_reason: string | null = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const chunks = [piece({ role: 'assistant', audio }), piece({}, 'stop'), { ...piece({}), choices: [], usage }];
  const sound = await clientOf(caller.secret).audio.speech.create({ ...spoken, response_format: 'wav' });
  const data = Buffer.from(await sound.arrayBuffer()).toString('base64');
  const asked = {
    model: 'gpt-audio',
    max_completion_tokens: 100,
    messages: [
      {
        role: 'user' as const,
        content: [{ type: 'input_audio' as const, input_audio: { data, format: 'wav' as const } }],
      },
    ],
    modalities: ['text' as const, 'audio' as const],
  };
  speaker.play(scripts.json(JSON.stringify(whole)));
  const answer = await completions.create({ ...asked, audio: { voice: 'alloy', format: 'mp3' } });
  const said = answer.choices[0]?.message as OpenAI.ChatCompletionMessage;
  const sealed = { ...audio, id: expect.stringMatching(/^audio_v1\./) as unknown as string };
  expect(said.audio).toEqual(sealed);
  expect(answer.usage).toMatchObject(usage);
  speaker.play(
    scripts.rawStream(`${chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`),
  );
  const stream = await completions.create({ ...asked, stream: true, audio: { voice: 'alloy', format: 'pcm16' } });
  const deltas = (await Array.fromAsync(stream)).map(({ choices: [choice] }) => choice?.delta as Json | undefined);
  const { id: _, ...pieces } = audio;
  expect(deltas.flatMap((delta) => delta?.['audio'] ?? [])).toEqual([pieces, { id: sealed.id }]);
  const sent = () => JSON.parse(speaker.requests.at(-1)?.body ?? '{}') as Json;
  expect(sent()).toMatchObject({ messages: asked.messages });
  speaker.play(scripts.json(JSON.stringify(whole)));
  const next = { role: 'user' as const, content: 'And now?' };
  const terms = { ...asked, audio: { voice: 'alloy', format: 'mp3' as const } };
  await completions.create({
    ...terms,
    messages: [next, { role: 'assistant', audio: { id: said.audio?.id ?? '' } }, next],
  });
  await completions.create({ ...terms, messages: [next, said, next] });
  expect(sent()).toMatchObject({ messages: [next, { role: 'assistant', audio: { id: 'audio_1' } }, next] });
  const record = {
    units: { input_audio_tokens: 30, output_audio_tokens: 48 },
    cost: String((15 * 2.5 + 30 * 32 + 12 * 10 + 48 * 64) / 1e6),
  };
  await expectMoney(world, caller, [record, record, record, record, { endpoint: 'speech' }]);
});

test('compacts a conversation, and edits an image that it sends in JSON', async () => {
  const caller = await world.makeKey();
  const client = clientOf(caller.secret);
  const output = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'c2VhbGVk' }];
  const usage = { input_tokens: 12, output_tokens: 5, total_tokens: 17 };
  speaker.play(scripts.json(JSON.stringify({ id: 'resp_1', object: 'response.compaction', output, usage })));
  const compacted = await client.responses.compact({ model: 'gpt-6-sol', input: 'Good morning!' });
  expect(compacted.output).toEqual(output as typeof compacted.output);
  const pixel = { image_url: `data:image/png;base64,${Buffer.from('picture').toString('base64')}` };
  const edited = await client.post<{ data: { b64_json: string }[] }>('/images/edits', {
    body: { model: 'sandbox-image', prompt: 'in blue', size: '64x64', images: [pixel] },
  });
  expect(Buffer.from(edited.data[0]?.b64_json ?? '', 'base64').toString('latin1')).toStartWith('\x89PNG');
  await expectMoney(world, caller, [{ endpoint: 'images' }, { cost: String((12 * 2 + 5 * 10) / 1e6) }]);
});

const spoken = { model: 'sandbox-speech', voice: 'alloy', input: 'Good morning!' } as const;

test('transcribes and translates, in every format and in events', async () => {
  const caller = await world.makeKey();
  const { transcriptions, translations, speech } = clientOf(caller.secret).audio;
  const spoken = await speech.create({ model: 'sandbox-speech', voice: 'alloy', input: 'Good morning!' });
  const sound = Buffer.from(await spoken.arrayBuffer()); // 13 characters of 60 ms each
  const asked = () => ({ model: 'sandbox-transcription', file: new File([sound], 'morning.wav') });
  const { text } = await transcriptions.create(asked());
  expect(text).toStartWith('The sandbox heard 1 second of sound');
  expect(await transcriptions.create({ ...asked(), response_format: 'text' })).toBe(`${text}\n`);
  expect(await transcriptions.create({ ...asked(), response_format: 'srt' })).toContain(
    '00:00:00,000 --> 00:00:01,000',
  );
  const verbose = await transcriptions.create({ ...asked(), response_format: 'verbose_json' });
  expect(verbose).toMatchObject({ text, duration: 1, segments: [{ text }] });
  const events = await Array.fromAsync(await transcriptions.create({ ...asked(), stream: true }));
  expect(events.map(({ type }) => type)).toEqual(['transcript.text.delta', 'transcript.text.done']);
  expect(await translations.create(asked())).toMatchObject({ text });
  const record = { endpoint: 'transcription', units: { seconds: 1 }, cost: '0.0001' };
  await expectMoney(world, caller, [record, record, record, record, record, record, { endpoint: 'speech' }]);
});

test('what is not offered is an error that the SDK reads', async () => {
  const { secret } = await world.makeKey();
  const failure = await failureOf(clientOf(secret).videos.list());
  expect(failure).toMatchObject({ status: 404, code: 'route_not_found', type: 'not_found_error' });
  expect((failure as Error).message).toContain('Video generation is not offered by this server');
});
