// Events become text at the edge: as fast as the client reads, and no event that says nothing ends the stream.

import { expect, test } from 'bun:test';
import { EncodedStream } from '../../../src/public-api/encode-reply.ts';
import { PING, type StreamPiece } from '../../../src/wire/wire.ts';

const LETTERS = {
  take: (piece: StreamPiece) => 'a'.repeat((piece as readonly unknown[]).length),
  last: () => 'z',
};
const none: StreamPiece = [];

async function* listed(...pieces: StreamPiece[]) {
  yield* pieces;
}

test('pieces without text are passed over, and the last text follows the last event', async () => {
  const texts: (string | Uint8Array)[] = [];
  for await (const text of new EncodedStream(listed(none, [PING], none, none, [PING, PING], none), LETTERS))
    texts.push(text);
  expect(texts).toEqual(['a', 'aa', 'z']);
});

test('an answer without any text ends', async () => {
  const stream = new EncodedStream(listed(none), { take: () => '', last: () => '' });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test('a client that disconnects cancels the source', async () => {
  let isLeft = false;
  async function* events() {
    try {
      for (;;) yield [PING];
    } finally {
      isLeft = true;
    }
  }
  for await (const text of new EncodedStream(events(), LETTERS)) {
    expect(text).toBe('a');
    break;
  }
  expect(isLeft).toBe(true);
});

test('the source is read no faster than the client reads', async () => {
  let readCount = 0;
  async function* events() {
    for (;;) {
      readCount++;
      yield [PING];
    }
  }
  const stream = new EncodedStream(events(), LETTERS);
  await stream.next();
  await stream.next();
  expect(readCount).toBe(2);
  await stream.return();
});

test('a fault of the source ends the stream', async () => {
  async function* broken(): AsyncGenerator<StreamPiece> {
    yield [PING];
    throw new Error('it broke');
  }
  const stream = new EncodedStream(broken(), LETTERS);
  await stream.next();
  await expect(stream.next()).rejects.toThrow('it broke');
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test('a fault in what is written ends the stream, and leaves its source', async () => {
  let isLeft = false;
  async function* events() {
    try {
      for (;;) yield [PING];
    } finally {
      isLeft = true;
    }
  }
  const take = () => {
    throw new Error('not written');
  };
  const stream = new EncodedStream(events(), { take, last: () => '' });
  await expect(stream.next()).rejects.toThrow('not written');
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(isLeft).toBe(true);
});
