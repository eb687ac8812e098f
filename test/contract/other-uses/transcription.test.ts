// POST /v1/audio/transcriptions and /v1/audio/translations: what providers are sent, what clients get, and what is held and charged.

import { afterAll, afterEach, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
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
const SAID = 'Good morning! Grüße 👋';

/** A WAV file of so many seconds of noise, with a hundred bytes each; its head may state another rate. */
function wav(seconds: number, rate = 100): Uint8Array<ArrayBuffer> {
  const file = Buffer.alloc(44 + seconds * 100, 0x80);
  file.write('RIFF\0\0\0\0WAVEfmt ', 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate, 28);
  file.writeUInt16LE(1, 32);
  file.writeUInt16LE(8, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(seconds * 100, 40);
  return new Uint8Array(file);
}

const answers = (value: unknown): Script => says(JSON.stringify(value));
const says =
  (text: string, type = 'application/json'): Script =>
  (answer) =>
    answer.send(200, { 'content-type': type }, text);
const DURATION = { type: 'duration', seconds: 3 };
const TOKENS = {
  type: 'tokens',
  input_tokens: 37,
  input_token_details: { text_tokens: 7, audio_tokens: 30 },
  output_tokens: 12,
  total_tokens: 49,
};
const EVENTS: Json[] = [
  { type: 'transcript.text.delta', delta: 'Good ' },
  { type: 'transcript.text.delta', delta: 'morning!' },
  { type: 'transcript.text.done', text: 'Good morning!', usage: TOKENS },
];
const streams =
  (events: readonly Json[], cut: Promise<void> | null = null): Script =>
  async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const event of events) await answer.write(`data: ${JSON.stringify(event)}\n\n`);
    await cut;
    if (cut === null) answer.end();
    else answer.drop();
  };

const upstream = await startScriptedUpstream(answers({ text: SAID, usage: DURATION }));
const second = await startScriptedUpstream(answers({ text: SAID, usage: DURATION }));
const broken = await startScriptedUpstream((answer) => answer.drop());
const openAi = (url: string, kind = 'openai') => ({ kind, base_url: url, api_key: 'k', private_network: true });
const hearing = (price: Json, ...providers: string[]) => ({
  serves: 'transcription',
  price,
  routes: providers.map((provider, priority) => ({ provider, model: 'listener', priority })),
});
const BY_HOURS = { units: { per_hour: '0.36' } };
const world = await sharedWorld({
  providers: {
    hears: openAi(upstream.url),
    'hears-too': openAi(second.url, 'openai-responses'),
    breaks: openAi(broken.url),
  },
  models: {
    'by-hours': hearing(BY_HOURS, 'hears'),
    'by-tokens': hearing({ input: '2.5', output: '10', units: { audio_input: '6' } }, 'hears'),
    'for-nothing': hearing({ units: { per_hour: '0' } }, 'hears'),
    twofold: hearing(BY_HOURS, 'breaks', 'hears-too'),
  },
  groups: { halved: { models: ['*'], multiplier: '0.5' } },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
  await second.close();
  await broken.close();
});
afterEach(async () => {
  while (readdirSync(join(world.dataDirectory, 'spool')).length > 0) await Bun.sleep(2); // no file outlives its request
});

type Parts = Readonly<Record<string, string | readonly string[] | Blob | null>>;

function formOf(parts: Parts): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts))
    for (const one of value === null ? [] : Array.isArray(value) ? value : [value]) form.append(name, one);
  return form;
}

const fileOf = (content: Uint8Array<ArrayBuffer>, name = 'mörgen.wav') =>
  new File([content], name, { type: 'audio/wav' });
