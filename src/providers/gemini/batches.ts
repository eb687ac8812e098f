// Batches of generateContent, with their requests and results in the calls. https://ai.google.dev/gemini-api/docs/batch-api (2026-11-30)

import { isWholeNumber } from '../../base/checked-number.ts';
import { type JsonObject, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import {
  answerWith,
  type BatchResult,
  bodyOfLines,
  onOneLineOf,
  type ProviderBatch,
  type ProviderBatches,
  readForBatch,
  readResult,
  requireId,
  sendForBatch,
} from '../batches.ts';
import type { Api } from '../http-api.ts';

const METHOD = /:generateContent$/;
const LISTED = 100;
const CANCELED = 1;
/** A member of requests for images, which are too large for results in a call. */
export const MODALITIES = '"responseModalities"';
/** https://cloud.google.com/apis/design/errors (2026-11-30). */
const STATUSES: ReadonlyMap<number, number> = new Map([
  [3, 400],
  [4, 504],
  [5, 404],
  [7, 403],
  [8, 429],
  [9, 400],
  [11, 400],
  [14, 503],
  [16, 401],
]);

export function contentBatches(api: Api): ProviderBatches {
  const urlOf = ({ endpoint }: ProviderBatch, path: string) => api.url(endpoint, path);
  const read = (batch: ProviderBatch, id: string, signal: AbortSignal) =>
    readForBatch(api, batch, urlOf(batch, `/${id}`), { signal });
  return {
    hasNames: true,
    limits: { requests: 200, bytes: 19_000_000 }, // 20 MB with the rest; the results are one answer, too
    line: (id, { url, body }) =>
      METHOD.test(url) && !body.includes(MODALITIES)
        ? `{"request":${onOneLineOf(body)},"metadata":{"key":${JSON.stringify(id)}}}`
        : null,
    async create(batch, lines, signal) {
      const head = `{"batch":{"displayName":${JSON.stringify(batch.name)},"inputConfig":{"requests":{"requests":[`;
      const body = bodyOfLines(lines, head, ']}}}}');
      const url = batch.url.replace(METHOD, ':batchGenerateContent');
      return requireId(await readForBatch(api, batch, url, { method: 'POST', body, signal }), 'name');
    },
    async find(batch, _known, signal) {
      const { operations } = await readForBatch(api, batch, urlOf(batch, `/batches?pageSize=${LISTED}`), { signal });
      const found = jsonObjects(operations).find(({ metadata }) => objectOf(metadata)['displayName'] === batch.name);
      return found === undefined ? null : requireId(found, 'name');
    },
    isEnded: async (batch, id, signal) => (await read(batch, id, signal))['done'] === true,
    async *results(batch, id, signal) {
      const { response, metadata } = await read(batch, id, signal);
      const { inlinedResponses } = { ...objectOf(objectOf(metadata)['output']), ...objectOf(response) };
      for (const one of jsonObjects(objectOf(inlinedResponses)['inlinedResponses']))
        yield readResult(one, (result) => ({
          id: textOf(objectOf(result['metadata'])['key']),
          answer: answerOf(result),
        }));
    },
    cancel: (batch, id, signal) =>
      sendForBatch(api, batch, urlOf(batch, `/${id}:cancel`), { method: 'POST', body: '{}', signal }),
    remove: (batch, id, signal) => sendForBatch(api, batch, urlOf(batch, `/${id}`), { method: 'DELETE', signal }),
  };
}

function answerOf({ response, error }: JsonObject): BatchResult['answer'] {
  if (response !== undefined) return answerWith(200, response);
  const { code, message } = objectOf(error);
  if (!isWholeNumber(code) || code === CANCELED) return null;
  const status = STATUSES.get(code) ?? (code >= 400 && code <= 599 ? code : 500);
  return answerWith(status, { error: { code: status, message: message ?? '' } });
}
