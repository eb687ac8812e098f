// A provider that fails at the level of its socket: it writes any bytes, valid HTTP or not, and tracks which
// connections are open. scripted-upstream.ts is the well-behaved one.

import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A complete request, and its connection. */
export interface Wire {
  readonly socket: Socket;
  readonly path: string;
  readonly body: string;
  /** Whether either side has closed the connection. */
  readonly isGone: boolean;
  /** Writes bytes unchanged. */
  raw(bytes: string | Uint8Array): void;
  /** Writes the head of a chunked response. */
  begin(status: number, headers?: Record<string, string>): void;
  chunk(text: string | Uint8Array): void;
  /** Ends the chunks properly. */
  end(): void;
  /** Writes a whole response with its length. */
  send(status: number, headers: Record<string, string>, body: string | Uint8Array): void;
  /** Marks the connection as reusable: `raw` wrote a whole response. */
  keep(): void;
}

/** Handles a request. The connection hangs if it returns without doing anything. */
export type Play = (wire: Wire) => void | Promise<void>;

export interface FaultUpstream extends AsyncDisposable {
  /** The origin, "http://127.0.0.1:…". */
  readonly url: string;
  /** Path and body of each request so far. */
  readonly requests: readonly Pick<Wire, 'path' | 'body'>[];
  readonly connectionCount: number;
  /** Number of open connections whose last response was incomplete: they must not be reused. */
  readonly danglingCount: number;
  close(): Promise<void>;
}

/** Starts it. `accept` is called for each new connection before anything is read. */
export async function startFaultUpstream(
  play: Play,
  accept: (socket: Socket) => void = () => {},
): Promise<FaultUpstream> {
  const sockets = new Set<Socket>();
  const kept = new Set<Socket>();
  const requests: Pick<Wire, 'path' | 'body'>[] = [];
  let connectionCount = 0;
  const server = createServer((socket) => {
    connectionCount++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {}); // The test resets connections on purpose.
    socket.setNoDelay(true);
    readRequests(socket, (path, body) => {
      requests.push({ path, body });
      kept.delete(socket);
      void Promise.resolve(play(openWire(socket, path, body, () => kept.add(socket))));
    });
    accept(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the faulty upstream has no port');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    get connectionCount() {
      return connectionCount;
    },
    get danglingCount() {
      return [...sockets].filter((socket) => !kept.has(socket)).length;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Writes the pieces one by one, with a pause after each, until the peer closes. */
export async function trickle(wire: Wire, pieces: Iterable<string>, pauseMs: number): Promise<void> {
  for (const piece of pieces) {
    if (wire.isGone) return;
    wire.raw(piece);
    await sleep(pauseMs);
  }
}

/** Repeats the piece forever. */
export function* forever(piece: (index: number) => string): Generator<string> {
  for (let index = 0; ; index++) yield piece(index);
}

/** The text of a chunk on the wire. */
export function chunkOf(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** Reads one request after another; a body must have a content-length. */
function readRequests(socket: Socket, answer: (path: string, body: string) => void): void {
  let received = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    for (;;) {
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const head = received.toString('latin1', 0, headEnd);
      const end = headEnd + 4 + Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
      if (received.length < end) return;
      const body = received.toString('utf8', headEnd + 4, end);
      received = received.subarray(end);
      answer(head.split(' ')[1] ?? '', body);
    }
  });
}

function openWire(socket: Socket, path: string, body: string, keep: () => void): Wire {
  const raw = (bytes: string | Uint8Array) => {
    if (!socket.destroyed) socket.write(bytes);
  };
  return {
    socket,
    path,
    body,
    get isGone() {
      return socket.destroyed || socket.readableEnded;
    },
    raw,
    begin: (status, headers = {}) => raw(head(status, { ...headers, 'transfer-encoding': 'chunked' })),
    chunk(text) {
      const bytes = Buffer.from(text as string);
      raw(`${bytes.length.toString(16)}\r\n`);
      raw(bytes);
      raw('\r\n');
    },
    end() {
      keep();
      raw('0\r\n\r\n');
    },
    send(status, headers, text) {
      keep();
      const bytes = Buffer.from(text as string);
      raw(head(status, { ...headers, 'content-length': String(bytes.length) }));
      raw(bytes);
    },
    keep,
  };
}

/** The head of a response on the wire. */
export function head(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Faulty\r\n${lines.join('')}\r\n`;
}
