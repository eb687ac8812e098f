// Answers of Gemini that are relayed as they come: which event of the message sends which chunk.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { convertEvents } from '../../../../src/providers/gemini/gemini.ts';
import { keepChunk } from '../../../../src/providers/keep-native.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import { makeEvent, type StreamEvent } from '../../../../src/wire/wire.ts';

const terms = {
  requestId: 'req_1',
  upstreamModel: 'gemini-3-flash',
  names: new Map<string, string>(),
  callIds: new Set<string>(),
  thinks: false,
};
const chunk = (parts: object[], more: object = {}) => ({ candidates: [{ content: { parts }, ...more }] });
const call = { functionCall: { name: 'f', args: {} }, thoughtSignature: 'R29vZ2xl' };
const usage = { usageMetadata: { promptTokenCount: 25, candidatesTokenCount: 12, totalTokenCount: 37 } };

/** The chunks that each event sends, by the event's name, without events that send none. */
function sentBy(events: readonly StreamEvent[]): [name: string, sent: unknown[]][] {
  expect(events.every(({ native }) => native !== undefined)).toBe(true);
  return events.flatMap(({ name, native = [] }): [string, unknown[]][] =>
    native.length === 0 ? [] : [[name, native.map(({ text }) => JSON.parse(text))]],
  );
}

function eventsOf(...chunks: object[]): StreamEvent[] {
  const converter = convertEvents(terms, true);
  const taken = chunks.flatMap((one) => converter.take({ name: 'message', text: JSON.stringify(one) }));
  return [...taken, ...converter.end()];
}

describe('a chunk', () => {
  test('is sent with the last of its events, and one without any with the next', () => {
    const [first, empty, second] = [chunk([{ text: 'a' }, call]), {}, chunk([{ text: 'b' }])];
    const end = { ...chunk([], { finishReason: 'STOP' }), ...usage };
    expect(sentBy(eventsOf(first, empty, second, end))).toEqual([
      ['content_block_stop', [first]],
      ['content_block_delta', [empty, second]],
      ['message_stop', [end]],
    ]);
  });

  test('that ends the answer is sent after settlement, with its content and with those after it', () => {
    const end = chunk([{ text: 'b' }], { finishReason: 'STOP' });
    const events = eventsOf(chunk([{ text: 'a' }]), end, usage, {});
    expect(sentBy(events)).toEqual([
      ['content_block_delta', [chunk([{ text: 'a' }])]],
      ['message_stop', [end, usage, {}]],
    ]);
    expect(sentBy(eventsOf({ promptFeedback: { blockReason: 'SAFETY' } }))).toEqual([
      ['message_stop', [{ promptFeedback: { blockReason: 'SAFETY' } }]],
    ]);
  });

  test('is kept with every digit and space', () => {
    const text =
      '{"candidates": [{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":12345678901234567890.10}}}]}}]}';
    const [event] = convertEvents(terms, true).take({ name: 'message', text }).slice(-1);
    expect(event?.native).toEqual([{ name: 'message', text }]);
  });
});

test('what a provider sends beside content is bounded', () => {
  const converter = convertEvents(terms, true);
  const text = JSON.stringify({ padding: 'x'.repeat(bounds.upstreamEventBytesMax / 4) });
  const send = () => {
    for (let count = 0; count < 5; count++) converter.take({ name: 'message', text });
  };
  expect(send).toThrow(ProviderFault);
});

test('a whole answer to a request for a stream is sent after settlement', () => {
  const events = [makeEvent({ type: 'message_start', message: {} }), makeEvent({ type: 'message_stop' })];
  expect(sentBy(keepChunk(events, usage))).toEqual([['message_stop', [usage]]]);
});
