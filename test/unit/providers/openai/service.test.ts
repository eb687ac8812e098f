// A provider of Chat Completions behind the running service, as unmodified clients see it: responses streamed and
// not, tools over two turns, billing, and failures.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { streamText } from 'ai';
import {
  type Caller,
  eventsOf,
  expectError,
  expectErrorEvent,
  expectMoney,
  type Json,
} from '../../../contract/post-messages/world.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../../support/start-turnpike.ts';
import { type Anthropic, makeClient, sdks } from '../../../verify/clients/official-sdks.ts';
import { breakChat, CHAT_USAGE, hangChat, refuseChat, replyChat } from './scripted-chat.ts';

const KEY = 'sk-of-the-chat-provider';
const PRICE = { input: '3', output: '15', cache_read: '1' };
// 20 input tokens at 3, 100 from the cache at 1, 30 output tokens at 15 millionths of a dollar.
const BILL = {
  input_tokens: 20,
  cache_read_input_tokens: 100,
  output_tokens: 30,
  cost: '0.00061',
  usage_source: 'reported',
  outcome: 'completed',
};
const CITY = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const weather = { name: 'get_weather', description: 'The weather of a city', input_schema: CITY };

let turnpike: Turnpike;
let upstream: ScriptedUpstream;
let second: ScriptedUpstream;
let caller: Caller;

beforeAll(async () => {
  upstream = await startScriptedUpstream(replyChat());
  second = await startScriptedUpstream(replyChat({ content: 'From the second.' }));
  const at = (url: string) => ({ kind: 'openai', base_url: `${url}/v1`, api_key: KEY, private_network: true });
  turnpike = await startTurnpike({
    providers: { chat: at(upstream.url), other: at(second.url) },
    models: {
      plain: { price: PRICE, routes: [{ provider: 'chat', model: 'kimi-chat' }] },
      paired: {
        price: PRICE,
        routes: [
          { provider: 'chat', model: 'kimi-chat' },
          { provider: 'other', model: 'kimi-chat', priority: 1 },
        ],
      },
    },
    settings: { finish_without_caller_seconds: 1 },
  });
});
beforeEach(async () => {
  caller = await turnpike.makeKey();
  upstream.play(replyChat());
  upstream.requests.length = 0;
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
  await turnpike.stop();
  await upstream.close();
  await second.close();
});

const post = (members: Json = {}, more: RequestInit = {}) =>
  turnpike.post(
    caller.secret,
    { model: 'plain', max_tokens: 500, messages: [{ role: 'user', content: 'Hi' }], ...members },
    more,
  );
const sentBody = (index = -1) => JSON.parse(upstream.requests.at(index)?.body ?? '') as Json;