const post = (
  { secret }: Caller,
  parts: Parts,
  {
    task = 'transcriptions',
    signal,
    ...headers
  }: { task?: string; signal?: AbortSignal; [name: string]: unknown } = {},
) =>
  fetch(`${world.url}/v1/audio/${task}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, ...(headers as Record<string, string>) },
    body: formOf({ model: 'by-hours', file: fileOf(wav(3)), ...parts }),
    ...(signal !== undefined && { signal }),
  });
const sentTo = async ({ requests } = upstream) => {
  const { bytes, headers } = requests.at(-1) ?? {};
  const form = await new Response(new Uint8Array(bytes ?? []), { headers: headers ?? {} }).formData();
  const { file, ...fields } = Object.fromEntries([...form.keys()].map((name) => [name, form.getAll(name)]));
  const [sound] = (file ?? []) as File[];
  return { fields, file: sound, content: new Uint8Array((await sound?.arrayBuffer()) ?? []) };
};
const PER_SECOND = 0.36 / 3_600;
const cost = (seconds: number) => String(Number((seconds * PER_SECOND).toFixed(9)));

test('the form is sent as it came, the answer is the provider’s, and seconds are billed', async () => {
  const caller = await world.makeKey();
  const answer = { text: SAID, usage: DURATION };
  upstream.play(answers(answer));
  const fields = {
    language: 'de',
    prompt: 'Begrüßung',
    response_format: 'json',
    temperature: '0.2',
    'timestamp_granularities[]': ['word', 'segment'],
    'include[]': 'logprobs',
    chunking_strategy: 'auto',
  };
  const sound = wav(3);
  const response = await post(caller, { ...fields, file: fileOf(sound), unknown: 'x' });
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual(answer);
  expect(upstream.requests.at(-1)?.path).toBe('/v1/audio/transcriptions');
  expect(upstream.requests.at(-1)?.headers['authorization']).toBe('Bearer k');
  const sent = await sentTo();
  const expected = Object.entries({ model: 'listener', ...fields }).map(([name, value]) => [name, [value].flat()]);
  expect(sent.fields).toEqual(Object.fromEntries(expected));
  expect(sent.file?.name).toBe('mörgen.wav');
  expect(upstream.requests.at(-1)?.body).toContain('filename="mörgen.wav"\r\ncontent-type: audio/wav\r\n\r\nRIFF');
  expect(sent.content).toEqual(sound);
  const [record] = await expectMoney(world, caller, [
    { model: 'by-hours', endpoint: 'transcription', units: { seconds: 3 }, input_tokens: 0, cost: cost(3) },
  ]);
  const receipt = await fetch(`${world.url}/v1/usage/${record?.['request_id']}`, {
    headers: { authorization: `Bearer ${caller.secret}` },
  });
  expect(await receipt.json()).toMatchObject({ endpoint: 'transcription', units: { seconds: 3 }, cost: cost(3) });
});

test('a provider is asked for JSON in place of text, because only JSON says what it costs', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ text: SAID, usage: { type: 'duration', seconds: 5 } }));
  const response = await post(caller, { response_format: 'text' });
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await response.text()).toBe(`${SAID}\n`);
  expect((await sentTo()).fields['response_format']).toEqual(['json']);
  await expectMoney(world, caller, [{ units: { seconds: 5 }, cost: cost(5) }]);
});

const CAPTIONS = `WEBVTT\n\n00:00.000 --> 00:02.000\n${SAID}\n\n`;

test.each([
  ['srt', `1\n00:00:00,000 --> 00:00:02,000\n${SAID}\n\n`, 'text/plain; charset=utf-8', 3],
  ['vtt', CAPTIONS, 'text/vtt; charset=utf-8', 3],
  ['vtt', CAPTIONS.replace('00:02.000', '00:07.100'), 'text/vtt; charset=utf-8', 8],
  ['vtt', CAPTIONS.replace('00:02.000', '01:00:00.000'), 'text/vtt; charset=utf-8', 3_600],
])('captions of the format %s are relayed as %s', async (format, captions, type, seconds) => {
  const caller = await world.makeKey();
  upstream.play(says(captions, 'text/plain'));
  const response = await post(caller, { response_format: format });
  expect(response.headers.get('content-type')).toBe(type);
  expect(await response.text()).toBe(captions);
  await expectMoney(world, caller, [{ units: { seconds }, cost: cost(seconds) }]);
});

test.each<[string, Json, number]>([
  ['what is measured, without a report', { text: SAID }, 3],
  ['no less than was measured', { text: SAID, usage: { type: 'duration', seconds: 1 } }, 3],
  ['a begun second', { text: SAID, duration: 3.2 }, 4],
  ['a length that is a text', { text: SAID, duration: '12.5' }, 13],
  ['the end of the last segment', { text: SAID, segments: [{ end: 1 }, { end: 9.5 }, { end: 4 }] }, 10],
  ['no other values', { text: SAID, duration: 'long', usage: { seconds: -4 }, segments: [{ end: null }, 7] }, 3],
  ['at most a day', { text: SAID, duration: 1e9 }, 86_400],
])('billed is %s', async (_, answer, seconds) => {
  const caller = await world.makeKey();
  upstream.play(answers(answer));
  expect(await (await post(caller, { response_format: 'verbose_json' })).json()).toEqual(answer);
  await expectMoney(world, caller, [{ units: { seconds }, cost: cost(seconds) }]);
});

test('a head that lies is corrected by the provider’s report, and what the balance lacks is written off', async () => {
  const caller = await world.makeKey({ credit: '0.01' });
  upstream.play(answers({ text: SAID, duration: 300 }));
  const lies = await post(caller, { response_format: 'verbose_json', file: fileOf(wav(3, 100_000)) });
  expect(lies.status).toBe(200);
  await expectMoney(world, caller, [{ units: { seconds: 300 }, cost: '0.03', written_off: '0.02' }], '0.01');
});

test.each<[string, Json, Json]>([
  [
    'as they are reported',
    { text: SAID, usage: TOKENS },
    {
      units: { seconds: 3, input_audio_tokens: 30 },
      input_tokens: 7,
      output_tokens: 12,
      usage_source: 'reported',
      cost: String((7 * 2.5 + 30 * 6 + 12 * 10) / 1e6),
    },
  ],
  [
    'as of sound only, without details',
    { text: SAID, usage: { ...TOKENS, input_token_details: undefined } },
    { units: { seconds: 3, input_audio_tokens: 37 }, input_tokens: 0 },
  ],
  [
    'never more than are held',
    { text: SAID, usage: { ...TOKENS, input_token_details: { audio_tokens: 1e6 } } },
    {
      units: { seconds: 3, input_audio_tokens: 75 },
    },
  ],
  [
    'as they are held, without a report',
    { text: SAID },
    {
      units: { seconds: 3, input_audio_tokens: 75 },
      output_tokens: Math.ceil(Buffer.byteLength(SAID) / 4),
    },
  ],
])('tokens are billed %s', async (_, answer, record) => {
  const caller = await world.makeKey();
  upstream.play(answers(answer));
  expect((await post(caller, { model: 'by-tokens' })).status).toBe(200);
  await expectMoney(world, caller, [record]);
});

const eventsIn = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.replace(/^data: /, '')) as Json);

test('events are relayed as they came', async () => {
  const caller = await world.makeKey();
  upstream.play(streams(EVENTS));
  const response = await post(caller, { model: 'by-tokens', stream: 'True' });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(eventsIn(await response.text())).toEqual(EVENTS);
  expect((await sentTo()).fields['stream']).toEqual(['True']);
  await expectMoney(world, caller, [
    { cost: String((7 * 2.5 + 30 * 6 + 12 * 10) / 1e6), usage_source: 'reported', stream: false },
  ]);
});

test('a server without events answers a client that asked for them', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ text: SAID, usage: DURATION }));
  expect(eventsIn(await (await post(caller, { stream: 'true' })).text())).toEqual([
    { type: 'transcript.text.delta', delta: SAID },
    { type: 'transcript.text.done', text: SAID, usage: DURATION },
  ]);
  await expectMoney(world, caller, [{ cost: cost(3) }]);
});

test('events that break off are billed by the length of the sound', async () => {
  const caller = await world.makeKey();
  const received = Promise.withResolvers<void>();
  upstream.play(streams(EVENTS.slice(0, 2), received.promise));
  const reader = (await post(caller, { stream: 'true' })).body?.getReader();
  await reader?.read();
  received.resolve();
  const rest = async () => {
    while ((await reader?.read())?.done === false);
  };
  expect(await rest().catch(() => 'broken')).toBe('broken');
  await expectMoney(world, caller, [{ outcome: 'upstream_cut', cost: cost(3) }]);
});

test('a client that disconnects pays what the end reports', async () => {
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
  const response = await post(caller, { model: 'by-tokens', stream: 'true' }, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await untilUnattended(world, 1);
  disconnected.resolve();
  await expectMoney(world, caller, [{ outcome: 'client_gone', output_tokens: 12 }]);
});

test('a client that disconnects while it uploads leaves nothing', async () => {
  const caller = await world.makeKey();
  const leaving = new AbortController();
  const begun = Promise.withResolvers<void>();
  const head = Buffer.from(
    `--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF${'x'.repeat(200_000)}`,
  );
  const body = new ReadableStream({
    async pull(controller) {
      controller.enqueue(head);
      begun.resolve();
      await Promise.withResolvers<void>().promise; // the rest never comes
    },
  });
  const posting = fetch(`${world.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.secret}`, 'content-type': 'multipart/form-data; boundary=b' },
    body,
    signal: leaving.signal,
  }).catch(() => 'left');
  await begun.promise;
  while (readdirSync(join(world.dataDirectory, 'spool')).length === 0) await Bun.sleep(2);
  leaving.abort();
  expect(await posting).toBe('left');
  await expectNoTrace(world, caller);
});

test('a length that cannot be told is refused where it has a price', async () => {
  const caller = await world.makeKey();
  const noise = fileOf(new Uint8Array([1, 2, 3]), 'a.bin');
  const before = upstream.requests.length;
  for (const model of ['by-hours', 'by-tokens']) {
    const refused = await post(caller, { model, file: noise });
    expect(await expectError(chatCompletions, refused, 'feature_not_priced', 'file')).toContain('length');
  }
  await expectNoTrace(world, caller);
  expect(upstream.requests).toHaveLength(before);
  upstream.play(answers({ text: SAID }));
  expect((await post(caller, { model: 'for-nothing', file: noise })).status).toBe(200);
  await expectMoney(world, caller, [{ cost: '0' }]);
});

test.each<[string, Parts, string]>([
  ['no file', { file: null }, 'file'],
  ['an empty file', { file: fileOf(new Uint8Array(0)) }, 'file'],
  ['a file of more than a day', { file: fileOf(wav(90_000)) }, 'file'],
  ['a second file', { more: fileOf(wav(1)) }, 'body'],
  ['no model', { model: null }, 'model'],
  ['an unknown format', { response_format: 'xml' }, 'response_format'],
  ['a temperature that is too high', { temperature: '1.5' }, 'temperature'],
  ['a temperature that is no number', { temperature: 'hot' }, 'temperature'],
  ['another value than true or false', { stream: 'maybe' }, 'stream'],
])('%s is refused by the path of its field', async (_, parts, path) => {
  const caller = await world.makeKey();
  const response = await post(caller, parts);
  expect(await expectError(chatCompletions, response, 'invalid_request', path)).toStartWith(`${path}: `);
  await expectNoTrace(world, caller);
});

test('JSON is refused by its content type', async () => {
  const { secret } = await world.makeKey();
  const headers = { ...JSON_HEADERS, authorization: `Bearer ${secret}` };
  const response = await fetch(`${world.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: '{}' });
  await expectError(chatCompletions, response, 'content_type_unsupported');
});

