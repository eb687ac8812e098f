// Sound in messages: parts of the prompt and spoken answers, what providers are sent, what clients get, and what is held and charged.

import { afterAll, expect, test } from 'bun:test';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { chatCompletions } from '../fronts/drivers/chat-completions.ts';
import { generateContent } from '../fronts/drivers/generate-content.ts';
import { responses } from '../fronts/drivers/responses.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Caller, expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';

/** A WAV file of so many seconds in base64, with a hundred bytes each. */
function wav(seconds: number): string {
  const file = Buffer.alloc(44 + seconds * 100, 0x80);
  file.write('RIFF\0\0\0\0WAVEfmt ', 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(100, 24);
  file.writeUInt32LE(100, 28);
  file.writeUInt16LE(1, 32);
  file.writeUInt16LE(8, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(seconds * 100, 40);
  return file.toString('base64');
}

const json = (value: unknown): string => JSON.stringify(value);
const answers =
  (value: unknown): Script =>
  (answer) =>
    answer.send(200, { 'content-type': 'application/json' }, json(value));
const streams =
  (chunks: readonly unknown[], cut: Promise<void> | null = null): Script =>
  async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) await answer.write(`data: ${json(chunk)}\n\n`);
    await cut;
    if (cut !== null) return answer.drop();
    await answer.write('data: [DONE]\n\n');
    answer.end();
  };

const upstream = await startScriptedUpstream(answers({}));
const own = (kind: string) => ({ kind, base_url: upstream.url, api_key: 'k', private_network: true });
const PRICE = { input: '2.5', output: '10', units: { audio_input: '32', audio_output: '64' } };
const model = (provider: string, price: Json = PRICE, name = 'gpt-audio') => ({
  price,
  max_output_tokens: 1_000,
  routes: [{ provider, model: name }],
});
const world = await sharedWorld({
  providers: { chat: own('openai'), google: own('gemini'), claude: own('anthropic'), answers: own('openai-responses') },
  models: {
    talker: model('chat'),
    'google-talker': model('google', { input: '0.3', output: '2.5', units: { audio_input: '1' } }, 'gemini-2.5-flash'),
    claude: model('claude', PRICE, 'claude-opus-5'),
    'of-responses': model('answers'),
    deaf: model('chat', { input: '2.5', output: '10' }),
    silent: model('chat', { input: '2.5', output: '10', units: { audio_input: '32' } }),
  },
  groups: { halved: { models: ['*'], multiplier: '0.5' } },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

const SOUND = wav(3);
const part = (data = SOUND, format = 'wav'): Json => ({ type: 'input_audio', input_audio: { data, format } });
const HEARD: Json[] = [{ role: 'user', content: [{ type: 'text', text: 'What is said?' }, part()] }];
const ask = ({ secret }: Caller, members: Json = {}, signal?: AbortSignal, headers: Record<string, string> = {}) =>
  fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
    body: json({ model: 'talker', max_completion_tokens: 100, messages: HEARD, ...members }),
    ...(signal !== undefined && { signal }),
  });
const sent = (): Json => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
const chat = (message: Json, usage: Json | null): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-audio-2025',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }],
  ...(usage !== null && { usage }),
});
const usageOf = (prompt: number, heard: number | null, output: number, spoken: number | null = 0): Json => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
  ...(heard !== null && {
    prompt_tokens_details: { cached_tokens: 0, text_tokens: prompt - heard, audio_tokens: heard },
  }),
  ...(spoken !== null && { completion_tokens_details: { text_tokens: output - spoken, audio_tokens: spoken } }),
});
/** An independent receipt, in millionths of a dollar. */
const receipt = (text: number, heard: number, said: number, spoken: number) =>
  String(Number((text * 2.5 + heard * 32 + said * 10 + spoken * 64).toFixed(3)) / 1e6);

