// POST /v1/audio/speech: what providers are sent, the sound that clients get, and what is held and charged.

import { afterAll, expect, test } from 'bun:test';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { chatCompletions } from '../fronts/drivers/chat-completions.ts';
import { expectError } from '../fronts/front-world.ts';
import {
  type Caller,
  expectMoney,
  expectNoTrace,
  type Json,
  sharedWorld,
  untilUnattended,
} from '../post-messages/world.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const TEXT = 'Grüße 👋'; // eight bytes more than its seven code points
const CHARACTERS = 7;
const SOUND = ['ID3first', 'second', 'third'].map((text) => Buffer.from(text));
const WHOLE = Buffer.concat(SOUND);

const sounds =
  (contentType = 'audio/mpeg', cut: Promise<void> | null = null): Script =>
  async (answer) => {
    answer.begin(200, { 'content-type': contentType });
    for (const piece of SOUND) {
      await answer.write(piece);
      await Bun.sleep(5); // so that each is a chunk
    }
    await cut;
    if (cut === null) answer.end();
    else answer.drop();
  };
const DONE: Json = {
  type: 'speech.audio.done',
  usage: { input_tokens: 9, output_tokens: 60, total_tokens: 69 },
};
const EVENTS = [...SOUND.map((piece) => ({ type: 'speech.audio.delta', audio: piece.toString('base64') })), DONE];
const streams =
  (events: readonly Json[], cut: Promise<void> | null = null): Script =>
  async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const event of events) await answer.write(`data: ${JSON.stringify(event)}\n\n`);
    await cut;
    if (cut === null) answer.end();
    else answer.drop();
  };

const upstream = await startScriptedUpstream(sounds());
const second = await startScriptedUpstream(sounds());
const openAi = (url: string, kind = 'openai') => ({ kind, base_url: url, api_key: 'k', private_network: true });
const speaking = (price: Json, ...providers: string[]) => ({
  serves: 'speech',
  price,
  routes: providers.map((provider, priority) => ({ provider, model: 'speaker', priority })),
});
const BY_CHARACTERS = { units: { per_million_characters: '15' } };
const world = await sharedWorld({
  providers: {
    speaks: openAi(upstream.url),
    'speaks-too': openAi(second.url, 'openai-responses'),
  },
  models: {
    'by-characters': speaking(BY_CHARACTERS, 'speaks'),
    'by-tokens': speaking({ input: '0.6', units: { audio_output: '12' } }, 'speaks'),
    paired: speaking(BY_CHARACTERS, 'speaks', 'speaks-too'),
  },
  groups: { halved: { models: ['*'], multiplier: '0.5' } },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
  await second.close();
});

const post = ({ secret }: Caller, members: Json, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${world.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, authorization: `Bearer ${secret}`, ...headers },
    body: JSON.stringify({ model: 'by-characters', input: TEXT, voice: 'alloy', ...members }),
    ...(signal !== undefined && { signal }),
  });
const sent = () => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const eventsIn = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.replace(/^data: /, '')) as Json);
const PER_CHARACTER = 15 / 1e6;
const COST = String(CHARACTERS * PER_CHARACTER);

test('the request is sent as it came, the sound is the provider’s, and code points are billed', async () => {
  const caller = await world.makeKey();
  upstream.play(sounds('audio/pcm;rate=24000'));
  const fields = { instructions: 'slowly', response_format: 'pcm', speed: 0.5, stream_format: 'audio' };
  const response = await post(caller, { ...fields, voice: { id: 'voice_1' }, extra: true });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('audio/pcm;rate=24000');
  expect(await bytesOf(response)).toEqual(WHOLE);
  expect(upstream.requests.at(-1)?.path).toBe('/v1/audio/speech');
  expect(sent()).toEqual({ model: 'speaker', input: TEXT, voice: { id: 'voice_1' }, ...fields });
  const [record] = await expectMoney(world, caller, [
    { model: 'by-characters', endpoint: 'speech', units: { characters: CHARACTERS }, cost: COST, outcome: 'completed' },
  ]);
  const receipt = await fetch(`${world.url}/v1/usage/${record?.['request_id']}`, {
    headers: { authorization: `Bearer ${caller.secret}` },
  });
  expect(await receipt.json()).toMatchObject({ endpoint: 'speech', units: { characters: CHARACTERS }, cost: COST });
});

