// Batches as batch prediction jobs. https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/batch-prediction-from-cloud-storage,
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/batch (2026-11-30)

import { parseWholeNumber } from '../../base/checked-number.ts';
import { type JsonValue, jsonObjects, objectOf, rewriteRequest, scanJson, textOf } from '../../wire/wire.ts';
import {
  answerWith,
  type BatchResult,
  onOneLineOf,
  type ProviderBatch,
  type ProviderBatches,
  readForBatch,
  sendForBatch,
} from '../batches.ts';
import { bucketBatches, lastPartOf, mapStoreFault } from '../bucket-batches.ts';
import { MODALITIES } from '../gemini/gemini.ts';
import type { Api } from '../http-api.ts';
import { placeUrl } from './urls.ts';

const CALL = /\/(publishers\/(google|anthropic)\/models\/[^/:]+):(?:generateContent|rawPredict)$/;
/** Comes back with the request: results of Gemini have no id. */
const LABEL = 'turnpike_request';
const LISTED = 100;
const ENDED: readonly JsonValue[] = [
  'JOB_STATE_SUCCEEDED',
  'JOB_STATE_PARTIALLY_SUCCEEDED',
  'JOB_STATE_FAILED',
  'JOB_STATE_CANCELLED',
  'JOB_STATE_EXPIRED',
];

export function predictionJobs(api: Api): ProviderBatches {
  const urlOf = ({ endpoint }: ProviderBatch, rest = '') => `${placeUrl(endpoint)}/batchPredictionJobs${rest}`;
  return bucketBatches({
    store: { ...api, mapFault: mapStoreFault },
    limits: { requests: 50_000, bytes: 200_000_000 },
    line(id, { url, body, betas }) {
      const publisher = CALL.exec(url)?.[2];
      if (publisher === 'google' && !body.includes(MODALITIES))
        return `{"request":${onOneLineOf(withLabel(body, id))}}`;
      if (publisher !== 'anthropic' || betas !== null) return null; // jobs have no header for betas
      return `{"custom_id":${JSON.stringify(id)},"request":${onOneLineOf(body)}}`;
    },
    async start(batch, { requests, results }, signal) {
      const body = JSON.stringify({
        displayName: batch.name,
        model: decodeURIComponent(CALL.exec(batch.url)?.[1] ?? ''),
        inputConfig: { instancesFormat: 'jsonl', gcsSource: { uris: [requests] } },
        outputConfig: { predictionsFormat: 'jsonl', gcsDestination: { outputUriPrefix: results } },
      });
      return lastPartOf(await readForBatch(api, batch, urlOf(batch), { method: 'POST', body, signal }), 'name');
    },
    async find(batch, signal) {
      const query = `?pageSize=${LISTED}&filter=${encodeURIComponent(`displayName="${batch.name}"`)}`;
      const { batchPredictionJobs: jobs } = await readForBatch(api, batch, urlOf(batch, query), { signal });
      const found = jsonObjects(jobs).find(({ displayName }) => displayName === batch.name);
      return found === undefined ? null : lastPartOf(found, 'name');
    },
    async state(batch, id, signal) {
      const { state, error } = await readForBatch(api, batch, urlOf(batch, `/${id}`), { signal });
      return { isEnded: ENDED.includes(state ?? null), said: textOf(objectOf(error)['message']) };
    },
    result: ({ custom_id: id, request, response, status }) => ({
      id: textOf(id) || textOf(objectOf(objectOf(request)['labels'])[LABEL]),
      answer: Object.keys(objectOf(response)).length === 0 ? refusalOf(textOf(status)) : answerWith(200, response),
    }),
    cancel: (batch, id, signal) =>
      sendForBatch(api, batch, urlOf(batch, `/${id}:cancel`), { method: 'POST', body: '{}', signal }),
    forget: (batch, id, signal) => sendForBatch(api, batch, urlOf(batch, `/${id}`), { method: 'DELETE', signal }),
  });
}

function withLabel(body: string, id: string): string {
  const members = scanJson(body);
  const span = members.get('labels');
  const labels = span === undefined ? {} : objectOf(JSON.parse(body.slice(span.start, span.end)));
  return rewriteRequest({ text: body, members }, { labels: { ...labels, [LABEL]: id } });
}

/** "Bad Request: {…}" with Google's error. Without the error, the request may not have been executed. */
function refusalOf(status: string): BatchResult['answer'] {
  const code = parseWholeNumber(/"code":\s*([45]\d\d)\b/.exec(status)?.[1] ?? '');
  return code === null ? null : answerWith(code, { error: { code, message: status } });
}