test('sound is sent to Chat Completions as it came, and its tokens are billed at their own rate', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(chat({ content: 'Hello' }, usageOf(45, 30, 5))));
  const response = await ask(caller);
  expect(await response.json()).toMatchObject({
    choices: [{ message: { content: 'Hello' } }],
    usage: { prompt_tokens: 45, prompt_tokens_details: { audio_tokens: 30 }, completion_tokens: 5, total_tokens: 50 },
  });
  expect(sent()['messages']).toEqual(HEARD);
  expect(sent()).not.toContainAnyKeys(['modalities', 'audio']);
  const [record] = await expectMoney(world, caller, [
    {
      input_tokens: 15,
      output_tokens: 5,
      units: { input_audio_tokens: 30 },
      usage_source: 'reported',
      cost: receipt(15, 30, 5, 0),
    },
  ]);
  const usage = await fetch(`${world.url}/v1/usage/${record?.['request_id']}`, {
    headers: { authorization: `Bearer ${caller.secret}` },
  });
  expect(await usage.json()).toMatchObject({ units: { input_audio_tokens: 30 }, cost: receipt(15, 30, 5, 0) });
});

/** Three seconds at ten tokens, a quarter more, and the marks. */
const HEARD_MOST = Math.ceil(3 * 10 * 1.25) + 32;

test.each<[string, Json, number, number]>([
  ['no tokens of sound', usageOf(200, null, 5, null), 200, HEARD_MOST],
  ['no tokens of sound in its details', usageOf(200, 0, 5), 200, HEARD_MOST],
  ['fewer tokens than may be of sound, undivided', usageOf(20, null, 5, null), 20, 20],
  ['more tokens of sound than tokens', usageOf(40, 90, 5), 40, 40],
])('a provider that reports %s is billed by the most that may be of sound', async (_, usage, prompt, heard) => {
  const caller = await world.makeKey();
  upstream.play(answers(chat({ content: 'Hello' }, usage)));
  expect((await ask(caller)).status).toBe(200);
  await expectMoney(world, caller, [
    { input_tokens: prompt - heard, units: { input_audio_tokens: heard }, cost: receipt(prompt - heard, heard, 5, 0) },
  ]);
});

test('a message is refused unless its longest sound is payable', async () => {
  const poor = await world.makeKey({ credit: '0.01' });
  const long: Json[] = [{ role: 'user', content: [part(wav(60))] }]; // at least 600 tokens for 32 USD a million
  await expectError(chatCompletions, await ask(poor, { messages: long }), 'insufficient_user_quota');
  await expectNoTrace(world, poor, '0.01');
});

test('a spoken answer is relayed whole, and its tokens of sound are billed at their own rate', async () => {
  const caller = await world.makeKey();
  const audio = { id: 'audio_1', data: 'AAEC', transcript: 'Guten Morgen', expires_at: 1_790_000_000 };
  upstream.play(answers(chat({ audio }, usageOf(45, 30, 60, 48))));
  const spoken = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } };
  const body = (await (await ask(caller, spoken)).json()) as Json;
  expect(body).toMatchObject({
    choices: [
      { message: { role: 'assistant', content: null, audio: { ...audio, id: SEALED } }, finish_reason: 'stop' },
    ],
    usage: { completion_tokens: 60, completion_tokens_details: { audio_tokens: 48 } },
  });
  expect(sent()).toMatchObject(spoken);
  await expectMoney(world, caller, [
    {
      input_tokens: 15,
      output_tokens: 12,
      units: { input_audio_tokens: 30, output_audio_tokens: 48 },
      cost: receipt(15, 30, 12, 48),
    },
  ]);
});

/** The id of a spoken answer (spoken-answers.test.ts). */
const SEALED = expect.stringMatching(/^audio_v1\./) as unknown as string;
const chunk = (delta: Json, finish: string | null = null): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'gpt-audio',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const PCM = Buffer.alloc(9_600).toString('base64'); // four tokens
const SPOKEN_STREAM = { stream: true, modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } };
const PIECES: Json[] = [
  { id: 'audio_1', transcript: 'Guten ' },
  { transcript: 'Morgen' },
  { data: PCM },
  { data: PCM },
  { expires_at: 1_790_000_000 },
];

