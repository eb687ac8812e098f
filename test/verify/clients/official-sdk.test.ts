// The official SDKs against the service, unmodified except for base URL and key.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { type Anthropic, makeClient, type Sent, sdks } from './official-sdks.ts';

let turnpike: Turnpike;
let secret: string;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
  ({ secret } = await turnpike.makeKey());
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
});

const SAID = 'The quick brown fox jumps over the lazy dog — ünïcödé ✓';
const hello = { max_tokens: 100, messages: [{ role: 'user' as const, content: SAID }] };
const weather = {
  name: 'get_weather',
  description: 'The weather of a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' as const }, days: { type: 'integer' as const } },
    required: ['city', 'days'],
  },
};
/** Four bytes are a token of the sandbox. */
const tokens = (text: string) => Math.ceil(Buffer.byteLength(text) / 4);

describe.each(sdks)('the SDK $name', (sdk) => {
  let client: Anthropic;
  let sent: Sent[];
  beforeAll(() => {
    ({ client, sent } = makeClient(sdk, turnpike.url, secret));
  });

  test('authenticates with the header of its generation', async () => {
    await client.messages.create({ model: 'sandbox-echo', ...hello });
    expect(sent.at(-1)?.headers.get(sdk.keyHeader)).toContain(secret);
    expect(sent.at(-1)?.headers.get(sdk.keyHeader === 'x-api-key' ? 'authorization' : 'x-api-key')).toBeNull();
    expect(sent.at(-1)?.headers.get('anthropic-version')).toBe(sdk.version);
  });

  test('reads a message with its text, usage, stop reason and request id', async () => {
    const message = await client.messages.create({ model: 'sandbox-echo', ...hello });
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'sandbox-echo',
      content: [{ type: 'text', text: SAID }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: tokens(SAID), output_tokens: tokens(SAID) },
    });
    expect(message._request_id).toMatch(/^req_\w+$/);
    const record = await turnpike.admin('GET', `/usage/${message._request_id}`);
    expect(record).toMatchObject({ status: 200, outcome: 'completed', output_tokens: tokens(SAID) });
  });

  test('reads a stream event by event, in the expected order', async () => {
    const stream = await client.messages.create({ model: 'sandbox-lorem', ...hello, max_tokens: 30, stream: true });
    const events = await Array.fromAsync(stream);
    expect(events.map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      ...Array<'content_block_delta'>(8).fill('content_block_delta'),
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 30 } });
  });

  test('folds a stream into the message that the same request gets without one', async () => {
    for (const model of ['sandbox-echo', 'sandbox-lorem', 'sandbox-thinking']) {
      const streaming = client.messages.stream({ model, ...hello, max_tokens: 20 });
      let text = '';
      streaming.on('text', (delta) => {
        text += delta;
      });
      const streamed = await streaming.finalMessage();
      const whole = await client.messages.create({ model, ...hello, max_tokens: 20 });
      const comparable = ({ content, stop_reason, usage }: Anthropic.Message) => ({ content, stop_reason, usage });
      expect(comparable(streamed)).toEqual(comparable(whole));
      expect(text).toBe(streamed.content.map((block) => (block.type === 'text' ? block.text : '')).join(''));
      expect(streaming.request_id).toMatch(/^req_/);
    }
  });

  test('reads thinking with its signature before the text', async () => {
    const message = await client.messages
      .stream({ model: 'sandbox-thinking', ...hello, thinking: { type: 'enabled', budget_tokens: 1024 } })
      .finalMessage();
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: expect.stringMatching(/\w/), signature: expect.stringMatching(/\w/) },
      { type: 'text', text: SAID },
    ]);
    const next = await client.messages.create({
      model: 'sandbox-thinking',
      max_tokens: 100,
      messages: [...hello.messages, { role: 'assistant', content: message.content }, { role: 'user', content: 'On.' }],
    });
    expect(next.content.at(-1)).toEqual({ type: 'text', text: 'On.' } as never);
  });

  test('reads a tool call with its parsed input, streamed and not', async () => {
    const asked = { model: 'sandbox-tool', ...hello, tools: [weather] };
    for (const message of [
      await client.messages.create(asked),
      await client.messages.stream(asked).finalMessage(),
      await client.beta.messages.stream(asked).finalMessage(),
    ]) {
      expect(message.stop_reason).toBe('tool_use');
      expect(message.content).toMatchObject([
        { type: 'tool_use', name: 'get_weather', input: { city: expect.any(String), days: expect.any(Number) } },
      ]);
    }
  });

  test('counts tokens without a charge', async () => {
    const before = await turnpike.admin('GET', '/usage?limit=1');
    expect(await client.messages.countTokens({ model: 'sandbox-echo', messages: hello.messages })).toEqual({
      input_tokens: tokens(SAID),
    });
    expect(await client.beta.messages.countTokens({ model: 'sandbox-echo', messages: hello.messages })).toMatchObject({
      input_tokens: tokens(SAID),
    });
    expect(await turnpike.admin('GET', '/usage?limit=1')).toEqual(before);
  });

  test('lists models, page by page to the end, and retrieves one', async () => {
    const names: string[] = [];
    for await (const model of client.models.list({ limit: 2 })) names.push(model.id);
    expect(names).toContain('sandbox-echo');
    expect(new Set(names).size).toBe(names.length);
    expect(await client.models.retrieve('sandbox-lorem')).toMatchObject({ type: 'model', id: 'sandbox-lorem' });
    expect(await client.beta.models.retrieve('sandbox-lorem')).toMatchObject({ id: 'sandbox-lorem' });
    const missing = client.models.retrieve('no-such-model');
    expect(await missing.catch((thrown) => thrown)).toBeInstanceOf(sdk.Anthropic.NotFoundError);
  });

  test('is served on its beta paths, with and without betas', async () => {
    const message = await client.beta.messages.create({
      model: 'sandbox-echo',
      ...hello,
      betas: ['context-management-2025-06-27', 'no-such-beta-2030-01-01'],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    });
    expect(message.content).toMatchObject([{ type: 'text', text: SAID }]);
    expect(sent.at(-1)?.headers.get('anthropic-beta')).toContain('no-such-beta-2030-01-01');
    expect(await callWithBetaQuery(secret)).toBe(200);
  });

  test('completes a tool loop, although the service ignores its thread fields', async () => {
    sent.length = 0;
    const asked: unknown[] = [];
    const runner = client.beta.messages.toolRunner({
      model: 'sandbox-tool',
      ...hello,
      system: 'Answer with the weather.',
      tools: [
        {
          ...weather,
          type: 'custom' as const,
          parse: (input: unknown) => input as { city: string; days: number },
          run: (input: { city: string; days: number }) => {
            asked.push(input);
            return `sunny for ${input.days} days`;
          },
        },
      ],
    });
    const last = await runner.runUntilDone();
    expect(asked).toEqual([{ city: 'text', days: 1 }]);
    expect(last.content).toMatchObject([{ type: 'text', text: 'sunny for 1 days' }]);
    expect(last.stop_reason).toBe('end_turn');
    // The last turn contained the whole conversation, not a reference to a thread.
    expect(sent.at(-1)?.body).toMatchObject({ system: 'Answer with the weather.', tools: [{ name: 'get_weather' }] });
    expect(sent.at(-1)?.body['thread'] ?? null).toBeNull();
    expect(sent.at(-1)?.body['messages']).toHaveLength(3);
    if (sdk.name === '1.x') expect(sent[0]?.body['thread']).toEqual({ type: 'create' });
  });
});

async function callWithBetaQuery(key: string): Promise<number> {
  const response = await fetch(`${turnpike.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ model: 'sandbox-echo', ...hello }),
  });
  await response.arrayBuffer();
  return response.status;
}
