// The conversations as requests of the Responses API: what they ask in text, since no client of it sends more.

import type { Conversation, Json } from './conversation.ts';

/** An equivalent request body, without the model. */
export function responsesBodyOf({ body }: Conversation): Json {
  const { max_tokens, system, messages, tools, output_config, thinking } = body as Record<string, never>;
  const { schema } = ((output_config ?? {}) as { format?: Json }).format ?? {};
  return {
    input: messages ?? [],
    ...(system !== undefined && { instructions: system }),
    ...(max_tokens !== undefined && { max_output_tokens: max_tokens }),
    ...(tools !== undefined && { tools: (tools as Json[]).map(toolOf) }),
    ...(schema !== undefined && { text: { format: { type: 'json_schema', name: 'stay', strict: true, schema } } }),
    ...(thinking !== undefined && {
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    }),
  };
}

function toolOf({ name, description, input_schema: parameters }: Json): Json {
  return { type: 'function', name, description, parameters };
}
