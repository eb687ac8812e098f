// Embeddings over OpenAI's POST /embeddings: the JSON of the provider is relayed as it came, with its vectors in the form that was
// requested: many servers ignore `encoding_format`. Clients of Gemini get its form.

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
  /** Google's name of the purpose, such as RETRIEVAL_QUERY; null: not stated. */
  taskType: string | null;
  /** The form of the answer: OpenAI's, or Gemini's of one vector or of a list. */
  form: 'openai' | 'one' | 'list';
}

export function readEmbeddingsRequest({ request }: Pick<Attempt, 'request'>): EmbeddingsRequest {
  const [message] = jsonObjects(request.body['messages']);
  const { dimensions, encoding_format: format, task_type: taskType, form } = objectOf(request.body['embeddings']);
  return {
    inputs: jsonObjects(message?.['content']).map((block) => block['tokens'] ?? textOf(block['text'])),
    dimensions: countOf(dimensions),
    isBase64: format === 'base64',
    taskType: textOf(taskType) || null,
    form: form === 'one' || form === 'list' ? form : 'openai',
  };
}

/** The vectors of more inputs could be too long to be read as numbers. */
const FLOATS_INPUTS_MAX = 512;

/** Throws ProviderFault. */
export async function requestEmbeddings(api: Api, attempt: Attempt, url: string): Promise<WholeReply> {
  const asked = readEmbeddingsRequest(attempt);
  const { inputs, dimensions, isBase64 } = asked;
  const user = hashUserId(attempt.request.body);
  const body = {
    model: attempt.upstreamModel,
    input: inputs,
    // Floats are the default, and some servers refuse the field (https://github.com/HKUDS/DeepTutor/pull/652, 2026-11-29).
    ...((isBase64 || inputs.length > FLOATS_INPUTS_MAX) && { encoding_format: 'base64' }),
    ...(dimensions !== null && { dimensions }),
    ...(user !== null && { user }),
    ...attempt.extra,
  };
  const response = await post(api, attempt, url, JSON.stringify(body), 'application/json');
  const { value, text, upstreamRequestId, converted } = await readVectors(response, attempt.signal, {
    name: 'data',
    count: inputs.length,
    convert: (item, index) => inFormOf(asked, item, index),
  });
  const usage = objectOf(value['usage']);
  const tokens = countOf(usage['prompt_tokens']) || countOf(usage['total_tokens']);
  const answer =
    asked.form === 'openai'
      ? withVectors(text, value, converted)
      : embeddingsJson(asked, attempt.upstreamModel, converted, tokens ?? 0);
  return embeddingsReply(attempt, answer, tokens, upstreamRequestId);
}

/** The item's JSON with its vector in the requested form; empty if it is; null without a vector. */
function inFormOf(asked: EmbeddingsRequest, item: JsonObject, index: number): string | null {
  const { isBase64 } = asked;
  const vector = vectorOf(item['embedding']);
  if (vector === null) return null;
  if (asked.form !== 'openai') {
    const floats = asFloats(vector);
    return floats && embeddingJson(asked, index, floats);
  }
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

/** The JSON of one vector in the answer. */
export function embeddingJson({ form }: Pick<EmbeddingsRequest, 'form'>, index: number, vector: Vector): string {
  if (form !== 'openai') return JSON.stringify({ values: vector });
  return JSON.stringify({ object: 'embedding', index, embedding: vector });
}

/** The JSON of the answer, from that of its vectors. */
export function embeddingsJson(
  { form }: Pick<EmbeddingsRequest, 'form'>,
  model: string,
  vectors: readonly string[],
  tokens: number,
): string {
  const ofGemini = JSON.stringify({ usageMetadata: { promptTokenCount: tokens } }).slice(1);
  if (form === 'one') return `{"embedding":${vectors[0]},${ofGemini}`;
  if (form === 'list') return `{"embeddings":[${vectors.join()}],${ofGemini}`;
  const rest = JSON.stringify({ model, usage: { prompt_tokens: tokens, total_tokens: tokens } });
  return `{"object":"list","data":[${vectors.join()}],${rest.slice(1)}`;
}
