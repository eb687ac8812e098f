// Gemini over real sockets and streams: its requests, its responses split in any way, and its failures.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { convertEvents, gemini } from '../../../../src/providers/gemini/gemini.ts';
import { PulledStream } from '../../../../src/providers/pull-stream.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import type { StreamEvent } from '../../../../src/wire/wire.ts';
import { type Script, scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { faultOf, readAll } from '../make-attempt.ts';
import { GEMINI_KEY, geminiAttempt, userMessage } from './gemini-attempt.ts';

const FIXTURES = join(import.meta.dir, 'fixtures');
const fixture = (name: string) => readFileSync(join(FIXTURES, name), 'utf8');

const requestTerms = () => ({
  requestId: 'req_1',
  upstreamModel: 'gemini-2.5-flash',
  names: new Map<string, string>(),
  callIds: new Set<string>(),
  thinks: true,
});

const eventsOfPieces = (...pieces: Uint8Array[]) => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return new PulledStream(body, new AbortController().signal, convertEvents(requestTerms()));
};

const hello = { messages: [userMessage()], stream: true, thinking: { type: 'adaptive' } };
const texts = (events: StreamEvent[]) =>
  events.map(({ value }) => (value['delta'] as { text?: string } | undefined)?.text ?? '').join('');

async function submitTo(script: Script, body: object = hello) {
  await using upstream = await startScriptedUpstream(script);
  const reply = await gemini.submit(geminiAttempt(body, {}, upstream.url));
  const events = reply.form === 'stream' ? await readAll(reply.events) : [];
  return { reply, events, request: upstream.requests[0] };
}

test('a stream is requested with its own method, and the key is only in a header', async () => {
  const { request, events } = await submitTo(scripts.rawStream(fixture('text.txt')));
  expect(request).toMatchObject({
    method: 'POST',
    path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    headers: { 'x-goog-api-key': GEMINI_KEY, accept: 'text/event-stream' },
  });
  expect(request?.headers).not.toContainKeys(['authorization', 'x-api-key', 'anthropic-version']);
  expect(request?.body).not.toContain(GEMINI_KEY);
  expect(texts(events)).toBe('The quick — brünette ✓ 🦊');
});

test('a response without streaming is one message', async () => {
  const answer = JSON.stringify({
    candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  });
  const { request, reply } = await submitTo(scripts.json(answer), { messages: [userMessage()] });
  expect(request?.path).toBe('/v1beta/models/gemini-2.5-flash:generateContent');
  expect(reply).toMatchObject({ form: 'message', message: { content: [{ type: 'text', text: 'Hello' }] } });
  if (reply.form === 'message') expect(JSON.parse(reply.text)).toEqual(reply.message);
});

test('a stream in the form of a list of chunks is still a stream', async () => {
  const chunks = fixture('text.txt').split('data: ').slice(1);
  const { events } = await submitTo(scripts.json(`[${chunks.join(',')}]`));
  const streamed = await readAll(eventsOfPieces(Buffer.from(fixture('text.txt')))).then(renamed);
  expect(events).toEqual(streamed.map(({ usage: _, ...event }) => event));
});

/** The events with the ids of the current request: message ids are derived from their requests. */
function renamed(events: StreamEvent[]): StreamEvent[] {
  return JSON.parse(JSON.stringify(events).replaceAll('msg_1', 'msg_ours'));
}

test('numbers in a tool input keep every digit, streamed or not', async () => {
  const { events } = await submitTo(scripts.rawStream(fixture('tools.txt')));
  expect(events.map(({ json }) => json).join('')).toContain('\\"id\\":12345678901234567890');
  const answer = fixture('tools.txt')
    .split('data: ')
    .slice(1)
    .map((text) => text.trim());
  const { reply } = await submitTo(scripts.json(`[${answer.join(',')}]`), { messages: [userMessage()] });
  expect(reply).toMatchObject({ form: 'message', text: expect.stringContaining('"id":12345678901234567890') });
});

