// Streams of Chat Completions families, with all their peculiarities, become Messages streams that every client can
// read.

import { describe, expect, test } from 'bun:test';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { readAll, readToFault } from '../make-attempt.ts';
import { attemptAt, type Family, fixture, fold, openBody, openFixture } from './read-fixture.ts';

const PARIS = { city: 'Paris' };
const OURS = 'turnpike.chat.1.'; // the prefix of a signature

async function messageOf(name: string, family: Family = 'openai', members: object = {}): Promise<JsonObject> {
  return fold(await readAll(openFixture(name, family, members)));
}

const callOf = (name: string, input: JsonObject, id: string = expect.any(String)) => ({
  type: 'tool_use',
  id,
  name,
  input,
});

describe('a stream', () => {
  test('of text has its usage from the chunk after its end, and cached tokens are counted once', async () => {
    expect(await messageOf('openai-text')).toEqual({
      id: 'msg_ours',
      type: 'message',
      role: 'assistant',
      model: 'gpt-5.6',
      content: [{ type: 'text', text: 'Grüße aus 東京 🗼.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 20,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 100,
        output_tokens: 30,
        output_tokens_details: { thinking_tokens: 10 },
      },
    });
  });

  test('begins with its first choice and reports no counts that are not known yet', async () => {
    const [start] = await readAll(openFixture('azure-text', 'azure'));
    expect(start?.value['message']).toMatchObject({ model: 'gpt-4.1-2025-04-14', content: [], usage: {} });
    const [known] = await readAll(openFixture('xai-cumulative', 'xai'));
    expect(known?.value['message']).toMatchObject({
      usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 40 },
    });
  });

  test('with interleaved calls gives them one after another', async () => {
    const message = await messageOf('openai-interleaved-calls');
    expect(message['content']).toEqual([
      callOf('get_weather', PARIS, 'call_AAAAAAAAAAAAAAAAAAAAAAAA'),
      callOf('get_time', { zone: 'CET' }, 'call_BBBBBBBBBBBBBBBBBBBBBBBB'),
      callOf('now', {}, 'call_CCCCCCCCCCCCCCCCCCCCCCCC'),
    ]);
    expect(message['stop_reason']).toBe('tool_use');
  });

  test('of thinking, text and a call keeps their order, and the thinking has a signature of the service', async () => {
    expect(await messageOf('deepseek-thinking-call', 'deepseek')).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'The user wants the weather.', signature: OURS },
        { type: 'text', text: 'Let me look.' },
        callOf('get_weather', PARIS, 'call_00_xYz0123456789abcdefgh'),
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 44, cache_read_input_tokens: 256, output_tokens: 50 },
    });
  });

  test('of a router keeps the details of its reasoning in the signature, and its cache writes separate', async () => {
    const message = await messageOf('openrouter-details', 'openrouter');
    const [thinking] = message['content'] as JsonObject[];
    expect(thinking).toMatchObject({ type: 'thinking', thinking: 'Let me see.' });
    const held = String(thinking?.['signature']).slice(OURS.length);
    expect(JSON.parse(Buffer.from(held, 'base64url').toString())).toEqual({
      model: 'gpt-4.1',
      details: [
        {
          type: 'reasoning.text',
          text: 'Let me see.',
          signature: 'EqQBsig==',
          format: 'anthropic-claude-v1',
          index: 0,
        },
      ],
    });
    expect(message['usage']).toEqual({
      input_tokens: 100,
      cache_creation_input_tokens: 300,
      cache_read_input_tokens: 600,
      output_tokens: 60,
      output_tokens_details: { thinking_tokens: 12 },
    });
  });

  test('with thinking among its content parts becomes a thinking block', async () => {
    expect(await messageOf('mistral-thinking-call', 'mistral')).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hmm, Paris.' },
        { type: 'text', text: 'Looking.' },
        callOf('get_weather', PARIS, 'D681PevKs'),
      ],
      usage: { input_tokens: 70, output_tokens: 25 },
    });
  });

  test('with thinking between tags in its text becomes a thinking block, and later tags stay text', async () => {
    expect(await messageOf('llama-cpp-think-tags', 'compatible')).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Two and two' },
        { type: 'text', text: 'Four <think> is a tag.' },
      ],
      usage: { input_tokens: 12, output_tokens: 20 },
    });
    const asText = await messageOf('llama-cpp-think-tags', 'openai');
    expect(asText['content']).toHaveLength(1);
  });

  test('has its usage wherever its family puts it', async () => {
    expect(await messageOf('groq-reasoning', 'groq')).toMatchObject({ usage: { input_tokens: 20, output_tokens: 8 } });
    expect(await messageOf('moonshot-call', 'moonshot')).toMatchObject({
      usage: { input_tokens: 12, cache_read_input_tokens: 48, output_tokens: 22 },
    });
    expect(await messageOf('xai-cumulative', 'xai')).toMatchObject({
      usage: {
        input_tokens: 10,
        cache_read_input_tokens: 40,
        output_tokens: 11,
        output_tokens_details: { thinking_tokens: 9 },
      },
    });
  });

  test('without usage has no counts, and needs no [DONE]', async () => {
    const events = await readAll(openFixture('no-usage-no-done', 'compatible'));
    expect(events.at(-2)?.value).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: {},
    });
  });

  test('that repeats the beginning of a call, or changes its id, has one call, and the stop reason tool_use', async () => {
    expect(await messageOf('vllm-repeated-heads', 'compatible')).toMatchObject({
      content: [callOf('get_weather', PARIS, 'chatcmpl-tool-aaaa1111')],
      stop_reason: 'tool_use',
    });
  });

  test('that reuses an index has another call, and later content follows it', async () => {
    expect(await messageOf('reused-index-then-text')).toMatchObject({
      content: [
        { type: 'text', text: 'First.' },
        callOf('get_weather', PARIS, 'call_first1'),
        callOf('get_weather', { city: 'Rome' }, 'call_second'),
        { type: 'text', text: 'Two calls.' },
      ],
      stop_reason: 'tool_use',
    });
  });

  test('without call indexes has calls by their ids, and creates missing ids', async () => {
    expect(await messageOf('no-index-calls', 'compatible')).toMatchObject({
      content: [
        callOf('get_weather', PARIS, 'function-call-18446744073'),
        callOf('get_time', { zone: 'CET' }, expect.stringMatching(/^toolu_tp\w{8}_$/)),
      ],
      stop_reason: 'tool_use',
    });
  });

  test('has ids that are unique across turns, of characters that clients accept', async () => {
    const ids = async (name: string, family: Family, requestId: string) => {
      const attempt = attemptAt(family, { stream: true }, { requestId });
      const message = fold(await readAll(openBody([fixture(name)], attempt)));
      return (message['content'] as JsonObject[]).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
    };
    const first = await ids('ollama-calls', 'ollama', 'req_1');
    const second = await ids('ollama-calls', 'ollama', 'req_2');
    expect(new Set([...first, ...second]).size).toBe(4);
    expect(await ids('ollama-calls', 'ollama', 'req_1')).toEqual(first);
    const odd = await ids('moonshot-call', 'moonshot', 'req_1');
    for (const id of [...first, ...second, ...odd]) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
  });

  test('has the stop reason of its provider', async () => {
    expect(await messageOf('content-filter')).toMatchObject({ stop_reason: 'refusal', content: [{ text: 'It is' }] });
    expect(await messageOf('refusal')).toMatchObject({ stop_reason: 'refusal', content: [{ text: 'I cannot help.' }] });
    expect(await messageOf('vllm-stop-sequence', 'compatible', { stop_sequences: ['END'] })).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
    });
    expect(await messageOf('vllm-stop-sequence', 'compatible')).toMatchObject({
      stop_reason: 'end_turn',
      stop_sequence: null,
    });
  });

  test('that is cut within a call has the matching stop reason and the partial call', async () => {
    const events = await readAll(openFixture('cut-in-a-call'));
    expect(events.map(({ name }) => name)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events.at(-2)?.value).toMatchObject({ delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 16 } });
  });
});

