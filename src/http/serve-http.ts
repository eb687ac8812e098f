// The one place that opens a port. It bounds sockets in time and turns what nobody caught into
// our own JSON; which request means what is its caller's to know.

import { newRequestId } from '../base/ids.ts';
import { bounds } from '../config.ts';
import { errorResponse } from './reply.ts';
import { UnreadBodies } from './unread-bodies.ts';

const LISTEN_AGAIN_MS = 100;
const LISTEN_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has this port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EINVAL: 'this machine has no such address',
  EACCES: 'its user may not (ports below 1024 are for root, unless the system says otherwise)',
};

/** The socket behind one request. */
export interface Connection {
  /** The peer's address without port; empty when the peer is gone already. */
  readonly address: string;
  readonly isTls: boolean;
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
  /**
   * Answers new connections with another certificate, on the same port. What is being answered goes on to its end; connections
   * that rest between two requests are closed. The pair must be one that can be used. Rejects with ListenerLost.
   */
  replaceTls(tls: NonNullable<ServeOptions['tls']>): Promise<void>;
  /** Closes the listener. Graceful: resolves when the last answer has been sent; else cuts what is open. */
  stop(isGraceful: boolean): Promise<void>;
}

/** The port was taken by another while it was closed for a moment: nobody new is answered any more. */
export class ListenerLost extends Error {
  override name = 'ListenerLost';
}

type BunServer = Bun.Server<undefined>;

/** Starts to listen. Throws an error that says where it cannot, and why. */
export function serveHttp(options: ServeOptions): HttpServer {
  const unread = new UnreadBodies();
  const fetch = (request: Request, server: BunServer) => {
    const connection = new SocketConnection(request, server, options.tls !== undefined);
    return unread.watch(request, connection, options.handle(request, connection));
  };
  let server = openFirst(options, fetch);
  const port = server.port as number;
  /** Those of earlier certificates, whose last answers are not sent yet. */
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
      // The runtime cannot change the certificate of a listener. Opened first, the new one would have to share the port, and so could a stranger.
      retired.set(
        old,
        old.stop(false).finally(() => retired.delete(old)),
      );
      server = await openAgain({ ...options, port, tls }, fetch);
      if (isStopping) await server.stop(true); // it was stopped between two tries
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
    reusePort: false, // without it, the runtime would let two servers share a port, and callers meet either
    // The head of a request has 12 s whatever stands here: the runtime sees to that.
    idleTimeout: bounds.keepAliveIdleSecondsMax,
    // The runtime's own refusal is empty and comes before the handler: bodies are counted where they are read.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(options.tls === undefined ? {} : { tls: { cert: options.tls.certificate, key: options.tls.key } }),
    fetch,
    error(thrown) {
      const requestId = newRequestId(Date.now());
      options.report?.(requestId, thrown);
      return errorResponse(thrown, requestId);
    },
  });
}

/** At once; the port was ours a moment ago. When another has it meanwhile, it is tried again for a while. */
async function openAgain(...[options, fetch]: Parameters<typeof openServer>): Promise<BunServer> {
  for (let tries = 1; ; tries++) {
    try {
      return openServer(options, fetch);
    } catch (cause) {
      if (tries >= bounds.listenTriesMax)
        throw new ListenerLost(`the port ${options.port} cannot be listened on any more`, { cause });
      await Bun.sleep(LISTEN_AGAIN_MS);
    }
  }
}

/** Asks the runtime only for what is asked of it. */
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
