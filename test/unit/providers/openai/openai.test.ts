// The provider of Chat Completions over the network: its requests, the conversion of responses, and its limits.

import { describe, expect, test } from 'bun:test';
import { openai } from '../../../../src/providers/openai/openai.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import { scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { faultOf, makeAttempt, readAll } from '../make-attempt.ts';
import { fixture, fold } from './read-fixture.ts';

const BODY = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] };
const ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'm-2026',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 },
};
const answering = (choice: object, more: object = {}) =>
  scripts.json(JSON.stringify({ ...ANSWER, choices: [choice], ...more }));
const attemptAt = (url: string, members: object = {}) => makeAttempt(`${url}/v1`, { ...BODY, ...members });

describe('a message', () => {
  test('that is not streamed is one Messages object', async () => {
    await using upstream = await startScriptedUpstream(scripts.json(JSON.stringify(ANSWER)));
    const reply = await openai.submit(attemptAt(upstream.url));
    if (reply.form !== 'message') expect.unreachable();
    expect(reply.message).toEqual({
      id: 'msg_ours',
      type: 'message',
      role: 'assistant',
      model: 'm-2026',
      content: [{ type: 'text', text: 'Hello.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 8, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 2 },
    });
    expect(JSON.parse(reply.text)).toEqual(reply.message);
    const [request] = upstream.requests;
    expect([request?.method, request?.path]).toEqual(['POST', '/v1/chat/completions']);
    expect(request?.headers).toMatchObject({ authorization: 'Bearer sk-ant-ours', accept: 'application/json' });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 10,
    });
  });

  test('without streaming is the same as when streamed, with calls, thinking and every stop reason', async () => {
    const call = (name: string, given: unknown) => ({
      id: 'call_abcd1234',
      type: 'function',
      function: { name, arguments: given },
    });
    await using upstream = await startScriptedUpstream(
      answering({
        message: {
          reasoning_content: 'Hm.',
          content: 'Looking.',
          tool_calls: [call('look', '{"at":1}'), { ...call('now', ''), id: 'call_efgh5678' }],
        },
        finish_reason: 'stop',
      }),
      answering({ message: { content: null, tool_calls: [call('look', '{"at":')] }, finish_reason: 'length' }),
      answering({ message: { content: null, refusal: 'No.' }, finish_reason: 'stop' }),
      answering({ message: { content: '' }, finish_reason: null }, { usage: null }),
      answering({ message: { content: null, tool_calls: [call('look', { at: 1 })] }, finish_reason: 'tool_calls' }),
    );
    const next = async () => {
      const reply = await openai.submit(attemptAt(upstream.url));
      return reply.form === 'message' ? reply.message : expect.unreachable();
    };
    expect(await next()).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: expect.stringContaining('turnpike') },
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'call_abcd1234', name: 'look', input: { at: 1 } },
        { type: 'tool_use', id: 'call_efgh5678', name: 'now', input: {} },
      ],
      stop_reason: 'tool_use',
    });
    expect(await next()).toMatchObject({ content: [{ type: 'tool_use', input: {} }], stop_reason: 'max_tokens' });
    expect(await next()).toMatchObject({ content: [{ text: 'No.' }], stop_reason: 'refusal' });
    expect(await next()).toMatchObject({ content: [], stop_reason: 'end_turn', usage: {} });
    expect(await next()).toMatchObject({ content: [{ type: 'tool_use', input: { at: 1 } }] });
  });

  test('from a server that sends call inputs as objects keeps every digit', async () => {
    const call = '{"index":0,"id":"call_abcd1234","function":{"name":"look","arguments":{"id":12345678901234567890}}}';
    const whole = `{"model":"m","choices":[{"message":{"tool_calls":[${call}]},"finish_reason":"tool_calls"}]}`;
    const chunk = `{"model":"m","choices":[{"delta":{"tool_calls":[${call}]},"finish_reason":"tool_calls"}]}`;
    await using upstream = await startScriptedUpstream(scripts.json(whole), scripts.rawStream(`data: ${chunk}\n\n`));
    const message = await openai.submit(attemptAt(upstream.url));
    expect(message.form === 'message' && message.text).toContain('"input":{"id":12345678901234567890}');
    const stream = await openai.submit(attemptAt(upstream.url, { stream: true }));
    const events = stream.form === 'stream' ? await readAll(stream.events) : [];
    expect(events.map(({ json }) => json).join('')).toContain('12345678901234567890');
  });

  test('without usage has no counts, not even zero', async () => {
    await using upstream = await startScriptedUpstream(scripts.json(JSON.stringify({ ...ANSWER, usage: undefined })));
    const reply = await openai.submit(attemptAt(upstream.url));
    expect(reply.form === 'message' && reply.message['usage']).toEqual({});
  });

  test('that is requested as a stream arrives as events, even from a provider that does not stream', async () => {
    const text = new TextDecoder().decode(fixture('openai-text'));
    await using upstream = await startScriptedUpstream(scripts.rawStream(text), scripts.json(JSON.stringify(ANSWER)));
    const read = async () => {
      const reply = await openai.submit(attemptAt(upstream.url, { stream: true }));
      return fold(reply.form === 'stream' ? await readAll(reply.events) : expect.unreachable());
    };
    expect(await read()).toMatchObject({ content: [{ text: 'Grüße aus 東京 🗼.' }] });
    expect(upstream.requests[0]?.headers['accept']).toBe('text/event-stream');
    expect(await read()).toMatchObject({ content: [{ text: 'Hello.' }], usage: { input_tokens: 8 } });
  });

  test('with replaced tool names has the client’s names in the response', async () => {
    const name = `mcp__server__${'x'.repeat(80)}`;
    await using upstream = await startScriptedUpstream((answer, request) => {
      const sent = JSON.parse(request.body).tools[0].function.name;
      const call = { id: 'call_abcd1234', type: 'function', function: { name: sent, arguments: '{}' } };
      const body = { ...ANSWER, choices: [{ message: { tool_calls: [call] }, finish_reason: 'tool_calls' }] };
      answer.send(200, { 'content-type': 'application/json' }, JSON.stringify(body));
    });
    const reply = await openai.submit(attemptAt(upstream.url, { tools: [{ name, input_schema: { type: 'object' } }] }));
    expect(reply.form === 'message' && reply.message['content']).toMatchObject([{ name }]);
  });
});

