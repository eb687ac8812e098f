// Submits a request to the gateway and releases everything the request held, however it ends.

import type { AddressRange } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import { readTraceContext } from '../base/trace-context.ts';
import type { Settings } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import { type ClientRequest, type Reply, startTimes } from '../gateway/gateway.ts';
import { type BodiesInFlight, type Connection, queryOf, RequestBody, readBearer } from '../http/http.ts';

interface VendorHeaders {
  /** The first accepted prefix that the request used; `anthropic` by default. */
  prefix: string;
  /** A known version, from the first prefix that has one; null without one. */
  version: string | null;
  /** From all prefixes, joined by commas. */
  betas: string | null;
  browserDeclared: boolean;
}

// Supported dates of the Messages API, newest last.
const VERSIONS = ['2023-06-01', '2026-10-21'];

function readVendorHeaders(headers: Headers, prefixes: readonly string[]): VendorHeaders {
  const read: VendorHeaders = { prefix: '', version: null, betas: null, browserDeclared: false };
  for (const prefix of prefixes) {
    const names = namesOf(prefix);
    const version = headers.get(names.version);
    const betas = headers.get(names.betas);
    const browser = headers.get(names.browser);
    if (version === null && betas === null && browser === null) continue;
    if (read.prefix === '') read.prefix = prefix;
    read.version ??= knownVersion(version);
    if (betas !== null) read.betas = read.betas === null ? betas : `${read.betas},${betas}`;
    if (browser !== null && browser.trim().toLowerCase() === 'true') read.browserDeclared = true;
  }
  if (read.prefix === '') read.prefix = 'anthropic';
  return read;
}

const namesByPrefix = new Map<string, Record<'version' | 'betas' | 'browser', string>>();

/** Joined once for each configured prefix. */
function namesOf(prefix: string) {
  let names = namesByPrefix.get(prefix);
  if (names === undefined) {
    const browser = `${prefix}-dangerous-direct-browser-access`;
    names = { version: `${prefix}-version`, betas: `${prefix}-beta`, browser };
    namesByPrefix.set(prefix, names);
  }
  return names;
}

/** Any other date counts as the newest: no provider refuses a client for a later date. */
function knownVersion(version: string | null): string | null {
  if (version === null || version.trim() === '') return null;
  return VERSIONS.find((known) => known === version.trim()) ?? (VERSIONS.at(-1) as string);
}

/** Throws draining and overloaded before anything is read. The body's memory is held until it is no longer needed. */
export async function submitCall(call: Call, submit: (clientRequest: ClientRequest) => Promise<Reply>): Promise<Reply> {
  const { connection, dependencies, request } = call;
  const body = new RequestBody(request, connection, dependencies.bodies);
  let isIdleChanged = false;
  const setIdle = (seconds: number) => {
    isIdleChanged = seconds !== bounds.keepAliveIdleSecondsMax;
    connection.setIdleSeconds(seconds);
  };
  let reply: Reply | null = null;
  try {
    refuseWhileDraining(dependencies); // earlier requests continue, even if their bodies are still arriving
    requireRoom(call, body);
    call.clientRequest = describeCall(call, body, setIdle);
    reply = await submit(call.clientRequest);
    return reply;
  } finally {
    const kept = reply?.requestInUse;
    const giveBack = () => body.giveBack();
    if (kept === undefined) giveBack();
    else void kept.then(giveBack, giveBack);
    // The socket may be reused: its idle timeout must be restored.
    if (isIdleChanged && typeof reply?.body !== 'object') setIdle(bounds.keepAliveIdleSecondsMax);
  }
}

/** Sheds load before the body is read and before authentication. */
function requireRoom({ dependencies, request }: Call, body: RequestBody): void {
  const { bodies, load } = dependencies;
  const { bodyBytesMax, shedLoopDelayMs, shedOpenMessages } = dependencies.settings();
  if (load.loopDelayMs() > shedLoopDelayMs) throw overloaded('The service is overloaded. Try again in a moment.');
  if (request.method !== 'POST') return; // lookups hold no memory
  if (load.openMessages() >= shedOpenMessages)
    throw overloaded('Too many messages are in progress. Try again in a moment.');
  const bytes = body.bytesDeclared ?? 0;
  if (bytes <= bodyBytesMax) bodies.requireRoom(bytes); // a longer body is never read: it is refused as too large
}

