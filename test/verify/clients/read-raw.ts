// Reads raw responses for clients that do not parse them: messages, streams, lists and errors.

import type { Got, Json } from './conversations/conversation.ts';

/** `answers` are whole bodies, or the events of one stream. */
export function readRaw(answers: readonly Json[]): Got {
  const [first = {}] = answers;
  if (answers.some(({ error }) => error !== undefined)) return readRefusals(answers);
  if (first['type'] === 'message_start') return readEvents(answers);
  if (first['type'] === 'message') return readMessage(first);
  if ('input_tokens' in first) return { inputTokens: Number(first['input_tokens']) };
  return { models: (first['data'] as { id: string }[]).map(({ id }) => id) };
}

function readMessage({ content, stop_reason, usage }: Json): Got {
  const text = (content as { text?: string }[]).map((block) => block.text ?? '').join('');
  return { text, ...endOf(stop_reason, usage), ...(text.startsWith('{') && { object: JSON.parse(text) }) };
}

function readEvents(events: readonly Json[]): Got {
  const text = events.map(({ delta }) => (delta as { text?: string } | undefined)?.text ?? '').join('');
  const { usage: start } = (events[0]?.['message'] ?? {}) as { usage?: Json };
  const end = events.find(({ type }) => type === 'message_delta');
  if (end === undefined) return { text }; // The client did not see it after its disconnect.
  return { text, ...endOf((end['delta'] as Json)['stop_reason'], { ...start, ...(end['usage'] as Json) }) };
}

function endOf(stopReason: unknown, usage: unknown): Got {
  const count = (name: string) => Number((usage as Json)[name] ?? 0);
  return {
    stopReason: String(stopReason),
    usage: {
      input: count('input_tokens'),
      cacheRead: count('cache_read_input_tokens'),
      cacheWrite: count('cache_creation_input_tokens'),
      output: count('output_tokens'),
    },
  };
}

function readRefusals(answers: readonly Json[]): Got {
  const errors = answers.flatMap(({ error, http_status }) =>
    error === undefined ? [] : [{ ...(error as Json), http_status }],
  ) as Json[];
  const refusals = errors.map(({ type, code, http_status }) => ({
    fault: String(type),
    code: String(code),
    status: Number(http_status),
  }));
  return { fault: String(errors[0]?.['type']), refusals };
}
