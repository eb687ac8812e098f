// The text in which answers are stored: as earlier versions wrote it, and read as the events that they were.

import { expect, test } from 'bun:test';
import { readStoredAnswer, readStoredEvents, storedText } from '../../../src/gateway/stored-answer.ts';
import { makeEvent, type StreamEvent } from '../../../src/wire/wire.ts';

const start = makeEvent({ type: 'message_start', message: { id: 'msg_1', content: [] } });
const native = [
  { name: 'response.created', text: '{"a":\n12345678901234567890}' },
  { name: 'message', text: '{"text":"data: x"}' },
];
const events: readonly StreamEvent[] = [start, { ...makeEvent({ type: 'message_stop' }), native }];
const TEXT =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","content":[]}}\n\n' +
  ': native\nevent: response.created\ndata: {"a": 12345678901234567890}\n\n' +
  ': native\ndata: {"text":"data: x"}\n\n';

test('events are stored in the form of earlier versions', () => {
  expect(events.map(storedText).join('')).toBe(TEXT);
  expect(storedText({ ...start, native: [] })).toBe('');
});

test('stored events are the same again, those of a provider of the client’s protocol each in one', () => {
  const [first, ...others] = readStoredEvents(TEXT);
  expect(first).toEqual(start);
  expect(others.map((event) => event.native)).toEqual([
    [{ name: 'response.created', text: '{"a": 12345678901234567890}' }],
    [{ name: 'message', text: '{"text":"data: x"}' }],
  ]);
  expect(readStoredEvents(TEXT).map(storedText).join('')).toBe(TEXT);
  expect(readStoredEvents('')).toEqual([]);
});

test('a whole answer is a message, or a text in the protocol of its client', () => {
  const message = '{"type":"message","content":[]}';
  const own = '{"object":"response"}';
  expect(readStoredAnswer(message, 'responses')).toEqual({ text: message, message: JSON.parse(message) });
  for (const [text, protocol] of [
    [own, 'responses'],
    [message, 'messages'],
    ['{"data":[]}', 'embeddings'],
  ] as const)
    expect(readStoredAnswer(text, protocol)).toEqual({ text, message: null });
});
