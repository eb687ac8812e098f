// Embeddings over Gemini's batchEmbedContents, in OpenAI's format.

import { countOf } from '../../protocols/token-counts.ts';
import { type JsonValue, objectOf } from '../../wire/wire.ts';
import {
  type EmbeddingsRequest,
  embeddingJson,
  embeddingsJson,
  embeddingsReply,
  readEmbeddingsRequest,
} from '../embeddings.ts';
import { type Api, post } from '../http-api.ts';
import { refuseField } from '../lost-fields.ts';
import type { Attempt, WholeReply } from '../provider.ts';
import { asBase64, readVectors, vectorOf } from '../read-vectors.ts';
import { convertUrl, plainModel } from './convert-request.ts';

const INPUTS_MAX = 100; // Google's limit
const BYTES_PER_TOKEN = 4;

/** One request, because an earlier one of several would be paid for without an answer. Throws ProviderFault. */
export async function embed(api: Api, attempt: Attempt): Promise<WholeReply> {
  const { provider, upstreamModel, signal } = attempt;
  const asked = readTexts(attempt, INPUTS_MAX);
  const { texts, dimensions, taskType } = asked;
  const model = `models/${plainModel(upstreamModel)}`;
  const requests = texts.map((text) => ({
    model,
    content: { parts: [{ text }] },
    ...(taskType !== null && { taskType }),
    ...(dimensions !== null && { outputDimensionality: dimensions }),
  }));
  const url = convertUrl(provider.baseUrl, upstreamModel, 'batchEmbedContents');
  const response = await post(api, attempt, url, JSON.stringify({ requests }), 'application/json');
  const { value, upstreamRequestId, converted } = await readVectors(response, signal, {
    name: 'embeddings',
    count: texts.length,
    convert: ({ values }, index) => convertVector(asked, values, index),
  });
  const tokens = countOf(objectOf(value['usageMetadata'])['promptTokenCount']);
  return replyWithVectors(attempt, converted, tokens, upstreamRequestId);
}

/** The inputs of a request, which must be texts. Throws ProviderFault (rejected). */
export function readTexts(attempt: Attempt, inputsMax: number): { texts: string[] } & EmbeddingsRequest {
  const asked = readEmbeddingsRequest(attempt);
  const { inputs } = asked;
  if (inputs.length > inputsMax)
    refuseField('input', `the provider of this model embeds at most ${inputsMax} inputs at a time`);
  const texts = inputs.map((input, place) =>
    typeof input === 'string' ? input : refuseField(`input.${place}`, 'the provider of this model embeds only texts'),
  );
  return { ...asked, texts };
}

/** The JSON of a vector in the format that was requested; null if it is not one. */
export function convertVector(
  asked: Pick<EmbeddingsRequest, 'form' | 'isBase64'>,
  values: JsonValue | undefined,
  index: number,
): string | null {
  const vector = vectorOf(values);
  if (vector === null) return null;
  return embeddingJson(asked, index, asked.isBase64 ? asBase64(vector) : vector);
}

/** `tokens`: null if the provider reports none. */
export function replyWithVectors(
  attempt: Attempt,
  vectors: readonly string[],
  tokens: number | null,
  upstreamRequestId: string | null,
): WholeReply {
  const asked = readEmbeddingsRequest(attempt);
  const { inputs } = asked;
  const shown = tokens ?? Math.ceil(Buffer.byteLength(inputs.join('')) / BYTES_PER_TOKEN);
  return embeddingsReply(
    attempt,
    embeddingsJson(asked, attempt.upstreamModel, vectors, shown),
    tokens,
    upstreamRequestId,
  );
}