describe('an incomplete stream', () => {
  test('is a fault, however it ends', async () => {
    for (const name of ['done-without-end', 'cut']) {
      const { events, fault } = await readToFault(openFixture(name));
      expect(events.map((event) => event.name)).toEqual([
        'message_start',
        'content_block_start',
        'content_block_delta',
      ]);
      expect([fault.kind, fault.message]).toEqual(['failed', 'the stream ended before the message was complete']);
    }
  });

  test('is a fault of its kind if an error comes in the middle', async () => {
    const midway = await readToFault(openFixture('error-midway'));
    expect([midway.events.length, midway.fault.kind]).toEqual([3, 'overloaded']);
    const router = await readToFault(openFixture('openrouter-error-midway', 'openrouter'));
    expect([router.events.length, router.fault.kind]).toEqual([3, 'failed']);
  });

  test('has no event if an error comes first, so that another route may be tried', async () => {
    const { events, fault } = await readToFault(openFixture('error-first'));
    expect([events, fault.kind, fault.upstreamRequestId]).toEqual([[], 'rate_limited', 'req-1']);
  });

  test('stays a fault when it is read again', async () => {
    const source = openFixture('error-first');
    await readToFault(source);
    expect((await readToFault(source)).fault.kind).toBe('rate_limited');
  });

  test('is a fault if its data is not JSON, or a tool input is invalid', async () => {
    const encode = (text: string) => new TextEncoder().encode(text);
    const read = (text: string) => readToFault(openBody([encode(text)], attemptAt('openai', { stream: true })));
    expect((await read('data: <h1>It works!</h1>\n\n')).fault.message).toBe(
      'the provider sent an event that is not JSON',
    );
    expect((await read('data: [1]\n\n')).fault.message).toBe('the provider sent an event that is not a JSON object');
    const call = { index: 0, id: 'call_1234', function: { name: 'f', arguments: '{"a":' } };
    const chunk = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`;
    const broken = `${chunk({ tool_calls: [call] }, null)}${chunk({}, 'tool_calls')}data: [DONE]\n\n`;
    expect((await read(broken)).fault.message).toContain('not a JSON object');
    expect((await read(chunk({ content: 'x' }, 'insufficient_system_resource'))).fault.kind).toBe('overloaded');
  });
});
