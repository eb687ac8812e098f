// Embeddings over OpenAI's POST /embeddings: the JSON of the provider is relayed as it came, with its vectors in the form that was
// requested: many servers ignore `encoding_format`.

import { countOf } from '../protocols/token-counts.ts';
import { type JsonObject, type JsonValue, jsonObjects, objectOf, textOf } from '../wire/wire.ts';
import { hashUserId } from './conversation.ts';
import { type Api, post } from './http-api.ts';
import { otherReply, usageOf } from './other-reply.ts';
import { type Attempt, ProviderFault, type WholeReply } from './provider.ts';
import { asBase64, asFloats, readVectors, type Vector, vectorOf } from './read-vectors.ts';

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
    // Floats are the default, and some servers refuse the field (https://github.com/HKUDS/DeepTutor/pull/652, 2026-11-29).
    ...(isBase64 && { encoding_format: 'base64' }),
    ...(dimensions !== null && { dimensions }),
    ...(user !== null && { user }),
  };
  const response = await post(api, attempt, url, JSON.stringify(body), 'application/json');
  const { value, text, upstreamRequestId, converted } = await readVectors(response, attempt.signal, {
    name: 'data',
    count: inputs.length,
    convert: (item) => inFormOf(item, isBase64),
  });
  const usage = objectOf(value['usage']);
  return embeddingsReply(
    attempt,
    withVectors(text, value, converted),
    countOf(usage['prompt_tokens']) || countOf(usage['total_tokens']),
    upstreamRequestId,
  );
}

/** The item's JSON with its vector in the requested form; empty if it is; null without a vector. */
function inFormOf(item: JsonObject, isBase64: boolean): string | null {
  const vector = vectorOf(item['embedding']);
  if (vector === null) return null;
  if ((typeof vector === 'string') === isBase64 && vector === item['embedding']) return '';
  const embedding = isBase64 ? asBase64(vector) : asFloats(vector);
  return embedding === null ? null : JSON.stringify({ ...item, embedding });
}

/** The answer with these items in place of its own, unless those have the requested form. Throws ProviderFault. */
function withVectors(text: string, value: JsonObject, items: readonly string[]): string {
  if (items.every((item) => item === '')) return text;
  if (items.includes('')) throw new ProviderFault('failed', 'the provider sent embeddings in two forms');
  const rest = JSON.stringify({ ...value, data: undefined });
  return `{"data":[${items.join()}]${rest === '{}' ? '' : ','}${rest.slice(1)}`;
}

/** `tokens` of all inputs; null: unknown. */
export function embeddingsReply(
  { requestId, upstreamModel }: Attempt,
  text: string,
  tokens: number | null,
  upstreamRequestId: string | null,
): WholeReply {
  return otherReply({ requestId, upstreamModel }, text, usageOf(tokens || null), upstreamRequestId);
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
