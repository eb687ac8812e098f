// Composed Messages streams of providers with other protocols can be read by every client.

import { describe, expect, test } from 'bun:test';
import { MessageComposer, messageIdOf } from '../../../src/providers/compose-message.ts';
import { type JsonObject, MessageFold, type StreamEvent } from '../../../src/wire/wire.ts';

const composer = () => new MessageComposer({ id: 'msg_1', model: 'm' });

function fold(events: readonly StreamEvent[]): JsonObject {
  const message = new MessageFold();
  for (const event of events) message.add(event);
  return message.message();
}

const names = (events: readonly StreamEvent[]) => events.map(({ name, value }) => [name, value['index'] ?? null]);

describe('a composed message', () => {
  test('opens and closes its blocks in the order in which their pieces arrive', () => {
    const to = composer();
    const events = [
      ...to.start({ input_tokens: 3 }),
      ...to.thinking('Let me '),
      ...to.thinking('see.'),
      ...to.signature('sealed'),
      ...to.text('It is'),
      ...to.text(' so.'),
      ...to.beginTool('toolu_1', 'look'),
      ...to.toolInput('{"at":'),
      ...to.toolInput('1}'),
      ...to.beginTool('toolu_2', 'wait'),
      ...to.text('Done.'),
      ...to.finish('tool_use', null, { input_tokens: 3, output_tokens: 9 }),
    ];
    expect(fold(events)).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'Let me see.', signature: 'sealed' },
        { type: 'text', text: 'It is so.' },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
        { type: 'tool_use', id: 'toolu_2', name: 'wait', input: {} },
        { type: 'text', text: 'Done.' },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 9 },
    });
    expect(to.hasTool).toBe(true);
  });

  test('starts once, even if content comes first, and reports no unknown counts', () => {
    const to = composer();
    const events = [...to.text('a'), ...to.start({ input_tokens: 1 }), ...to.finish('end_turn', null, {})];
    expect(names(events)).toEqual([
      ['message_start', null],
      ['content_block_start', 0],
      ['content_block_delta', 0],
      ['content_block_stop', 0],
      ['message_delta', null],
      ['message_stop', null],
    ]);
    expect(events[0]?.value['message']).toHaveProperty('usage', {});
  });

  test('has no empty blocks', () => {
    const to = composer();
    const events = [...to.text(''), ...to.thinking(''), ...to.signature(''), ...to.finish('end_turn', null, {})];
    expect(names(events).map(([name]) => name)).toEqual(['message_start', 'message_delta', 'message_stop']);
  });

  test('gives every thinking block one signature, and every tool an input', () => {
    const to = composer();
    const events = [
      ...to.thinking('a'),
      ...to.signature('one'),
      ...to.signature('two'),
      ...to.redacted('sealed'),
      ...to.beginTool('t', 'f'),
      ...to.toolInput(''),
      ...to.finish('tool_use', null, {}),
    ];
    expect(fold(events)['content']).toEqual([
      { type: 'thinking', thinking: 'a', signature: 'one' },
      { type: 'thinking', thinking: '', signature: 'two' },
      { type: 'redacted_thinking', data: 'sealed' },
      { type: 'tool_use', id: 't', name: 'f', input: {} },
    ]);
    const inputs = events.flatMap(({ value }) => (value['delta'] as JsonObject | undefined)?.['partial_json'] ?? []);
    expect(inputs).toEqual(['{}']);
  });

  test('fails for a tool input that is not an object, unless the message was cut off there', () => {
    for (const input of ['{"a":', '[1]', '"{}"', 'null']) {
      const broken = composer();
      broken.beginTool('t', 'f');
      broken.toolInput(input);
      expect(() => broken.text('next')).toThrow('not a JSON object');
      const ended = composer();
      ended.beginTool('t', 'f');
      ended.toolInput(input);
      expect(() => ended.finish('tool_use', null, {})).toThrow('not a JSON object');
    }
    const cut = composer();
    cut.beginTool('t', 'f');
    cut.toolInput('{"a":');
    expect(cut.finish('max_tokens', null, {}).map(({ name }) => name)).toEqual([
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  test('is named after its request', () => {
    expect(messageIdOf('req_0abc')).toBe('msg_0abc');
  });
});
