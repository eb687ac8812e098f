// HTTP for all provider kinds: headers, error responses, the connection test, and opening an answer.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import type { Secret } from '../secrets/secrets.ts';
import { type JsonObject, OTHER_USES, type OtherUse, pauseAfter, type StreamEvent, tierOf } from '../wire/wire.ts';
import { foldAnswer } from './compose-message.ts';
import type { StreamedBody } from './form-body.ts';
import { hideInFault, hideInReply, hiding } from './hide-credential.ts';
import type { ModelPage, OfferedModel } from './offered-models.ts';
import { NotJson, readObject, readUpstreamRequestId } from './parse-json.ts';
import type {
  Attempt,
  OtherReply,
  OtherUses,
  ProbeReply,
  Provider,
  ProviderEndpoint,
  ProviderReply,
} from './provider.ts';
import { ProviderFault } from './provider.ts';
import { type EventConverter, type EventParser, PulledStream } from './pull-stream.ts';
import { cancelBody, fetchUpstream, type MapFault, readFault, type UpstreamCall } from './upstream.ts';

type KeyHeader = 'authorization' | 'api-key' | 'x-api-key' | 'x-goog-api-key';

/** The parts of an attempt that headers depend on; a connection test has only the provider. */
export type HeaderSource = Pick<Attempt, 'provider' | 'trace'> &
  Partial<Pick<Attempt, 'version' | 'betas' | 'selectors' | 'request'>>;

export interface SignedRequest extends Pick<UpstreamCall, 'url' | 'method' | 'body'> {
  headers: Record<string, string>;
}

export interface Api {
  url(endpoint: Pick<ProviderEndpoint, 'baseUrl'>, path: string): string;
  headers(source: HeaderSource, accept: string): Record<string, string>;
  mapFault: MapFault;
  /** The headers with a signature of the request; absent: requests are not signed. Throws ProviderFault (credentials). */
  sign?(request: SignedRequest, endpoint: ProviderEndpoint): Promise<Record<string, string>>;
  modelsPath: string;
  /** Gets an invalid request in a connection test if there is no list of models; null: there always is one. */
  messagePath: string | null;
  /** The protocol in which clients may write to it themselves; absent: the provider's kind. */
  native?: string;
  /** The models of a list; null for anything but a list. */
  readModels(answer: JsonObject, endpoint: Pick<ProviderEndpoint, 'baseUrl'>): ModelPage | null;
}