describe('a response', () => {
  test('that is streamed is billed as reported, its cached tokens once', async () => {
    const response = await post({ stream: true });
    const events = eventsOf(await response.text());
    expect(events.map(({ json }) => (json['delta'] as Json | undefined)?.['text'] ?? '').join('')).toBe('Hello there.');
    expect(events.at(-2)?.json).toMatchObject({
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 30 },
    });
    expect(events.at(-1)?.name).toBe('message_stop');
    expect(JSON.stringify(events)).not.toContain('[DONE]');
    await expectMoney(turnpike, caller, [BILL]);
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${KEY}` },
    });
    expect(JSON.stringify(upstream.requests)).not.toContain(caller.secret);
  });

  test('that is not streamed is the same message at the same price', async () => {
    const response = await post();
    expect(await response.json()).toMatchObject({
      type: 'message',
      model: 'chat-model',
      content: [{ type: 'text', text: 'Hello there.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 30 },
    });
    await expectMoney(turnpike, caller, [BILL]);
  });

  test('begins with an estimate of its prompt, because clients require one and the provider has not counted it', async () => {
    const [start] = eventsOf(await (await post({ stream: true })).text());
    const message = start?.json['message'] as { usage: Record<string, number> } | undefined;
    expect(message?.usage['input_tokens']).toBeGreaterThan(0);
    expect(message?.usage['output_tokens']).toBe(0);
  });

  test('without reported usage is billed by an estimate, which is shown to the client', async () => {
    upstream.play(replyChat({ content: 'word '.repeat(200), usage: null }));
    const events = eventsOf(await (await post({ stream: true })).text());
    const whole = (await (await post()).json()) as { usage: Record<string, number> };
    const [second, first] = await expectMoney(turnpike, caller, [
      { usage_source: 'estimated', outcome: 'completed' },
      { usage_source: 'estimated', outcome: 'completed' },
    ]);
    for (const record of [first, second]) {
      expect(record?.['output_tokens']).toBeGreaterThan(50);
      expect(record?.['input_tokens']).toBeGreaterThan(0);
    }
    expect(events.at(-2)?.json['usage']).toMatchObject({ output_tokens: first?.['output_tokens'] });
    expect(whole.usage).toMatchObject({
      input_tokens: second?.['input_tokens'],
      output_tokens: second?.['output_tokens'],
    });
  });
});

describe.each(sdks)('the SDK $name', (sdk) => {
  const messagesOf = (message: Anthropic.Message): Anthropic.MessageParam[] => {
    const results = message.content.flatMap((block) =>
      block.type === 'tool_use'
        ? [
            {
              type: 'tool_result' as const,
              tool_use_id: block.id,
              content: `Sun, ${(block.input as { city: string }).city}`,
            },
          ]
        : [],
    );
    return [
      { role: 'user', content: 'What is the weather in Paris and Rome?' },
      { role: 'assistant', content: message.content },
      { role: 'user', content: [...results, { type: 'text', text: 'In one sentence.' }] },
    ];
  };
  const calls = [
    { id: 'call_aaaaaaaa', name: 'get_weather', arguments: '{"city":"Paris"}' },
    { id: 'call_bbbbbbbb', name: 'get_weather', arguments: '{"city":"Rome"}' },
  ];

  for (const isStreamed of [true, false])
    test(`runs a dialogue of two turns with tools, ${isStreamed ? 'streamed' : 'whole'}`, async () => {
      const { client } = makeClient(sdk, turnpike.url, caller.secret);
      const ask = (messages: Anthropic.MessageParam[]) => {
        const request = { model: 'plain', max_tokens: 500, system: 'Be brief.', tools: [weather], messages };
        return isStreamed ? client.messages.stream(request).finalMessage() : client.messages.create(request);
      };
      upstream.play(
        replyChat({ content: 'I look.', reasoning: 'Two cities.', calls }),
        replyChat({ content: 'Sun in both.' }),
      );
      const first = await ask([{ role: 'user', content: 'What is the weather in Paris and Rome?' }]);
      expect(first).toMatchObject({
        content: [
          { type: 'thinking', thinking: 'Two cities.' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'call_aaaaaaaa', name: 'get_weather', input: { city: 'Paris' } },
          { type: 'tool_use', id: 'call_bbbbbbbb', name: 'get_weather', input: { city: 'Rome' } },
        ],
        stop_reason: 'tool_use',
      });
      const last = await ask(messagesOf(first));
      expect(last).toMatchObject({ content: [{ type: 'text', text: 'Sun in both.' }], stop_reason: 'end_turn' });
      expect(sentBody()['messages']).toEqual([
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What is the weather in Paris and Rome?' },
        {
          role: 'assistant',
          content: 'I look.',
          reasoning_content: 'Two cities.',
          tool_calls: calls.map(({ id, ...call }) => ({ id, type: 'function', function: call })),
        },
        { role: 'tool', tool_call_id: 'call_aaaaaaaa', content: 'Sun, Paris' },
        { role: 'tool', tool_call_id: 'call_bbbbbbbb', content: 'Sun, Rome' },
        { role: 'user', content: 'In one sentence.' },
      ]);
      await expectMoney(turnpike, caller, [BILL, BILL]);
    });
});

test('the Vercel AI SDK reads a stream whose usage comes last', async () => {
  const anthropic = createAnthropic({ baseURL: `${turnpike.url}/v1`, apiKey: caller.secret });
  const result = streamText({ model: anthropic('plain'), prompt: 'Hi' });
  expect([await result.text, (await result.usage).outputTokens]).toEqual(['Hello there.', 30]);
});

test('a coding agent’s request is accepted, with its system messages, betas and hints', async () => {
  const body = {
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.328.abc; cc_entrypoint=cli;' },
      { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system-reminder>Friday</system-reminder>' },
          { type: 'text', text: 'Fix it' },
        ],
      },
      { role: 'system', content: [{ type: 'text', text: 'Working directory: /home/someone' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I shall look.', signature: 'EqQBCkYIBxgCKkD/+==' },
          { type: 'tool_use', id: 'toolu_01A', name: 'mcp__files__Read', input: { path: 'a.ts', offset: '@@' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_01A',
            content: [{ type: 'tool_reference', tool_name: 'WebFetch' }],
          },
        ],
      },
    ],
    tools: [
      { name: 'mcp__files__Read', input_schema: { ...CITY, $schema: 'https://json-schema.org/draft/2020-12/schema' } },
      { name: 'WebFetch', description: 'Later', defer_loading: true, input_schema: { type: 'object', properties: {} } },
    ],
    metadata: { user_id: '{"device_id":"ab"}' },
    thinking: { type: 'adaptive', display: 'omitted' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'medium' },
    stream: true,
  };
  const text = JSON.stringify({ model: 'plain', max_tokens: 32_000, ...body }).replace('"@@"', '12345678901234567890');
  const response = await fetch(`${turnpike.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${caller.secret}`,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27',
    },
    body: text,
  });
  expect([response.status, eventsOf(await response.text()).at(-1)?.name]).toEqual([200, 'message_stop']);
  const sent = upstream.requests.at(-1)?.body ?? '';
  for (const lost of ['billing-header', 'cache_control', 'defer_loading', 'context_management', 'device_id'])
    expect(sent).not.toContain(lost);
  expect(sent).toContain('12345678901234567890');
  expect((JSON.parse(sent).messages as Json[]).map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
  ]);
  expect(JSON.parse(sent).messages[1].content).toEndWith(
    '<system-reminder>\nWorking directory: /home/someone\n</system-reminder>',
  );
});

describe('a failure', () => {
  test('of the content keeps the provider’s text, and costs nothing', async () => {
    const words = "This model's maximum context length is 128000 tokens.";
    upstream.play(refuseChat(400, 'invalid_request_error', words));
    expect(await expectError(await post(), 400, 'invalid_request_error', 'upstream_rejected')).toBe(words);
    upstream.play(refuseChat(401, 'invalid_request_error', `Incorrect API key provided: ${KEY}.`));
    const messageText = await expectError(await post(), 502, 'api_error', 'upstream_credentials');
    expect(messageText).not.toContain(KEY);
    upstream.play(refuseChat(429, 'insufficient_quota', 'You exceeded your current quota.'));
    await expectError(await post({ stream: true }), 502, 'api_error', 'upstream_credentials');
    expect(await expectMoneyOf(3)).toEqual(['0', '0', '0']);
  });

  test('that this service detects is refused with the name of the field, before anything is sent', async () => {
    const message = await expectError(
      await post({ mcp_servers: [{ type: 'url', url: 'https://x.example', name: 'x' }] }),
      400,
      'invalid_request_error',
      'upstream_rejected',
    );
    expect([message.startsWith('mcp_servers: '), upstream.requests.length]).toEqual([true, 0]);
  });

  test('before the first event leads to the next route', async () => {
    upstream.play(refuseChat(503, 'server_error', 'Overloaded'));
    expect(await (await post({ model: 'paired' })).json()).toMatchObject({ content: [{ text: 'From the second.' }] });
    upstream.play((answer) => {
      answer.begin(200, { 'content-type': 'text/event-stream' });
      void answer.write('data: {"error":{"message":"Busy","code":503}}\n\n').then(() => answer.end());
    });
    const events = eventsOf(await (await post({ model: 'paired', stream: true })).text());
    expect(events.at(-1)?.name).toBe('message_stop');
    expect(events.filter(({ name }) => name === 'message_start')).toHaveLength(1);
  });

  test('in the middle of a stream is an error event, never a normal end, and the output so far is billed', async () => {
    const error = JSON.stringify({ error: { message: 'Overloaded', code: 503 } });
    const reply = { content: 'word '.repeat(40) };
    upstream.play(breakChat(error, reply), breakChat(null, reply), breakChat('[DONE]', reply));
    await expectErrorEvent(await post({ stream: true }), 'overloaded_error', 'upstream_overloaded');
    await expectErrorEvent(await post({ stream: true }), 'api_error', 'upstream_failed');
    await expectErrorEvent(await post({ stream: true }), 'api_error', 'upstream_failed');
    const cut = { outcome: 'upstream_cut', usage_source: 'estimated' };
    await expectMoney(turnpike, caller, [cut, cut, cut]);
  });

  test('of the client’s connection stops the provider, and the output so far is billed', async () => {
    upstream.play(hangChat({ content: 'word '.repeat(40) }));
    const before = upstream.abortedCount;
    const leaving = new AbortController();
    const response = await post({ stream: true }, { signal: leaving.signal });
    const reader = response.body?.getReader();
    for (let text = ''; !text.includes('text_delta'); ) text += new TextDecoder().decode((await reader?.read())?.value);
    leaving.abort();
    await upstream.aborted(before + 1);
    await expectMoney(turnpike, caller, [{ outcome: 'client_gone', usage_source: 'estimated' }]);
  });

  async function expectMoneyOf(count: number): Promise<unknown[]> {
    const records = await expectMoney(
      turnpike,
      caller,
      Array.from({ length: count }, () => ({ outcome: 'failed' })),
    );
    return records.map(({ cost }) => cost);
  }
});

test('reasoning that a provider reports in addition to its completion is billed', async () => {
  const usage = { ...CHAT_USAGE, total_tokens: 160 };
  upstream.play(replyChat({ usage }));
  await post();
  await expectMoney(turnpike, caller, [{ ...BILL, output_tokens: 40, cost: '0.00076' }]);
});
