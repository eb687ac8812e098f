// A client's request as the gateway sees it: what its head says, and how its body is read.

import { parseTimeMs } from '../base/checked-number.ts';
import { readTraceContext, type TraceContext } from '../base/trace-context.ts';
import { TurnpikeError } from '../errors.ts';
import { translateToImages } from '../fronts/fronts.ts';
import {
  type BodyParser,
  type ClientRequest,
  type MessageTimes,
  SELECTORS,
  type Selector,
} from '../gateway/gateway.ts';
import { readApiKey, readBearer } from '../http/http.ts';
import type { MessageRequest } from '../wire/wire.ts';
import type { Exchange } from './exchange.ts';

export const VENDOR_PREFIX = 'anthropic'; // until the head is read

export class PublicRequest implements ClientRequest {
  readonly #exchange: Exchange;
  readonly requestId: string;
  readonly receivedAtMs: number;
  readonly times: MessageTimes;
  readonly origin: string | null;
  readonly parseBody: BodyParser;
  asImages: ClientRequest['asImages'];
  secret: string | null = null;
  bearer: string | null = null;
  vendorPrefix = VENDOR_PREFIX;
  version: string | null = null;
  betas: string | null = null;
  selectors: ClientRequest['selectors'] = null;
  browserDeclared = false;
  trace: TraceContext | null = null;
  caller: ClientRequest['caller'] = null;
  agent: ClientRequest['agent'] = null;
  readonly item: ClientRequest['item'];
  isAdmitted = false;
  replayOf: string | null = null;

  /** Nothing of the head is read. */
  constructor(exchange: Exchange, parseBody: BodyParser) {
    this.#exchange = exchange;
    this.requestId = exchange.requestId;
    this.receivedAtMs = exchange.receivedAtMs;
    this.times = exchange.times;
    this.origin = exchange.origin;
    this.item = exchange.item;
    this.parseBody = parseBody;
    this.asImages = exchange.front === null ? drawn : null;
  }

  get address(): string {
    return this.#exchange.address;
  }

  get query(): string {
    return this.#exchange.query;
  }

  get idempotencyKey(): string | null {
    return this.#exchange.headers.get('idempotency-key');
  }

  header(name: string): string | null {
    return this.#exchange.headers.get(name);
  }

  get signal(): AbortSignal {
    return this.#exchange.request.signal;
  }

  readBody(bytesMax: number, accountId: number): ReturnType<ClientRequest['readBody']> {
    return this.#exchange.readBody(bytesMax, accountId);
  }

  growBody(bytes: number, accountId: number): void {
    this.#exchange.growBody(bytes, accountId);
  }

  expect(kind: 'stream' | 'slow-json' | 'end'): void {
    this.#exchange.expect(kind);
  }

  /** Throws invalid_request. */
  readHead(keyHeader: string | null, vendorPrefixes: readonly string[]): void {
    const { headers } = this.#exchange;
    this.bearer = readBearer(headers);
    this.secret = readApiKey(headers) ?? this.bearer ?? (keyHeader === null ? null : headers.get(keyHeader));
    this.#readVendorHeaders(headers, vendorPrefixes);
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

function drawn(request: MessageRequest): Promise<MessageRequest> {
  return translateToImages(request, request.stream ? 'message_events' : 'message');
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