/** The cost of 60 tokens of sound and the reported prompt. */
const BY_TOKENS = String((9 * 0.6 + 60 * 12) / 1e6);

test('where tokens have a price, events are requested, and the client gets their sound', async () => {
  const caller = await world.makeKey();
  upstream.play(streams(EVENTS));
  const response = await post(caller, { model: 'by-tokens', response_format: 'opus' });
  expect(response.headers.get('content-type')).toBe('audio/opus');
  expect(await bytesOf(response)).toEqual(WHOLE);
  expect(sent()).toMatchObject({ stream_format: 'sse' });
  await expectMoney(world, caller, [
    { units: { characters: CHARACTERS, output_audio_tokens: 60 }, cost: BY_TOKENS, usage_source: 'reported' },
  ]);
});

test('a client that asks for events gets the provider’s own', async () => {
  const caller = await world.makeKey();
  upstream.play(streams(EVENTS));
  const response = await post(caller, { model: 'by-tokens', stream_format: 'sse' });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(eventsIn(await response.text())).toEqual([...EVENTS]);
  await expectMoney(world, caller, [{ cost: BY_TOKENS }]);
});

test('a server without events is asked again for sound, which tells about how many tokens it has', async () => {
  const caller = await world.makeKey();
  const refusal = { error: { message: 'stream_format: not supported', type: 'invalid_request_error' } };
  const refuses: Script = (answer) => answer.send(400, JSON_HEADERS, JSON.stringify(refusal));
  upstream.play(refuses, sounds());
  expect(await bytesOf(await post(caller, { model: 'by-tokens' }))).toEqual(WHOLE);
  expect(sent()).not.toContainKey('stream_format');
  const tokens = Math.ceil((WHOLE.length / 16_000) * 21);
  await expectMoney(world, caller, [{ usage_source: 'estimated', units: { output_audio_tokens: tokens } }]);
});

test('sound is wrapped in events for a client that asks for them', async () => {
  const caller = await world.makeKey();
  upstream.play(sounds());
  const events = eventsIn(await (await post(caller, { stream_format: 'sse' })).text());
  expect(events.at(-1)).toEqual({ type: 'speech.audio.done' });
  const audio = events.slice(0, -1).map((event) => Buffer.from(String(event['audio']), 'base64'));
  expect(Buffer.concat(audio)).toEqual(WHOLE);
  await expectMoney(world, caller, [{ cost: COST }]);
});

test.each([
  [{ output_tokens: 1e9, input_tokens: 9 }, Math.ceil(CHARACTERS * 10.5) + 210],
  [{ output_tokens: -1, input_tokens: 9 }, 1],
  [{ output_tokens: 'many' }, 1],
])('of the counts %j, %d tokens are billed', async (usage, tokens) => {
  const caller = await world.makeKey();
  upstream.play(streams([...EVENTS.slice(0, -1), { ...DONE, usage }]));
  expect((await bytesOf(await post(caller, { model: 'by-tokens' }))).length).toBe(WHOLE.length);
  await expectMoney(world, caller, [{ units: { output_audio_tokens: tokens } }]);
});

test.each([
  [{}, (CHARACTERS * 15) / 1e6, 0],
  [{ model: 'by-tokens' }, ((Math.ceil(CHARACTERS * 10.5) + 210) * 12) / 1e6, 0.001],
  [{ model: 'by-tokens', speed: 0.25 }, ((CHARACTERS * 42 + 210) * 12) / 1e6, 0.001],
])('%j needs the worst case before anything is sent', async (members, held, rest) => {
  const short = await world.makeKey({ credit: (held - 0.000001).toFixed(6) });
  const before = upstream.requests.length;
  await expectError(chatCompletions, await post(short, members), 'insufficient_user_quota');
  expect(upstream.requests).toHaveLength(before);
  const enough = await world.makeKey({ credit: (held + rest).toFixed(6) });
  upstream.play(sounds());
  expect(await bytesOf(await post(enough, members))).toEqual(WHOLE);
});

