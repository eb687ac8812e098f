// A provider that behaves, or misbehaves, as a test's script says. It uses raw sockets, since an HTTP server cannot
// break off, hang or reset in the middle of a response.

import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** One request as received. Header names are in lower case. */
export interface RecordedRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** The body as it came. */
  bytes: Buffer;
}

/** Ways to answer in a script. None throws after a disconnect: see `isGone`. */
export interface Answer {
  /** Writes a whole response with its length. */
  send(status: number, headers: Record<string, string>, body: string): void;
  /** Writes the head of a response whose body follows in pieces. */
  begin(status: number, headers: Record<string, string>): void;
  /** Writes one piece of the body; resolves when the socket has room for more or is closed. */
  write(piece: string | Uint8Array): Promise<void>;
  /** Ends the body properly. */
  end(): void;
  /** Closes the socket without ending the body. */
  drop(): void;
  /** Resets the connection. */
  reset(): void;
  readonly isGone: boolean;
}

/** Handles a request. The connection hangs if it returns without ending the response. */
export type Script = (answer: Answer, request: RecordedRequest) => void | Promise<void>;

export interface ScriptedUpstream extends AsyncDisposable {
  /** The origin, "http://127.0.0.1:…". */
  readonly url: string;
  /** All requests so far, oldest first. */
  readonly requests: RecordedRequest[];
  /** Number of connections closed by the client before the response ended. */
  readonly abortedCount: number;
  readonly connectionCount: number;
  /** Bytes of bodies that were written in pieces. */
  readonly writtenBytes: number;
  /** Sets the scripts: one per request in turn, the last one for all later requests. */
  play(...scripts: [Script, ...Script[]]): void;
  /** Plays the first scripts again, and forgets the requests so far. */
  reset(): void;
  /** Resolves when this many clients have disconnected before the end of their response; rejects after 2 s. */
  aborted(count?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a provider with one script per request in turn, the last one for all later requests: `await using upstream =
 * await startScriptedUpstream(scripts.overloaded(), scripts.stream());`
 */
export async function startScriptedUpstream(...first: [Script, ...Script[]]): Promise<ScriptedUpstream> {
  let playing = [...first];
  const sockets = new Set<Socket>();
  const requests: RecordedRequest[] = [];
  const counts: Counts = { aborted: 0, connections: 0, writtenBytes: 0 };
  const server = createServer((socket) => {
    counts.connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined); // The test resets connections on purpose.
    socket.setNoDelay(true);
    readRequests(socket, counts, (answer, request) => {
      requests.push(request);
      const script = playing.length > 1 ? (playing.shift() as Script) : (playing[0] as Script);
      return script(answer, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the scripted upstream has no port');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    get abortedCount() {
      return counts.aborted;
    },
    get connectionCount() {
      return counts.connections;
    },
    get writtenBytes() {
      return counts.writtenBytes;
    },
    play(...scripts) {
      playing = scripts;
    },
    reset() {
      playing = [...first];
      requests.length = 0;
    },
    async aborted(count = 1) {
      for (let waitedMs = 0; counts.aborted < count; waitedMs += 5) {
        if (waitedMs > 20_000) throw new Error(`${counts.aborted} callers left, ${count} were awaited`);
        await sleep(5);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Counts {
  aborted: number;
  connections: number;
  writtenBytes: number;
}

/** Reads one request after another from a connection; a body must have a content-length. */
function readRequests(socket: Socket, counts: Counts, answerRequest: Script): void {
  let received = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    for (;;) {
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const [first = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
      const headers = Object.fromEntries(lines.map(readHeader));
      const end = headEnd + 4 + Number(headers['content-length'] ?? 0);
      if (received.length < end) return;
      const [method = '', path = ''] = first.split(' ');
      const bytes = Buffer.from(received.subarray(headEnd + 4, end));
      const body = bytes.toString('utf8');
      received = received.subarray(end);
      void Promise.resolve(answerRequest(openAnswer(socket, counts), { method, path, headers, body, bytes }));
    }
  });
}

function readHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

function openAnswer(socket: Socket, counts: Counts): Answer {
  let isOver = false; // The script ended it.
  let isGone = false; // The client ended it.
  const leave = () => {
    if (isOver || isGone) return;
    isGone = true;
    counts.aborted++;
  };
  socket.once('close', leave);
  socket.once('end', leave);
  const finish = () => {
    isOver = true;
    socket.off('close', leave);
    socket.off('end', leave);
  };
  return {
    send(status, headers, body) {
      finish();
      const length = { 'content-length': String(Buffer.byteLength(body)) };
      socket.write(head(status, { ...headers, ...length }) + body);
    },
    begin(status, headers) {
      socket.write(head(status, { ...headers, 'transfer-encoding': 'chunked' }));
    },
    async write(piece) {
      if (isGone) return;
      const bytes = Buffer.from(piece);
      counts.writtenBytes += bytes.length;
      socket.write(`${bytes.length.toString(16)}\r\n`);
      socket.write(bytes);
      if (socket.write('\r\n')) return;
      await new Promise<void>((resolve) => {
        const goOn = () => {
          socket.off('drain', goOn);
          socket.off('close', goOn);
          resolve();
        };
        socket.once('drain', goOn);
        socket.once('close', goOn);
      });
    },
    end() {
      finish();
      socket.write('0\r\n\r\n');
    },
    drop() {
      finish();
      socket.end();
    },
    reset() {
      finish();
      socket.resetAndDestroy();
    },
    get isGone() {
      return isGone;
    },
  };
}

function head(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`;
}

/** Content of a good response. A usage of null is omitted; any other value is sent unchanged, even if absurd. */
export interface Saying {
  text?: string;
  /** Number of deltas. */
  pieces?: number;
  model?: string;
  /** Usage in message_start, and in a message without streaming. */
  usage?: unknown;
  /** Usage in message_delta. */
  finalUsage?: unknown;
}

const SAID = { text: 'Hello there, world!', pieces: 3, model: 'upstream-model' };
export const UPSTREAM_USAGE = {
  input_tokens: 25,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 1,
};
export const UPSTREAM_REQUEST_ID = 'req_upstream00000000001';
const JSON_HEADERS = { 'content-type': 'application/json', 'request-id': UPSTREAM_REQUEST_ID };
const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'request-id': UPSTREAM_REQUEST_ID };

/** The message that `scripts.message` answers. */
export function upstreamMessage(saying: Saying = {}): Record<string, unknown> {
  const { text, model } = { ...SAID, ...saying };
  const usage = saying.usage === undefined ? { ...UPSTREAM_USAGE, output_tokens: 12 } : saying.usage;
  return {
    id: 'msg_upstream',
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    ...(usage === null ? {} : { usage }),
  };
}

/** The events that `scripts.stream` sends, each as its text on the wire. */
export function upstreamEvents(saying: Saying = {}): string[] {
  const { text, pieces } = { ...SAID, ...saying };
  const usage = saying.usage === undefined ? UPSTREAM_USAGE : saying.usage;
  const finalUsage = saying.finalUsage === undefined ? { output_tokens: 12 } : saying.finalUsage;
  const message = upstreamMessage({ ...saying, usage });
  const size = Math.max(1, Math.ceil(text.length / pieces));
  const deltas = Array.from({ length: Math.ceil(text.length / size) }, (_, place) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: text.slice(place * size, (place + 1) * size) },
  }));
  return [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    ...deltas,
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      ...(finalUsage === null ? {} : { usage: finalUsage }),
    },
    { type: 'message_stop' },
  ].map((event) => eventText(event));
}

/** One event as its text on the wire. */
export function eventText(value: { type: string; [member: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}

function refuse(status: number, type: string, message: string, headers: Record<string, string> = {}): Script {
  const body = JSON.stringify({ type: 'error', error: { type, message }, request_id: UPSTREAM_REQUEST_ID });
  return (answer) => answer.send(status, { ...JSON_HEADERS, ...headers }, body);
}

/** Streams the first half of the events, then applies `ending`. */
function halfThen(saying: Saying, ending: (answer: Answer) => void | Promise<void>): Script {
  return async (answer) => {
    const events = upstreamEvents(saying);
    answer.begin(200, STREAM_HEADERS);
    await answer.write(events.slice(0, Math.ceil(events.length / 2)).join(''));
    // The client reads what was written before the ending. One long wait could end before a busy event loop has read at all.
    for (let turn = 0; turn < 10; turn++) await sleep(8);
    await ending(answer);
  };
}

async function pingUntilGone(answer: Answer, intervalMs: number): Promise<void> {
  while (!answer.isGone) {
    await answer.write(': still here\n\nevent: ping\ndata: {"type":"ping"}\n\n');
    await sleep(intervalMs);
  }
}

/**
 * Scripts. To omit usage: `{ usage: null, finalUsage: null }`; absurd usage: `{ finalUsage: { output_tokens: -5 } }`.
 */
export const scripts = {
  /** Streams if the request asks for it, else sends one message: the good provider. */
  good:
    (saying: Saying = {}): Script =>
    (answer, request) =>
      (JSON.parse(request.body).stream === true ? scripts.stream(saying) : scripts.message(saying))(answer, request),
  stream: (saying: Saying = {}): Script => scripts.rawStream(upstreamEvents(saying).join('')),
  message:
    (saying: Saying = {}): Script =>
    (answer) =>
      answer.send(200, JSON_HEADERS, JSON.stringify(upstreamMessage(saying))),
  /** Sends this body with status 200, such as JSON with odd whitespace or an answer to count_tokens. */
  json:
    (body: string): Script =>
    (answer) =>
      answer.send(200, JSON_HEADERS, body),
  /** Sends the text unchanged, as an event stream that ends properly. */
  rawStream:
    (text: string): Script =>
    async (answer) => {
      answer.begin(200, STREAM_HEADERS);
      await answer.write(text);
      answer.end();
    },
  /** Sends the stream in chunks of this many bytes, wherever events and characters are split. */
  splitStream:
    (bytesPerChunk: number, saying: Saying = {}): Script =>
    async (answer) => {
      const bytes = Buffer.from(upstreamEvents(saying).join(''));
      answer.begin(200, STREAM_HEADERS);
      for (let start = 0; start < bytes.length; start += bytesPerChunk) {
        await answer.write(bytes.subarray(start, start + bytesPerChunk));
        await sleep(0);
      }
      answer.end();
    },
  /** Sends one event per `intervalMs`. */
  slowStream:
    (intervalMs: number, saying: Saying = {}): Script =>
    async (answer) => {
      answer.begin(200, STREAM_HEADERS);
      for (const event of upstreamEvents(saying)) {
        await answer.write(event);
        await sleep(intervalMs);
      }
      answer.end();
    },
  /** Sends deltas forever, as fast as they are read. */
  flood: (): Script => async (answer) => {
    const [start = '', blockStart = ''] = upstreamEvents();
    const delta = eventText({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'x'.repeat(16_384) },
    });
    answer.begin(200, STREAM_HEADERS);
    await answer.write(start + blockStart);
    while (!answer.isGone) await answer.write(delta);
  },
  /** Sends a stream with one event of this many characters. */
  hugeEvent: (characters: number): Script => scripts.stream({ text: 'x'.repeat(characters), pieces: 1 }),
  /** Half of the events, then an `error` event and the end. */
  errorEvent: (type = 'overloaded_error', message = 'Overloaded'): Script =>
    halfThen({}, async (answer) => {
      await answer.write(eventText({ type: 'error', error: { type, message } }));
      answer.end();
    }),
  /** Half of the events, then a proper end of the body. */
  halfStream: (saying: Saying = {}): Script => halfThen(saying, (answer) => answer.end()),
  /** Half of the events, then closes the connection in the middle of the body. */
  dropMidStream: (saying: Saying = {}): Script => halfThen(saying, (answer) => answer.drop()),
  resetMidStream: (saying: Saying = {}): Script => halfThen(saying, (answer) => answer.reset()),
  /** Half of the events, then nothing more. */
  hangMidStream: (saying: Saying = {}): Script => halfThen(saying, () => undefined),
  /** Half of the events, then only keep-alives. */
  pingsOnly: (intervalMs = 10, saying: Saying = {}): Script =>
    halfThen(saying, (answer) => pingUntilGone(answer, intervalMs)),
  /** Keep-alives from the first byte on, and no event. */
  pingsOnlyFromStart:
    (intervalMs = 10): Script =>
    async (answer) => {
      answer.begin(200, STREAM_HEADERS);
      await pingUntilGone(answer, intervalMs);
    },
  /** An event stream whose payload is not JSON. */
  garbage: (): Script => scripts.rawStream('event: message_start\ndata: <h1>It works!</h1>\n\n'),
  html:
    (status = 500): Script =>
    (answer) =>
      answer.send(status, { 'content-type': 'text/html' }, '<html><body><h1>Bad gateway</h1></body></html>'),
  resetBeforeHead: (): Script => (answer) => answer.reset(),
  hangBeforeHead: (): Script => () => undefined,
  redirect:
    (location: string): Script =>
    (answer) =>
      answer.send(307, { location }, ''),
  overloaded: (headers: Record<string, string> = {}): Script => refuse(529, 'overloaded_error', 'Overloaded', headers),
  rateLimited: (retryAfter: string | null = '7'): Script =>
    refuse(429, 'rate_limit_error', 'Too fast', retryAfter === null ? {} : { 'retry-after': retryAfter }),
  unauthorized: (): Script => refuse(401, 'authentication_error', 'invalid x-api-key'),
  noCredit: (): Script =>
    refuse(
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
  refusedContent: (message = 'messages.0.content.0.image.source.base64: invalid base64 data'): Script =>
    refuse(400, 'invalid_request_error', message),
  /** Any other error in the Messages shape. */
  error: refuse,
};
