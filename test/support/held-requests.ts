// Messages over raw sockets, one each: all are connected with their head sent before the first body follows, so that
// they are concurrent and no connection pool queues them.

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface Asked {
  secret: string;
  body: object;
}

export interface HeldRequests {
  /** Number of connections with their head sent. */
  readonly openCount: number;
  /** Number of connections that got any byte, or were closed. */
  readonly answeredCount: number;
  /** Sends all bodies; resolves when the last response is complete. */
  release(): Promise<RawAnswer[]>;
}

/** Resolves when all are connected, with their heads sent. */
export async function holdRequests(url: string, asked: readonly Asked[]): Promise<HeldRequests> {
  const counts = { open: 0, answered: 0 };
  const requests = await Promise.all(asked.map((one) => holdRequest(new URL(url), one, counts)));
  // Once the service has answered later connections, it has read these heads.
  for (let turn = 0; turn < 2; turn++) await (await fetch(`${url}/healthz`)).text();
  await Bun.sleep(20); // It would have sent any early response by now.
  return {
    get openCount() {
      return counts.open;
    },
    get answeredCount() {
      return counts.answered;
    },
    release() {
      for (const request of requests) request.release();
      return Promise.all(requests.map((request) => request.answer));
    },
  };
}

interface HeldRequest {
  release(): void;
  answer: Promise<RawAnswer>;
}

async function holdRequest(
  { hostname, port }: URL,
  { secret, body }: Asked,
  counts: { open: number; answered: number },
): Promise<HeldRequest> {
  const text = JSON.stringify(body);
  const { promise: answer, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const received: Buffer[] = [];
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_socket, bytes) {
        if (received.length === 0) counts.answered++;
        received.push(Buffer.from(bytes));
        const complete = parseAnswer(Buffer.concat(received));
        if (complete === null) return;
        resolve(complete);
        socket.end();
      },
      close: () => reject(new Error('the connection was closed before its answer')), // Has no effect after a response.
      error: (_socket, error) => reject(error),
    },
  });
  counts.open++;
  answer.catch(() => {}); // The release reports the error.
  socket.write(
    `POST /v1/messages HTTP/1.1\r\nhost: ${hostname}:${port}\r\nx-api-key: ${secret}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`,
  );
  return { release: () => void socket.write(text), answer };
}

/** The response once it is complete, else null. */
export function parseAnswer(bytes: Buffer): RawAnswer | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const rest = bytes.subarray(headEnd + 4);
  const body = headers['transfer-encoding'] === 'chunked' ? joinChunks(rest) : wholeBody(rest, headers);
  return body === null ? null : { status: Number(first.split(' ')[1]), headers, body };
}

function wholeBody(rest: Buffer, headers: Record<string, string>): string | null {
  const length = Number(headers['content-length'] ?? 0);
  return rest.length < length ? null : rest.toString('utf8', 0, length);
}

function joinChunks(rest: Buffer): string | null {
  if (rest.subarray(-5).toString('latin1') !== '0\r\n\r\n') return null;
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at);
    const length = Number.parseInt(rest.toString('latin1', at, lineEnd), 16);
    if (lineEnd < 0 || Number.isNaN(length)) return null;
    if (length === 0) return Buffer.concat(chunks).toString('utf8');
    chunks.push(rest.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}
