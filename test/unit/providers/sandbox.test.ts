// The sandbox's models as docs/providers.md describes them. Streamed and whole responses are the same.

import { expect, test } from 'bun:test';
import { type Attempt, type Provider, providerKinds, sandboxModelNames } from '../../../src/providers/providers.ts';
import { isJsonObject, type JsonObject, jsonObjects, MessageFold, type StreamEvent } from '../../../src/wire/wire.ts';
import { faultOf, makeAttempt, readAll, readToFault } from './make-attempt.ts';

const sandbox = providerKinds.get('sandbox') as Provider;

function attemptOf(model: string, content: unknown, more: object = {}, changes: Partial<Attempt> = {}): Attempt {
  return makeAttempt('', { model, max_tokens: 100, messages: [{ role: 'user', content }], ...more }, changes);
}

/** The response, which must be the same streamed and whole. */
async function answer(model: string, content: unknown, more: object = {}): Promise<JsonObject> {
  const whole = await sandbox.submit(attemptOf(model, content, more));
  if (whole.form !== 'message') throw new Error('streamed');
  expect(JSON.parse(whole.text)).toEqual(whole.message);
  const fold = new MessageFold();
  for (const event of await stream(model, content, more)) fold.add(event);
  expect(withoutIds(fold.message())).toEqual(withoutIds(whole.message));
  return whole.message;
}

async function stream(model: string, content: unknown, more: object = {}): Promise<StreamEvent[]> {
  return readAll(await source(attemptOf(model, content, { ...more, stream: true })));
}

async function source(attempt: Attempt) {
  const reply = await sandbox.submit(attempt);
  if (reply.form !== 'stream') throw new Error('not streamed');
  return reply.events;
}

function withoutIds(message: JsonObject): unknown {
  return JSON.parse(JSON.stringify(message).replaceAll(/"(msg|toolu)_\w+"/g, '"$1"'));
}

function usage(inputTokens: number, outputTokens: number) {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: outputTokens,
  };
}

function deltas(events: readonly StreamEvent[]): string[] {
  return events.flatMap(({ value }) => {
    const delta = value['delta'];
    return isJsonObject(delta) && typeof delta['text'] === 'string' ? [delta['text']] : [];
  });
}

test('the models are those of the contract, and no others', async () => {
  expect([...sandboxModelNames]).toEqual([
    ...['echo', 'lorem', 'tool', 'thinking', 'cut', 'voice', 'slow'].map((name) => `sandbox-${name}`),
    ...[400, 401, 403, 404, 413, 429, 500, 502, 503, 504, 529].map((status) => `sandbox-error-${status}`),
    ...['embedding', 'rerank', 'moderation', 'image', 'speech', 'transcription'].map((name) => `sandbox-${name}`),
  ]);
  expect(await faultOf(sandbox.submit(attemptOf('sandbox-error-418', 'x')))).toMatchObject({ kind: 'not_found' });
});

test('the echo is the text of the last user message', async () => {
  const message = await answer('sandbox-echo', 'ignored', {
    messages: [
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'second' },
      { role: 'user', content: [{ type: 'text', text: 'thi' }, { type: 'image' }, { type: 'text', text: 'rd 🎉' }] },
    ],
  });
  expect(message).toEqual({
    id: expect.stringMatching(/^msg_\w{20,}$/),
    type: 'message',
    role: 'assistant',
    model: 'sandbox-echo',
    content: [{ type: 'text', text: 'third 🎉' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: usage(6, 3), // 5 + 6 + 3 + 7 input bytes, 10 output bytes
  });
});

test('the provider’s model name decides, whatever name the client uses', async () => {
  const attempt = attemptOf('my-alias', 'Hi', {}, { upstreamModel: 'sandbox-echo' });
  expect(await sandbox.submit(attempt)).toMatchObject({ message: { content: [{ text: 'Hi' }] } });
});

test('all text of a request is counted together, four bytes per token, rounded up once', async () => {
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  const body = {
    system: [{ type: 'text', text: 'é' }], // 2
    tools,
    messages: [
      { role: 'user', content: 'a' }, // 1
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'bb', signature: 'not counted' }, // 2
          { type: 'tool_use', id: 't', name: 'f', input: { text: 1 } }, // 10
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'ccc' }] }, // 3
          { type: 'tool_result', tool_use_id: 'u', content: 'dddd' }, // 4
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
    ],
  };
  const bytes = 2 + 1 + 2 + 10 + 3 + 4 + JSON.stringify(tools).length;
  const attempt = attemptOf('sandbox-echo', '', body);
  expect(sandbox.countLocally(attempt.request)).toBe(Math.ceil(bytes / 4));
  expect(await sandbox.countTokens(attempt)).toBe(Math.ceil(bytes / 4));
  expect((await answer('sandbox-echo', '', body))['usage']).toMatchObject({ input_tokens: Math.ceil(bytes / 4) });
  expect(sandbox.countLocally(attemptOf('sandbox-echo', 'abcd').request)).toBe(1);
  expect(sandbox.countLocally(attemptOf('sandbox-echo', 'abcde', { tools: [], system: '' }).request)).toBe(2);
});

