// The ways of a provider to fail before anything of its content was said, Each says what
// its attempt is recorded as. No tests of its own.

import { setTimeout as sleep } from 'node:timers/promises';
import { chunkOf, forever, head, type Play, trickle, type Wire } from '../support/fault-upstream.ts';
import type { Dialect } from './dialects.ts';
import { BAD_TEXT, type Fault } from './two-routes.ts';

/** What the attempt's record says. A status that is left out is one that is not the same for all kinds. */
export interface FailingFault extends Fault {
  result: 'failed' | 'timeout' | 'rate_limited' | 'overloaded' | 'credentials';
  status?: number | null;
  /** `retry-after` that it sends, in seconds. */
  retryAfter?: string;
}

/** What a caller is told of it where no other route is left. */
export const codeOf = {
  failed: 'upstream_failed',
  timeout: 'upstream_timeout',
  rate_limited: 'upstream_rate_limited',
  overloaded: 'upstream_overloaded',
  credentials: 'upstream_credentials',
} as const;

export const JSON_TYPE = { 'content-type': 'application/json' };
export const STREAM_TYPE = { 'content-type': 'text/event-stream' };
const NOBODY = 'http://127.0.0.1:9'; // nothing listens at the port of "discard"
const HTML = '<!DOCTYPE html><html><body><h1>It works!</h1></body></html>';
const PAUSE_MS = 20;
/** So long that no limit of the number of headers is reached before a limit of time. */
const HEADER_PAUSE_MS = 150;

const failed = { result: 'failed', status: null } as const;
const late = { result: 'timeout', status: null } as const;
const always = (play: Play) => () => play;

