// Embeddings over OpenAI's POST /embeddings: the JSON of the provider is relayed as it came.

import { type JsonValue, jsonObjects, objectOf, textOf } from '../wire/wire.ts';
import { countOf, messageIdOf } from './compose-message.ts';
import { hashUserId } from './conversation.ts';
import { type Api, post } from './http-api.ts';
import { readObject } from './parse-json.ts';
import type { Attempt, WholeReply } from './provider.ts';
import { ProviderFault } from './provider.ts';

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
  const { value, text, upstreamRequestId } = await readObject(response, attempt.signal);
  requireVectors(
    jsonObjects(value['data']).map(({ embedding }) => embedding),
    inputs.length,
    upstreamRequestId,
  );
  const usage = objectOf(value['usage']);
  return embeddingsReply(
    attempt,
    text,
    countOf(usage['prompt_tokens']) ?? countOf(usage['total_tokens']),
    upstreamRequestId,
  );
}

type Vector = string | number[];

/** The vectors, floats or base64, one for each input. Throws ProviderFault (failed). */
export function requireVectors(
  values: readonly (JsonValue | undefined)[],
  count: number,
  upstreamRequestId: string | null,
): Vector[] {
  const vectors = values.filter(isVector);
  if (vectors.length === count && values.length === count) return vectors;
  throw new ProviderFault('failed', 'the provider did not send an embedding for each input', { upstreamRequestId });
}

function isVector(value: JsonValue | undefined): value is Vector {
  if (typeof value === 'string') return value !== '';
  return Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'number');
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

/** The JSON of OpenAI's answer. */
export function embeddingsJson(model: string, vectors: readonly Vector[], tokens: number): string {
  return JSON.stringify({
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}
