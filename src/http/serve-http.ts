// The only place that opens a port. Bounds sockets in time and turns uncaught errors into JSON.

import { parseWholeNumber } from '../base/checked-number.ts';
import { newRequestId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { errorResponse } from './reply.ts';

const LONG_BODY_BYTES = 128 * 1024; // shorter bodies fit into the socket's buffers
const SECOND_MS = 1_000;

export class UnreadBodies {
  readonly #bytesPerSecondMax: number;
  #secondBeganMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;

  constructor(bytesPerSecondMax: number = bounds.unreadBytesPerSecondMax) {
    this.#bytesPerSecondMax = bytesPerSecondMax;
  }

  /** Returns the response, the fate of its connection decided, before the body is read. Free for short bodies. */
  watch(request: Request, connection: Connection, answer: Response | Promise<Response>): Response | Promise<Response> {
    const bytes = declaredBytes(request.headers);
    return bytes <= LONG_BODY_BYTES ? answer : this.#watchLong(bytes, request, connection, answer);
  }

  async #watchLong(
    bytes: number,
    request: Request,
    connection: Connection,
    answer: Response | Promise<Response>,
  ): Promise<Response> {
    const response = await answer;
    if (!request.bodyUsed) this.#leave(bytes, connection, response);
    return response;
  }

  /** Discards the rest for a while, or, if that is too much, closes: such clients may not see their response. */
  #leave(bytes: number, connection: Connection, response: Response): void {
    const nowMs = performance.now();
    if (nowMs - this.#secondBeganMs >= SECOND_MS) {
      this.#secondBeganMs = nowMs;
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    if (this.#bytes <= this.#bytesPerSecondMax) connection.setIdleSeconds(bounds.unreadBodySecondsMax);
    else response.headers.set('connection', 'close');
  }
}

/** An unknown or invalid length counts as the longest. */
function declaredBytes(headers: Headers): number {
  const declared = headers.get('content-length');
  if (declared !== null) return parseWholeNumber(declared) ?? bounds.bodyBytesMax;
  return headers.has('transfer-encoding') ? bounds.bodyBytesMax : 0;
}

const LISTEN_AGAIN_MS = 100;
/**
 * Those of TLS 1.2 with forward secrecy and authenticated encryption: Mozilla's intermediate configuration, version 6.0 of its
 * guidelines. Those of TLS 1.3 all have both; earlier versions are refused by the runtime.
 */
const CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
const LISTEN_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program is using this port',
  EADDRNOTAVAIL: 'the address does not belong to this machine',
  EINVAL: 'the address does not belong to this machine',
  EACCES: 'permission denied (ports below 1024 usually require root)',
};

/** The socket of one request. */
export interface Connection {
  /** The peer's address without port; empty if the peer has already disconnected. */
  readonly address: string;
  readonly isTls: boolean;
  /** How long the socket may be idle; 0: forever. It applies to later requests on the same socket: restore it. */
  setIdleSeconds(seconds: number): void;
}

export interface ServeOptions {
  hostname: string;
  /** 0: any free port. */
  port: number;
  /** Certificate and key in PEM. */
  tls?: { certificate: string; key: string };
  handle(request: Request, connection: Connection): Response | Promise<Response>;
  /** Called with what `handle` threw; the client gets `internal` with this request id. */
  report?(requestId: string, thrown: unknown): void;
}

export interface HttpServer {
  /** Such as "http://127.0.0.1:8080". */
  url: string;
  port: number;
  requestsInFlight(): number;
  /**
   * Uses another certificate for new connections, on the same port. Requests in progress finish; idle connections are closed.
   * The pair must be valid. Rejects with ListenerLost.
   */
  replaceTls(tls: NonNullable<ServeOptions['tls']>): Promise<void>;
  /** Closes the listener. Graceful: resolves when the last response was sent; otherwise cuts open connections. */
  stop(isGraceful: boolean): Promise<void>;
}