test('max_tokens cuts the text between characters', async () => {
  expect(await answer('sandbox-echo', 'abcdefghij', { max_tokens: 2 })).toMatchObject({
    content: [{ type: 'text', text: 'abcdefgh' }],
    stop_reason: 'max_tokens',
    usage: usage(3, 2),
  });
  expect(await answer('sandbox-echo', 'abc🎉d', { max_tokens: 1 })).toMatchObject({
    content: [{ type: 'text', text: 'abc' }],
    stop_reason: 'max_tokens',
    usage: { output_tokens: 1 },
  });
  expect(await answer('sandbox-echo', 'abcdefgh', { max_tokens: 2 })).toMatchObject({ stop_reason: 'end_turn' });
  expect(await answer('sandbox-echo', 'abc', { max_tokens: 0 })).toMatchObject({
    content: [],
    stop_reason: 'max_tokens',
    usage: { output_tokens: 0 },
  });
});

test('the stop sequence that comes first ends the text', async () => {
  expect(await answer('sandbox-echo', 'one two three', { stop_sequences: ['three', ' two', 'never'] })).toMatchObject({
    content: [{ type: 'text', text: 'one' }],
    stop_reason: 'stop_sequence',
    stop_sequence: ' two',
    usage: { output_tokens: 1 },
  });
  expect(await answer('sandbox-echo', 'one two', { max_tokens: 1, stop_sequences: ['wo'] })).toMatchObject({
    content: [{ type: 'text', text: 'one ' }],
    stop_reason: 'max_tokens',
    stop_sequence: null,
  });
});

test('a long echo arrives in several deltas that split no character, and in batches', async () => {
  const text = `x${'🎉'.repeat(20_000)}`;
  const events = await stream('sandbox-echo', text, { max_tokens: 100_000 });
  expect(deltas(events).length).toBeGreaterThan(100);
  expect(deltas(events).every((delta) => delta.isWellFormed())).toBe(true);
  expect(deltas(events).join('')).toBe(text);
  const batch = await (await source(attemptOf('sandbox-echo', text, { stream: true, max_tokens: 100_000 }))).next();
  expect(batch?.length).toBe(64);
  const short = await source(attemptOf('sandbox-echo', 'Hi', { stream: true }));
  expect((await short.next())?.length).toBe(6);
  expect(await short.next()).toBeNull();
});

test('the filler has exactly max_tokens tokens, four per event, a hundred events per second', async () => {
  const startedMs = performance.now();
  const events = await stream('sandbox-lorem', 'Hi', { max_tokens: 101 });
  const tookMs = performance.now() - startedMs;
  expect(deltas(events).map((delta) => delta.length)).toEqual([...Array(25).fill(16), 4]);
  expect(events.at(-2)?.value).toMatchObject({ delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 101 } });
  expect(tookMs).toBeGreaterThan((events.length - 2) * 10);
});

