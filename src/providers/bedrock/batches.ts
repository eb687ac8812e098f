// Batches as model invocation jobs. https://docs.aws.amazon.com/bedrock/latest/userguide/batch-inference.html (2026-11-30)

import { isWholeNumber } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import { type JsonObject, type JsonValue, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
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
import type { Api } from '../http-api.ts';
import { signAs } from './sign.ts';

const JOB = '/model-invocation-job';
const CALL = /\/model\/([^/]+)\/(invoke|converse)$/;
const TYPES: Readonly<Record<string, string>> = { invoke: 'InvokeModel', converse: 'Converse' };
/** Members of Converse that its jobs refuse. */
const NOT_IN_JOBS = /"(?:toolConfig|outputConfig|guardrailConfig)"/;
const ENDED: readonly JsonValue[] = ['Completed', 'PartiallyCompleted', 'Failed', 'Stopped', 'Expired'];
const LISTED = 1_000;
const HOURS = 24; // the least

export function invocationJobs(api: Api): ProviderBatches {
  const urlOf = ({ endpoint }: ProviderBatch, path: string) => controlUrl(endpoint.baseUrl) + path;
  return bucketBatches({
    store: { ...api, mapFault: mapStoreFault, sign: signAs('s3') },
    get limits() {
      return { requests: 50_000, bytes: 200_000_000, requestsMin: bounds.bedrockBatchRequestsMin };
    },
    line(id, { url, body }) {
      const operation = CALL.exec(url)?.[2];
      if (operation === undefined || (operation === 'converse' && NOT_IN_JOBS.test(body))) return null;
      return `{"recordId":"${id.replaceAll('-', MARK)}","modelInput":${onOneLineOf(body)}}`;
    },
    async start(batch, { requests, results }, signal) {
      const [, model = '', operation = ''] = CALL.exec(batch.url) ?? [];
      const body = JSON.stringify({
        clientRequestToken: batch.name, // a repeated request starts no second job
        jobName: batch.name,
        roleArn: batch.endpoint.batchBucket?.role ?? '',
        modelId: decodeURIComponent(model),
        modelInvocationType: TYPES[operation] ?? '',
        inputDataConfig: { s3InputDataConfig: { s3InputFormat: 'JSONL', s3Uri: requests } },
        outputDataConfig: { s3OutputDataConfig: { s3Uri: results } },
        timeoutDurationInHours: HOURS,
      });
      return lastPartOf(await readForBatch(api, batch, urlOf(batch, JOB), { method: 'POST', body, signal }), 'jobArn');
    },
    async find(batch, signal) {
      const path = `${JOB}s?maxResults=${LISTED}&nameContains=${batch.name}`;
      const { invocationJobSummaries: jobs } = await readForBatch(api, batch, urlOf(batch, path), { signal });
      const found = jsonObjects(jobs).find(({ jobName }) => jobName === batch.name);
      return found === undefined ? null : lastPartOf(found, 'jobArn');
    },
    async state(batch, id, signal) {
      const { status, message } = await readForBatch(api, batch, urlOf(batch, `${JOB}/${id}`), { signal });
      return { isEnded: ENDED.includes(status ?? null), said: textOf(message) };
    },
    result: ({ recordId, modelOutput, error }) => ({
      id: textOf(recordId).replaceAll(MARK, '-'),
      answer: modelOutput === undefined ? refusalOf(objectOf(error)) : answerWith(200, modelOutput),
    }),
    untested: 'Only a batch will show whether Bedrock can use batch_role.',
    cancel: (batch, id, signal) =>
      sendForBatch(api, batch, urlOf(batch, `${JOB}/${id}/stop`), { method: 'POST', body: '', signal }),
  });
}

/** Stands for the dashes in ids: those of records are alphanumeric. */
const MARK = 'x';

/** Jobs have another host than models. */
function controlUrl(baseUrl: string): string {
  return baseUrl.replace(/^(https:\/\/)bedrock-runtime(?=[.-])/, '$1bedrock');
}

function refusalOf({ errorCode: status, errorMessage: message }: JsonObject): BatchResult['answer'] {
  if (!isWholeNumber(status) || status < 400 || status > 599) return null;
  return answerWith(status, { message: textOf(message) });
}
