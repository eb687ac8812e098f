// Why an answer ended, in the words of Chat Completions.

import type { JsonValue } from '../wire/wire.ts';

/** What is not here is an end of the turn. */
const FINISH_REASONS: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

export function finishReasonOf(stopReason: JsonValue | undefined, callsFunctions: boolean): string {
  if (stopReason === 'tool_use' && callsFunctions) return 'function_call';
  const known = typeof stopReason === 'string' && Object.hasOwn(FINISH_REASONS, stopReason);
  return (known ? FINISH_REASONS[stopReason] : undefined) ?? 'stop';
}

/** An id of the answer from that of the message. */
export function chatIdOf(messageId: JsonValue | undefined): string {
  return `chatcmpl-${String(messageId ?? '').replace(/^msg_/, '')}`;
}