test.each<[Json, string]>([
  [{ input: undefined }, 'input'],
  [{ input: '' }, 'input'],
  [{ input: ['a'] }, 'input'],
  [{ input: 'a'.repeat(100_001) }, 'input'],
  [{ voice: 3 }, 'voice'],
  [{ speed: 5 }, 'speed'],
  [{ speed: '1' }, 'speed'],
  [{ stream_format: 'ws' }, 'stream_format'],
  [{ instructions: [] }, 'instructions'],
  [{ response_format: 1 }, 'response_format'],
])('%j is refused by the path of its field', async (members, path) => {
  const caller = await world.makeKey();
  const response = await post(caller, members);
  expect(await expectError(chatCompletions, response, 'invalid_request', path)).toStartWith(`${path}: `);
  await expectNoTrace(world, caller);
});

test.each<[string, Script]>([
  ['JSON', (answer) => answer.send(200, JSON_HEADERS, '{"ok":true}')],
  ['a page', (answer) => answer.send(200, { 'content-type': 'text/html' }, '<p>sign in</p>')],
  ['a header that is no type', (answer) => answer.send(200, { 'content-type': 'audio/mpeg; a="b c"' }, 'x')],
  ['nothing', (answer) => answer.send(200, { 'content-type': 'audio/mpeg' }, '')],
  ['an error instead of events', streams([{ type: 'error', error: { message: 'no' } }])],
])('a provider that sends %s has failed, and nothing is charged', async (_, script) => {
  const caller = await world.makeKey();
  upstream.play(script);
  await expectError(chatCompletions, await post(caller, {}), 'upstream_failed');
  await expectMoney(world, caller, [{ cost: '0' }]);
});

test('another provider speaks before the first byte, at the multiplier of the group', async () => {
  const caller = await world.makeKey({ groups: ['halved'] });
  upstream.play((answer) => answer.drop());
  second.play(sounds());
  expect(await bytesOf(await post(caller, { model: 'paired' }))).toEqual(WHOLE);
  await expectMoney(world, caller, [{ provider: 'speaks-too', cost: '0.0000525' }]);
});

test.each([
  ['sound that breaks off is billed by its text', 'by-characters', sounds.bind(null, 'audio/mpeg'), { cost: COST }],
  [
    'events that break off are billed by the sound so far',
    'by-tokens',
    streams.bind(null, EVENTS.slice(0, -1)),
    { units: { output_audio_tokens: 1 } },
  ],
])('%s', async (_, model, script, billed) => {
  const caller = await world.makeKey();
  const received = Promise.withResolvers<void>();
  upstream.play(script(received.promise));
  const reader = (await post(caller, { model })).body?.getReader();
  await reader?.read(); // the first sound is sent once the second has arrived
  received.resolve();
  expect(await drain(reader).catch(() => 'broken')).toBe('broken');
  await expectMoney(world, caller, [{ outcome: 'upstream_cut', ...billed }]);
});

async function drain(reader: { read(): Promise<{ done: boolean }> } | undefined): Promise<void> {
  while ((await reader?.read())?.done === false);
}

test('a client that disconnects pays what its end reports', async () => {
  const caller = await world.makeKey();
  const disconnected = Promise.withResolvers<void>();
  upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const event of EVENTS.slice(0, 2)) await answer.write(`data: ${JSON.stringify(event)}\n\n`);
    await disconnected.promise;
    for (const event of EVENTS.slice(2)) await answer.write(`data: ${JSON.stringify(event)}\n\n`);
    answer.end();
  });
  const leaving = new AbortController();
  const response = await post(caller, { model: 'by-tokens' }, {}, leaving.signal);
  await response.body?.getReader().read();
  leaving.abort();
  await untilUnattended(world, 1);
  disconnected.resolve();
  await expectMoney(world, caller, [{ outcome: 'client_gone', cost: BY_TOKENS }]);
});