test('a spoken answer is streamed piece by piece', async () => {
  const caller = await world.makeKey();
  const usage = { ...chunk({}), choices: [], usage: usageOf(45, 30, 14, 8) };
  upstream.play(
    streams([
      chunk({ role: 'assistant', content: null }),
      ...PIECES.map((audio) => chunk({ audio })),
      chunk({}, 'stop'),
      usage,
    ]),
  );
  const text = await (await ask(caller, SPOKEN_STREAM)).text();
  const chunks = text
    .split('\n\n')
    .flatMap((event) => (event.startsWith('data: {') ? [JSON.parse(event.slice(6))] : []));
  expect(chunks.flatMap(({ choices: [choice] }) => choice?.delta.audio ?? [])).toEqual([
    { transcript: 'Guten ' },
    ...PIECES.slice(1),
    { id: SEALED },
  ]);
  expect(sent()).toMatchObject(SPOKEN_STREAM);
  await expectMoney(world, caller, [
    {
      input_tokens: 15,
      output_tokens: 6,
      units: { input_audio_tokens: 30, output_audio_tokens: 8 },
      cost: receipt(15, 30, 6, 8),
    },
  ]);
});

test('a client that disconnects pays for the sound produced so far', async () => {
  const caller = await world.makeKey();
  const received = Promise.withResolvers<void>();
  upstream.play(streams([chunk({ role: 'assistant' }), ...PIECES.map((audio) => chunk({ audio }))], received.promise));
  const leaving = new AbortController();
  const reader = (await ask(caller, SPOKEN_STREAM, leaving.signal)).body?.getReader();
  let text = '';
  while (!text.includes('expires_at')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
  leaving.abort();
  const [record] = await expectMoney(world, caller, [{ outcome: 'client_gone', usage_source: 'estimated' }]);
  received.resolve();
  const spoken = (record as { units: Record<string, number> }).units['output_audio_tokens'];
  expect(spoken).toBeGreaterThanOrEqual(8);
  expect(spoken).toBeLessThan(30);
});

test('a retry of a spoken answer gets the same sound, also in a stream, and is charged once', async () => {
  const headers = { 'idempotency-key': crypto.randomUUID() };
  const caller = await world.makeKey();
  const halves = [Buffer.alloc(1, 1), Buffer.alloc(2, 2)].map((piece) => piece.toString('base64'));
  upstream.play(
    streams([
      ...halves.map((data) => chunk({ audio: { id: 'audio_1', data } })),
      chunk({}, 'stop'),
      { ...chunk({}), choices: [], usage: usageOf(45, 30, 8, 8) },
    ]),
  );
  const soundIn = (text: string) =>
    [...text.matchAll(/"data":"([^"]+)"/g)]
      .map(([, data = '']) => Buffer.from(data, 'base64').toString('hex'))
      .join('');
  for (let count = 0; count < 2; count++)
    expect(soundIn(await (await ask(caller, SPOKEN_STREAM, undefined, headers)).text())).toBe('010202');
  await expectMoney(world, caller, [{ cost: receipt(15, 30, 0, 8) }]);
});

test('an answer in text alone is billed as text, whatever was asked for', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(chat({ content: 'Hello' }, usageOf(45, 30, 60, 0))));
  expect((await ask(caller, { modalities: ['text', 'audio'], audio: { voice: 'a', format: 'wav' } })).status).toBe(200);
  await expectMoney(world, caller, [{ output_tokens: 60, cost: receipt(15, 30, 60, 0) }]);
});

test('a spoken answer is refused unless all of it is payable at the rate of sound', async () => {
  const talk = { messages: [{ role: 'user', content: 'Speak' }], modalities: ['text', 'audio'] };
  const spoken = { ...talk, audio: { voice: 'alloy', format: 'mp3' } };
  const poor = await world.makeKey({ credit: '0.006' }); // 100 tokens cost 0.0064
  await expectError(chatCompletions, await ask(poor, spoken), 'insufficient_user_quota');
  await expectNoTrace(world, poor, '0.006');
  upstream.play(answers(chat({ content: 'Hello' }, usageOf(3, 0, 1))));
  expect((await ask(poor, { messages: talk.messages })).status).toBe(200);
});

