// A provider on loopback that behaves, or misbehaves, as a test's script says. It speaks HTTP over a raw
// socket, because a proper server could not break off, hang or reset in the middle of an answer.

import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** One request as it came. Names of headers are in lower case. */
export interface RecordedRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** How a script answers. Nothing here throws when the caller has left: see `isGone`. */
export interface Answer {
  /** A whole answer with its length. */
  send(status: number, headers: Record<string, string>, body: string): void;
  /** The head of an answer whose body follows in pieces. */
  begin(status: number, headers: Record<string, string>): void;
  /** One piece of the body; resolves when the socket has room for more, or the caller has left. */
  write(piece: string | Uint8Array): Promise<void>;
  /** The proper end of the body. */
  end(): void;
  /** Closes the socket without the end of the body. */
  drop(): void;
  /** Resets the connection. */
  reset(): void;
  readonly isGone: boolean;
}

/** What happens with a request. Hangs where it returns without having ended the answer. */
export type Script = (answer: Answer, request: RecordedRequest) => void | Promise<void>;

export interface ScriptedUpstream extends AsyncDisposable {
  /** The origin, "http://127.0.0.1:…". */
  readonly url: string;
  /** All requests so far, oldest first. */
  readonly requests: RecordedRequest[];
  /** How many callers closed the connection before their answer's end. */
  readonly abortedCount: number;
  readonly connectionCount: number;
  /** Bytes of bodies that were written in pieces. */
  readonly writtenBytes: number;
  /** Answers from now on: one script for each request in turn, the last one for all that follow. */
  play(...scripts: [Script, ...Script[]]): void;
  /** Resolves when so many callers have closed the connection before their answer's end; rejects after 2 s. */
  aborted(count?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a provider that answers one script for each request in turn, the last one for all that follow:
 * `await using upstream = await startScriptedUpstream(scripts.overloaded(), scripts.stream());`
 */
export async function startScriptedUpstream(...first: [Script, ...Script[]]): Promise<ScriptedUpstream> {
  let playing: Script[] = first;
  const sockets = new Set<Socket>();
  const requests: RecordedRequest[] = [];
  const counts: Counts = { aborted: 0, connections: 0, writtenBytes: 0 };
  const server = createServer((socket) => {
    counts.connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined); // a caller that resets is part of the play
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
    async aborted(count = 1) {
      for (let waitedMs = 0; counts.aborted < count; waitedMs += 5) {
        if (waitedMs > 2_000) throw new Error(`${counts.aborted} callers left, ${count} were awaited`);
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
      const body = received.toString('utf8', headEnd + 4, end);
      received = received.subarray(end);
      void Promise.resolve(answerRequest(openAnswer(socket, counts), { method, path, headers, body }));
    }
  });
}

function readHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

function openAnswer(socket: Socket, counts: Counts): Answer {
  let isOver = false; // ended by the script
  let isGone = false; // ended by the caller
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
        socket.once('drain', resolve);
        socket.once('close', () => resolve());
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

/** What a good answer says. A usage of null is left out; anything else is sent as it is, absurd or not. */
export interface Saying {
  text?: string;
  /** Into how many deltas the text is split. */
  pieces?: number;
  model?: string;
  /** Of message_start, and of a message that is not streamed. */
  usage?: unknown;
  /** Of message_delta. */
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

/** Streams the first half of the events, then does what `ending` says. */
function halfThen(saying: Saying, ending: (answer: Answer) => void | Promise<void>): Script {
  return async (answer) => {
    const events = upstreamEvents(saying);
    answer.begin(200, STREAM_HEADERS);
    await answer.write(events.slice(0, Math.ceil(events.length / 2)).join(''));
    await sleep(80); // so that what was written is read before the ending
    await ending(answer);
  };
}

async function pingUntilGone(answer: Answer, intervalMs: number): Promise<void> {
  while (!answer.isGone) {
    await answer.write(': still here\n\nevent: ping\ndata: {"type":"ping"}\n\n');
    await sleep(intervalMs);
  }
}

/** Ways to answer. Absent usage: `{ usage: null, finalUsage: null }`; absurd: `{ finalUsage: { output_tokens: -5 } }`. */
export const scripts = {
  /** Streams when the request asks for it, else one message: the good provider. */
  good:
    (saying: Saying = {}): Script =>
    (answer, request) =>
      (JSON.parse(request.body).stream === true ? scripts.stream(saying) : scripts.message(saying))(answer, request),
  stream: (saying: Saying = {}): Script => scripts.rawStream(upstreamEvents(saying).join('')),
  message:
    (saying: Saying = {}): Script =>
    (answer) =>
      answer.send(200, JSON_HEADERS, JSON.stringify(upstreamMessage(saying))),
  /** A body of 200 as given, such as JSON with odd whitespace or an answer to count_tokens. */
  json:
    (body: string): Script =>
    (answer) =>
      answer.send(200, JSON_HEADERS, body),
  /** The text as it is, as an event stream that ends properly. */
  rawStream:
    (text: string): Script =>
    async (answer) => {
      answer.begin(200, STREAM_HEADERS);
      await answer.write(text);
      answer.end();
    },
  /** The stream in chunks of so many bytes, events and characters split wherever they fall. */
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
  /** One event each `intervalMs`. */
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
  /** Deltas without end, as fast as they are taken. */
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
  /** A stream one of whose events has so many characters of text. */
  hugeEvent: (characters: number): Script => scripts.stream({ text: 'x'.repeat(characters), pieces: 1 }),
  /** Half of the events, then an `error` event and the end. */
  errorEvent: (type = 'overloaded_error', message = 'Overloaded'): Script =>
    halfThen({}, async (answer) => {
      await answer.write(eventText({ type: 'error', error: { type, message } }));
      answer.end();
    }),
  /** Half of the events, then the end of the body as if that were all. */
  halfStream: (saying: Saying = {}): Script => halfThen(saying, (answer) => answer.end()),
  /** Half of the events, then the connection closed in the middle of the body. */
  dropMidStream: (saying: Saying = {}): Script => halfThen(saying, (answer) => answer.drop()),
  resetMidStream: (saying: Saying = {}): Script => halfThen(saying, (answer) => answer.reset()),
  /** Half of the events, then nothing more. */
  hangMidStream: (saying: Saying = {}): Script => halfThen(saying, () => undefined),
  /** Half of the events, then keep-alives only. */
  pingsOnly: (intervalMs = 10, saying: Saying = {}): Script =>
    halfThen(saying, (answer) => pingUntilGone(answer, intervalMs)),
  /** Keep-alives from the first byte on, and never an event. */
  pingsOnlyFromStart:
    (intervalMs = 10): Script =>
    async (answer) => {
      answer.begin(200, STREAM_HEADERS);
      await pingUntilGone(answer, intervalMs);
    },
  /** An event stream whose data is no JSON. */
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