/** Another process took the port while it was briefly closed: new requests cannot be answered. */
export class ListenerLost extends Error {
  override name = 'ListenerLost';
}

type BunServer = Bun.Server<undefined>;

/** Starts to listen. The error of a failure names the address and the reason. */
export function serveHttp(options: ServeOptions): HttpServer {
  const unread = new UnreadBodies();
  const fetch = (request: Request, server: BunServer) => {
    const connection = new SocketConnection(request, server, options.tls !== undefined);
    return unread.watch(request, connection, options.handle(request, connection));
  };
  let server = openFirst(options, fetch);
  const port = server.port as number;
  /** Servers with earlier certificates whose last responses are not sent yet. */
  const retired = new Map<BunServer, Promise<void>>();
  const all = () => [...new Set([server, ...retired.keys()])];
  let isStopping = false;
  const hostname = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname;
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://${hostname}:${port}`,
    port,
    requestsInFlight: () => all().reduce((sum, one) => sum + one.pendingRequests, 0),
    async replaceTls(tls) {
      if (isStopping) return;
      const old = server;
      // The runtime cannot change the certificate of a listener. If the new one opened first, it would have to share
      // the port, and so could any other process.
      retired.set(
        old,
        old.stop(false).finally(() => retired.delete(old)),
      );
      server = await openAgain({ ...options, port, tls }, fetch);
      if (isStopping) await server.stop(true); // it was stopped between two attempts
    },
    async stop(isGraceful) {
      isStopping = true;
      const stopping = all().map((one) => one.stop(!isGraceful));
      await Promise.all([...stopping, ...retired.values()]);
    },
  };
}

function openFirst(...[options, fetch]: Parameters<typeof openServer>): BunServer {
  const { hostname, port } = options;
  try {
    return openServer(options, fetch);
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException;
    throw new Error(`cannot listen on ${hostname}:${port}: ${LISTEN_FAULTS[code] ?? message}`, { cause });
  }
}

function openServer(
  options: ServeOptions,
  fetch: (request: Request, server: BunServer) => Response | Promise<Response>,
): BunServer {
  return Bun.serve({
    hostname: options.hostname,
    port: options.port,
    development: false,
    reusePort: false, // otherwise the runtime would let two servers share a port
    // Request heads have 12 s in any case, by the runtime.
    idleTimeout: bounds.keepAliveIdleSecondsMax,
    // The runtime's refusal is empty and comes before the handler: bodies are bounded where they are read.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(options.tls === undefined
      ? {}
      : { tls: { cert: options.tls.certificate, key: options.tls.key, ciphers: CIPHERS } }),
    fetch,
    error(thrown) {
      const requestId = newRequestId(Date.now());
      options.report?.(requestId, thrown);
      return errorResponse(thrown, requestId);
    },
  });
}

/** The port was ours a moment ago. If another process has it now, retries for a while. */
async function openAgain(...[options, fetch]: Parameters<typeof openServer>): Promise<BunServer> {
  for (let tries = 1; ; tries++) {
    try {
      return openServer(options, fetch);
    } catch (cause) {
      if (tries >= bounds.listenTriesMax)
        throw new ListenerLost(`can no longer listen on port ${options.port}`, { cause });
      await Bun.sleep(LISTEN_AGAIN_MS);
    }
  }
}

/** Reads from the runtime only what is needed. */
class SocketConnection implements Connection {
  readonly #request: Request;
  readonly #server: BunServer;
  readonly isTls: boolean;

  constructor(request: Request, server: BunServer, isTls: boolean) {
    this.#request = request;
    this.#server = server;
    this.isTls = isTls;
  }

  get address(): string {
    const address = this.#server.requestIP(this.#request)?.address ?? '';
    return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  }

  setIdleSeconds(seconds: number): void {
    this.#server.timeout(this.#request, seconds);
  }
}
