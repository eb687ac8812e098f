// Jobs of Bedrock and Vertex AI and their buckets, as a fake provider has them. https://docs.aws.amazon.com/bedrock/latest/APIReference,
// https://docs.cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.batchPredictionJobs (2026-11-30)

import type { BatchAnswer, GivenBatch } from './batch-provider.ts';

type Json = Record<string, unknown>;
export type Cloud = 'bedrock' | 'vertex';

/** Members of a provider at each cloud, whose job API, store and models are at one address. */
export function cloudMembers(url: string): Record<Cloud, object> {
  const at = { base_url: url, batch_storage_url: `${url}/store`, private_network: true, batches: true };
  const keys = { auth: { type: 'aws_keys', access_key_id: 'AKIDEXAMPLE12345678' }, api_key: 'secret-of-the-operator' };
  const role = 'arn:aws:iam::123456789012:role/batches';
  return {
    bedrock: {
      ...at,
      ...keys,
      kind: 'bedrock',
      region: 'eu-central-1',
      batch_bucket: 's3://aws-bucket',
      batch_role: role,
    },
    vertex: {
      ...at,
      kind: 'vertex',
      region: 'europe-west1',
      project: 'our-project',
      batch_bucket: 'gs://google-bucket/of/batches',
    },
  };
}

/** A store of objects by their paths, which speaks the XML protocol. */
export class ObjectStore {
  readonly objects: Map<string, string>;
  /** Names that every list has, too. */
  readonly alsoListed: string[] = [];
  /** Methods, and LIST. */
  refused: readonly string[] = [];
  /** Where every answer leads; null: nowhere. */
  movedTo: string | null = null;
  readonly #removed: string[];

  constructor(objects: Map<string, string>, removed: string[]) {
    this.objects = objects;
    this.#removed = removed;
  }

  async answer(request: Request, path: string): Promise<Response> {
    const isSigned = path.startsWith('aws-bucket')
      ? /AWS4-HMAC-SHA256 .*\/s3\/aws4_request/.test(request.headers.get('authorization') ?? '')
      : true;
    if (this.movedTo !== null) return Response.redirect(this.movedTo, 301);
    const prefix = new URL(request.url).searchParams.get('prefix');
    if (!isSigned || this.refused.includes(prefix === null ? request.method : 'LIST'))
      return new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403 });
    if (prefix !== null) {
      const names = [...this.objects.keys()].filter((name) => name.startsWith(`${path}/${prefix}`));
      const listed = [...names.map((name) => name.slice(path.length + 1)), ...this.alsoListed];
      const keys = listed.map((name) => `<Contents><Key>${name}</Key></Contents>`);
      return new Response(`<ListBucketResult>${keys.join('')}</ListBucketResult>`);
    }
    if (request.method === 'PUT') {
      if (request.headers.get('content-length') === null)
        return new Response('<Error><Code>MissingContentLength</Code></Error>', { status: 411 });
      this.objects.set(path, await request.text());
      return new Response();
    }
    const content = this.objects.get(path);
    if (content === undefined) return new Response('<Error><Code>NoSuchKey</Code></Error>', { status: 404 });
    if (request.method !== 'DELETE') return new Response(content);
    this.objects.delete(path);
    this.#removed.push(path);
    return new Response(null, { status: 204 });
  }
}

export interface AskedJob extends Pick<GivenBatch, 'name' | 'requests' | 'model'> {
  /** Where its results are written, as a path in the store. */
  results: string;
}

/** Throws a response for a job that the cloud refuses. */
export function readJob(cloud: Cloud, body: Json, store: ObjectStore): AskedJob {
  const at = cloud === 'bedrock' ? bedrockPlaces(body) : vertexPlaces(body);
  const content = store.objects.get(pathOf(at.requests));
  if (content === undefined || !at.isComplete)
    throw Response.json({ message: 'The job is incomplete.' }, { status: 400 });
  const lines = content.split('\n').map((line) => JSON.parse(line) as Json);
  const requests = lines.map((line) => {
    const request = (line['modelInput'] ?? line['request']) as Json;
    const id = line['recordId'] ?? line['custom_id'] ?? (request['labels'] as Json)['turnpike_request'];
    return { id: String(id), url: String(body['modelInvocationType'] ?? ''), body: request };
  });
  return { name: at.name, model: at.model, results: pathOf(at.results), requests };
}

function bedrockPlaces(body: Json) {
  const { s3Uri: requests } = (body['inputDataConfig'] as Record<string, Json>)['s3InputDataConfig'] as Json;
  const { s3Uri: results } = (body['outputDataConfig'] as Record<string, Json>)['s3OutputDataConfig'] as Json;
  return {
    requests: String(requests),
    results: `${results}1a2b3c/requests.jsonl.out`,
    name: String(body['jobName']),
    model: String(body['modelId']),
    isComplete: body['clientRequestToken'] === body['jobName'] && String(body['roleArn']).startsWith('arn:'),
  };
}

function vertexPlaces(body: Json) {
  const { gcsSource, instancesFormat } = body['inputConfig'] as Json;
  const { gcsDestination, predictionsFormat } = body['outputConfig'] as Json;
  return {
    requests: String((gcsSource as Record<string, string[]>)['uris']?.[0]),
    results: `${(gcsDestination as Json)['outputUriPrefix']}/prediction-model-2026-11-30T00:00:00.000Z/predictions.jsonl`,
    name: String(body['displayName']),
    model: String(body['model']),
    isComplete: instancesFormat === 'jsonl' && predictionsFormat === 'jsonl',
  };
}

function pathOf(uri: string): string {
  return uri.replace(/^\w+:\/\//, '');
}

export function showJob({ dialect, ref, name, status }: GivenBatch): Json {
  const isRunning = status === 'running';
  if (dialect === 'bedrock')
    return { jobArn: refArn(ref), jobName: name, status: isRunning ? 'InProgress' : 'Completed' };
  const state = isRunning ? 'JOB_STATE_RUNNING' : 'JOB_STATE_SUCCEEDED';
  return { name: `projects/12345/locations/europe-west1/batchPredictionJobs/${ref}`, displayName: name, state };
}

function refArn(ref: string): string {
  return `arn:aws:bedrock:eu-central-1:123456789012:model-invocation-job/${ref}`;
}

/** The lines of a finished job. What was not executed has no line. */
export function resultLines({ dialect, requests, results }: GivenBatch): string {
  const bodies = new Map(requests.map(({ id, body }) => [id, body]));
  const lines = results.flatMap(({ id, answer }) =>
    answer === null ? [] : [lineOf(dialect, id, bodies.get(id) ?? {}, answer)],
  );
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function lineOf(
  dialect: GivenBatch['dialect'],
  id: string,
  body: Json,
  { status, body: answer }: NonNullable<BatchAnswer>,
): Json {
  const isGood = status === 200;
  if (dialect === 'bedrock') {
    const outcome = isGood ? { modelOutput: answer } : { error: { errorCode: status, errorMessage: 'No.' } };
    return { recordId: id, modelInput: body, ...outcome };
  }
  const words = `Bad Request: ${JSON.stringify({ error: { code: status, message: 'No.' } })}`;
  const outcome = isGood ? { status: '', response: answer } : { status: words, response: {} };
  if (body['anthropic_version'] !== undefined) return { custom_id: id, request: body, ...outcome };
  return { request: { ...body, labels: { turnpike_request: id } }, ...outcome };
}