test('a client that disconnects before the first byte leaves no hold', async () => {
  const caller = await world.makeKey();
  const [asked, disconnected] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  upstream.play(async (answer, request) => {
    asked.resolve();
    await disconnected.promise;
    await sounds()(answer, request);
  });
  const leaving = new AbortController();
  const posting = post(caller, {}, {}, leaving.signal).catch(() => null);
  await asked.promise;
  leaving.abort();
  await posting;
  await untilUnattended(world, 1);
  disconnected.resolve();
  await expectMoney(world, caller, [{ outcome: 'client_gone', cost: COST }]);
});

test('endless sound ends with the time of a stream', async () => {
  await world.admin('POST', '/apply', { document: { settings: { upstream_stream_seconds: 1 } } });
  const caller = await world.makeKey();
  upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'audio/mpeg' });
    while (!answer.isGone) {
      await answer.write('more');
      await Bun.sleep(20);
    }
  });
  const reading = post(caller, {}).then(bytesOf);
  expect(await reading.then(String, () => 'broken')).toBe('broken');
  await expectMoney(world, caller, [{ outcome: 'upstream_cut', cost: COST }]);
  await world.admin('POST', '/apply', { document: { settings: { upstream_stream_seconds: 3_600 } } });
});

test('a revoked key gets no more sound', async () => {
  const caller = await world.makeKey();
  const revoked = Promise.withResolvers<void>();
  upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'audio/mpeg' });
    for (let isRevoked = false; !isRevoked && !answer.isGone; ) {
      await answer.write('more');
      isRevoked = await Promise.race([revoked.promise.then(() => true), Bun.sleep(5).then(() => false)]);
    }
    await answer.write('the last');
    answer.end();
  });
  const response = await post(caller, {});
  await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
  revoked.resolve();
  expect(await bytesOf(response).then(String, () => 'broken')).toBe('broken');
  await expectMoney(world, caller, [{ outcome: 'service_cut', cost: COST }]);
});

test('sound is not stored: a retry with its idempotency key is refused, and charged once', async () => {
  const caller = await world.makeKey();
  upstream.play(sounds());
  const headers = { 'idempotency-key': 'once' };
  expect(await bytesOf(await post(caller, {}, headers))).toEqual(WHOLE);
  await expectError(chatCompletions, await post(caller, {}, headers), 'idempotency_answer_gone');
  await expectMoney(world, caller, [{ cost: COST }]);
});

test('the sandbox speaks a WAV file whose length follows the text', async () => {
  const caller = await world.makeKey();
  const speak = async (input: string, speed = 1) =>
    bytesOf(await post(caller, { model: 'sandbox-speech', input, speed }));
  const short = await speak('Hi');
  expect(short.toString('latin1', 0, 4)).toBe('RIFF');
  expect(short.readUInt32LE(4)).toBe(short.length - 8);
  expect(short.readUInt32LE(40)).toBe(short.length - 44);
  const bytesEach = 960 * 2;
  expect(short.length - 44).toBe(2 * bytesEach);
  expect((await speak('a'.repeat(100))).length - 44).toBe(100 * bytesEach);
  expect((await speak('Hi', 2)).length - 44).toBe(bytesEach);
  expect(await speak('Hi')).toEqual(short);
  const long = await post(caller, { model: 'sandbox-speech', input: 'a'.repeat(4_097) });
  await expectError(chatCompletions, long, 'upstream_rejected', 'input');
  await expectMoney(world, caller, [
    { cost: '0' },
    { cost: '0.00003' },
    { cost: '0.00003' },
    { cost: '0.0015', units: { characters: 100 } },
    { cost: '0.00003' },
  ]);
});