test.each<[string, Json, string]>([
  [
    'an unknown format',
    { messages: [{ role: 'user', content: [part(SOUND, 'ogg')] }] },
    'messages.0.content.0.input_audio.format',
  ],
  [
    'no data',
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { format: 'wav' } }] }] },
    'messages.0.content.0.input_audio.data',
  ],
  ['other modalities', { modalities: ['text', 'video'] }, 'modalities.1'],
  ['no voice', { modalities: ['text', 'audio'], audio: { format: 'wav' } }, 'audio.voice'],
  ['no terms', { modalities: ['text', 'audio'] }, 'audio'],
  [
    'an unknown format of the answer',
    { modalities: ['audio', 'text'], audio: { voice: 'a', format: 'midi' } },
    'audio.format',
  ],
  [
    'a stream in another format',
    { stream: true, modalities: ['text', 'audio'], audio: { voice: 'a', format: 'mp3' } },
    'audio.format',
  ],
  ['terms of an answer in text', { audio: { voice: 'a', format: 'mp3' } }, 'audio'],
  [
    'an earlier spoken answer',
    { messages: [...HEARD, { role: 'assistant', audio: { id: 'audio_1' } }, ...HEARD] },
    'messages.1.audio.id',
  ],
])('%s is refused by the path of its field', async (_, members, path) => {
  const caller = await world.makeKey();
  await expectError(chatCompletions, await ask(caller, members), 'invalid_request', path);
  await expectNoTrace(world, caller);
});

test('sound is refused by name where the model has no price for it, or its provider cannot take it', async () => {
  const caller = await world.makeKey();
  const place = 'messages.0.content.1.input_audio';
  await expectError(chatCompletions, await ask(caller, { model: 'deaf' }), 'feature_not_priced', place);
  const spoken = { modalities: ['text', 'audio'], audio: { voice: 'a', format: 'wav' } };
  await expectError(chatCompletions, await ask(caller, { model: 'silent', ...spoken }), 'feature_not_priced', 'audio');
  await expectError(chatCompletions, await ask(caller, { service_tier: 'flex' }), 'feature_not_priced', place);
  await expectNoTrace(world, caller);
  for (const name of ['claude', 'of-responses'])
    await expectError(chatCompletions, await ask(caller, { model: name }), 'upstream_rejected', place);
  const google = { model: 'google-talker', messages: [{ role: 'user', content: 'Hi' }], ...spoken };
  await expectError(chatCompletions, await ask(caller, google), 'feature_not_priced', 'audio');
  await expectMoney(world, caller, [{ cost: '0' }, { cost: '0' }]);
});

test('clients of Responses send sound to Chat Completions, and not to a provider of their own protocol', async () => {
  const caller = await world.makeKey();
  const post = (name: string) =>
    fetch(`${world.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.secret}`, 'content-type': 'application/json' },
      body: json({ model: name, max_output_tokens: 100, input: [{ role: 'user', content: [part()] }] }),
    });
  upstream.play(answers(chat({ content: 'Hello' }, usageOf(45, 30, 5))));
  expect((await post('talker')).status).toBe(200);
  expect(sent()['messages']).toEqual([{ role: 'user', content: [part()] }]);
  await expectError(responses, await post('of-responses'), 'upstream_rejected', 'input.0.content.0.input_audio');
  await expectMoney(world, caller, [{ cost: '0' }, { cost: receipt(15, 30, 5, 0) }]);
});

