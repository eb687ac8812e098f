// The counts that a bill waits for.

import { expect, test } from 'bun:test';
import { needsCounts } from '../../../src/gateway/message-record.ts';
import { MessageCounter } from '../../../src/usage/usage.ts';
import { type JsonObject, makeEvent } from '../../../src/wire/wire.ts';

type EventValue = JsonObject & { type: string };

const begin: EventValue = { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 0 } } };
const text: EventValue = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } };
const end: EventValue = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } };

/** The answer for a revoked stream of a model that may think. */
function needsAfter(...events: EventValue[]): boolean {
  const counter = new MessageCounter();
  for (const event of events) counter.observe(makeEvent(event));
  const firstCase = { inputTokens: 1, outputTokens: 50, webSearches: 0, tier: 'standard', cacheWrites: '5m' } as const;
  const plan = { thinks: true, hasServerTools: false, isCompacted: false, firstCase };
  return needsCounts({
    attempt: { counter },
    admitted: { plan, maxTokens: 100, offer: { model: { serves: 'messages' } } },
    coveredTokens: 50,
    ending: 'revoked',
  });
}

test('what was received is counted even where what was held is billed: it may be more', () => {
  expect(needsAfter(begin, text)).toBe(true);
});

test('nothing is counted before an answer began, or once the provider counted all of it', () => {
  expect(needsAfter()).toBe(false);
  expect(needsAfter(begin, text, end)).toBe(false);
});