test('the filler is returned at once without streaming', async () => {
  const reply = await sandbox.submit(attemptOf('sandbox-lorem', 'Hi', { max_tokens: 64_000 }));
  if (reply.form !== 'message') throw new Error('streamed');
  expect(jsonObjects(reply.message['content'])[0]?.['text']).toHaveLength(256_000);
  expect(reply.message).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 64_000 } });
  expect(withoutIds(await answer('sandbox-lorem', 'Hi', { max_tokens: 0 }))).toMatchObject({ content: [] });
});

test('a client that paused gets the delayed events at once, and the pace stays the same', async () => {
  const events = await source(attemptOf('sandbox-lorem', 'Hi', { max_tokens: 400, stream: true }));
  await events.next();
  await Bun.sleep(150);
  const batch = await events.next();
  expect(batch?.length).toBeGreaterThanOrEqual(14);
});

const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer', minimum: 2.5 },
    ratio: { type: ['null', 'number'] },
    exact: { type: 'boolean' },
    unit: { enum: ['celsius', 'kelvin'] },
    tags: { type: 'array', items: { type: 'string' } },
    place: { type: 'object', properties: { lat: { type: 'number' }, name: {} }, required: ['lat'] },
    seen: { $ref: '#/$defs/seen' },
    either: { anyOf: [{ const: 7 }, { type: 'string' }] },
    optional: { type: 'string' },
  },
  required: ['city', 'days', 'ratio', 'exact', 'unit', 'tags', 'place', 'seen', 'either', '__proto__'],
  $defs: { seen: { type: 'boolean' } },
};
const INPUT =
  '{"city":"text","days":3,"ratio":1,"exact":true,"unit":"celsius","tags":["text"],"place":{"lat":1},"seen":true,"either":7,"__proto__":"text"}';

test('a tool is called with its required arguments filled by type', async () => {
  const message = await answer('sandbox-tool', 'Weather?', {
    tools: [{ name: 'weather', input_schema: SCHEMA }, { name: 'other' }],
  });
  const [block] = jsonObjects(message['content']);
  expect(block).toMatchObject({ type: 'tool_use', name: 'weather', id: expect.stringMatching(/^toolu_\w+$/) });
  expect(JSON.stringify(block?.['input'])).toBe(INPUT);
  expect(message).toMatchObject({
    stop_reason: 'tool_use',
    usage: { output_tokens: Math.ceil(INPUT.length / 4) },
  });
});

test('tool_choice is obeyed', async () => {
  const tools = [{ name: 'a' }, { name: 'b', input_schema: {} }];
  const call = (more: object) => answer('sandbox-tool', 'Hi', { tools, ...more });
  expect(await call({ tool_choice: { type: 'tool', name: 'b' } })).toMatchObject({
    content: [{ name: 'b', input: {} }],
  });
  expect(await call({ tool_choice: { type: 'any' } })).toMatchObject({ content: [{ name: 'a' }] });
  expect(await call({ tool_choice: { type: 'none' } })).toMatchObject({
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
  });
  expect(await answer('sandbox-tool', 'Hi')).toMatchObject({ content: [{ type: 'text', text: 'Hi' }] });
  const unknown = attemptOf('sandbox-tool', 'Hi', { tools, tool_choice: { type: 'tool', name: 'c' } });
  expect(await faultOf(sandbox.submit(unknown))).toMatchObject({ kind: 'rejected', status: 400 });
});

test('a tool is not called again once its result is there, so that an agent finishes', async () => {
  const content = [{ type: 'tool_result', tool_use_id: 't', content: 'sunny' }];
  expect(await answer('sandbox-tool', content, { tools: [{ name: 'a' }] })).toMatchObject({
    content: [{ type: 'text', text: 'sunny' }],
    stop_reason: 'end_turn',
  });
});

test('a call that does not fit into max_tokens is not begun', async () => {
  const more = { tools: [{ name: 'a', input_schema: SCHEMA }], max_tokens: 5 };
  expect(await answer('sandbox-tool', 'Hi', more)).toMatchObject({ content: [], stop_reason: 'max_tokens' });
});

