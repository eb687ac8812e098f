// The provider's streams as Messages streams, with all content in order and once.

import { describe, expect, test } from 'bun:test';
import { foldAnswer } from '../../../../src/providers/compose-message.ts';
import { ChunkConverter, convertAnswer } from '../../../../src/providers/openai-responses/convert-chunk.ts';
import { decodeReasoning } from '../../../../src/providers/openai-responses/reasoning-signature.ts';
import { isJsonObject, type JsonObject, jsonObjects } from '../../../../src/wire/wire.ts';
import {
  chunksOf,
  convertPieces,
  eventsOf,
  fixtureNames,
  fold,
  messageOf,
  readFixture,
  responseOf,
  TERMS,
} from './convert-fixture.ts';

const USAGE = {
  input_tokens: 20,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 0,
  output_tokens: 40,
  output_tokens_details: { thinking_tokens: 25 },
};
const answerOf = (response: JsonObject, terms = TERMS) => foldAnswer(convertAnswer(response, terms));
const BROKEN = ['failed', 'error', 'failed-at-once', 'no-end'];
const WHOLE = fixtureNames.filter((name) => !BROKEN.includes(name));

describe('a stream', () => {
  test('becomes a message with its text, model, stop reason and usage', async () => {
    expect(await messageOf('text')).toEqual({
      id: 'msg_ours',
      type: 'message',
      role: 'assistant',
      model: 'gpt-test-2026',
      content: [{ type: 'text', text: 'Héllo ✓ wörld' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: USAGE,
    });
  });

  test('passes on each piece of a text immediately', async () => {
    const deltas = (await eventsOf('text')).flatMap(({ value }) => (value['delta'] as JsonObject)?.['text'] ?? []);
    expect(deltas).toEqual(['Hé', 'llo ✓', ' wörld']);
  });

  test('keeps thinking, text and tools in order, each in a block of its own', async () => {
    expect((await messageOf('reasoning-and-tools'))['content']).toEqual([
      {
        type: 'thinking',
        thinking: '**Looking**\nAt the weather.\n\n**Asking**\nThe tool.',
        signature: expect.stringMatching(/^openai-responses\.1\.[\w-]+\.gAAAA\.sealed-0==$/),
      },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id: 'call_2', name: 'get_weather', input: { city: 'Zürich', days: 2 } },
      { type: 'tool_use', id: 'call_3', name: 'get_time', input: {} },
    ]);
  });

  test('stops with tool_use whenever a tool is called', async () => {
    for (const name of ['reasoning-and-tools', 'arguments-at-end', 'mixed-items'])
      expect((await messageOf(name))['stop_reason']).toBe('tool_use');
  });

  test('gives tools the arguments that arrive only at their end', async () => {
    expect((await messageOf('arguments-at-end'))['content']).toMatchObject([
      { type: 'tool_use', id: 'call_0', input: { city: 'Paris' } },
      { type: 'tool_use', id: 'call_1', input: { zone: 'UTC' } },
    ]);
  });

  test('puts interleaved items in sequence', async () => {
    expect((await messageOf('mixed-items'))['content']).toEqual([
      { type: 'tool_use', id: 'call_0', name: 'get_weather', input: { city: 'Paris' } },
      { type: 'tool_use', id: 'call_1', name: 'get_time', input: { zone: 'UTC' } },
      { type: 'text', text: 'Both asked.' },
    ]);
  });

  test('does not delay an item that is not interleaved with others', () => {
    const converter = new ChunkConverter(TERMS);
    const given = chunksOf('reasoning-and-tools').map((chunk) => [chunk['type'], converter.add(chunk).length]);
    const deltas = given.filter(([type]) => String(type).endsWith('.delta'));
    expect(deltas.length).toBeGreaterThan(5);
    expect(deltas.every(([, count]) => Number(count) > 0)).toBe(true);
  });

  test('keeps the parts of one message separate', () => {
    const content = ['One.', 'Two.'].map((text) => ({ type: 'output_text', text }));
    const response = { status: 'completed', output: [{ type: 'message', content }] };
    expect(answerOf(response).message['content']).toEqual([
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.' },
    ]);
  });

  test('keeps the texts of two messages separate', async () => {
    expect((await messageOf('two-messages'))['content']).toEqual([
      { type: 'text', text: 'First.' },
      { type: 'text', text: 'Second.' },
    ]);
  });

  test.each([
    ['refusal', 'refusal', 'I cannot help with that.'],
    ['content-filter', 'refusal', 'Half of it'],
    ['max-tokens', 'max_tokens', 'Half of it'],
  ])('that ends with %s has the stop reason %s and keeps its content', async (name, stopReason, text) => {
    expect(await messageOf(name)).toMatchObject({ stop_reason: stopReason, content: [{ type: 'text', text }] });
  });

  test('that is cut inside the arguments of a tool stops with max_tokens, without a fault', async () => {
    const events = await eventsOf('max-tokens-in-tool');
    expect(events.at(-2)?.value).toMatchObject({ delta: { stop_reason: 'max_tokens' }, usage: USAGE });
    expect(events.at(-3)?.name).toBe('content_block_stop');
  });

  test('of an unusual server, with comments, new events and [DONE], is read like any other', async () => {
    const events = await eventsOf('odd-server');
    expect(fold(events)['content']).toEqual([{ type: 'text', text: 'Half of it' }]);
    expect(events.map(({ json }) => json).join()).not.toContain('DONE');
  });

  test.each(WHOLE)('(%s) reports no count before it is known, and every count at its end', async (name) => {
    const events = await eventsOf(name);
    expect(events[0]?.value['message']).toMatchObject({ usage: {} });
    expect(events[0]?.json).not.toContain('_tokens');
    expect(events.at(-2)?.value['usage']).toEqual(USAGE);
  });
});

describe('a fault in a stream', () => {
  test.each([
    ['failed', 'failed', 'The server had an error.'],
    ['error', 'rate_limited', 'Slow down.'],
    ['no-end', 'failed', 'the stream ended before the message was complete'],
  ])('(%s) is thrown after the content before it, and is never a normal end', async (name, kind, message) => {
    const { events, fault } = await convertPieces([readFixture(name)]);
    expect(fault).toMatchObject({ kind, message });
    expect(events.map((event) => event.name)).not.toContain('message_stop');
    expect(events.at(-1)?.value).toMatchObject({ delta: { text: 'of it' } });
  });

  test('that precedes all output is thrown before the message begins, so that another route may be tried', async () => {
    const { events, fault } = await convertPieces([readFixture('failed-at-once')]);
    expect(events).toEqual([]);
    expect(fault).toMatchObject({
      kind: 'rejected',
      errorType: 'invalid_request_error',
      message: 'prompt is too long: Your input exceeds the context window of this model.',
    });
  });

  test.each(['{"type":', '12', '<h1>It works!</h1>'])(
    'is caused by an event that is not a JSON object (%s)',
    async (text) => {
      const { fault } = await convertPieces([readFixture('no-end'), Buffer.from(`data: ${text}\n\n`)]);
      expect(fault?.kind).toBe('failed');
      expect(fault?.message).not.toContain('It works');
    },
  );

  test('is caused by a tool input that is not a JSON object', async () => {
    const text = readFixture('arguments-at-end').toString().replaceAll('{\\"zone\\":\\"UTC\\"}', '[1]');
    const { fault } = await convertPieces([Buffer.from(text)]);
    expect(fault).toMatchObject({ kind: 'unusable' });
  });

  test('that rejects the content after counted output is unusable, with its counts', () => {
    const failed = (output_tokens: number) => ({
      status: 'failed',
      error: { code: 'invalid_prompt', message: 'No.' },
      usage: { input_tokens: 10, output_tokens },
      output: [],
    });
    const faultOf = (convert: () => unknown) => {
      try {
        return convert();
      } catch (thrown) {
        return thrown;
      }
    };
    for (const [tokens, kind] of [
      [0, 'rejected'],
      [7, 'unusable'],
    ] as const) {
      const wanted = { kind, ...(tokens > 0 && { usage: { input_tokens: 10, output_tokens: tokens } }) };
      const response = failed(tokens);
      expect(faultOf(() => convertAnswer(response, TERMS))).toMatchObject(wanted);
      const event = { type: 'response.failed', response };
      expect(faultOf(() => new ChunkConverter(TERMS).add(event))).toMatchObject(wanted);
    }
  });

  test('is caused by an item that exceeds the buffer while it waits for its turn', () => {
    const converter = new ChunkConverter(TERMS);
    const [, first = {}, second = {}] = chunksOf('mixed-items');
    converter.add(first);
    converter.add(second);
    const delta = { type: 'response.function_call_arguments.delta', output_index: 1, delta: 'x'.repeat(9_000_000) };
    converter.add(delta);
    expect(() => converter.add(delta)).toThrow('too many items to put them in order');
  });
});

describe('thinking', () => {
  test('that is omitted is sent as its signature alone', async () => {
    const { content } = (await messageOf('reasoning-and-tools', { display: 'sealed' })) as { content: JsonObject[] };
    expect(content[0]).toEqual({ type: 'thinking', thinking: '', signature: expect.stringContaining('gAAAA.sealed') });
    expect(decodeReasoning('', String(content[0]?.['signature']), 'home')).toEqual({
      type: 'reasoning',
      id: 'rs_0',
      summary: [],
      encrypted_content: 'gAAAA.sealed-0==',
    });
  });

  test('is sent back as the same item', async () => {
    for (const name of ['reasoning-and-tools', 'open-reasoning']) {
      const [block] = jsonObjects((await messageOf(name))['content']);
      const item = jsonObjects(responseOf(name)['output'])[0];
      expect(decodeReasoning(String(block?.['thinking']), String(block?.['signature']), 'home')).toEqual(item as never);
    }
  });

  test('that a server shows openly is shown', async () => {
    expect((await messageOf('open-reasoning'))['content']).toMatchObject([
      { type: 'thinking', thinking: 'Hm, let me see.' },
      { type: 'text', text: 'Yes.' },
    ]);
  });
});

describe('a response without streaming', () => {
  test.each(WHOLE.filter((name) => name !== 'max-tokens-in-tool'))(
    '(%s) is the same message as its stream',
    async (name) => {
      const { message, text } = answerOf(responseOf(name));
      expect(message).toEqual(await messageOf(name));
      expect(text).toBe(JSON.stringify(message));
    },
  );

  test('that was cut inside the arguments of a tool leaves the tool out', () => {
    const { message } = answerOf(responseOf('max-tokens-in-tool'));
    expect(message).toMatchObject({ content: [], stop_reason: 'max_tokens', usage: USAGE });
  });

  test('has tool inputs with every digit, streamed or not', () => {
    const input = '{"id":12345678901234567890,"at":1.25}';
    const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: input };
    const response = { status: 'completed', output: [call] };
    expect(answerOf(response).text).toContain(`"input":${input}`);
    expect(convertAnswer(response, TERMS).map(({ json }) => json)).toContainEqual(
      expect.stringContaining(JSON.stringify(input)),
    );
  });

  test('becomes all the events that a streaming client needs', () => {
    const events = convertAnswer(responseOf('text'), TERMS);
    expect(events[0]?.name).toBe('message_start');
    expect(events.at(-1)?.name).toBe('message_stop');
  });

  test.each([
    [{ status: 'failed', output: [], error: { code: 'server_error', message: 'Broken.' } }, 'failed', 'Broken.'],
    [{ status: 'failed', output: [], error: { code: 'insufficient_quota', message: 'No.' } }, 'credentials', 'No.'],
    [{ status: 'in_progress', output: [] }, 'failed', 'the provider returned an unfinished response'],
    [{ status: 'queued', output: [] }, 'failed', 'the provider returned an unfinished response'],
    [{ object: 'list', data: [] }, 'failed', 'the provider sent an error'],
  ])('that is invalid is a fault: %p', (response, kind, message) => {
    expect(() => convertAnswer(response as JsonObject, TERMS)).toThrow(message);
    try {
      convertAnswer(response as JsonObject, TERMS);
    } catch (fault) {
      expect((fault as { kind: string }).kind).toBe(kind);
    }
  });
});