const google = (caller: Caller, name: string, mimeType: string) =>
  fetch(`${world.url}/v1beta/models/${name}:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': caller.secret, 'content-type': 'application/json' },
    body: json({
      contents: [{ role: 'user', parts: [{ inlineData: { mimeType, data: SOUND } }, { text: 'What is said?' }] }],
      generationConfig: { maxOutputTokens: 100 },
    }),
  });
const META = {
  promptTokenCount: 111,
  candidatesTokenCount: 5,
  totalTokenCount: 116,
  promptTokensDetails: [
    { modality: 'TEXT', tokenCount: 15 },
    { modality: 'AUDIO', tokenCount: 96 },
  ],
};
const generated = (usageMetadata: Json) => ({
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
  usageMetadata,
});

test('clients of Gemini send sound to Gemini, whose tokens of sound are not those of its cache', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(generated(META)));
  expect(await (await google(caller, 'google-talker', 'audio/wav')).json()).toMatchObject({ usageMetadata: META });
  const cached = { cachedContentTokenCount: 50, cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 40 }] };
  upstream.play(answers(generated({ ...META, ...cached })));
  expect((await google(caller, 'google-talker', 'audio/wav')).status).toBe(200);
  await expectMoney(world, caller, [
    { input_tokens: 5, cache_read_input_tokens: 50, units: { input_audio_tokens: 56 } },
    {
      input_tokens: 15,
      units: { input_audio_tokens: 96 },
      cost: String((15 * 0.3 + 96 * 1 + 5 * 2.5) / 1e6),
    },
  ]);
});

test('clients of Chat Completions send sound to Gemini, and those of Gemini to Chat Completions', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(generated(META)));
  expect((await ask(caller, { model: 'google-talker' })).status).toBe(200);
  expect(sent()).toMatchObject({
    contents: [{ parts: [{ text: 'What is said?' }, { inlineData: { mimeType: 'audio/wav', data: SOUND } }] }],
  });
  upstream.play(answers(chat({ content: 'Hello' }, usageOf(45, 30, 5))));
  expect((await google(caller, 'talker', 'audio/wav')).status).toBe(200);
  expect(sent()['messages']).toEqual([{ role: 'user', content: [part(), { type: 'text', text: 'What is said?' }] }]);
  await expectError(
    generateContent,
    await google(caller, 'talker', 'audio/ogg'),
    'upstream_rejected',
    'contents.0.parts.0.inlineData.data',
  );
  await expectMoney(world, caller, [
    { cost: '0' },
    { cost: receipt(15, 30, 5, 0) },
    { cost: String((15 * 0.3 + 96 * 1 + 5 * 2.5) / 1e6) },
  ]);
});

test('a stream of Gemini, which counts its prompt first, keeps the rate of sound in its hold', async () => {
  const caller = await world.makeKey({ credit: '0.001' });
  const parts = (text: string) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] } }],
    usageMetadata: META,
  });
  upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(`data: ${json(parts('Hel'))}\n\n`);
    await answer.write(`data: ${json(generated(META))}\n\n`);
    answer.end();
  });
  const response = await ask(caller, { model: 'google-talker', stream: true });
  expect(await response.text()).toEndWith('data: [DONE]\n\n');
  const cost = String((15 * 0.3 + 96 * 1 + 5 * 2.5) / 1e6);
  await expectMoney(world, caller, [{ units: { input_audio_tokens: 96 }, cost, written_off: '0' }], '0.001');
});

test('a new installation has a model that speaks and hears, the same each time', async () => {
  const turnpike = await sharedTurnpike();
  const { secret, account } = await turnpike.makeKey({ name: 'with a voice', credit: '1.00' });
  const ask = async (members: Json) => {
    const response = await fetch(`${turnpike.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: json({ model: 'sandbox-voice', max_completion_tokens: 100, ...members }),
    });
    expect(response.status).toBe(200);
    return await response.text();
  };
  const messages = [{ role: 'user', content: 'Hello' }];
  const spoken = { messages, modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } };
  const soundOf = (text: string) => JSON.parse(text).choices[0].message.audio;
  const [first, second] = [soundOf(await ask(spoken)), soundOf(await ask(spoken))];
  expect(first).toMatchObject({ id: expect.stringMatching(/^audio_/), transcript: 'Hello' });
  expect(first.data).toBe(second.data);
  const file = Buffer.from(first.data, 'base64');
  expect(file.subarray(0, 12).toString('latin1')).toMatch(/^RIFF....WAVE$/s);
  expect(file.length).toBe(44 + 5 * 960 * 2); // 60 ms a character
  const streamed = await ask({ ...spoken, stream: true, audio: { voice: 'alloy', format: 'pcm16' } });
  const pieces = streamed.split('\n').flatMap((line) => {
    const delta = line.startsWith('data: {') ? JSON.parse(line.slice(6)).choices[0]?.delta : undefined;
    return delta?.audio?.data === undefined ? [] : [Buffer.from(delta.audio.data, 'base64')];
  });
  expect(Buffer.concat(pieces).length).toBe(5 * 1_440 * 2);
  const heard = { type: 'input_audio', input_audio: { data: wav(3), format: 'wav' } };
  const answer = JSON.parse(await ask({ messages: [{ role: 'user', content: [heard] }] }));
  expect(answer.choices[0].message.content).toBe('The sandbox heard 344 bytes of sound.');
  const { data } = (await turnpike.admin('GET', `/usage?account=${account}`)) as { data: Json[] };
  expect(data[3]).toMatchObject({ cost: '0.000042', units: { output_audio_tokens: 2 } });
});