test('a recursive schema or one that expands exponentially terminates', async () => {
  const names = Array.from({ length: 10 }, (_, place) => `p${place}`);
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/a' }]));
  const a = { type: 'object', properties, required: names };
  const more = { tools: [{ name: 't', input_schema: { ...a, $defs: { a } } }], max_tokens: 100_000 };
  const message = await answer('sandbox-tool', 'Hi', more);
  expect(message['stop_reason']).toBe('tool_use');
  expect(JSON.stringify(message).length).toBeLessThan(50_000);
});

test('thinking is signed and precedes the echo, and both are counted', async () => {
  const message = await answer('sandbox-thinking', 'Hello');
  const [thinking, text] = jsonObjects(message['content']);
  expect(thinking).toMatchObject({ type: 'thinking', signature: expect.stringMatching(/^[A-Za-z0-9+/]{8,}=*$/) });
  expect(text).toEqual({ type: 'text', text: 'Hello' });
  const bytes = Buffer.byteLength(`${thinking?.['thinking']}Hello`);
  expect(message['usage']).toMatchObject({ output_tokens: Math.ceil(bytes / 4) });
  expect(await answer('sandbox-thinking', 'Hello', { max_tokens: 3 })).toMatchObject({
    content: [{ type: 'thinking', thinking: String(thinking?.['thinking']).slice(0, 12) }],
    stop_reason: 'max_tokens',
    usage: { output_tokens: 3 },
  });
});

test('the cut model breaks off after half of its text', async () => {
  const text = 'abcdefgh'.repeat(200);
  const attempt = attemptOf('sandbox-cut', text, { stream: true, max_tokens: 1_000 });
  const { events, fault } = await readToFault(await source(attempt));
  expect(fault).toMatchObject({ kind: 'failed', message: 'broken connection' });
  expect(deltas(events).join('')).toBe(text.slice(0, text.length / 2));
  expect(events.at(-1)?.name).toBe('content_block_delta');
  expect(await faultOf(sandbox.submit(attemptOf('sandbox-cut', text)))).toMatchObject({ kind: 'failed' });
});

test('the slow model is silent for five seconds, and an abort ends the wait at once', async () => {
  const controller = new AbortController();
  const waiting = sandbox.submit(attemptOf('sandbox-slow', 'Hi', {}, { signal: controller.signal }));
  expect(await Promise.race([waiting, Bun.sleep(100).then(() => 'silent')])).toBe('silent');
  controller.abort();
  expect((await faultOf(waiting)).kind).toBe('aborted');
});

test('the slow model answers with the echo after five seconds', async () => {
  const startedMs = performance.now();
  expect(await sandbox.submit(attemptOf('sandbox-slow', 'Hi'))).toMatchObject({
    message: { content: [{ text: 'Hi' }] },
  });
  expect(performance.now() - startedMs).toBeGreaterThan(4_900);
});

test('errors are those of a real provider with the same status', async () => {
  const kinds = {
    400: ['rejected', 'invalid_request_error'],
    401: ['credentials', 'authentication_error'],
    403: ['credentials', 'permission_error'],
    404: ['not_found', 'not_found_error'],
    413: ['rejected', 'request_too_large'],
    429: ['rate_limited', 'rate_limit_error'],
    500: ['failed', 'api_error'],
    502: ['failed', 'api_error'],
    503: ['overloaded', 'api_error'],
    504: ['timeout', 'timeout_error'],
    529: ['overloaded', 'overloaded_error'],
  };
  for (const [status, [kind, errorType]] of Object.entries(kinds))
    for (const stream of [true, false])
      expect(await faultOf(sandbox.submit(attemptOf(`sandbox-error-${status}`, 'Hi', { stream })))).toMatchObject({
        ...{ kind, errorType, status: Number(status) },
        retryAfterMs: status === '429' ? 1_000 : null,
      });
});

test('an abort ends every model', async () => {
  const controller = new AbortController();
  const open = (model: string) => source(attemptOf(model, 'Hi', { stream: true }, { signal: controller.signal }));
  const [echo, lorem] = [await open('sandbox-echo'), await open('sandbox-lorem')];
  await lorem.next();
  const waiting = lorem.next();
  controller.abort();
  for (const promise of [waiting, lorem.next(), echo.next(), open('sandbox-echo')])
    expect((await faultOf(promise)).kind).toBe('aborted');
});