/** No answer, or none in HTTP. */
const withoutHead: FailingFault[] = [
  { name: 'is not there', ...failed, url: NOBODY, play: always(() => {}) },
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
  { name: 'closes the connection when it is asked', ...failed, play: always(({ socket }) => void socket.end()) },
  {
    name: 'resets the connection when it is asked',
    ...failed,
    play: always(({ socket }) => void socket.resetAndDestroy()),
  },
  { name: 'says nothing', ...late, play: always(() => {}) },
  { name: 'speaks another protocol', ...failed, play: always((wire) => wire.raw('SSH-2.0-OpenSSH_9.6\r\n')) },
  {
    name: 'speaks another protocol before it is asked, and leaves',
    ...failed,
    accept: (socket) => void socket.end('220 mail.example ESMTP\r\n'),
    play: always(() => {}),
  },
  {
    name: 'sends bytes that are no text',
    ...late,
    play: always((wire) => wire.raw(Uint8Array.of(21, 3, 1, 0, 2, 2, 80))),
  },
  {
    name: 'speaks no TLS where TLS is spoken to it',
    ...failed,
    scheme: 'https',
    accept: (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    play: always(() => {}),
  },
  { name: 'has a status that is none', ...failed, play: always((wire) => wire.raw('HTTP/1.1 twohundred OK\r\n\r\n')) },
  {
    name: 'stops in the middle of its head',
    ...late,
    play: always((wire) => wire.raw('HTTP/1.1 200 OK\r\ncontent-ty')),
  },
  {
    name: 'sends headers without end, slowly',
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
    name: 'sends headers without end, fast',
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
    name: 'sends one header without end',
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
    name: 'says that it goes on, without end',
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
    name: 'says that it goes on, and leaves',
    ...failed,
    play: always((wire) => void wire.socket.end('HTTP/1.1 100 Continue\r\n\r\n')),
  },
  {
    name: 'changes the protocol',
    ...failed,
    play: always((wire) => wire.raw('HTTP/1.1 101 Other\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')),
  },
  {
    name: 'has a length that is no number',
    ...failed,
    play: always((wire) => wire.raw('HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{}')),
  },
  {
    name: 'has two lengths',
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

/** Of a status whose answer has no body. */
const sendsHead = (status: number) =>
  always((wire) => {
    wire.raw(head(status, {}));
    wire.keep();
  });

/** Answers with a status that is an error, or none of an answer. */
export const withStatus: FailingFault[] = [
  {
    name: 'limits our rate until 7 s have gone',
    result: 'rate_limited',
    status: 429,
    retryAfter: '7',
    play: refuses(429, { 'retry-after': '7' }),
  },
  { name: 'limits our rate', result: 'rate_limited', status: 429, play: refuses(429) },
  { name: 'fails', result: 'failed', status: 500, play: refuses(500) },
  { name: 'is overloaded', result: 'overloaded', status: 529, play: refuses(529) },
  {
    name: 'is not available until 3 s have gone',
    result: 'overloaded',
    status: 503,
    retryAfter: '3',
    play: refuses(503, { 'retry-after': '3' }),
  },
  { name: 'does not take our key', result: 'credentials', status: 401, play: refuses(401) },
  {
    name: 'wants money of us',
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
    play: sends(307, { location: `${NOBODY}/v1/messages` }, ''),
  },
  { name: 'has not changed', result: 'failed', status: 304, play: sendsHead(304) },
  { name: 'has nothing to say', ...failed, play: sendsHead(204) },
  {
    name: 'shows a page of its proxy',
    result: 'failed',
    status: 502,
    play: sends(502, { 'content-type': 'text/html' }, HTML),
  },
];

/** Of status 200, and no answer all the same. */
const withWrongBody: FailingFault[] = [
  { name: 'shows a web page', ...failed, play: sends(200, { 'content-type': 'text/html' }, HTML) },
  {
    name: 'shows a web page as if it were its answer',
    ...failed,
    play:
      ({ wantsStream }) =>
      (wire) =>
        wire.send(200, wantsStream(wire) ? STREAM_TYPE : JSON_TYPE, HTML),
  },
  {
    name: 'sends garbage',
    ...failed,
    play:
      ({ wantsStream }) =>
      (wire) =>
        wire.send(
          200,
          wantsStream(wire) ? STREAM_TYPE : JSON_TYPE,
          Buffer.from([0xff, 0xfe, 0, 10, 10, 0xc3]).toString('latin1'),
        ),
  },
  {
    name: 'sends nothing',
    ...failed,
    play:
      ({ wantsStream }) =>
      (wire) =>
        wire.send(200, wantsStream(wire) ? STREAM_TYPE : JSON_TYPE, ''),
  },
  { name: 'sends JSON that is no answer', ...failed, play: sends(200, JSON_TYPE, '{"hello":"world"}') },
  { name: 'sends JSON that is no object', ...failed, play: sends(200, JSON_TYPE, '"hello"') },
  {
    name: 'fails with status 200',
    result: 'overloaded',
    play:
      ({ overloadedJson }) =>
      (wire) =>
        wire.send(200, JSON_TYPE, overloadedJson),
  },
  {
    name: 'sends half of its JSON',
    ...failed,
    play: (dialect) => (wire) => wire.send(200, JSON_TYPE, dialect.message(BAD_TEXT).slice(0, -20)),
  },
  {
    name: 'says that its plain body is packed',
    ...failed,
    play:
      ({ wantsStream, message }) =>
      (wire) => {
        wire.send(
          200,
          { ...(wantsStream(wire) ? STREAM_TYPE : JSON_TYPE), 'content-encoding': 'gzip' },
          message(BAD_TEXT),
        );
      },
  },
  {
    name: 'packs its answer and cuts it',
    ...failed,
    play:
      ({ wantsStream, message }) =>
      (wire) => {
        const packed = Bun.gzipSync(Buffer.from(message(BAD_TEXT)));
        const type = wantsStream(wire) ? STREAM_TYPE : JSON_TYPE;
        wire.send(200, { ...type, 'content-encoding': 'gzip' }, packed.subarray(0, packed.length - 20));
      },
  },
  {
    name: 'begins with what is no beginning, and waits',
    ...failed,
    form: 'streamed',
    kinds: ['anthropic'], // of the others' events a beginning is made
    play:
      ({ stream }) =>
      (wire) => {
        wire.begin(200, STREAM_TYPE);
        wire.chunk(stream([BAD_TEXT]).content[0] as string);
      },
  },
];

const cutJson = (dialect: Dialect) => dialect.message(BAD_TEXT).slice(0, -10);
const wholeBody =
  (act: (wire: Wire, dialect: Dialect) => void | Promise<void>) =>
  (dialect: Dialect): Play =>
  (wire) =>
    act(wire, dialect);

/** What breaks off in the middle of an answer that is not streamed. */
const inWhole: FailingFault[] = [
  {
    name: 'sends a stream that was not asked for',
    play: wholeBody((wire, dialect) => wire.send(200, STREAM_TYPE, dialect.stream([BAD_TEXT]).begin.join(''))),
  },
  {
    name: 'has a longer body than it says',
    play: wholeBody((wire, dialect) =>
      wire.raw(head(200, { ...JSON_TYPE, 'content-length': '9' }) + dialect.message(BAD_TEXT)),
    ),
  },
  {
    name: 'has a shorter body than it says',
    play: wholeBody(
      (wire, dialect) =>
        void wire.socket.end(head(200, { ...JSON_TYPE, 'content-length': '9999' }) + dialect.message(BAD_TEXT)),
    ),
  },
  {
    name: 'has sizes of chunks that are none',
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
    name: 'has a shorter body than it says, and waits',
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
    name: 'sends spaces without end',
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

/** Whatever may happen before a byte of an answer's content: the next route is tried. */
export const failing: readonly FailingFault[] = [
  ...withoutHead,
  ...withStatus,
  ...withWrongBody,
  ...inWhole,
  ...lateInWhole,
];

/** The caller's own fault: nobody else is asked. */
export const refusing: readonly Fault[] = [
  {
    name: 'refuses what the caller said',
    play:
      ({ contentRefused }) =>
      (wire) =>
        wire.send(400, JSON_TYPE, contentRefused),
  },
  {
    name: 'refuses what the caller said in the place of a stream',
    form: 'streamed',
    play:
      ({ contentRefusedEvent }) =>
      (wire) => {
        wire.begin(200, STREAM_TYPE);
        wire.chunk(contentRefusedEvent);
        wire.end();
      },
  },
];
