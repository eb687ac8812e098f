// Embeddings over OpenAI's POST /embeddings: the JSON of the provider is relayed as it came.

import { type JsonValue, jsonObjects, objectOf, textOf } from '../wire/wire.ts';
import { countOf, messageIdOf } from './compose-message.ts';
import { hashUserId } from './conversation.ts';
import { type Api, post } from './http-api.ts';
import type { Attempt, WholeReply } from './provider.ts';
import { readVectors, type Vector, vectorOf } from './read-vectors.ts';

/** A request for embeddings, as its front wrote it into a message. */
export interface EmbeddingsRequest {
  /** Each a text, or a list of tokens. */
  inputs: JsonValue[];
  /** Length of the vectors; null: the model's own. */
  dimensions: number | null;
  isBase64: boolean;
}

export function readEmbeddingsRequest({ request }: Pick<Attempt, 'request'>): EmbeddingsRequest {
  const [message] = jsonObjects(request.body['messages']);
  const { dimensions, encoding_format: format } = objectOf(request.body['embeddings']);
  return {
    inputs: jsonObjects(message?.['content']).map((block) => block['tokens'] ?? textOf(block['text'])),
    dimensions: countOf(dimensions),
    isBase64: format === 'base64',
  };
}

/** Throws ProviderFault. */
export async function requestEmbeddings(api: Api, attempt: Attempt, url: string): Promise<WholeReply> {
  const { inputs, dimensions, isBase64 } = readEmbeddingsRequest(attempt);
  const user = hashUserId(attempt.request.body);
  const body = {
    model: attempt.upstreamModel,
    input: inputs,
    encoding_format: isBase64 ? 'base64' : 'float',
    ...(dimensions !== null && { dimensions }),
    ...(user !== null && { user }),
  };
  const response = await post(api, attempt, url, JSON.stringify(body), 'application/json');
  const { value, text, upstreamRequestId } = await readVectors(response, attempt.signal, {
    name: 'data',
    count: inputs.length,
    convert: ({ embedding }) => vectorOf(embedding) !== null || null, // relayed as it came
  });
  const usage = objectOf(value['usage']);
  return embeddingsReply(
    attempt,
    text,
    countOf(usage['prompt_tokens']) ?? countOf(usage['total_tokens']),
    upstreamRequestId,
  );
}

/** `tokens` of all inputs; null: unknown. */
export function embeddingsReply(
  { requestId, upstreamModel }: Attempt,
  text: string,
  tokens: number | null,
  upstreamRequestId: string | null,
): WholeReply {
  const prompt = tokens ? { input_tokens: tokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 } : {};
  const message = {
    id: messageIdOf(requestId),
    type: 'message',
    role: 'assistant',
    model: upstreamModel,
    content: [],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { ...prompt, output_tokens: 0 },
  };
  return { form: 'message', message, text, isNative: true, upstreamRequestId };
}

/** The JSON of one vector in OpenAI's answer. */
export function embeddingJson(index: number, vector: Vector): string {
  return JSON.stringify({ object: 'embedding', index, embedding: vector });
}

/** The JSON of OpenAI's answer, from that of its vectors. */
export function embeddingsJson(model: string, vectors: readonly string[], tokens: number): string {
  const rest = JSON.stringify({ model, usage: { prompt_tokens: tokens, total_tokens: tokens } });
  return `{"object":"list","data":[${vectors.join()}],${rest.slice(1)}`;
}
