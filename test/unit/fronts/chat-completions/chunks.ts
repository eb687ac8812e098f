// Reads the text of a Chat Completions stream as its clients do. It has no tests of its own.

import type { Json } from './read-as-messages.ts';

export interface Chunk extends Json {
  choices: { index: number; delta: Json; finish_reason: string | null; logprobs?: null }[];
}

/** The chunks of a stream, without comments and its end. Throws if it does not consist of whole events. */
export function chunksOf(text: string): Chunk[] {
  if (!text.endsWith('\n\n')) throw new Error(`the stream ends within an event: ${text.slice(-100)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .filter((event) => !event.startsWith(':') && event !== 'data: [DONE]')
    .map((event) => {
      if (!event.startsWith('data: ') || event.includes('\n')) throw new Error(`not an event: ${event}`);
      return JSON.parse(event.slice('data: '.length)) as Chunk;
    });
}

/** The choice that the chunks add up to, in the form of a response without streaming. */
export function foldChunks(chunks: readonly Chunk[]): Json {
  const message: Json = { role: null, content: '', refusal: null };
  const calls: { function: { name: string; arguments: string } }[] = [];
  let finish_reason: string | null = null;
  for (const { choices } of chunks) {
    const [choice] = choices;
    if (choice === undefined) continue;
    finish_reason = choice.finish_reason ?? finish_reason;
    const { content = '', reasoning_content, tool_calls = [], ...rest } = choice.delta as Record<string, never>;
    Object.assign(message, rest);
    message['content'] = `${message['content']}${content}`;
    if (reasoning_content !== undefined)
      message['reasoning_content'] = `${message['reasoning_content'] ?? ''}${reasoning_content}`;
    for (const { index, ...call } of tool_calls as { index: number; function: { name: string; arguments: string } }[]) {
      const begun = calls[index];
      if (begun === undefined) calls[index] = call;
      else begun.function.arguments += call.function.arguments;
    }
  }
  if (calls.length > 0) message['tool_calls'] = calls;
  if (calls.length > 0 && message['content'] === '') message['content'] = null;
  return { index: 0, message, logprobs: null, finish_reason };
}