test.each<[string, Script, Parts]>([
  ['JSON without a text', answers({ ok: true }), {}],
  ['a page', says('<html></html>', 'text/html'), {}],
  ['a page in place of captions', says('<html></html>', 'text/html'), { response_format: 'vtt' }],
  ['JSON in place of captions', answers({ text: SAID }), { response_format: 'srt' }],
  ['an error instead of events', streams([{ type: 'error', error: { message: 'no' } }]), { stream: 'true' }],
])('a provider that sends %s has failed, and nothing is charged', async (_, script, parts) => {
  const caller = await world.makeKey();
  upstream.play(script);
  await expectError(chatCompletions, await post(caller, parts), 'upstream_failed');
  await expectMoney(world, caller, [{ cost: '0' }]);
});

test('another provider is sent the whole file again, at the multiplier of the group', async () => {
  const caller = await world.makeKey({ groups: ['halved'] });
  const sound = wav(4_000);
  second.play(answers({ text: SAID }));
  expect((await post(caller, { model: 'twofold', file: fileOf(sound) })).status).toBe(200);
  const sent = await sentTo(second);
  expect(sent.content).toEqual(sound);
  expect((await sentTo(broken)).content).toEqual(sound);
  await expectMoney(world, caller, [{ provider: 'hears-too', units: { seconds: 4_000 }, cost: '0.20' }]);
});

