// Batches of files. https://developers.openai.com/api/reference/resources/batches (2026-11-30)

import { isWholeNumber } from '../../base/checked-number.ts';
import { type JsonValue, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import {
  answerWith,
  type BatchResult,
  callForBatch,
  onOneLineOf,
  type ProviderBatch,
  type ProviderBatches,
  readForBatch,
  readResults,
  requireId,
  sendForBatch,
} from '../batches.ts';
import { formBody } from '../form-body.ts';
import type { Api } from '../http-api.ts';

const LISTED = 100;
const PATHS: readonly string[] = [
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/completions',
  '/v1/moderations',
];
const ENDED: readonly JsonValue[] = ['completed', 'failed', 'expired', 'cancelled'];
const FILE_SECONDS = 3 * 24 * 60 * 60; // it is removed with its batch, or by then
const NAME = 'turnpike_batch';

export function fileBatches(api: Api): ProviderBatches {
  const urlOf = ({ endpoint }: ProviderBatch, path: string) => api.url(endpoint, path);
  const read = (batch: ProviderBatch, id: string, signal: AbortSignal) =>
    readForBatch(api, batch, urlOf(batch, `/batches/${id}`), { signal });
  return {
    hasNames: true,
    limits: { requests: 50_000, bytes: 200_000_000 },
    line(id, { url, body }) {
      if (!PATHS.includes(pathOf(url))) return null;
      const start = `{"custom_id":${JSON.stringify(id)},"method":"POST","url":${JSON.stringify(pathOf(url))}`;
      return `${start},"body":${onOneLineOf(body)}}`;
    },
    async create(batch, lines, signal) {
      const file = { field: 'file', name: `${batch.name}.jsonl`, mediaType: 'application/jsonl', ...lines };
      const fields = [
        { name: 'purpose', value: 'batch' },
        { name: 'expires_after[anchor]', value: 'created_at' },
        { name: 'expires_after[seconds]', value: String(FILE_SECONDS) },
      ];
      const form = formBody(fields, [{ ...file, read: () => lines.read() }]);
      const sent = await readForBatch(api, batch, urlOf(batch, '/files'), { method: 'POST', body: form, signal });
      const body = JSON.stringify({
        input_file_id: requireId(sent),
        endpoint: pathOf(batch.url),
        completion_window: '24h',
        metadata: { [NAME]: batch.name },
      });
      return requireId(await readForBatch(api, batch, urlOf(batch, '/batches'), { method: 'POST', body, signal }));
    },
    async find(batch, _known, signal) {
      const { data } = await readForBatch(api, batch, urlOf(batch, `/batches?limit=${LISTED}`), { signal });
      const found = jsonObjects(data).find(({ metadata }) => objectOf(metadata)[NAME] === batch.name);
      return found === undefined ? null : requireId(found);
    },
    isEnded: async (batch, id, signal) => ENDED.includes((await read(batch, id, signal))['status'] ?? null),
    async *results(batch, id, signal) {
      const { output_file_id: output, error_file_id: errors } = await read(batch, id, signal);
      for (const file of [output, errors]) {
        if (typeof file !== 'string') continue;
        const response = await callForBatch(api, batch, urlOf(batch, `/files/${requireId({ id: file })}/content`), {
          signal,
        });
        yield* readResults(response, ({ custom_id: requestId, response: answer }) => ({
          id: textOf(requestId),
          answer: answerOf(answer ?? null),
        }));
      }
    },
    cancel: (batch, id, signal) =>
      sendForBatch(api, batch, urlOf(batch, `/batches/${id}/cancel`), { method: 'POST', body: '', signal }),
    async remove(batch, id, signal) {
      const { input_file_id: input, output_file_id: output, error_file_id: errors } = await read(batch, id, signal);
      for (const file of [input, output, errors])
        if (typeof file === 'string')
          await sendForBatch(api, batch, urlOf(batch, `/files/${requireId({ id: file })}`), {
            method: 'DELETE',
            signal,
          });
    },
  };
}

function pathOf(url: string): string {
  return new URL(url).pathname;
}

function answerOf(response: JsonValue): BatchResult['answer'] {
  const { status_code: status, body } = objectOf(response);
  return isWholeNumber(status) && status >= 200 && status <= 599 ? answerWith(status, body) : null;
}
