// A stream whose content cannot be used is read on for its counts, because its provider bills all of it.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { ProviderFault } from '../../../src/providers/provider.ts';
import { type EventConverter, PulledStream } from '../../../src/providers/pull-stream.ts';
import type { JsonObject, StreamEvent } from '../../../src/wire/wire.ts';

/** Cannot use any event, and counts their characters. */
function unusable(): EventConverter {
  let characters = 0;
  return {
    isDone: false,
    take() {
      throw new ProviderFault('unusable', 'not to be used');
    },
    end: () => [],
    counts: {
      carry: () => undefined,
      read({ text }) {
        characters += text.length;
        return text === 'last';
      },
      get usage(): JsonObject {
        return { output_tokens: characters };
      },
    },
  };
}

function streamOf(pieces: Iterable<string>, ending: Error | null = null, controller = new AbortController()) {
  const encoder = new TextEncoder();
  const left = pieces[Symbol.iterator]();
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull(stream) {
      const { done, value } = left.next();
      if (done !== true) stream.enqueue(encoder.encode(value));
      else if (ending === null) stream.close();
      else stream.error(ending);
    },
    cancel() {
      isCancelled = true;
    },
  });
  const stream = new PulledStream(body, controller.signal, unusable());
  return { stream, isCancelled: () => isCancelled };
}

async function readAll(stream: PulledStream): Promise<{ events: StreamEvent[]; fault: unknown }> {
  const events: StreamEvent[] = [];
  try {
    for (let batch = await stream.next(); batch !== null; batch = await stream.next()) events.push(...batch);
  } catch (fault) {
    return { events, fault };
  }
  return { events, fault: null };
}

const event = (text: string) => `data: ${text}\n\n`;

test('its fault comes with all counts, at the end of the stream or with the last ones, and pings show that it still sends', async () => {
  const ended = await readAll(streamOf([event('abc'), event('def')]).stream);
  expect(ended.fault).toMatchObject({ kind: 'unusable', usage: { output_tokens: 6 } });
  expect(ended.events.map(({ name }) => name)).toEqual(['ping', 'ping']);
  const { stream, isCancelled } = streamOf([event('abc'), event('last'), event('never read')]);
  expect((await readAll(stream)).fault).toMatchObject({ kind: 'unusable', usage: { output_tokens: 7 } });
  expect(isCancelled()).toBe(true);
});

test('it stays unusable if the connection breaks, but not if this service aborts it', async () => {
  const broken = streamOf([event('abc')], new Error('reset'));
  expect((await readAll(broken.stream)).fault).toMatchObject({ kind: 'unusable', usage: { output_tokens: 3 } });
  const controller = new AbortController();
  const { stream } = streamOf([event('abc'), event('def')], null, controller);
  await stream.next();
  controller.abort();
  expect((await readAll(stream)).fault).toMatchObject({ kind: 'aborted' });
});

test('no more of it is read than the bound', async () => {
  const piece = event('x'.repeat(1024 * 1024));
  let sent = 0;
  const endless = function* () {
    for (;;) {
      sent += piece.length;
      yield piece;
    }
  };
  const { stream, isCancelled } = streamOf(endless());
  expect((await readAll(stream)).fault).toMatchObject({
    kind: 'unusable',
    usage: { output_tokens: expect.any(Number) },
  });
  expect(isCancelled()).toBe(true);
  expect(sent).toBeLessThan(bounds.unusableAnswerBytesMax + 4 * piece.length);
});