describe('names and ids', () => {
  const call = (members: object) => ({
    status: 'completed',
    output: [{ type: 'function_call', arguments: '{}', ...members }],
  });

  test('of tools that had to be replaced are restored for the client', () => {
    const response = call({ call_id: 'call_1', name: 'short' });
    const { message } = answerOf(response, { ...TERMS, toolNames: new Map([['short', 'the.long name']]) });
    expect(message['content']).toMatchObject([{ name: 'the.long name' }]);
  });

  test.each([
    ['call:1/2', 'call_1_2'],
    [undefined, 'msg_ours_0'],
  ])('of calls (%p) can be sent back by a client', (id, ours) => {
    const response = call({ name: 'look', ...(id !== undefined && { call_id: id }) });
    expect(answerOf(response).message['content']).toMatchObject([{ id: ours }]);
  });

  test('default to the requested model name if the provider sends none', () => {
    expect(answerOf({ status: 'completed', output: [] }).message['model']).toBe('upstream-model');
  });

  test('of items may be missing: the items are in the order in which they began', () => {
    const converter = new ChunkConverter(TERMS);
    const events = chunksOf('two-messages').flatMap(({ output_index: _, ...chunk }) => {
      const { response } = chunk;
      return converter.add(isJsonObject(response) ? { ...chunk, response: { ...response, output: [] } } : chunk);
    });
    expect(fold(events)['content']).toEqual([
      { type: 'text', text: 'First.' },
      { type: 'text', text: 'Second.' },
    ]);
  });
});

