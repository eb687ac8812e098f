// A provider on loopback that fails at the level of its socket: it writes what it likes, be it HTTP or not, and knows
// which of its connections nobody has closed. What behaves is in scripted-upstream.ts. No tests of its own.

import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request that has come whole, and the connection that it came on. */
export interface Wire {
  readonly socket: Socket;
  readonly path: string;
  readonly body: string;
  /** The other side has closed the connection, or this one. */
  readonly isGone: boolean;
  /** Bytes as they are. */
  raw(bytes: string | Uint8Array): void;
  /** The head of an answer whose body follows in chunks. */
  begin(status: number, headers?: Record<string, string>): void;
  chunk(text: string | Uint8Array): void;
  /** The proper end of the chunks. */
  end(): void;
  /** A whole answer with its length. */
  send(status: number, headers: Record<string, string>, body: string | Uint8Array): void;
  /** Says the connection may be kept: what was written by `raw` was a whole answer. */
  keep(): void;
}

/** What happens with a request. The connection hangs where it returns without having done anything to it. */
export type Play = (wire: Wire) => void | Promise<void>;

export interface FaultUpstream extends AsyncDisposable {
  /** The origin, "http://127.0.0.1:…". */
  readonly url: string;
  /** Path and body of each request so far. */
  readonly requests: readonly Pick<Wire, 'path' | 'body'>[];
  readonly connectionCount: number;
  /** How many connections are open on which the last answer was not whole: they must not be kept. */
  readonly danglingCount: number;
  close(): Promise<void>;
}

/** Starts it. `accept` is told of each new connection before anything is read of it. */
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
    socket.on('error', () => {}); // whoever resets it is part of the play
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

/** Writes the pieces one by one, with a pause behind each, until the other side has gone. */
export async function trickle(wire: Wire, pieces: Iterable<string>, pauseMs: number): Promise<void> {
  for (const piece of pieces) {
    if (wire.isGone) return;
    wire.raw(piece);
    await sleep(pauseMs);
  }
}

/** The piece without end. */
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

/** The head of an answer as it stands on the wire. */
export function head(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Faulty\r\n${lines.join('')}\r\n`;
}
