// Batches that providers run themselves, at a lower price: what each kind has, and how it is called. The requests of one batch are for one
// model, and are those that the provider would get one by one.

import { bounds } from '../config/config.ts';
import { type JsonObject, type JsonValue, parseExactly, pauseAfter, readAnyLines, textOf } from '../wire/wire.ts';
import type { StreamedBody } from './form-body.ts';
import { type Api, withCredential } from './http-api.ts';
import { parseAnyDepth, readObject } from './parse-json.ts';
import { type BatchedCall, type ProviderEndpoint, ProviderFault } from './provider.ts';
import { cancelBody, fetchUpstream, type UpstreamCall } from './upstream.ts';

/** A batch at a provider. */
export interface ProviderBatch extends Pick<BatchedCall, 'url' | 'betas'> {
  endpoint: ProviderEndpoint;
  /** Unique; the batch is found by it. Begins the ids of its requests. */
  name: string;
  requests: number;
  /** Before its creation. */
  createdAtMs: number;
}

/** Lines of JSON, one for each request, without a line end after the last. */
export interface BatchLines {
  bytes: number;
  /** Pieces that belong to the caller. */
  read(): AsyncIterable<Uint8Array>;
}

/** `answer` null: the request was not executed, and costs nothing. */
export interface BatchResult {
  id: string;
  answer: { status: number; body: string } | null;
}

/** All reject with ProviderFault. */
export interface ProviderBatches {
  /** The most requests and bytes that one batch may have, and the fewest requests; absent: one. */
  limits: { requests: number; bytes: number; requestsMin?: number };
  /** Whether a batch that is found is surely the one, by its name. */
  hasNames: boolean;
  /** The line of a request; null: this call has no batches. */
  line(id: string, call: BatchedCall): string | null;
  /** Resolves to the provider's id of the batch. */
  create(batch: ProviderBatch, lines: BatchLines, signal: AbortSignal): Promise<string>;
  /** The id of a batch whose creation may have been cut off; null: it does not exist. `known`: ids of others. */
  find(batch: ProviderBatch, known: readonly string[], signal: AbortSignal): Promise<string | null>;
  isEnded(batch: ProviderBatch, id: string, signal: AbortSignal): Promise<boolean>;
  /** In any order; null for one that cannot be read. Requests without a result were not executed. */
  results(batch: ProviderBatch, id: string, signal: AbortSignal): AsyncGenerator<BatchResult | null>;
  /** The batch ends soon, with the results that it has by then. */
  cancel(batch: ProviderBatch, id: string, signal: AbortSignal): Promise<void>;
  /** Removes what a creation left that failed or was cut off; absent: nothing is left, or it expires there. */
  discard?(batch: ProviderBatch, signal: AbortSignal): Promise<void>;
  /** Tests where a cloud keeps batches. Resolves to what was tested, in a sentence; absent: batches have no place of their own. */
  probe?(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<string>;
  /** Removes requests and results there. */
  remove(batch: ProviderBatch, id: string, signal: AbortSignal): Promise<void>;
}

interface CallOptions extends Partial<Pick<UpstreamCall, 'method' | 'body'>> {
  signal: AbortSignal;
  msMax?: number;
}

/** The answer to a call about batches, whose body is read in time, too. Rejects with ProviderFault. */
export function callForBatch(
  api: Api,
  { endpoint, betas }: Pick<ProviderBatch, 'endpoint' | 'betas'>,
  url: string,
  { method = 'GET', body = null, signal: stopping, msMax = bounds.batchTransferMsMax }: CallOptions,
): Promise<Response> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(msMax)]);
  return withCredential(endpoint.credential, signal, async () => {
    const headers = api.headers({ provider: endpoint, betas }, 'application/json');
    if (typeof body === 'object') delete headers['content-type']; // the body has its own
    const signed = (await api.sign?.({ url, headers, body, method }, endpoint)) ?? headers;
    const call = { url, headers: signed, body, signal, method, mapFault: api.mapFault };
    return fetchUpstream(call).catch((thrown) => {
      const isLate = signal.aborted && !stopping.aborted;
      throw isLate ? new ProviderFault('timeout', 'the provider did not answer in time', { cause: thrown }) : thrown;
    });
  });
}

/** The same, for a JSON object. */
export async function readForBatch(
  ...[api, batch, url, options]: Parameters<typeof callForBatch>
): Promise<JsonObject> {
  return (await readObject(await callForBatch(api, batch, url, withMsMax(options)), options.signal)).value;
}

/** The same, for whatever the answer says. */
export async function sendForBatch(...[api, batch, url, options]: Parameters<typeof callForBatch>): Promise<void> {
  await cancelBody(await callForBatch(api, batch, url, withMsMax(options)));
}

function withMsMax(options: CallOptions): CallOptions {
  return typeof options.body === 'object' && options.body !== null
    ? options
    : { ...options, msMax: bounds.batchCallMsMax };
}

/** Throws ProviderFault unless there is a text. */
export function requireId(object: JsonObject, member = 'id'): string {
  const id = textOf(object[member]);
  if (/^[\w/.:-]{1,256}$/.test(id) && !id.includes('..')) return id;
  throw new ProviderFault('failed', `the provider made a batch without a valid "${member}"`);
}

/** The results in a response, a line of JSON for each; null for one that cannot be read. Rejects with ProviderFault if it breaks off. */
export async function* readResults(
  response: Response,
  resultOf: (line: JsonObject) => BatchResult,
  lineBytesMax = bounds.upstreamBodyBytesMax,
): AsyncGenerator<BatchResult | null> {
  if (response.body === null) return;
  try {
    for await (const line of readAnyLines(response.body, lineBytesMax)) {
      if (typeof line === 'string') await pauseAfter(line);
      const object = typeof line === 'string' ? parseAnyDepth(line, parseExactly) : null;
      yield object === null ? null : readResult(object, resultOf);
    }
  } catch (cause) {
    throw new ProviderFault('failed', 'the results of the batch broke off', { cause });
  }
}

/** null: the result cannot be read. */
export function readResult(object: JsonObject, resultOf: (object: JsonObject) => BatchResult): BatchResult | null {
  try {
    return resultOf(object);
  } catch (thrown) {
    if (thrown instanceof RangeError) return null; // too deep to be written
    throw thrown;
  }
}

/** The answer to a request. A body that is missing is no message. */
export function answerWith(status: number, body: JsonValue | undefined): NonNullable<BatchResult['answer']> {
  return { status, body: JSON.stringify(body ?? null) };
}

/** The lines as they are, or between `head` and `tail` as elements of an array. */
export function bodyOfLines(lines: BatchLines, head: string, tail: string): StreamedBody {
  const [begin, end] = [Buffer.from(head), Buffer.from(tail)];
  return {
    contentType: 'application/json',
    bytes: begin.length + lines.bytes + end.length,
    async *read() {
      yield begin;
      for await (const piece of lines.read()) yield putCommas(piece);
      yield end;
    },
  };
}

/** In place: the pieces belong to the reader. */
function putCommas(piece: Uint8Array): Uint8Array {
  for (let at = piece.indexOf(LINE_END); at >= 0; at = piece.indexOf(LINE_END, at + 1)) piece[at] = COMMA;
  return piece;
}

const LINE_END = 0x0a;
const COMMA = 0x2c;

/** JSON on one line. */
export function onOneLineOf(json: string): string {
  return json.replaceAll(/[\r\n]/g, ' '); // white space: strings have their line ends escaped
}
