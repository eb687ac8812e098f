// Embeddings over Gemini's batchEmbedContents, in OpenAI's format.

import { isWholeNumber } from '../../base/checked-number.ts';
import { jsonObjects, objectOf } from '../../wire/wire.ts';
import { embeddingsJson, embeddingsReply, readEmbeddingsRequest, requireVectors } from '../embeddings.ts';
import { type Api, post } from '../http-api.ts';
import { refuseField } from '../lost-fields.ts';
import { readObject } from '../parse-json.ts';
import type { Attempt, WholeReply } from '../provider.ts';
import { convertUrl, plainModel } from './convert-request.ts';

const BATCH_INPUTS_MAX = 100; // Google's limit
const BYTES_PER_TOKEN = 4;

/** Long lists are sent in several requests, one after the other. Throws ProviderFault. */
export async function embed(api: Api, attempt: Attempt): Promise<WholeReply> {
  const { provider, upstreamModel, signal } = attempt;
  const { inputs, dimensions, isBase64 } = readEmbeddingsRequest(attempt);
  const texts = inputs.map((input, place) =>
    typeof input === 'string' ? input : refuseField(`input.${place}`, 'the provider of this model embeds only texts'),
  );
  const url = convertUrl(provider.baseUrl, upstreamModel, 'batchEmbedContents');
  const model = `models/${plainModel(upstreamModel)}`;
  const vectors: (string | number[])[] = [];
  let tokens: number | null = 0;
  for (let from = 0; from < texts.length; from += BATCH_INPUTS_MAX) {
    const batch = texts.slice(from, from + BATCH_INPUTS_MAX);
    const requests = batch.map((text) => ({
      model,
      content: { parts: [{ text }] },
      ...(dimensions !== null && { outputDimensionality: dimensions }),
    }));
    const response = await post(api, attempt, url, JSON.stringify({ requests }), 'application/json');
    const { value, upstreamRequestId } = await readObject(response, signal);
    const received = jsonObjects(value['embeddings']).map(({ values }) => values);
    for (const vector of requireVectors(received, batch.length, upstreamRequestId))
      vectors.push(isBase64 && Array.isArray(vector) ? toBase64(vector) : vector);
    const counted = objectOf(value['usageMetadata'])['promptTokenCount'];
    tokens = tokens !== null && isWholeNumber(counted) ? tokens + counted : null;
  }
  const shown = tokens ?? Math.ceil(Buffer.byteLength(texts.join('')) / BYTES_PER_TOKEN);
  return embeddingsReply(attempt, embeddingsJson(upstreamModel, vectors, shown), tokens, null);
}

/** Single-precision floats in the byte order of OpenAI's format. */
function toBase64(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [place, value] of numbers.entries()) bytes.writeFloatLE(value, place * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}