function refuseWhileDraining(dependencies: PublicDependencies): void {
  if (!dependencies.isDraining()) return;
  throw new TurnpikeError('draining', 'This server is shutting down. Send the request again.', {
    headers: { connection: 'close' },
  });
}

function describeCall(call: Call, body: RequestBody, setIdle: (seconds: number) => void): ClientRequest {
  const { dependencies, request } = call;
  const { headers } = request;
  const vendor = readVendorHeaders(headers, dependencies.settings().vendorPrefixes);
  call.vendorPrefix = vendor.prefix;
  const traceparent = headers.get('traceparent');
  const times = startTimes();
  return {
    requestId: call.requestId,
    receivedAtMs: call.receivedAtMs,
    secret: readBearer(headers),
    protocol: 'messages',
    origin: headers.get('origin'),
    browserDeclared: vendor.browserDeclared,
    address: call.address,
    vendorPrefix: vendor.prefix,
    query: queryOf(request.url),
    version: vendor.version,
    betas: vendor.betas,
    idempotencyKey: headers.get('idempotency-key'),
    async readBody(bytesMax, accountId) {
      const askedMs = performance.now();
      const bytes = await body.read(bytesMax, accountId);
      times.bodyMs = performance.now() - askedMs;
      return bytes;
    },
    signal: request.signal,
    trace: traceparent === null ? null : readTraceContext(traceparent, headers.get('tracestate')),
    times,
    caller: null,
    isAdmitted: false,
    replayOf: null,
    expect(kind) {
      if (kind === 'stream') setIdle(bounds.streamIdleSecondsMax);
      else setIdle(kind === 'slow-json' ? 0 : bounds.keepAliveIdleSecondsMax);
    },
  };
}

export type { ClientRequest, Reply };

/** The gateway with its dependencies bound. All methods throw TurnpikeError for a refusal. */
export interface MessageGateway {
  submitMessage(clientRequest: ClientRequest): Promise<Reply>;
  countTokens(clientRequest: ClientRequest): Promise<Reply>;
  listModels(clientRequest: ClientRequest): Promise<Reply>;
  getModel(clientRequest: ClientRequest, id: string): Promise<Reply>;
  getKey(clientRequest: ClientRequest): Promise<Reply>;
  getUsage(clientRequest: ClientRequest, requestId: string): Promise<Reply>;
}

/** The outcome of one request, for logs and metrics. For streams: when they began. */
export interface Answered {
  requestId: string;
  receivedAtMs: number;
  durationMs: number;
  method: string;
  path: string;
  /** The client's IP address, through trusted proxies. */
  address: string;
  status: number;
  clientRequest: Pick<ClientRequest, 'trace' | 'times' | 'caller' | 'replayOf'> | null;
  /** The refusal or failure, with its cause for operators. */
  failure: TurnpikeError | null;
}

export interface PublicDependencies {
  messages: MessageGateway;
  bodies: BodiesInFlight;
  /** Read for every request, so it must not compute anything; `openMessages` includes streams. */
  load: { loopDelayMs(): number; openMessages(): number };
  clock: Clock;
  settings(): Pick<Settings, 'vendorPrefixes' | 'bodyBytesMax' | 'shedLoopDelayMs' | 'shedOpenMessages'>;
  trustedProxies: readonly AddressRange[];
  /** Whether load balancers should send messages elsewhere: true from the start of a shutdown. */
  isLeaving(): boolean;
  /** Whether messages are refused, which may begin later. */
  isDraining(): boolean;
  /** Whether the store responds; a rejection counts as no. */
  isStoreAvailable(): boolean | Promise<boolean>;
  /** Called once per response, except for preflights and admitted messages, which the gateway reports. */
  report(answered: Answered): void;
}

export interface Call {
  request: Request;
  connection: Connection;
  dependencies: PublicDependencies;
  requestId: string;
  receivedAtMs: number;
  /** As received, without the query. */
  path: string;
  /** The client's IP address, through trusted proxies. */
  address: string;
  /** The vendor prefix of the request; `anthropic` until its headers were read. */
  vendorPrefix: string;
  clientRequest: ClientRequest | null;
}

export type Handle = (call: Call) => Reply | Promise<Reply>;
