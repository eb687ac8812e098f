// Assembling a response from its stream events.

import { expect, test } from 'bun:test';
import {
  type Answer,
  applyEvent,
  blocksToSend,
  emptyAnswer,
  toolCallsOf,
} from '../../console/features/playground/answer.ts';

const start = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block });
const delta = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta });
const stop = (index: number) => ({ type: 'content_block_stop', index });
const after = (events: Record<string, unknown>[]): Answer => events.reduce(applyEvent, emptyAnswer);

const EVENTS = [
  { type: 'message_start', message: { model: 'm', usage: { input_tokens: 3, output_tokens: 1 } } },
  { type: 'ping' },
  start(0, { type: 'thinking', thinking: '', signature: '' }),
  delta(0, { type: 'thinking_delta', thinking: 'I ' }),
  delta(0, { type: 'thinking_delta', thinking: 'think' }),
  delta(0, { type: 'signature_delta', signature: 'signed' }),
  stop(0),
  start(1, { type: 'text', text: '' }),
  delta(1, { type: 'text_delta', text: 'Hel' }),
  delta(1, { type: 'text_delta', text: 'lo' }),
  stop(1),
  start(2, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }),
  delta(2, { type: 'input_json_delta', partial_json: '{"city":' }),
  delta(2, { type: 'input_json_delta', partial_json: '"Paris"}' }),
  stop(2),
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
];

test('thinking, text and tool calls are complete at the end and are sent back', () => {
  const answer = after(EVENTS);
  const blocks = [
    { type: 'thinking', thinking: 'I think', signature: 'signed' },
    { type: 'text', text: 'Hello' },
    { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' } },
  ];
  expect(answer).toEqual({
    model: 'm',
    blocks,
    inputTexts: {},
    stopReason: 'tool_use',
    usage: { input_tokens: 3, output_tokens: 9 },
    isComplete: true,
    failure: null,
  });
  expect(blocksToSend(answer)).toEqual(blocks);
  expect(toolCallsOf(answer)).toEqual([{ id: 'toolu_1', name: 'weather' }]);
});

test('an incomplete block is shown but not sent back', () => {
  const inThought = after(EVENTS.slice(0, 5));
  expect(inThought.blocks).toEqual([{ type: 'thinking', thinking: 'I think', signature: '' }]);
  expect(blocksToSend(inThought)).toEqual([]);
  const inCall = after(EVENTS.slice(0, 13));
  expect(inCall.inputTexts).toEqual({ 2: '{"city":' });
  expect(blocksToSend(inCall).map(({ type }) => type)).toEqual(['thinking', 'text']);
});

test('an error in a stream keeps the content received before it', () => {
  const failed = after([
    ...EVENTS.slice(0, 9),
    { type: 'error', error: { type: 'api_error', code: 'upstream_failed', message: 'It broke off.' } },
  ]);
  expect(failed.failure).toEqual({ code: 'upstream_failed', message: 'It broke off.' });
  expect(failed.blocks[1]).toEqual({ type: 'text', text: 'Hel' });
  expect(failed.isComplete).toBe(false);
});

test('unknown events are ignored', () => {
  const strange = [
    {},
    { type: 'of_tomorrow', index: 'x' },
    { type: 'message_start', message: null },
    { type: 'content_block_delta', index: 3, delta: { type: 'text_delta', text: 'nowhere' } },
    { type: 'content_block_delta', index: -1, delta: null },
    { type: 'message_delta', delta: null, usage: [] },
  ];
  expect(after(strange)).toEqual(emptyAnswer);
});