test.each([
  ['by-hours', 3 * PER_SECOND],
  ['by-tokens', (3 * 25 * 6 + (3 * 20 + 64) * 10) / 1e6],
])('%s needs the worst case before anything is sent', async (model, held) => {
  const short = await world.makeKey({ credit: (held - 0.000001).toFixed(6) });
  const before = upstream.requests.length;
  await expectError(chatCompletions, await post(short, { model }), 'insufficient_user_quota');
  expect(upstream.requests).toHaveLength(before);
  const enough = await world.makeKey({ credit: (held + 0.001).toFixed(6) });
  upstream.play(answers({ text: SAID, usage: TOKENS }));
  expect((await post(enough, { model })).status).toBe(200);
});

test('a retry with its idempotency key gets the same answer in the same form, and another file is a mismatch', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ text: SAID }));
  const once = { 'idempotency-key': 'once' };
  const ask = async (parts: Parts) => post(caller, { response_format: 'text', ...parts }, once);
  expect(await (await ask({})).text()).toBe(`${SAID}\n`);
  const again = await ask({});
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await again.text()).toBe(`${SAID}\n`);
  await expectError(chatCompletions, await ask({ file: fileOf(wav(2)) }), 'idempotency_mismatch');
  await expectMoney(world, caller, [{ cost: cost(3) }]);
});

