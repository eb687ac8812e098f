// Message counters for tests: fed with the pieces of a stream, complete or not.

import type { CounterOptions } from '../../../src/usage/count-message.ts';
import { type Estimates, MessageCounter } from '../../../src/usage/usage.ts';
import { type JsonObject, makeEvent } from '../../../src/wire/wire.ts';
import type { Piece } from './synthetic-tokenizers.ts';

export const MODEL = 'm';
export const ACCOUNT = 1;

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

/** A counter after these pieces, with JSON as tool input. */
export function receive(pieces: readonly Piece[], options: CounterOptions = {}): MessageCounter {
  const counter = observe(new MessageCounter(options), messageStart);
  for (const { kind, text } of pieces) {
    const delta = kind === 'json' ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text };
    observe(counter, { type: 'content_block_delta', index: 0, delta });
  }
  return counter;
}

/** A counter after the whole stream, with its output reported. */
export function complete(pieces: readonly Piece[], tokens: number, options: CounterOptions = {}): MessageCounter {
  return observe(receive(pieces, options), messageDelta(tokens), messageStop);
}

/** The output that is billed if the stream is cut after these pieces. */
export function billed(estimates: Estimates, pieces: readonly Piece[], account = ACCOUNT): number {
  const counter = receive(pieces, { estimate: estimates.output(MODEL, account) });
  return counter.estimate({ inputEstimate: 0, outputTokensMax: 1_000_000 }).counts.output;
}

/** The output that a hold must cover for these pieces. */
export function covered(estimates: Estimates, pieces: readonly Piece[], account = ACCOUNT): number {
  return receive(pieces, { estimate: estimates.output(MODEL, account) }).coverTokens();
}