describe('a stream with indexes that differ from its whole response', () => {
  const item = (id: string, text: string) => ({ type: 'message', id, content: [{ type: 'output_text', text }] });
  const eventsOfItem = (output_index: number, id: string, text: string): JsonObject[] => [
    { type: 'response.output_item.added', output_index, item: { type: 'message', id, content: [] } },
    { type: 'response.output_text.delta', output_index, content_index: 0, delta: text },
    { type: 'response.output_item.done', output_index, item: item(id, text) },
  ];
  const textsOf = (events: JsonObject[]) => {
    const converter = new ChunkConverter(TERMS);
    return jsonObjects(fold(events.flatMap((event) => converter.add(event)))['content']).map(({ text }) => text);
  };
  const completed = (...output: JsonObject[]) => ({ type: 'response.completed', response: { output } });

  test('has each item once, identified by its id or by its position', () => {
    const begun = [...eventsOfItem(0, 'a', 'One.'), ...eventsOfItem(2, 'c', 'Three.')];
    expect(textsOf([...begun, completed(item('a', 'One.'), item('c', 'Three.'))])).toEqual(['One.', 'Three.']);
    expect(textsOf([...begun, completed(item('x', 'One.'), item('y', 'Three.'))])).toEqual(['One.', 'Three.']);
  });

  test('ends with the items that only the whole response has', () => {
    const whole = completed(item('a', 'One.'), item('c', 'Three.'), item('d', 'Four.'));
    expect(textsOf([...eventsOfItem(0, 'a', 'One.'), ...eventsOfItem(2, 'c', 'Three.'), whole])).toEqual([
      'One.',
      'Three.',
      'Four.',
    ]);
  });
});

