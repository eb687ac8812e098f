// Message Batches. https://platform.claude.com/docs/en/api/messages/batches/create (2026-11-30)

import { isWholeNumber, parseTimeMs } from '../../base/checked-number.ts';
import { jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import {
  answerWith,
  type BatchResult,
  bodyOfLines,
  callForBatch,
  onOneLineOf,
  type ProviderBatch,
  type ProviderBatches,
  readForBatch,
  readResults,
  requireId,
  sendForBatch,
} from '../batches.ts';
import type { Api } from '../http-api.ts';

const PATH = '/v1/messages/batches';
const LISTED = 100;
const CLOCKS_APART_MS = 60_000;
/** https://platform.claude.com/docs/en/api/errors (2026-11-30). */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

export function messageBatches(api: Api): ProviderBatches {
  const urlOf = ({ endpoint }: ProviderBatch, rest = '') => api.url(endpoint, PATH + rest);
  return {
    hasNames: false,
    limits: { requests: 100_000, bytes: 256_000_000 },
    line: (id, { body }) => `{"custom_id":${JSON.stringify(id)},"params":${onOneLineOf(body)}}`,
    async create(batch, lines, signal) {
      const body = bodyOfLines(lines, '{"requests":[', ']}');
      return requireId(await readForBatch(api, batch, urlOf(batch), { method: 'POST', body, signal }));
    },
    /** One with as many requests that was made since. Results of other requests are never taken for ours. */
    async find(batch, known, signal) {
      const { data } = await readForBatch(api, batch, urlOf(batch, `?limit=${LISTED}`), { signal });
      for (const one of jsonObjects(data)) {
        const counts = Object.values(objectOf(one['request_counts'])).filter(isWholeNumber);
        const requests = counts.reduce((sum, count) => sum + count, 0);
        const isLater = (parseTimeMs(textOf(one['created_at'])) ?? 0) >= batch.createdAtMs - CLOCKS_APART_MS;
        if (isLater && requests === batch.requests && !known.includes(textOf(one['id']))) return requireId(one);
      }
      return null;
    },
    async isEnded(batch, id, signal) {
      const { processing_status: status } = await readForBatch(api, batch, urlOf(batch, `/${id}`), { signal });
      return status === 'ended';
    },
    async *results(batch, id, signal) {
      const response = await callForBatch(api, batch, urlOf(batch, `/${id}/results`), { signal });
      yield* readResults(response, ({ custom_id: requestId, result }) => ({
        id: textOf(requestId),
        answer: answerOf(objectOf(result)),
      }));
    },
    cancel: (batch, id, signal) =>
      sendForBatch(api, batch, urlOf(batch, `/${id}/cancel`), { method: 'POST', body: '', signal }),
    remove: (batch, id, signal) => sendForBatch(api, batch, urlOf(batch, `/${id}`), { method: 'DELETE', signal }),
  };
}

function answerOf({ type, message, error }: ReturnType<typeof objectOf>): BatchResult['answer'] {
  if (type === 'succeeded') return answerWith(200, message);
  if (type !== 'errored') return null;
  const status = STATUSES.get(textOf(objectOf(objectOf(error)['error'])['type'])) ?? 500;
  return answerWith(status, error);
}
