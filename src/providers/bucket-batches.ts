// Batches at clouds, whose requests and results are objects of a bucket that a job reads and writes. Both stores are called by the
// XML protocol that they share. https://docs.aws.amazon.com/AmazonS3/latest/API, https://cloud.google.com/storage/docs/xml-api (2026-11-30)

import { encodeSegment } from '../base/encode-segment.ts';
import { bounds } from '../config/config.ts';
import type { JsonObject } from '../wire/wire.ts';
import {
  type BatchResult,
  callForBatch,
  type ProviderBatch,
  type ProviderBatches,
  readResults,
  requireId,
  sendForBatch,
} from './batches.ts';
import type { StreamedBody } from './form-body.ts';
import type { Api } from './http-api.ts';
import { kindOf, readRetryAfterMs, scrubIdentifiers } from './map-fault.ts';
import { readText } from './parse-json.ts';
import { type ProviderEndpoint, ProviderFault } from './provider.ts';

/** Where a job reads and writes: the names of the objects begin with `folder`. */
interface BatchFolder {
  /** The address of the bucket, without a trailing slash. */
  url: string;
  folder: string;
}

/** The differences between clouds. All reject with ProviderFault. */
export interface JobKind extends Pick<ProviderBatches, 'limits' | 'line' | 'cancel'> {
  /** Calls the store of objects. */
  store: Api;
  /** Resolves to the id of the job. */
  start(batch: ProviderBatch, uris: { requests: string; results: string }, signal: AbortSignal): Promise<string>;
  /** The id of the job with the batch's name. */
  find(batch: ProviderBatch, signal: AbortSignal): Promise<string | null>;
  /** `said`: why a job failed, in the words of the cloud; empty if it does not tell. */
  state(batch: ProviderBatch, id: string, signal: AbortSignal): Promise<{ isEnded: boolean; said: string }>;
  result(line: JsonObject): BatchResult;
  /** Names what a test of the bucket leaves out, in a sentence; absent: nothing. */
  untested?: string;
  /** Removes the job, but none of its objects; absent: jobs stay. */
  forget?(batch: ProviderBatch, id: string, signal: AbortSignal): Promise<void>;
}

const REQUESTS = 'requests.jsonl';
const RESULTS = 'results/';

export function bucketBatches(jobs: JobKind): ProviderBatches {
  const { store } = jobs;
  const clear = async (batch: ProviderBatch, signal: AbortSignal) => {
    const at = folderOf(batch);
    for (const name of await list(store, batch, at, signal))
      await sendForBatch(store, batch, urlOf(at, name), { method: 'DELETE', signal }).catch(ignoreMissing);
  };
  return {
    hasNames: true,
    get limits() {
      return jobs.limits;
    },
    line(id, call) {
      const line = jobs.line(id, call);
      return line !== null && Buffer.byteLength(line) <= bounds.batchEchoedBytesMax ? line : null;
    },
    async create(batch, lines, signal) {
      const at = folderOf(batch);
      const body = { contentType: 'application/jsonl', ...lines };
      await sendForBatch(store, batch, urlOf(at, at.folder + REQUESTS), { method: 'PUT', body, signal });
      const uri = `${bucketOf(batch).uri}/${batch.name}`;
      return jobs.start(batch, { requests: `${uri}/${REQUESTS}`, results: `${uri}/${RESULTS}` }, signal);
    },
    find: (batch, _known, signal) => jobs.find(batch, signal),
    isEnded: async (batch, id, signal) => (await jobs.state(batch, id, signal)).isEnded,
    async *results(batch, id, signal) {
      const at = folderOf(batch);
      const names = await list(store, batch, { ...at, folder: at.folder + RESULTS }, signal);
      const files = names.filter((name) => /\.jsonl(?:\.out)?$/.test(name));
      if (files.length === 0) {
        const { said } = await jobs.state(batch, id, signal);
        throw new ProviderFault(
          'not_found',
          scrubIdentifiers(`the batch has no results: ${said || 'no reason is given'}`),
        );
      }
      // A result has an answer and repeats its request, whose characters may be written as escapes of six.
      const bytesMax = bounds.upstreamBodyBytesMax + 6 * bounds.batchEchoedBytesMax;
      let [lines, named] = [0, 0];
      for (const name of files) {
        const response = await callForBatch(store, batch, urlOf(at, name), { signal });
        for await (const result of readResults(response, jobs.result, bytesMax)) {
          if (result !== null) lines++;
          if (result !== null && result.id !== '') named++;
          yield result;
        }
      }
      if (lines > 0 && named === 0)
        throw new ProviderFault('not_found', 'the results of the batch do not name their requests');
    },
    cancel: (batch, id, signal) => jobs.cancel(batch, id, signal),
    async probe(endpoint, signal) {
      await probeBucket(store, endpoint, signal);
      return ['It can write, read, list and remove objects in batch_bucket.', jobs.untested ?? ''].join(' ').trimEnd();
    },
    discard: clear,
    async remove(batch, id, signal) {
      await clear(batch, signal);
      await jobs.forget?.(batch, id, signal);
    },
  };
}