test('the input of a call may arrive as an object', () => {
  const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: { at: 1 } };
  const { message } = answerOf({ status: 'completed', output: [call] });
  expect(message['content']).toMatchObject([{ type: 'tool_use', input: { at: 1 } }]);
});

describe('an unusual end or excessive output', () => {
  const added = (output_index: number) => ({
    type: 'response.output_item.added',
    output_index,
    item: { type: 'message' },
  });
  const addAll = (events: JsonObject[]) => {
    const converter = new ChunkConverter(TERMS);
    for (const event of events) converter.add(event);
  };

  test('is a fault if there are more items than a response may have', () => {
    expect(() => addAll(Array.from({ length: 2_000 }, (_, index) => added(index)))).toThrow('too many items');
  });

  test('is a fault if sealed reasoning is sent for items whose turn does not come', () => {
    const encrypted_content = 'x'.repeat(1024 * 1024);
    const done = { type: 'response.output_item.done', item: { type: 'reasoning', id: 'rs', encrypted_content } };
    const mixed = Array.from({ length: 20 }, (_, index) => ({ ...done, output_index: index + 1 }));
    expect(() => addAll([added(0), ...mixed])).toThrow('too many items to put them in order');
    const repeated = Array.from({ length: 300_000 }, () => ({
      type: 'response.output_item.done',
      output_index: 1,
      item: {},
    }));
    expect(() => addAll([added(0), ...repeated])).toThrow('too many items to put them in order');
  });

  test('is a fault if the final event is called complete but reports a failure', () => {
    const response = { status: 'failed', output: [], error: { code: 'server_error', message: 'it broke' } };
    for (const type of ['response.completed', 'response.incomplete'])
      expect(() => addAll([{ type, response }])).toThrow('it broke');
  });

  test('is a cut message if only the name of the final event says so', () => {
    const events = new ChunkConverter(TERMS).add({ type: 'response.incomplete', response: {} });
    expect(events.at(-2)?.value['delta']).toMatchObject({ stop_reason: 'max_tokens' });
  });
});

test('call ids are unique in a conversation, even if the provider numbers or repeats its own ids', () => {
  const idsOf = (...given: string[]) => {
    const output = given.map((call_id) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' }));
    return jsonObjects(
      answerOf({ status: 'completed', output }, { ...TERMS, callIds: new Set(['call_0']) }).message['content'],
    ).map(({ id }) => id);
  };
  expect(idsOf('call_0', 'call_abcdefgh', 'call_abcdefgh', 'call_1')).toEqual([
    'msg_ours_0',
    'call_abcdefgh',
    'msg_ours_2',
    'call_1',
  ]);
});
