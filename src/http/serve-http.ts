// The one place that opens a port. It bounds sockets in time and turns what nobody caught into
// our own JSON; which request means what is its caller's to know.

import { newRequestId } from '../base/ids.ts';
import { bounds } from '../config.ts';
import { errorResponse } from './reply.ts';
import { UnreadBodies } from './unread-bodies.ts';

/** The socket behind one request. */
export interface Connection {
  /** The peer's address without port; empty when the peer is gone already. */
  readonly address: string;
  /** How long the socket may be still; 0 for as long as it likes. It stays so for later requests on the same socket: set it back. */
  setIdleSeconds(seconds: number): void;
}

export interface ServeOptions {
  hostname: string;
  /** 0: any free one. */
  port: number;
  /** Certificate and key in PEM. */
  tls?: { certificate: string; key: string };
  handle(request: Request, connection: Connection): Response | Promise<Response>;
  /** Told of what `handle` threw; the caller of the service gets `internal` and this request id. */
  report?(requestId: string, thrown: unknown): void;
}

export interface HttpServer {
  /** Such as "http://127.0.0.1:8080". */
  url: string;
  port: number;
  requestsInFlight(): number;
  /** Closes the listener. Graceful: resolves when the last answer has been sent; else cuts what is open. */
  stop(isGraceful: boolean): Promise<void>;
}

type BunServer = Bun.Server<undefined>;

/** Starts to listen. Throws what the system says when it cannot. */
export function serveHttp(options: ServeOptions): HttpServer {
  const unread = new UnreadBodies();
  const server = Bun.serve({
    hostname: options.hostname,
    port: options.port,
    development: false,
    reusePort: false, // without it, the runtime would let two servers share a port, and callers meet either
    // The head of a request has 12 s whatever stands here: the runtime sees to that.
    idleTimeout: bounds.keepAliveIdleSecondsMax,
    // The runtime's own refusal is empty and comes before the handler: bodies are counted where they are read.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(options.tls === undefined ? {} : { tls: { cert: options.tls.certificate, key: options.tls.key } }),
    fetch(request, bunServer) {
      const connection = new SocketConnection(request, bunServer);
      return unread.watch(request, connection, options.handle(request, connection));
    },
    error(thrown) {
      const requestId = newRequestId(Date.now());
      options.report?.(requestId, thrown);
      return errorResponse(thrown, requestId);
    },
  });
  const hostname = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname;
  const port = server.port as number;
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://${hostname}:${port}`,
    port,
    requestsInFlight: () => server.pendingRequests,
    stop: (isGraceful) => server.stop(!isGraceful),
  };
}

/** Asks the runtime only for what is asked of it. */
class SocketConnection implements Connection {
  readonly #request: Request;
  readonly #server: BunServer;

  constructor(request: Request, server: BunServer) {
    this.#request = request;
    this.#server = server;
  }

  get address(): string {
    const address = this.#server.requestIP(this.#request)?.address ?? '';
    return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  }

  setIdleSeconds(seconds: number): void {
    this.#server.timeout(this.#request, seconds);
  }
}