describe('a failure', () => {
  const error = (code: number, status: string) => ({ error: { code, status, message: 'It says so.' } });
  const refusing =
    (code: number, body: unknown): Script =>
    (answer) =>
      answer.send(code, { 'content-type': 'application/json' }, JSON.stringify(body));

  test.each([
    [400, 'INVALID_ARGUMENT', 'rejected'],
    [403, 'PERMISSION_DENIED', 'credentials'],
    [429, 'RESOURCE_EXHAUSTED', 'rate_limited'],
    [503, 'UNAVAILABLE', 'overloaded'],
  ])('before the stream is a fault of its kind: %d %s', async (code, status, kind) => {
    for (const body of [error(code, status), [error(code, status)]])
      expect(await faultOf(submitTo(refusing(code, body)))).toMatchObject({
        kind,
        status: code,
        message: 'It says so.',
      });
  });

  test('in the conversion of the request is reported before anything is sent', async () => {
    await using upstream = await startScriptedUpstream(scripts.rawStream(fixture('text.txt')));
    const bad = { ...hello, mcp_servers: [{ name: 'x' }] };
    expect(await faultOf(gemini.submit(geminiAttempt(bad, {}, upstream.url)))).toMatchObject({ kind: 'rejected' });
    expect(upstream.connectionCount).toBe(0);
  });
});

describe('counting', () => {
  test('uses the counter of the provider', async () => {
    await using upstream = await startScriptedUpstream(scripts.json('{"totalTokens":31,"promptTokensDetails":[]}'));
    const attempt = geminiAttempt({ messages: [userMessage()], system: 'Be kind.' }, {}, upstream.url);
    expect(await gemini.countTokens(attempt)).toBe(31);
    expect(upstream.requests[0]?.path).toBe('/v1beta/models/gemini-2.5-flash:countTokens');
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toMatchObject({
      generateContentRequest: {
        model: 'models/gemini-2.5-flash',
        systemInstruction: { parts: [{ text: 'Be kind.' }] },
      },
    });
  });

  test.each(['{}', '{"totalTokens":-1}', '{"totalTokens":1.5}', '{"totalTokens":"9"}'])(
    'ignores an invalid count: %s',
    async (answer) => {
      await using upstream = await startScriptedUpstream(scripts.json(answer));
      const attempt = geminiAttempt({ messages: [userMessage()] }, {}, upstream.url);
      expect(await faultOf(gemini.countTokens(attempt))).toMatchObject({ kind: 'failed' });
    },
  );

  test('is only done on request', () => {
    expect(gemini.countLocally(geminiAttempt({ messages: [userMessage()] }).request)).toBeNull();
  });
});

describe('a probe', () => {
  const signal = new AbortController().signal;
  const probe = async (script: Script) => {
    await using upstream = await startScriptedUpstream(script);
    const credential = new Secret(GEMINI_KEY);
    const answering = gemini.probe?.({ name: 'g', kind: 'gemini', baseUrl: upstream.url, credential }, signal);
    return { outcome: await answering?.catch((thrown) => thrown), request: upstream.requests[0] };
  };

  test('reads the list of models, free of charge', async () => {
    const { outcome, request } = await probe(scripts.json('{"models":[{"name":"models/a"},{"name":"models/b"}]}'));
    expect(outcome).toEqual({ status: 200, models: 2 });
    expect(request).toMatchObject({ method: 'GET', path: '/v1beta/models?pageSize=1000' });
    expect(request?.headers['x-goog-api-key']).toBe(GEMINI_KEY);
  });

  test('reports no number of models if the list has more pages', async () => {
    const { outcome } = await probe(scripts.json('{"models":[{"name":"models/a"}],"nextPageToken":"x"}'));
    expect(outcome).toEqual({ status: 200, models: null });
  });

  test('distinguishes a refused key from a wrong address', async () => {
    const body = { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'API key not valid.' } };
    const refusing: Script = (answer) => answer.send(400, {}, JSON.stringify(body));
    expect((await probe(refusing)).outcome).toMatchObject({ kind: 'credentials' });
    expect((await probe(scripts.json('{"data":[]}'))).outcome).toMatchObject({ kind: 'failed' });
  });
});
