// Embeddings over Gemini's batchEmbedContents, in OpenAI's format.

import { jsonObjects, objectOf } from '../../wire/wire.ts';
import { countOf } from '../compose-message.ts';
import { embeddingsJson, embeddingsReply, readEmbeddingsRequest, requireVectors } from '../embeddings.ts';
import { type Api, post } from '../http-api.ts';
import { refuseField } from '../lost-fields.ts';
import { readObject } from '../parse-json.ts';
import type { Attempt, WholeReply } from '../provider.ts';
import { convertUrl, plainModel } from './convert-request.ts';

const INPUTS_MAX = 100; // Google's limit
const BYTES_PER_TOKEN = 4;

/** One request, because an earlier one of several would be paid for without an answer. Throws ProviderFault. */
export async function embed(api: Api, attempt: Attempt): Promise<WholeReply> {
  const { provider, upstreamModel, signal } = attempt;
  const { inputs, dimensions, isBase64 } = readEmbeddingsRequest(attempt);
  if (inputs.length > INPUTS_MAX)
    refuseField('input', `the provider of this model embeds at most ${INPUTS_MAX} inputs at a time`);
  const texts = inputs.map((input, place) =>
    typeof input === 'string' ? input : refuseField(`input.${place}`, 'the provider of this model embeds only texts'),
  );
  const model = `models/${plainModel(upstreamModel)}`;
  const requests = texts.map((text) => ({
    model,
    content: { parts: [{ text }] },
    ...(dimensions !== null && { outputDimensionality: dimensions }),
  }));
  const url = convertUrl(provider.baseUrl, upstreamModel, 'batchEmbedContents');
  const response = await post(api, attempt, url, JSON.stringify({ requests }), 'application/json');
  const { value, upstreamRequestId } = await readObject(response, signal);
  const values = jsonObjects(value['embeddings']).map((one) => one['values']);
  const vectors = requireVectors(values, texts.length, upstreamRequestId).map((vector) =>
    isBase64 && Array.isArray(vector) ? toBase64(vector) : vector,
  );
  const tokens = countOf(objectOf(value['usageMetadata'])['promptTokenCount']);
  const shown = tokens ?? Math.ceil(Buffer.byteLength(texts.join('')) / BYTES_PER_TOKEN);
  return embeddingsReply(attempt, embeddingsJson(upstreamModel, vectors, shown), tokens, upstreamRequestId);
}

/** Single-precision floats in the byte order of OpenAI's format. */
function toBase64(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [place, value] of numbers.entries()) bytes.writeFloatLE(value, place * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}
