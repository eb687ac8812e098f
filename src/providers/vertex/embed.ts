// Embeddings over Vertex AI's predict, in OpenAI's format.

import { countOf } from '../../protocols/token-counts.ts';
import { objectOf } from '../../wire/wire.ts';
import { convertVector, readTexts, replyWithVectors } from '../gemini/gemini.ts';
import { type Api, post } from '../http-api.ts';
import type { Attempt, WholeReply } from '../provider.ts';
import { readVectors } from '../read-vectors.ts';
import { modelUrl } from './urls.ts';

const INPUTS_MAX = 250; // Google's limit; newer models take one

/** Throws ProviderFault. */
export async function embed(api: Api, attempt: Attempt): Promise<WholeReply> {
  const { provider, upstreamModel, signal } = attempt;
  const asked = readTexts(attempt, INPUTS_MAX);
  const { texts, dimensions, taskType } = asked;
  const body = {
    instances: texts.map((content) => ({ content, ...(taskType !== null && { task_type: taskType }) })),
    ...(dimensions !== null && { parameters: { outputDimensionality: dimensions } }),
  };
  const url = modelUrl(provider, 'google', upstreamModel, 'predict');
  const response = await post(api, attempt, url, JSON.stringify(body), 'application/json');
  const counts: (number | null)[] = [];
  const { upstreamRequestId, converted } = await readVectors(response, signal, {
    name: 'predictions',
    count: texts.length,
    convert(prediction, index) {
      const { values, statistics } = objectOf(prediction['embeddings']);
      counts.push(countOf(objectOf(statistics)['token_count']));
      return convertVector(asked, values, index);
    },
  });
  const tokens = counts.every((count) => count !== null)
    ? countOf(counts.reduce((sum, count) => sum + count, 0))
    : null;
  return replyWithVectors(attempt, converted, counts.length === 0 ? null : tokens, upstreamRequestId);
}
