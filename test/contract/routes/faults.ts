// The ways in which a provider fails before its first content, each with the result of its attempt. It has no tests
// of its own.

import { setTimeout as sleep } from 'node:timers/promises';
import { chunkOf, forever, head, type Play, trickle, type Wire } from '../../support/fault-upstream.ts';
import { type Dialect, streamHead } from './dialects.ts';
import { type AttemptResult, BAD_TEXT, type Fault } from './two-routes.ts';

/** The result in the attempt's record. No status is given if it differs between kinds. */
export interface FailingFault extends Fault {
  result: AttemptResult;
  status?: number | null;
  /** The `retry-after` that it sends, in seconds. */
  retryAfter?: string;
}

/** The error code that a client gets if no other route remains. */
export const codeOf = {
  failed: 'upstream_failed',
  timeout: 'upstream_timeout',
  rate_limited: 'upstream_rate_limited',
  overloaded: 'upstream_overloaded',
  credentials: 'upstream_credentials',
  not_found: 'upstream_credentials',
} as const;

export const JSON_TYPE = { 'content-type': 'application/json' };
const CLOSED_PORT = 'http://127.0.0.1:9'; // no server listens on the "discard" port
const HTML = '<!DOCTYPE html><html><body><h1>It works!</h1></body></html>';
const PAUSE_MS = 200;
/** Slow enough that a time limit is reached before the limit on the number of headers. */
const HEADER_PAUSE_MS = 150;

const failed = { result: 'failed', status: null } as const;
const late = { result: 'timeout', status: null } as const;
const always = (play: Play) => () => play;