describe('a failure', () => {
  test('in the conversion of the request is reported before anything is sent', async () => {
    await using upstream = await startScriptedUpstream(scripts.json('{}'));
    const fault = await faultOf(openai.submit(attemptAt(upstream.url, { mcp_servers: [{ type: 'url' }] })));
    expect([fault.kind, fault.status, upstream.requests.length]).toEqual(['rejected', 400, 0]);
  });

  test('is classified by its status, by its error with status 200, or by its form', async () => {
    const error = JSON.stringify({ error: { message: 'Overloaded', type: 'overloaded_error' } });
    await using upstream = await startScriptedUpstream(
      scripts.html(502),
      scripts.json(error),
      scripts.json('{}'),
      scripts.json('not json'),
      answering({
        message: { tool_calls: [{ id: 'call_abcd1234', function: { name: 'f', arguments: '{"a"' } }] },
        finish_reason: 'stop',
      }),
    );
    const next = async () => (await faultOf(openai.submit(attemptAt(upstream.url)))).kind;
    expect([await next(), await next(), await next(), await next(), await next()]).toEqual([
      'failed',
      'overloaded',
      'failed',
      'failed',
      'unusable',
    ]);
  });

  test('of a stream before its first event is a failure of the whole attempt', async () => {
    await using upstream = await startScriptedUpstream(
      scripts.rawStream(new TextDecoder().decode(fixture('error-first'))),
      scripts.html(200),
    );
    const reply = await openai.submit(attemptAt(upstream.url, { stream: true }));
    const fault = await faultOf(reply.form === 'stream' ? reply.events.next() : expect.unreachable());
    expect([fault.kind, fault.message.includes('org-abc123def456')]).toEqual(['rate_limited', false]);
    const page = await openai.submit(attemptAt(upstream.url, { stream: true })); // a page, under whose type relays send events
    expect((await faultOf(page.form === 'stream' ? page.events.next() : expect.unreachable())).kind).toBe('failed');
  });
});

describe('a probe', () => {
  const endpoint = (url: string) => ({
    name: 'p',
    kind: 'openai',
    baseUrl: url,
    credential: new Secret('sk-12345678'),
  });
  const signal = new AbortController().signal;

  test('counts the models, or, without a list, sends an empty message that is refused', async () => {
    await using upstream = await startScriptedUpstream(
      scripts.json('{"object":"list","data":[{"id":"a"},{"id":"b"}]}'),
      scripts.html(404),
      (answer) => answer.send(400, { 'content-type': 'application/json' }, '{"error":{"message":"model is required"}}'),
    );
    expect(await openai.probe?.(endpoint(upstream.url), signal)).toEqual({ status: 200, models: 2 });
    expect(await openai.probe?.(endpoint(upstream.url), signal)).toEqual({ status: 400, models: null });
    expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/models',
      'GET /v1/models',
      'POST /v1/chat/completions',
    ]);
  });

  test('reports a refused credential, and an address without a service', async () => {
    await using upstream = await startScriptedUpstream(scripts.html(401), scripts.html(404));
    const probe = openai.probe ?? expect.unreachable();
    expect((await faultOf(probe(endpoint(upstream.url), signal))).kind).toBe('credentials');
    expect((await faultOf(probe(endpoint(upstream.url), signal))).message).toContain('base_url may be wrong');
  });
});

test('tokens are not counted by a provider without a counter', async () => {
  const attempt = makeAttempt('http://127.0.0.1:1', BODY);
  expect([await openai.countTokens(attempt), openai.countLocally(attempt.request)]).toEqual([null, null]);
});
