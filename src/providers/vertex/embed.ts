// Embeddings over Vertex AI's predict, in OpenAI's format.

import { jsonObjects, objectOf } from '../../wire/wire.ts';
import { countOf } from '../compose-message.ts';
import { readTexts, replyWithVectors } from '../gemini/gemini.ts';
import { type Api, post } from '../http-api.ts';
import { readObject } from '../parse-json.ts';
import type { Attempt, WholeReply } from '../provider.ts';
import { modelUrl } from './urls.ts';

const INPUTS_MAX = 250; // Google's limit; newer models take one

/** Throws ProviderFault. */
export async function embed(api: Api, attempt: Attempt): Promise<WholeReply> {
  const { provider, upstreamModel, signal } = attempt;
  const { texts, dimensions } = readTexts(attempt, INPUTS_MAX);
  const body = {
    instances: texts.map((content) => ({ content })),
    ...(dimensions !== null && { parameters: { outputDimensionality: dimensions } }),
  };
  const url = modelUrl(provider, 'google', upstreamModel, 'predict');
  const response = await post(api, attempt, url, JSON.stringify(body), 'application/json');
  const { value, upstreamRequestId } = await readObject(response, signal);
  const found = jsonObjects(value['predictions']).map((one) => objectOf(one['embeddings']));
  const counts = found.map(({ statistics }) => countOf(objectOf(statistics)['token_count']));
  const tokens = counts.every((count) => count !== null)
    ? countOf(counts.reduce((sum, count) => sum + count, 0))
    : null;
  return replyWithVectors(
    attempt,
    found.map(({ values }) => values),
    counts.length === 0 ? null : tokens,
    upstreamRequestId,
  );
}
