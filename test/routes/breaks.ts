// The ways of a stream to break, whatever came of it before. No tests of its own.

import { setTimeout as sleep } from 'node:timers/promises';
import { chunkOf, forever, head, trickle, type Wire } from '../support/fault-upstream.ts';
import type { Dialect, ProviderKind } from './dialects.ts';
import { type FailingFault, STREAM_TYPE } from './faults.ts';
import { BAD_TEXT, type Fault } from './two-routes.ts';

export interface Break {
  /** Completes "a stream that …". */
  name: string;
  result: 'failed' | 'timeout' | 'overloaded';
  kinds?: readonly ProviderKind[];
  act(wire: Wire, dialect: Dialect): void | Promise<void>;
}

const PAUSE_MS = 20;
const READ_MS = 150; // until what was written was read: a break overtakes it

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
    name: 'is kept alive and says nothing',
    result: 'timeout',
    act: (wire) =>
      trickle(
        wire,
        forever(() => chunkOf(': still here\n\n')),
        PAUSE_MS,
      ),
  },
  {
    name: 'sends pings and says nothing',
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
    name: 'sends empty lines without end',
    result: 'timeout',
    act: (wire) =>
      trickle(
        wire,
        forever(() => chunkOf('\n')),
        PAUSE_MS,
      ),
  },
  {
    name: 'sends an event without end',
    result: 'timeout',
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
    name: 'sends an error and goes on',
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
  { name: 'sends half of a JSON', result: 'failed', act: (wire) => wire.chunk('data: {"type":"content_block_\n\n') },
  { name: 'sends JSON that is no object', result: 'failed', act: (wire) => wire.chunk('data: 12\n\n') },
  {
    name: 'is [DONE] before it has ended',
    result: 'failed',
    act: (wire) => {
      wire.chunk('data: [DONE]\n\n');
      wire.end();
    },
  },
  {
    name: 'has sizes of chunks that are none',
    result: 'failed',
    act: (wire) => wire.raw('many\r\ndata: {}\r\n0\r\n\r\n'),
  },
];

/** Up to which place the stream was good. */
export type Place = 'head' | 'beginning' | 'content';

/** These breaks at a place of a stream. */
export function breaksAt(place: Place): FailingFault[] {
  return breaks.map(({ name, result, kinds, act }) => ({
    name,
    result,
    form: 'streamed',
    ...(kinds !== undefined && { kinds }),
    play: (dialect) => async (wire) => {
      const { begin, content } = dialect.stream([BAD_TEXT, `${BAD_TEXT} AGAIN`]);
      wire.begin(200, STREAM_TYPE);
      if (place !== 'head') wire.chunk(begin.join(''));
      if (place === 'content') wire.chunk(content[0] as string);
      await sleep(READ_MS);
      await act(wire, dialect);
    },
  }));
}

/** A stream that begins anew where it should go on. */
export const secondBeginning: Fault = {
  name: 'begins twice',
  form: 'streamed',
  play: (dialect) => (wire) => {
    const { begin, content, end } = dialect.stream([BAD_TEXT]);
    wire.begin(200, STREAM_TYPE);
    wire.chunk([...begin, ...content, ...begin, ...end].join(''));
    wire.end();
  },
};

/** Streams whose length is not what their heads say: behind their first content. */
export const wrongLengths: readonly FailingFault[] = [
  {
    name: 'is longer than it says',
    result: 'failed',
    form: 'streamed',
    play: (dialect) => async (wire) => {
      const { begin, content, end } = dialect.stream([BAD_TEXT, `${BAD_TEXT} AGAIN`]);
      const heard = [...begin, content[0]].join('');
      wire.raw(head(200, { ...STREAM_TYPE, 'content-length': String(Buffer.byteLength(heard)) }));
      wire.raw([heard, content[1], ...end].join(''));
    },
  },
  {
    name: 'has no length, and is reset',
    result: 'failed', // though the runtime takes the reset of such a body for its end
    form: 'streamed',
    play: (dialect) => async (wire) => {
      const { begin, content } = dialect.stream([BAD_TEXT]);
      wire.raw(head(200, STREAM_TYPE) + [...begin, ...content].join(''));
      await sleep(READ_MS);
      wire.socket.resetAndDestroy();
    },
  },
  {
    name: 'is shorter than it says',
    result: 'failed',
    form: 'streamed',
    play: (dialect) => async (wire) => {
      const { begin, content } = dialect.stream([BAD_TEXT]);
      wire.raw(head(200, { ...STREAM_TYPE, 'content-length': '9999' }) + [...begin, ...content].join(''));
      await sleep(READ_MS);
      wire.socket.end();
    },
  },
];

/** The provider takes back what it took: the caller's fault, told late. */
export const refusedLate: Fault = {
  name: 'refuses what the caller said',
  form: 'streamed',
  play: (dialect) => async (wire) => {
    const { begin, content } = dialect.stream([BAD_TEXT]);
    wire.begin(200, STREAM_TYPE);
    wire.chunk([...begin, ...content].join(''));
    await sleep(READ_MS);
    wire.chunk(dialect.contentRefusedEvent);
    wire.end();
  },
};