/** Does with one small object what batches do with theirs. Rejects with a ProviderFault that says what cannot be done. */
async function probeBucket(store: Api, endpoint: ProviderEndpoint, signal: AbortSignal): Promise<void> {
  const batch = { endpoint, name: `turnpike-test-${crypto.randomUUID()}`, betas: null };
  const at = folderOf(batch);
  const name = at.folder + REQUESTS;
  const send = (options: Partial<Parameters<typeof callForBatch>[3]> = {}) =>
    callForBatch(store, batch, urlOf(at, name), { ...options, signal });
  const steps: [what: string, isDone: () => Promise<boolean>][] = [
    ['write', async () => (await send({ method: 'PUT', body: testBody() })).ok],
    ['read', async () => (await readText(await send(), signal, bounds.upstreamBodyBytesMax)).text === TEST_TEXT],
    ['list', async () => (await list(store, batch, at, signal)).includes(name)],
    ['remove', async () => (await send({ method: 'DELETE' })).ok],
  ];
  for (const [what, isDone] of steps) {
    const words = `it cannot ${what} an object there`;
    try {
      if (!(await isDone())) throw new ProviderFault('failed', 'the store answers as if it could');
    } catch (thrown) {
      if (!(thrown instanceof ProviderFault)) throw thrown;
      const { kind, message, status, retryAfterMs, cause } = thrown;
      await send({ method: 'DELETE' }).catch(() => {}); // perhaps that is allowed
      throw new ProviderFault(kind, `${words} (${message})`, { status, retryAfterMs, cause });
    }
  }
}

const TEST_TEXT = '{}\n';

function testBody(): StreamedBody {
  const bytes = Buffer.from(TEST_TEXT);
  return {
    contentType: 'application/jsonl',
    bytes: bytes.length,
    async *read() {
      yield bytes;
    },
  };
}

/** The id of a job: the last part of its name. Throws ProviderFault. */
export function lastPartOf(job: JsonObject, member: string): string {
  return requireId({ [member]: requireId(job, member).replace(/^.*[/:]/, '') }, member);
}

/** The fault of an error of a store, whose text is XML. */
export function mapStoreFault(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  const member = (name: string) => new RegExp(`<${name}>([^<]{1,300})</${name}>`).exec(bodyText)?.[1] ?? '';
  const words = [member('Code'), member('Message')].filter((part) => part !== '').join(': ');
  const said = `the bucket of its batches answered with status ${status} ${words}`.trimEnd();
  return new ProviderFault(kindOf(status, null, null), scrubIdentifiers(said), {
    status,
    retryAfterMs: readRetryAfterMs(headers, nowMs),
  });
}

type Named = Pick<ProviderBatch, 'endpoint' | 'name' | 'betas'>;

function bucketOf({ endpoint }: Named): { uri: string; url: string; role: string | null } {
  if (endpoint.batchBucket != null) return endpoint.batchBucket;
  throw new ProviderFault('rejected', 'the provider has no bucket for batches', { status: 400 });
}

function folderOf(batch: Named): BatchFolder {
  const { uri, url } = bucketOf(batch);
  const [bucket = '', ...prefix] = uri.replace(/^\w+:\/\//, '').split('/');
  return { url: `${url}/${bucket}`, folder: [...prefix, batch.name, ''].join('/') };
}

function urlOf({ url }: BatchFolder, name: string): string {
  return `${url}/${name.split('/').map(encodeSegment).join('/')}`;
}

/** Names of objects that begin with the folder, up to a thousand: a job writes a few files. Others are not the batch's, whatever the store says. */
async function list(store: Api, batch: Named, { url, folder }: BatchFolder, signal: AbortSignal): Promise<string[]> {
  const response = await callForBatch(store, batch, `${url}?list-type=2&prefix=${encodeSegment(folder)}`, { signal });
  const { text } = await readText(response, signal, bounds.upstreamBodyBytesMax);
  return [...text.matchAll(/<Key>([\w.:@=/-]{1,1024})<\/Key>/g)]
    .map(([, name = '']) => name)
    .filter((name) => name.startsWith(folder) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(name));
}

function ignoreMissing(thrown: unknown): void {
  if (!(thrown instanceof ProviderFault && thrown.kind === 'not_found')) throw thrown;
}
