// One request to the public API: what its head says, and what it holds until it is answered.

import type { AddressRange } from '../base/addresses.ts';
import { parseTimeMs } from '../base/checked-number.ts';
import type { Clock } from '../base/clock.ts';
import { newRequestId } from '../base/ids.ts';
import { readTraceContext, type TraceContext } from '../base/trace-context.ts';
import type { Settings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type { Front } from '../fronts/fronts.ts';
import {
  type BodyParser,
  type ClientRequest,
  type MessageTimes,
  type Reply,
  SELECTORS,
  type Selector,
  startTimes,
} from '../gateway/gateway.ts';
import {
  type BodiesInFlight,
  type Connection,
  clientAddress,
  queryOf,
  RequestBody,
  readApiKey,
  readBearer,
} from '../http/http.ts';
import { parseInTurns } from '../wire/wire.ts';
import type { EncodedReply } from './encode-reply.ts';

export type { ClientRequest, Reply };

/** The gateway with its dependencies bound. All methods throw or reject with TurnpikeError; `submitMessage` also returns it. */
export interface MessageGateway {
  submitMessage(clientRequest: ClientRequest): Reply | TurnpikeError | Promise<Reply | TurnpikeError>;
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
  /** null for a request that is not for the public API. */
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
  settings(): Pick<
    Settings,
    'vendorPrefixes' | 'errorStatuses' | 'bodyBytesMax' | 'shedLoopDelayMs' | 'shedOpenMessages'
  >;
  trustedProxies: readonly AddressRange[];
  /** Whether reports need the client's address, which the runtime forgets when the client disconnects. */
  reportsAddress: boolean;
  /** Whether load balancers should send messages elsewhere: true from the start of a shutdown. */
  isLeaving(): boolean;
  /** Whether messages are refused, which may begin later. */
  isDraining(): boolean;
  /** Whether the store responds; a rejection counts as no. */
  isStoreAvailable(): boolean | Promise<boolean>;
  /** Called once per response, except for preflights and admitted messages, which the gateway reports. */
  report(answered: Answered): void;
}

export class Call implements ClientRequest, Answered {
  readonly request: Request;
  readonly connection: Connection;
  readonly dependencies: PublicDependencies;
  readonly receivedAtMs: number;
  readonly requestId: string;
  /** As received, without the query. */
  readonly path: string;
  readonly origin: string | null;
  readonly times: MessageTimes = startTimes();
  secret: string | null = null;
  bearer: string | null = null;
  vendorPrefix = 'anthropic'; // until the head is read
  version: string | null = null;
  betas: string | null = null;
  selectors: ClientRequest['selectors'] = null;
  browserDeclared = false;
  trace: TraceContext | null = null;
  /** null: the Messages protocol. */
  front: Front | null = null;
  parseBody: BodyParser = parseInTurns;
  caller: ClientRequest['caller'] = null;
  isAdmitted = false;
  replayOf: string | null = null;
  status = 0;
  durationMs = 0;
  failure: TurnpikeError | null = null;
  #address: string | null = null;
  #body: RequestBody | null = null;
  #isIdleChanged = false;

  constructor(request: Request, path: string, connection: Connection, dependencies: PublicDependencies) {
    this.request = request;
    this.path = path;
    this.connection = connection;
    this.dependencies = dependencies;
    this.receivedAtMs = dependencies.clock.nowMs();
    this.requestId = newRequestId(this.receivedAtMs);
    this.origin = request.headers.get('origin');
    if (dependencies.reportsAddress) this.#findAddress();
  }

  get method(): string {
    return this.request.method;
  }

  get address(): string {
    return this.#address ?? this.#findAddress();
  }

  get headers(): Headers {
    return this.request.headers;
  }

  get query(): string {
    return queryOf(this.request.url);
  }

  get idempotencyKey(): string | null {
    return this.request.headers.get('idempotency-key');
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get clientRequest(): this {
    return this;
  }

  /**
   * Prepares the request for the gateway, which reads its body by `parseBody`. Throws invalid_request, and draining and overloaded
   * before anything is read.
   */
  open(parseBody: BodyParser = parseInTurns): void {
    this.parseBody = parseBody;
    const { connection, dependencies, request } = this;
    this.#body = new RequestBody(request, connection, dependencies.bodies);
    refuseWhileDraining(dependencies); // earlier requests continue, even if their bodies are still arriving
    requireRoom(dependencies, request.method, this.#body);
    this.#readHead(request.headers);
  }

  readBody(bytesMax: number, accountId: number): ReturnType<ClientRequest['readBody']> {
    return (this.#body as RequestBody).read(bytesMax, accountId, this.times);
  }

  expect(kind: 'stream' | 'slow-json' | 'end'): void {
    if (kind === 'stream') this.#setIdle(bounds.streamIdleSecondsMax);
    else this.#setIdle(kind === 'slow-json' ? 0 : bounds.keepAliveIdleSecondsMax);
  }

  /** Releases what the request holds, or no longer holds after the first events of a stream; null: it was refused. */
  close(reply: Pick<EncodedReply, 'body' | 'requestInUse'> | null): void {
    const body = this.#body;
    if (body === null) return;
    const inUse = reply?.requestInUse;
    if (inUse === undefined) body.giveBack();
    else giveBackAfter(inUse, body);
    // The socket may be reused: its idle timeout must be restored.
    if (this.#isIdleChanged && typeof reply?.body !== 'object') this.#setIdle(bounds.keepAliveIdleSecondsMax);
  }

  #setIdle(seconds: number): void {
    this.#isIdleChanged = seconds !== bounds.keepAliveIdleSecondsMax;
    this.connection.setIdleSeconds(seconds);
  }

  #findAddress(): string {
    const { connection, dependencies, request } = this;
    const address = clientAddress(connection.address, request.headers, dependencies.trustedProxies);
    this.#address = address;
    return address;
  }

  #readHead(headers: Headers): void {
    const keyHeader = this.front?.keyHeader ?? null;
    this.bearer = readBearer(headers);
    this.secret = readApiKey(headers) ?? this.bearer ?? (keyHeader === null ? null : headers.get(keyHeader));
    this.#readVendorHeaders(headers, this.dependencies.settings().vendorPrefixes);
    const traceparent = headers.get('traceparent');
    if (traceparent !== null) this.trace = readTraceContext(traceparent, headers.get('tracestate'));
  }

  /**
   * The first accepted prefix that the request uses is the response's, too. The version and the selectors are of the
   * first prefix that has them; betas of all prefixes are joined. Throws invalid_request for an unknown version.
   */
  #readVendorHeaders(headers: Headers, prefixes: readonly string[]): void {
    let isFirst = true;
    for (const prefix of prefixes) {
      const names = namesOf(prefix);
      const version = headers.get(names.version);
      const betas = headers.get(names.betas);
      const browser = headers.get(names.browser);
      if (version === null && betas === null && browser === null) continue;
      if (isFirst) this.vendorPrefix = prefix;
      isFirst = false;
      this.version ??= knownVersion(version, names.version);
      this.selectors ??= readSelectors(headers, names.selectors);
      if (betas !== null) this.betas = this.betas === null ? betas : `${this.betas},${betas}`;
      if (browser !== null && browser.trim().toLowerCase() === 'true') this.browserDeclared = true;
    }
  }
}

function giveBackAfter(inUse: Promise<unknown>, body: RequestBody): void {
  const giveBack = () => body.giveBack();
  inUse.then(giveBack, giveBack);
}

interface HeaderNames extends Record<'version' | 'betas' | 'browser', string> {
  selectors: readonly { name: Selector['name']; header: string }[];
}

const namesByPrefix = new Map<string, HeaderNames>();

/** Joined once for each configured prefix. */
function namesOf(prefix: string): HeaderNames {
  let names = namesByPrefix.get(prefix);
  if (names === undefined) {
    const browser = `${prefix}-dangerous-direct-browser-access`;
    const selectors = SELECTORS.map((name) => ({ name, header: `${prefix}-${name}` }));
    names = { version: `${prefix}-version`, betas: `${prefix}-beta`, browser, selectors };
    namesByPrefix.set(prefix, names);
  }
  return names;
}

// Supported dates of the Messages API, newest last.
const VERSIONS = ['2023-06-01', '2026-10-21'];

/** A later date counts as the newest: no provider refuses a client for it. Throws invalid_request for any other value. */
function knownVersion(version: string | null, name: string): string | null {
  const date = version?.trim() ?? '';
  if (date === '' || VERSIONS.includes(date)) return date || null;
  const newest = VERSIONS.at(-1) as string;
  if (/^\d{4}-\d{2}-\d{2}$/.test(date) && date > newest && parseTimeMs(date) !== null) return newest;
  throw new TurnpikeError(
    'invalid_request',
    `${name}: this is not a version of the API: send ${VERSIONS.join(' or ')}`,
  );
}

function readSelectors(headers: Headers, names: HeaderNames['selectors']): ClientRequest['selectors'] {
  let selectors: Selector[] | null = null;
  for (const { name, header } of names) {
    const value = headers.get(header)?.trim();
    if (value) selectors = [...(selectors ?? []), { name, value }];
  }
  return selectors;
}

function refuseWhileDraining(dependencies: PublicDependencies): void {
  if (!dependencies.isDraining()) return;
  throw new TurnpikeError('draining', 'This server is shutting down. Send the request again.', {
    headers: { connection: 'close' },
  });
}

/** Sheds load before the body is read and before authentication. */
function requireRoom({ bodies, load, settings }: PublicDependencies, method: string, body: RequestBody): void {
  const { bodyBytesMax, shedLoopDelayMs, shedOpenMessages } = settings();
  if (load.loopDelayMs() > shedLoopDelayMs) throw overloaded('The service is overloaded. Try again in a moment.');
  if (method !== 'POST') return; // lookups hold no memory
  if (load.openMessages() >= shedOpenMessages)
    throw overloaded('Too many messages are in progress. Try again in a moment.');
  const bytes = body.bytesDeclared ?? 0;
  if (bytes <= bodyBytesMax) bodies.requireRoom(bytes); // a longer body is never read: it is refused as too large
}
