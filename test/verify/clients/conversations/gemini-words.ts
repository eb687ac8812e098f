// The conversations as requests of Gemini's protocol, in the words of Google's SDKs.

import type { Conversation, Json } from './conversation.ts';

/** An equivalent request, without the model. */
export function geminiRequestOf({ body }: Conversation): Json {
  const { max_tokens, system, messages, tools, stop_sequences, output_config, thinking } = body as Record<
    string,
    never
  >;
  const { schema } = ((output_config ?? {}) as { format?: Json }).format ?? {};
  const config = {
    ...(system !== undefined && { systemInstruction: system }),
    ...(max_tokens !== undefined && { maxOutputTokens: max_tokens }),
    ...(tools !== undefined && { tools: [{ functionDeclarations: (tools as Json[]).map(declarationOf) }] }),
    ...(stop_sequences !== undefined && { stopSequences: stop_sequences }),
    ...(schema !== undefined && { responseMimeType: 'application/json', responseJsonSchema: schema }),
    ...(thinking !== undefined && {
      thinkingConfig: { includeThoughts: true, thinkingBudget: (thinking as Json)['budget_tokens'] },
    }),
  };
  return {
    contents: ((messages ?? []) as Json[]).map(({ content }) => ({ role: 'user', parts: partsOf(content) })),
    config,
  };
}

/** Results of tools by name, as a function's response: text or an error. */
export function geminiResultsOf({ results = {} }: Conversation): Json {
  return Object.fromEntries(
    Object.entries(results).map(([name, { content, is_error }]) => [
      name,
      is_error === true
        ? { error: content }
        : { result: (content as { text?: string }[]).map(({ text = '' }) => text).join('') },
    ]),
  );
}

function declarationOf({ name, description, input_schema: parametersJsonSchema }: Json): Json {
  return { name, description, parametersJsonSchema };
}

function partsOf(content: unknown): Json[] {
  if (typeof content === 'string') return [{ text: content }];
  return (content as Json[]).map(({ type, text, source }) => {
    if (type === 'text') return { text };
    const { url, media_type: mimeType = 'image/png', data } = source as Record<string, string>;
    return url === undefined ? { inlineData: { mimeType, data } } : { fileData: { mimeType, fileUri: url } };
  });
}
