// The ways in which a provider's response can be unusual but valid. It has no tests of its own.

import { setTimeout as sleep } from 'node:timers/promises';
import { chunkOf, forever, head, type Play, trickle, type Wire } from '../../support/fault-upstream.ts';
import { type Dialect, EVENT_KINDS, streamHead } from './dialects.ts';
import { JSON_TYPE } from './faults.ts';
import { answerNormally, BAD_TEXT, type Fault } from './two-routes.ts';

const PAUSE_MS = 20;
const anew = (wire: Wire, dialect: Dialect) => answerNormally(dialect, BAD_TEXT)(wire);

const answers =
  (change: (answer: string) => string, pauseMs = 0) =>
  (dialect: Dialect): Play =>
  async (wire) => {
    const isStream = dialect.wantsStream(wire);
    const { begin, content, end } = dialect.stream([BAD_TEXT]);
    const body = isStream ? [...begin, ...content, ...end].join('') : dialect.message(BAD_TEXT);
    const length = String(Buffer.byteLength(body));
    const whole = head(200, { ...(isStream ? streamHead(dialect) : JSON_TYPE), 'content-length': length }) + body;
    const text = change(whole);
    if (pauseMs === 0) wire.raw(text);
    else await trickle(wire, text.match(/[\s\S]{1,16}/g) ?? [], pauseMs);
    wire.keep();
  };

/** These responses are relayed once and in full. */
export const harmless: readonly Fault[] = [
  {
    name: 'ends its response by closing the connection',
    play: (dialect) => (wire) => {
      const isStream = dialect.wantsStream(wire);
      const { begin, content, end } = dialect.stream([BAD_TEXT]);
      const body = isStream ? [...begin, ...content, ...end].join('') : dialect.message(BAD_TEXT);
      wire.socket.end(
        `HTTP/1.0 200 OK\r\ncontent-type: ${(isStream ? streamHead(dialect) : JSON_TYPE)['content-type']}\r\n\r\n${body}`,
      );
    },
  },
  { name: 'sends 100 Continue before its response', play: answers((whole) => `HTTP/1.1 100 Continue\r\n\r\n${whole}`) },
  {
    name: 'sends early hints',
    play: answers((whole) => `HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n${whole}`),
  },
  {
    name: 'sends a very large header',
    play: answers((whole) => whole.replace('\r\n', `\r\nx-large: ${'y'.repeat(100_000)}\r\n`)),
  },
  { name: 'responds in small pieces, including the headers', play: answers((whole) => whole, 1) },
  {
    name: 'responds in small compressed pieces, although compression was not requested',
    play: (dialect) => (wire) => {
      const isStream = dialect.wantsStream(wire);
      const { begin, content, end } = dialect.stream([BAD_TEXT]);
      const body = isStream ? [...begin, ...content, ...end].join('') : dialect.message(BAD_TEXT);
      wire.send(
        200,
        { ...(isStream ? streamHead(dialect) : JSON_TYPE), 'content-encoding': 'gzip' },
        Bun.gzipSync(Buffer.from(body)),
      );
    },
  },
  {
    name: 'responds to a stream with a whole message',
    form: 'streamed',
    play: (dialect) => (wire) => wire.send(200, JSON_TYPE, dialect.message(BAD_TEXT)),
  },
  {
    name: 'declares its JSON as text',
    form: 'whole',
    play: (dialect) => (wire) => wire.send(200, { 'content-type': 'text/plain' }, dialect.message(BAD_TEXT)),
  },
  {
    name: 'sends whitespace before its JSON',
    form: 'whole',
    play: (dialect) => (wire) => wire.send(200, JSON_TYPE, `${' \n'.repeat(1_000)}${dialect.message(BAD_TEXT)}`),
  },
  {
    name: 'keeps the stream alive between its events',
    form: 'streamed',
    kinds: EVENT_KINDS,
    play: (dialect) => async (wire) => {
      const { begin, content, end } = dialect.stream([BAD_TEXT]);
      wire.begin(200, streamHead(dialect));
      for (const piece of [...begin, ...content, ...end]) {
        wire.chunk(': still here\n\n\n\n:\n');
        await sleep(PAUSE_MS);
        wire.chunk(piece);
      }
      wire.end();
    },
  },
  {
    name: 'sends more data after its response',
    form: 'whole',
    play: (dialect) => async (wire) => {
      await anew(wire, dialect);
      await anew(wire, dialect);
    },
  },
  {
    name: 'sends its message twice',
    form: 'streamed',
    kinds: ['anthropic', 'openai', 'openai-responses', 'bedrock'], // Gemini's message ends with its stream
    play: (dialect) => (wire) => {
      const { begin, content, end } = dialect.stream([BAD_TEXT]);
      const message = [...begin, ...content, ...end].join('');
      wire.begin(200, streamHead(dialect));
      wire.chunk(message + message);
      wire.end();
    },
  },
  {
    name: 'sends more events after the end of its message',
    form: 'streamed',
    kinds: ['anthropic', 'openai', 'openai-responses', 'bedrock'],
    play: (dialect) => async (wire) => {
      const { begin, content, end } = dialect.stream([BAD_TEXT]);
      wire.begin(200, streamHead(dialect));
      wire.chunk([...begin, ...content, ...end].join(''));
      await trickle(
        wire,
        forever(() => chunkOf('data: <h1>and more</h1>\n\n')),
        PAUSE_MS,
      );
    },
  },
];