/** Sends and reads one attempt. Faults and replies may repeat the credential. */
interface ApiMethods
  extends Pick<
      Provider,
      | 'addedBytesMax'
      | 'thinksByDefault'
      | 'ignores'
      | 'keepsCacheLifetimes'
      | 'abilities'
      | 'servesTier'
      | 'sound'
      | 'compacts'
      | 'batches'
    >,
    Partial<Pick<Provider, 'countTokens' | 'uses'>> {
  /** Resolves to the head of a 2xx answer. Throws ProviderFault. */
  send(attempt: Attempt): Promise<Response>;
  /** Tests the connection in another way than by a list of models. Throws ProviderFault. */
  probe?(api: Api, endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply>;
  /** Reads that answer. Throws ProviderFault. */
  read(response: Response, attempt: Attempt): Promise<ProviderReply>;
}

/** The provider of a kind; without `countTokens` it counts no tokens. Its faults and replies hide the credential. */
export function apiProvider(
  kind: string,
  api: Api,
  { send, read, countTokens, uses, probe, ...rest }: ApiMethods,
): Provider {
  return {
    kind,
    async submit(attempt) {
      const { credential } = attempt.provider;
      const loading = attempt.exchange === undefined ? (credential?.ready() ?? null) : null;
      try {
        if (loading !== null) await awaitCredential(loading, attempt.signal);
        return hideInReply(await read(await send(attempt), attempt), credential);
      } catch (thrown) {
        throw hideInFault(thrown, credential);
      }
    },
    countTokens: async (attempt) =>
      countTokens === undefined
        ? null
        : withCredential(attempt.provider.credential, attempt.signal, () => countTokens(attempt)),
    ...(uses !== undefined && { uses: mapUses(uses, withoutCredential) }),
    countLocally: () => null,
    async probe(endpoint, signal) {
      const { credential } = endpoint;
      const reading = credential?.reread() ?? null; // a test tells of a source that fails, even if an earlier text is in use
      if (reading !== null) await awaitCredential(reading, signal);
      return hiding((probe ?? probeApi)(api, endpoint, signal), credential);
    },
    ...(api.modelsPath !== '' && {
      listModels: (endpoint: ProviderEndpoint, signal: AbortSignal) =>
        withCredential(endpoint.credential, signal, () => listModels(api, endpoint, signal)),
    }),
    ...rest,
  };
}

type SendUse = NonNullable<OtherUses[OtherUse]>;

/** The same uses, each with another way to send. */
export function mapUses(uses: OtherUses, change: (send: SendUse) => SendUse): OtherUses {
  return Object.fromEntries(Object.entries(uses).map(([use, send]) => [use, change(send)]));
}

/** Sends once the credential is there; faults and ids do not contain it. */
function withoutCredential(send: SendUse): SendUse {
  return async (attempt) => {
    const { credential } = attempt.provider;
    const reply = await (attempt.exchange === undefined
      ? withCredential(credential, attempt.signal, () => send(attempt))
      : hiding(send(attempt), credential));
    return hideInReply(reply, credential);
  };
}

const USE_WORDS: Readonly<Record<OtherUse, string>> = {
  embeddings: 'embeddings',
  rerank: 'reranking',
  moderation: 'moderation',
  images: 'image generation',
  speech: 'speech',
  transcription: 'transcription',
};

/** Sends an attempt for anything but a message. Throws ProviderFault, also if the provider does not have it. */
export async function sendFor(use: OtherUse, { uses }: Provider, attempt: Attempt): Promise<OtherReply> {
  const send = uses?.[use];
  if (send !== undefined) return await send(attempt);
  const words = `model: the provider of this model has no ${USE_WORDS[use]}`;
  throw new ProviderFault('rejected', words, { status: 400, isUnsupported: true });
}

type Choose = (upstreamModel: string, protocol: string | null) => Provider;

/** A kind whose models have several protocols: `choose` gives the provider of a model. It throws ProviderFault. */
export function combinedProvider(kind: string, choose: Choose, probe: NonNullable<Provider['probe']>): Provider {
  const chosen = ({ upstreamModel, protocol }: Attempt) => choose(upstreamModel, protocol ?? null);
  const known = (upstreamModel: string, protocol: string | null = null): Provider | null => {
    try {
      return choose(upstreamModel, protocol);
    } catch {
      return null; // refused when it is called
    }
  };
  return {
    kind,
    submit: async (attempt) => chosen(attempt).submit(attempt),
    uses: Object.fromEntries(
      OTHER_USES.map((use) => [use, async (attempt: Attempt) => sendFor(use, chosen(attempt), attempt)]),
    ),
    countTokens: async (attempt) => chosen(attempt).countTokens(attempt),
    countLocally: () => null,
    addedBytesMax: (request, at) => known(at.upstreamModel, at.protocol)?.addedBytesMax?.(request, at) ?? 0,
    thinksByDefault: (upstreamModel) => known(upstreamModel)?.thinksByDefault?.(upstreamModel) ?? false,
    ignores: (attempt) => chosen(attempt).ignores?.(attempt) ?? [],
    keepsCacheLifetimes: (upstreamModel, protocol) =>
      known(upstreamModel, protocol)?.keepsCacheLifetimes?.(upstreamModel, protocol) ?? false,
    compacts: (upstreamModel, protocol) => known(upstreamModel, protocol)?.compacts?.(upstreamModel, protocol) ?? false,
    sound: (upstreamModel, protocol) =>
      known(upstreamModel, protocol)?.sound?.(upstreamModel, protocol) ?? { input: false, output: false },
    abilities: (upstreamModel, baseUrl) => known(upstreamModel)?.abilities?.(upstreamModel, baseUrl) ?? null,
    servesTier: (tier, at) => known(at.upstreamModel, at.protocol)?.servesTier?.(tier, at) ?? false,
    probe,
  };
}

/** Sends once the credential is there; the faults do not contain it. */
export function withCredential<Value>(
  credential: Secret | null,
  signal: AbortSignal,
  send: () => Promise<Value>,
): Promise<Value> {
  const loading = credential?.ready() ?? null;
  return hiding(loading === null ? send() : awaitCredential(loading, signal).then(send), credential);
}

/** How the fault of a credential begins that was not sent. */
export const UNREAD = 'the credential cannot be read';

/** The reply of a connection test that sends by itself; its faults do not contain the credential. Throws ProviderFault. */
export function probeWith(
  credential: Secret | null,
  signal: AbortSignal,
  send: () => Promise<ProbeReply>,
): Promise<ProbeReply> {
  return withCredential(credential, signal, send);
}

/** Waits for a credential that is not known yet. Throws ProviderFault (credentials, aborted). */
async function awaitCredential(loading: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(new ProviderFault('aborted', 'aborted by this service'));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    await Promise.race([loading, aborted]);
  } catch (thrown) {
    if (thrown instanceof ProviderFault) throw thrown;
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ProviderFault('credentials', `${UNREAD}: ${why}`, { cause: thrown });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Forwards, of the client's headers, only the trace context. Throws ProviderFault (credentials). */
export function makeHeaders(
  { provider, trace }: HeaderSource,
  keyHeader: KeyHeader,
  accept: string,
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept,
    'accept-encoding': 'identity',
    'user-agent': 'turnpike',
  };
  if (trace) {
    headers['traceparent'] = trace.traceparent;
    if (trace.tracestate !== null) headers['tracestate'] = trace.tracestate;
  }
  const { credential } = provider;
  if (credential === null || credential.use === 'aws') return headers; // signed by its kind
  const key = credential.reveal().trim();
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new ProviderFault(
      'credentials',
      "the provider's credential is empty or has characters that a header cannot contain",
    );
  if (credential.use === 'bearer' || keyHeader === 'authorization') headers['authorization'] = `Bearer ${key}`;
  else headers[keyHeader] = key;
  return headers;
}

/** A 2xx response to a POST. Throws ProviderFault otherwise. */
export function post(
  api: Api,
  attempt: Attempt,
  url: string,
  body: string,
  accept = attempt.request.stream ? 'text/event-stream' : 'application/json',
): Promise<Response> {
  const { signal, provider, exchange, betas } = attempt;
  const { mapFault } = api;
  if (exchange !== undefined) return requireOk(exchange({ url, body, betas }), signal, mapFault);
  if (api.sign === undefined || provider.credential?.use !== 'aws')
    return fetchUpstream({ url, headers: headersOf(api, attempt, accept), body, signal, mapFault });
  return api
    .sign({ url, headers: api.headers(attempt, accept), body }, provider)
    .then((headers) => fetchUpstream({ url, headers, body, signal, mapFault }));
}

async function requireOk(answering: Promise<Response>, signal: AbortSignal, mapFault: MapFault): Promise<Response> {
  const response = await answering;
  if (response.ok) return response;
  throw await readFault(response, signal, mapFault);
}

/** The same for a form, which is read while it is sent. */
export function postForm(
  api: Api,
  attempt: Attempt,
  url: string,
  body: StreamedBody,
  accept: string,
): Promise<Response> {
  const { signal, exchange } = attempt;
  if (exchange !== undefined)
    throw new ProviderFault('rejected', 'a form cannot be part of a batch', { isUnsupported: true });
  return fetchUpstream({ url, headers: api.headers(attempt, accept), body, signal, mapFault: api.mapFault });
}

interface KeptHeaders extends Pick<Attempt, 'version' | 'betas'> {
  accept: string;
  /** The credential's text when they were made. */
  key: string | undefined;
  /** The runtime copies them faster than it reads an object. */
  headers: Headers;
}

/** The latest headers per endpoint, which lives as long as its catalog: most messages have the same. */
const keptHeaders = new WeakMap<ProviderEndpoint, KeptHeaders>();

function headersOf(api: Api, attempt: Attempt, accept: string): UpstreamCall['headers'] {
  const { provider, version, betas, selectors, trace, request } = attempt;
  const own = request.native?.kind === (api.native ?? provider.kind) ? request.native.headers : undefined;
  if (own !== undefined) return { ...api.headers(attempt, accept), ...own };
  if (trace || selectors || tierOf(request.body) !== 'standard') return api.headers(attempt, accept);
  const kept = keptHeaders.get(provider);
  const key = provider.credential?.reveal();
  const isSame = kept?.accept === accept && kept.version === version && kept.betas === betas && kept.key === key;
  if (kept !== undefined && isSame) return kept.headers;
  const headers = new Headers(api.headers(attempt, accept));
  keptHeaders.set(provider, { accept, version, betas, key, headers });
  return headers;
}

/** The token count in a member of the response to a count request. Throws ProviderFault. */
export async function requestTokenCount(
  api: Api,
  attempt: Attempt,
  { url, body, member }: { url: string; body: string; member: string },
): Promise<number> {
  const response = await post(api, attempt, url, body, 'application/json');
  const { value, upstreamRequestId } = await readObject(response, attempt.signal);
  const tokens = value[member];
  if (isWholeNumber(tokens) && tokens <= bounds.usageTokensMax) return tokens;
  throw new ProviderFault('failed', 'the provider sent an invalid token count', { upstreamRequestId });
}

const MISSING_STATUSES: readonly number[] = [404, 405];

/** A request that has no message. Throws ProviderFault. */
async function request(
  api: Api,
  provider: ProviderEndpoint,
  path: string,
  body: string | null,
  signal: AbortSignal,
): Promise<Response> {
  const url = api.url(provider, path);
  const headers = api.headers({ provider }, 'application/json');
  const signed = (await api.sign?.({ url, headers, body }, provider)) ?? headers;
  return fetchUpstream({ url, headers: signed, body, signal });
}

/** Throws ProviderFault (failed). */
async function readModels(
  api: Api,
  provider: ProviderEndpoint,
  listed: Response,
  signal: AbortSignal,
): Promise<ModelPage> {
  const page = api.readModels((await readObject(listed, signal)).value, provider);
  if (page !== null) return page;
  throw new ProviderFault('failed', 'it answered with JSON that is not a list of models');
}

/** The models of the first page. Throws ProviderFault. */
async function listModels(api: Api, provider: ProviderEndpoint, signal: AbortSignal): Promise<readonly OfferedModel[]> {
  const listed = await request(api, provider, api.modelsPath, null, signal);
  if (!listed.ok) throw await readFault(listed, signal, api.mapFault);
  return (await readModels(api, provider, listed, signal)).models;
}

/** Lists the models, or sends an invalid request if there is no list. Throws ProviderFault. */
async function probeApi(api: Api, provider: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  const { modelsPath, messagePath, mapFault } = api;
  const listed = await request(api, provider, modelsPath, null, signal);
  if (listed.ok) {
    const { models, hasMore } = await readModels(api, provider, listed, signal);
    return { status: listed.status, models: hasMore ? null : models.length };
  }
  const fault = await readFault(listed, signal, mapFault);
  if (messagePath === null || !MISSING_STATUSES.includes(listed.status)) throw fault;
  const response = await request(api, provider, messagePath, '{}', signal); // refused as incomplete, so it is free of charge
  const { status } = response;
  const refusal = await readFault(response, signal, mapFault);
  if (refusal.kind === 'rejected') return { status, models: null };
  if (!MISSING_STATUSES.includes(status) && !response.ok) throw refusal;
  const paths = `${modelsPath.replace(/\?.*$/, '')} nor ${messagePath}`;
  throw new ProviderFault('failed', `it has neither ${paths}: base_url may be wrong`, { status });
}

interface AnswerReader {
  converter(): EventConverter;
  /** The events of a whole answer. Throws ProviderFault. */
  whole(response: Response): Promise<StreamEvent[]>;
  /** The content type of a stream, and its parser; absent: server-sent events. */
  framing?: { contentType: string; parser(): EventParser };
}

/** The answer in the form that was requested. Throws ProviderFault. */
export async function openAnswer(
  response: Response,
  { request, signal }: Attempt,
  reader: AnswerReader,
): Promise<ProviderReply> {
  if (request.stream) return await openStream(response, signal, reader);
  return await readWhole(response, signal, reader, async () => {
    const events = await reader.whole(response);
    await pauseAfterEvents(events);
    return { form: 'message', ...foldAnswer(events), upstreamRequestId: readUpstreamRequestId(response.headers) };
  });
}

/** A whole answer, read by `read`; or folded from events, which some routers always send. Throws ProviderFault. */
export async function readWhole(
  response: Response,
  signal: AbortSignal,
  reader: Pick<AnswerReader, 'converter' | 'whole'>,
  read: () => Promise<ProviderReply>,
): Promise<ProviderReply> {
  const fold = async (body: ReadableStream<Uint8Array>): Promise<ProviderReply> => {
    const whole = (chunks: Uint8Array<ArrayBuffer>[]) => reader.whole(asJson(chunks, response));
    const events = await pullAll(new PulledStream(body, signal, reader.converter(), { whole }));
    await pauseAfterEvents(events);
    return { form: 'message', ...foldAnswer(events), upstreamRequestId: readUpstreamRequestId(response.headers) };
  };
  if (response.body !== null && response.headers.get('content-type')?.includes(EVENT_STREAM) === true)
    return await fold(response.body);
  try {
    return await read();
  } catch (thrown) {
    if (!(thrown instanceof NotJson && thrown.isOfEvents)) throw thrown;
    return await fold(bodyOf(thrown.text));
  }
}

/** All events of a stream, which are as long as a whole answer may be. Throws ProviderFault. */
async function pullAll(stream: PulledStream): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  let characters = 0;
  for (let batch = await stream.next(); batch !== null; batch = await stream.next()) {
    characters += batch.reduce((sum, { json }) => sum + json.length, 0);
    if (characters > bounds.upstreamBodyBytesMax)
      throw new ProviderFault('failed', 'the response of the provider is too long');
    events.push(...batch);
  }
  return events;
}