test('translations have a path of their own, and no events', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ text: SAID }));
  const response = await post(caller, { stream: 'true' }, { task: 'translations' });
  expect(await response.json()).toEqual({ text: SAID });
  expect(upstream.requests.at(-1)?.path).toBe('/v1/audio/translations');
  await expectMoney(world, caller, [{ endpoint: 'transcription', cost: cost(3) }]);
});

test('a client whose key is revoked gets the error at once, and the answer is awaited for the bill', async () => {
  const caller = await world.makeKey();
  const [asked, revoked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  upstream.play(async (answer, request) => {
    asked.resolve();
    await revoked.promise;
    await answers({ text: SAID })(answer, request);
  });
  const posting = post(caller, {});
  await asked.promise;
  await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
  await expectError(chatCompletions, await posting, 'key_disabled');
  revoked.resolve();
  await expectMoney(world, caller, [{ outcome: 'service_cut', cost: cost(3) }]);
});

test('an empty field says nothing, and is not sent on', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ text: SAID }));
  const empty = { language: '', prompt: '', response_format: '', stream: '', temperature: '' };
  expect(await (await post(caller, empty)).json()).toEqual({ text: SAID });
  const { bytes, headers } = upstream.requests.at(-1) ?? {};
  const form = await new Response(new Uint8Array(bytes ?? []), { headers: headers ?? {} }).formData();
  expect([...form.keys()]).toEqual(['model', 'file']);
  await expectMoney(world, caller, [{ cost: cost(3) }]);
});

test('the sandbox writes the same sentence about the same file, in every format', async () => {
  const caller = await world.makeKey();
  const ask = async (parts: Parts) => (await post(caller, { model: 'sandbox-transcription', ...parts })).text();
  const { text } = JSON.parse(await ask({})) as { text: string };
  expect(text).toMatch(/^The sandbox heard 3 seconds of sound with the checksum [0-9a-f]{8}\.$/);
  expect(await ask({ response_format: 'text' })).toBe(`${text}\n`);
  expect(await ask({ response_format: 'srt' })).toBe(`1\n00:00:00,000 --> 00:00:03,000\n${text}\n\n`);
  expect(await ask({ response_format: 'vtt' })).toBe(`WEBVTT\n\n00:00:00.000 --> 00:00:03.000\n${text}\n\n`);
  const words = { response_format: 'verbose_json', 'timestamp_granularities[]': ['segment', 'word'] };
  const scores = { avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0, temperature: 0, tokens: [], seek: 0 };
  const verbose = JSON.parse(await ask(words)) as { words: Json[] };
  expect(verbose).toMatchObject({ text, duration: 3, segments: [{ id: 0, start: 0, end: 3, text, ...scores }] });
  expect(verbose.words.map(({ word }) => word).join(' ')).toBe(text);
  expect(verbose.words.at(-1)).toMatchObject({ end: 3 });
  expect(JSON.parse(await ask({ response_format: 'diarized_json' }))).toMatchObject({
    text,
    segments: [{ type: 'transcript.text.segment', start: 0, end: 3, speaker: 'A', text }],
  });
  expect(eventsIn(await ask({ stream: 'true' })).map(({ type }) => type)).toEqual([
    'transcript.text.delta',
    'transcript.text.done',
  ]);
  expect(await ask({ file: fileOf(wav(2)) })).not.toContain(text);
  const records = await expectMoney(
    world,
    caller,
    Array.from({ length: 8 }, () => ({ outcome: 'completed' })),
  );
  expect(records.at(-1)).toMatchObject({ cost: cost(3), units: { seconds: 3 } });
});
