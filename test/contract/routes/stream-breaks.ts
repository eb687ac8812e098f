// The ways in which a stream breaks, at any place. It has no tests of its own.

import { setTimeout as sleep } from 'node:timers/promises';
import { chunkOf, forever, head, trickle, type Wire } from '../../support/fault-upstream.ts';
import { type Dialect, EVENT_KINDS, type ProviderKind, streamHead } from './dialects.ts';
import type { FailingFault } from './faults.ts';
import { BAD_TEXT, type Fault, untilRead } from './two-routes.ts';

export interface Break {
  /** Completes "a stream that …". */
  name: string;
  result: 'failed' | 'timeout' | 'overloaded';
  kinds?: readonly ProviderKind[];
  act(wire: Wire, dialect: Dialect): void | Promise<void>;
}

const PAUSE_MS = 200;
const READ_MS = 150; // time for the service to read what no client sees

const breaks: readonly Break[] = [
  { name: 'is reset', result: 'failed', act: ({ socket }) => socket.resetAndDestroy() },
  { name: 'is closed', result: 'failed', act: ({ socket }) => void socket.end() },
  { name: 'ends', result: 'failed', act: (wire) => wire.end() },
  {
    name: 'ends in the middle of an event',
    result: 'failed',
    act: (wire, dialect) => {
      wire.chunk((dialect.stream([BAD_TEXT, BAD_TEXT]).content[1] ?? '').slice(0, -9));
      wire.end();
    },
  },
  { name: 'stops', result: 'timeout', act: () => {} },
  {
    name: 'sends only keep-alives',
    result: 'timeout',
    kinds: EVENT_KINDS,
    act: (wire) =>
      trickle(
        wire,
        forever(() => chunkOf(': still here\n\n')),
        PAUSE_MS,
      ),
  },
  {
    name: 'sends only pings',
    result: 'timeout',
    kinds: ['anthropic'],
    act: (wire) =>
      trickle(
        wire,
        forever(() => chunkOf('event: ping\ndata: {"type":"ping"}\n\n')),
        PAUSE_MS,
      ),
  },
  {
    name: 'sends endless empty lines',
    result: 'timeout',
    kinds: EVENT_KINDS,
    act: (wire) =>
      trickle(
        wire,
        forever(() => chunkOf('\n')),
        PAUSE_MS,
      ),
  },
  {
    name: 'sends an endless event',
    result: 'timeout',
    kinds: EVENT_KINDS,
    act: (wire) =>
      trickle(
        wire,
        forever((index) => chunkOf(index === 0 ? 'data: {"type":"' : 'x')),
        PAUSE_MS,
      ),
  },
  {
    name: 'sends an error',
    result: 'overloaded',
    act: (wire, { overloadedEvent }) => {
      wire.chunk(overloadedEvent);
      wire.end();
    },
  },
  {
    name: 'sends an error and continues',
    result: 'overloaded',
    act: async (wire, dialect) => {
      const { begin, content, end } = dialect.stream([BAD_TEXT]);
      wire.chunk(dialect.overloadedEvent);
      await sleep(PAUSE_MS);
      wire.chunk([...begin, ...content, ...end].join(''));
    },
  },
  {
    name: 'sends a web page',
    result: 'failed',
    act: (wire) => {
      wire.chunk('data: <html><h1>Bad gateway</h1></html>\n\n');
      wire.end();
    },
  },
  { name: 'sends truncated JSON', result: 'failed', act: (wire) => wire.chunk('data: {"type":"content_block_\n\n') },
  {
    name: 'sends JSON without an object',
    result: 'failed',
    kinds: EVENT_KINDS,
    act: (wire) => wire.chunk('data: 12\n\n'),
  },
  {
    name: 'sends an early [DONE]',
    result: 'failed',
    act: (wire) => {
      wire.chunk('data: [DONE]\n\n');
      wire.end();
    },
  },
  {
    name: 'sends invalid chunk sizes',
    result: 'failed',
    act: (wire) => wire.raw('many\r\ndata: {}\r\n0\r\n\r\n'),
  },
];

/** The place up to which the stream was correct. */
export type Place = 'head' | 'beginning' | 'content';

/** Streams that break at this place. */
export function breaksAt(place: Place): FailingFault[] {
  return breaks.map(({ name, result, kinds, act }) => ({
    name,
    result,
    form: 'streamed',
    ...(kinds !== undefined && { kinds }),
    play: (dialect) => async (wire) => {
      const { begin, content } = dialect.stream([BAD_TEXT, `${BAD_TEXT} AGAIN`]);
      wire.begin(200, streamHead(dialect));
      if (place !== 'head') wire.chunk(begin.join(''));
      if (place === 'content') wire.chunk(content[0] as string);
      await (place === 'content' ? untilRead(wire) : sleep(READ_MS));
      await act(wire, dialect);
    },
  }));
}

/** A stream that begins again in the middle. */
export const secondBeginning: Fault = {
  name: 'begins twice',
  form: 'streamed',
  play: (dialect) => (wire) => {
    const { begin, content, end } = dialect.stream([BAD_TEXT]);
    wire.begin(200, streamHead(dialect));
    wire.chunk([...begin, ...content, ...begin, ...end].join(''));
    wire.end();
  },
};

/** Streams with an incorrect length in their headers, which break after their first content. */
export const wrongLengths: readonly FailingFault[] = [
  {
    name: 'is longer than its content-length',
    result: 'failed',
    form: 'streamed',
    play: (dialect) => async (wire) => {
      const { begin, content, end } = dialect.stream([BAD_TEXT, `${BAD_TEXT} AGAIN`]);
      const received = [...begin, content[0]].join('');
      wire.raw(head(200, { ...streamHead(dialect), 'content-length': String(Buffer.byteLength(received)) }));
      wire.raw([received, content[1], ...end].join(''));
    },
  },
  {
    name: 'is reset without a content-length',
    result: 'failed', // the runtime takes the reset of such a body for its end
    form: 'streamed',
    play: (dialect) => async (wire) => {
      const { begin, content } = dialect.stream([BAD_TEXT]);
      wire.raw(head(200, streamHead(dialect)) + [...begin, ...content].join(''));
      await untilRead(wire);
      wire.socket.resetAndDestroy();
    },
  },
  {
    name: 'is shorter than its content-length',
    result: 'failed',
    form: 'streamed',
    play: (dialect) => async (wire) => {
      const { begin, content } = dialect.stream([BAD_TEXT]);
      wire.raw(head(200, { ...streamHead(dialect), 'content-length': '9999' }) + [...begin, ...content].join(''));
      await untilRead(wire);
      wire.socket.end();
    },
  },
];

/** The provider rejects the request after it had begun a response: the client's fault, reported late. */
export const refusedLate: Fault = {
  name: 'rejects the content',
  form: 'streamed',
  play: (dialect) => async (wire) => {
    const { begin, content } = dialect.stream([BAD_TEXT]);
    wire.begin(200, streamHead(dialect));
    wire.chunk([...begin, ...content].join(''));
    await untilRead(wire);
    wire.chunk(dialect.contentRefusedEvent);
    wire.end();
  },
};