const EVENT_STREAM = 'text/event-stream';

function bodyOf(text: string): ReadableStream<Uint8Array> {
  return new Blob([text]).stream();
}

/** Ends the step in which a long answer was converted. */
async function pauseAfterEvents(events: readonly StreamEvent[]): Promise<void> {
  await pauseAfter({ length: events.reduce((sum, { json }) => sum + json.length, 0) });
}

/** Throws ProviderFault for anything but events or JSON. */
export async function openStream(
  response: Response,
  signal: AbortSignal,
  reader: AnswerReader,
): Promise<ProviderReply> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  const streamType = reader.framing?.contentType ?? EVENT_STREAM;
  const contentType = response.headers.get('content-type') ?? streamType;
  if (contentType.includes('json')) return await openJson(response, signal, reader);
  // Relays send events under any type, also that of a page, which has no event.
  const isStream = reader.framing === undefined || contentType.includes(streamType);
  if (!isStream || response.body === null) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider answered with neither events nor JSON', { upstreamRequestId });
  }
  const whole = (chunks: Uint8Array<ArrayBuffer>[]) => reader.whole(asJson(chunks, response));
  const parser = reader.framing?.parser();
  const events = new PulledStream(response.body, signal, reader.converter(), parser ?? { whole });
  return { form: 'stream', events, upstreamRequestId };
}

/** The response whose body turned out to be JSON. */
function asJson(chunks: Uint8Array<ArrayBuffer>[], response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set('content-type', 'application/json');
  return new Response(new Blob(chunks), { headers });
}

/** A whole answer where a stream was requested; or events under the content type of JSON. */
async function openJson(response: Response, signal: AbortSignal, reader: AnswerReader): Promise<ProviderReply> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  try {
    const batches = [await reader.whole(response)];
    for (const batch of batches) await pauseAfterEvents(batch);
    return { form: 'stream', events: { next: async () => batches.shift() ?? null }, upstreamRequestId };
  } catch (thrown) {
    if (!(thrown instanceof NotJson && thrown.isOfEvents)) throw thrown;
    const events = new PulledStream(bodyOf(thrown.text), signal, reader.converter());
    return { form: 'stream', events, upstreamRequestId };
  }
}
