// Messages for tests of counting: counters that have seen a stream of given pieces, finished or not.

import { type CounterOptions, type Estimates, MessageCounter } from '../../src/usage/usage.ts';
import { type JsonObject, makeEvent } from '../../src/wire/wire.ts';
import type { Piece } from './synthetic-tokenizers.ts';

export const MODEL = 'm';

export function observe(counter: MessageCounter, ...events: (JsonObject & { type: string })[]): MessageCounter {
  for (const event of events) counter.observe(makeEvent(event));
  return counter;
}

export const messageStart = { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 0 } } };
export const messageStop = { type: 'message_stop' };

export function messageDelta(outputTokens: number, thinkingTokens: number | null = null) {
  const details = thinkingTokens === null ? null : { thinking_tokens: thinkingTokens };
  const usage = { output_tokens: outputTokens, output_tokens_details: details };
  return { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage };
}

/** One that has seen the pieces, JSON as the input of a tool. */
export function receive(pieces: readonly Piece[], options: CounterOptions = {}): MessageCounter {
  const counter = observe(new MessageCounter(options), messageStart);
  for (const { kind, text } of pieces) {
    const delta = kind === 'json' ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text };
    observe(counter, { type: 'content_block_delta', index: 0, delta });
  }
  return counter;
}

/** One that has seen the whole stream, with its output reported. */
export function complete(pieces: readonly Piece[], tokens: number, options: CounterOptions = {}): MessageCounter {
  return observe(receive(pieces, options), messageDelta(tokens), messageStop);
}

/** What would be billed of the pieces, if their stream were cut after them. */
export function billed(estimates: Estimates, pieces: readonly Piece[]): number {
  const counter = receive(pieces, { estimate: estimates.output(MODEL) });
  return counter.total({ inputEstimate: 0, outputTokensMax: 1_000_000 }).counts.output;
}

/** What a hold would have to cover of them. */
export function covered(estimates: Estimates, pieces: readonly Piece[]): number {
  return receive(pieces, { estimate: estimates.output(MODEL) }).coverTokens();
}