/** No response, or none in HTTP. */
export const withoutHead: FailingFault[] = [
  { name: 'is unreachable', ...failed, url: CLOSED_PORT, play: always(() => {}) },
  {
    name: 'closes each connection at once',
    ...failed,
    accept: (socket) => void socket.destroy(),
    play: always(() => {}),
  },
  {
    name: 'resets each connection at once',
    ...failed,
    accept: (socket) => socket.resetAndDestroy(),
    play: always(() => {}),
  },
  { name: 'closes the connection on a request', ...failed, play: always(({ socket }) => void socket.end()) },
  {
    name: 'resets the connection on a request',
    ...failed,
    play: always(({ socket }) => void socket.resetAndDestroy()),
  },
  { name: 'does not respond', ...late, play: always(() => {}) },
  { name: 'speaks another protocol', ...failed, play: always((wire) => wire.raw('SSH-2.0-OpenSSH_9.6\r\n')) },
  {
    name: 'speaks another protocol before the request and disconnects',
    ...failed,
    accept: (socket) => void socket.end('220 mail.example ESMTP\r\n'),
    play: always(() => {}),
  },
  {
    name: 'sends binary data',
    ...late,
    play: always((wire) => wire.raw(Uint8Array.of(21, 3, 1, 0, 2, 2, 80))),
  },
  {
    name: 'does not speak TLS to an https client',
    ...failed,
    scheme: 'https',
    accept: (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    play: always(() => {}),
  },
  { name: 'sends an invalid status', ...failed, play: always((wire) => wire.raw('HTTP/1.1 twohundred OK\r\n\r\n')) },
  {
    name: 'stops in the middle of its headers',
    ...late,
    play: always((wire) => wire.raw('HTTP/1.1 200 OK\r\ncontent-ty')),
  },
  {
    name: 'sends endless headers slowly',
    ...late,
    play: always(async (wire) => {
      wire.raw('HTTP/1.1 200 OK\r\n');
      await trickle(
        wire,
        forever((index) => `x-${index}: y\r\n`),
        HEADER_PAUSE_MS,
      );
    }),
  },
  {
    name: 'sends endless headers fast',
    ...failed,
    play: always(async (wire) => {
      wire.raw('HTTP/1.1 200 OK\r\n');
      await trickle(
        wire,
        forever((index) => `x-${index}: ${'y'.repeat(10_000)}\r\n`),
        0,
      );
    }),
  },
  {
    name: 'sends one endless header',
    ...failed,
    play: always(async (wire) => {
      wire.raw('HTTP/1.1 200 OK\r\nx: ');
      await trickle(
        wire,
        forever(() => 'y'.repeat(50_000)),
        0,
      );
    }),
  },
  {
    name: 'sends endless 100 Continue responses',
    ...late,
    play: always((wire) =>
      trickle(
        wire,
        forever(() => 'HTTP/1.1 100 Continue\r\n\r\n'),
        PAUSE_MS,
      ),
    ),
  },
  {
    name: 'sends 100 Continue and disconnects',
    ...failed,
    play: always((wire) => void wire.socket.end('HTTP/1.1 100 Continue\r\n\r\n')),
  },
  {
    name: 'switches the protocol',
    ...failed,
    play: always((wire) => wire.raw('HTTP/1.1 101 Other\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')),
  },
  {
    name: 'sends an invalid content-length',
    ...failed,
    play: always((wire) => wire.raw('HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{}')),
  },
  {
    name: 'sends two content-lengths',
    ...failed,
    play: always((wire) => wire.raw('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}')),
  },
];

const refuses =
  (status: number, headers: Record<string, string> = {}) =>
  (dialect: Dialect): Play =>
  (wire) =>
    wire.send(status, { ...JSON_TYPE, ...headers }, dialect.error(status));
const sends = (status: number, headers: Record<string, string>, body: string) =>
  always((wire) => wire.send(status, headers, body));

/** A response without a body. */
const sendsHead = (status: number) =>
  always((wire) => {
    wire.raw(head(status, {}));
    wire.keep();
  });

/** Responses with an error status, or a status that has no content. */
export const withStatus: FailingFault[] = [
  {
    name: 'limits the request rate for 7 s',
    result: 'rate_limited',
    status: 429,
    retryAfter: '7',
    play: refuses(429, { 'retry-after': '7' }),
  },
  { name: 'limits the request rate', result: 'rate_limited', status: 429, play: refuses(429) },
  { name: 'fails', result: 'failed', status: 500, play: refuses(500) },
  { name: 'is overloaded', result: 'overloaded', status: 529, play: refuses(529) },
  {
    name: 'is unavailable for 3 s',
    result: 'overloaded',
    status: 503,
    retryAfter: '3',
    play: refuses(503, { 'retry-after': '3' }),
  },
  { name: 'refuses the operator’s key', result: 'credentials', status: 401, play: refuses(401) },
  { name: 'does not have the model', result: 'not_found', status: 404, play: refuses(404) },
  {
    name: 'requires payment',
    result: 'credentials',
    play:
      ({ creditRefused }) =>
      (wire) =>
        wire.send(400, JSON_TYPE, creditRefused),
  },
  {
    name: 'sends a redirect',
    result: 'failed',
    status: 307,
    play: sends(307, { location: `${CLOSED_PORT}/v1/messages` }, ''),
  },
  { name: 'responds with 304', result: 'failed', status: 304, play: sendsHead(304) },
  { name: 'responds with 204', ...failed, play: sendsHead(204) },
  {
    name: 'sends an error page of its proxy',
    result: 'failed',
    status: 502,
    play: sends(502, { 'content-type': 'text/html' }, HTML),
  },
];

/** Responses with status 200 but unusable content. */
const withWrongBody: FailingFault[] = [
  { name: 'sends a web page', ...failed, play: sends(200, { 'content-type': 'text/html' }, HTML) },
  {
    name: 'sends a web page declared as its response',
    ...failed,
    play: (dialect) => (wire) => wire.send(200, dialect.wantsStream(wire) ? streamHead(dialect) : JSON_TYPE, HTML),
  },
  {
    name: 'sends garbage',
    ...failed,
    play: (dialect) => (wire) =>
      wire.send(
        200,
        dialect.wantsStream(wire) ? streamHead(dialect) : JSON_TYPE,
        Buffer.from([0xff, 0xfe, 0, 10, 10, 0xc3]).toString('latin1'),
      ),
  },
  {
    name: 'sends nothing',
    ...failed,
    play: (dialect) => (wire) => wire.send(200, dialect.wantsStream(wire) ? streamHead(dialect) : JSON_TYPE, ''),
  },
  { name: 'sends JSON without a response', ...failed, play: sends(200, JSON_TYPE, '{"hello":"world"}') },
  { name: 'sends JSON without an object', ...failed, play: sends(200, JSON_TYPE, '"hello"') },
  {
    name: 'fails with status 200',
    result: 'overloaded',
    play:
      ({ overloadedJson }) =>
      (wire) =>
        wire.send(200, JSON_TYPE, overloadedJson),
  },
  {
    name: 'sends truncated JSON',
    ...failed,
    play: (dialect) => (wire) => wire.send(200, JSON_TYPE, dialect.message(BAD_TEXT).slice(0, -20)),
  },
  {
    name: 'declares its plain body as compressed',
    ...failed,
    play: (dialect) => (wire) => {
      wire.send(
        200,
        { ...(dialect.wantsStream(wire) ? streamHead(dialect) : JSON_TYPE), 'content-encoding': 'gzip' },
        dialect.message(BAD_TEXT),
      );
    },
  },
  {
    name: 'truncates its compressed response',
    ...failed,
    play: (dialect) => (wire) => {
      const packed = Bun.gzipSync(Buffer.from(dialect.message(BAD_TEXT)));
      const type = dialect.wantsStream(wire) ? streamHead(dialect) : JSON_TYPE;
      wire.send(200, { ...type, 'content-encoding': 'gzip' }, packed.subarray(0, packed.length - 20));
    },
  },
  {
    name: 'begins with an unrelated event and waits',
    ...failed,
    form: 'streamed',
    kinds: ['anthropic'], // the first events of other kinds already count as a beginning
    play: (dialect) => (wire) => {
      wire.begin(200, streamHead(dialect));
      wire.chunk(dialect.stream([BAD_TEXT]).content[0] as string);
    },
  },
];

const cutJson = (dialect: Dialect) => dialect.message(BAD_TEXT).slice(0, -10);
const wholeBody =
  (act: (wire: Wire, dialect: Dialect) => void | Promise<void>) =>
  (dialect: Dialect): Play =>
  (wire) =>
    act(wire, dialect);

/** Failures in the middle of a response without streaming. */
const inWhole: FailingFault[] = [
  {
    name: 'sends a stream instead of JSON',
    play: wholeBody((wire, dialect) => wire.send(200, streamHead(dialect), dialect.stream([BAD_TEXT]).begin.join(''))),
  },
  {
    name: 'sends more than its content-length',
    play: wholeBody((wire, dialect) =>
      wire.raw(head(200, { ...JSON_TYPE, 'content-length': '9' }) + dialect.message(BAD_TEXT)),
    ),
  },
  {
    name: 'sends less than its content-length',
    play: wholeBody(
      (wire, dialect) =>
        void wire.socket.end(head(200, { ...JSON_TYPE, 'content-length': '9999' }) + dialect.message(BAD_TEXT)),
    ),
  },
  {
    name: 'sends invalid chunk sizes',
    play: wholeBody((wire) =>
      wire.raw(`${head(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' })}many\r\n{}\r\n0\r\n\r\n`),
    ),
  },
  {
    name: 'closes the connection in the middle of its JSON',
    play: wholeBody((wire, dialect) => {
      wire.begin(200, JSON_TYPE);
      wire.chunk(cutJson(dialect));
      wire.socket.end();
    }),
  },
  {
    name: 'resets the connection in the middle of its JSON',
    play: wholeBody(async (wire, dialect) => {
      wire.begin(200, JSON_TYPE);
      wire.chunk(cutJson(dialect));
      await sleep(PAUSE_MS);
      wire.socket.resetAndDestroy();
    }),
  },
  {
    name: 'resets JSON without a length in the middle',
    play: wholeBody(async (wire, dialect) => {
      wire.raw(head(200, JSON_TYPE) + cutJson(dialect));
      await sleep(PAUSE_MS);
      wire.socket.resetAndDestroy();
    }),
  },
].map((fault) => ({ ...fault, ...failed, form: 'whole' }));

const lateInWhole: FailingFault[] = [
  {
    name: 'sends less than its content-length and waits',
    play: wholeBody((wire, dialect) =>
      wire.raw(head(200, { ...JSON_TYPE, 'content-length': '9999' }) + dialect.message(BAD_TEXT)),
    ),
  },
  {
    name: 'stops in the middle of its JSON',
    play: wholeBody((wire, dialect) => {
      wire.begin(200, JSON_TYPE);
      wire.chunk(cutJson(dialect));
    }),
  },
  {
    name: 'sends endless whitespace',
    play: wholeBody(async (wire) => {
      wire.begin(200, JSON_TYPE);
      await trickle(
        wire,
        forever(() => chunkOf(' ')),
        PAUSE_MS,
      );
    }),
  },
  {
    name: 'sends its JSON too slowly',
    play: wholeBody(async (wire, dialect) => {
      wire.begin(200, JSON_TYPE);
      await trickle(wire, [...dialect.message(BAD_TEXT)].map(chunkOf), 200);
    }),
  },
].map((fault) => ({ ...fault, ...late, form: 'whole' }));

/** Every failure before the first byte of content: the next route is tried. */
export const failing: readonly FailingFault[] = [
  ...withoutHead,
  ...withStatus,
  ...withWrongBody,
  ...inWhole,
  ...lateInWhole,
];

/** Faults of the client: no other route is tried. */
export const refusing: readonly Fault[] = [
  {
    name: 'rejects the content',
    play:
      ({ contentRefused }) =>
      (wire) =>
        wire.send(400, JSON_TYPE, contentRefused),
  },
  {
    name: 'rejects the content instead of a stream',
    form: 'streamed',
    play: (dialect) => (wire) => {
      wire.begin(200, streamHead(dialect));
      wire.chunk(dialect.contentRefusedEvent);
      wire.end();
    },
  },
];
