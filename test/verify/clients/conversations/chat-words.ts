// The conversations as Chat Completions requests, for OpenAI clients.

import type { Conversation, Json } from './conversation.ts';

/** An equivalent request body, without the model. */
export function chatBodyOf({ body }: Conversation): Json {
  const { max_tokens, system, messages, tools, stop_sequences, output_config, thinking } = body as Record<
    string,
    never
  >;
  const { schema } = ((output_config ?? {}) as { format?: Json }).format ?? {};
  return {
    max_completion_tokens: max_tokens,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: contentOf(system) }]),
      ...((messages ?? []) as Json[]).map(({ role, content }) => ({ role, content: contentOf(content) })),
    ],
    ...(tools !== undefined && { tools: (tools as Json[]).map(toolOf) }),
    ...(stop_sequences !== undefined && { stop: stop_sequences }),
    ...(schema !== undefined && {
      response_format: { type: 'json_schema', json_schema: { name: 'stay', strict: true, schema } },
    }),
    ...(thinking !== undefined && { thinking }),
  };
}

/** Results of tools by name: a message of the role `tool` has text only. */
export function chatResultsOf({ results = {} }: Conversation): Record<string, string> {
  return Object.fromEntries(Object.entries(results).map(([name, { content }]) => [name, textOf(content)]));
}

function toolOf({ name, description, input_schema: parameters }: Json): Json {
  return { type: 'function', function: { name, description, parameters } };
}

function contentOf(content: unknown): unknown {
  return typeof content === 'string' ? content : (content as Json[]).map(partOf);
}

function partOf({ type, source, ...block }: Json): Json {
  if (type === 'text') return { type, ...block };
  const { url, media_type, data } = source as Record<string, string>;
  const address = url ?? `data:${media_type};base64,${data}`;
  if (type === 'image') return { type: 'image_url', image_url: { url: address } };
  return { type: 'file', file: { filename: 'paper.pdf', file_data: address } };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return (content as { text?: string }[]).map(({ text = '' }) => text).join('');
}
