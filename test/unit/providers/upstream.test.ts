// The only module that calls fetch: what it retries, what it refuses, and how failures are distinguished.

import { expect, test } from 'bun:test';
import { type AddressInfo, createServer } from 'node:net';
import { readJson } from '../../../src/providers/parse-json.ts';
import { cancelBody, fetchUpstream, readBounded } from '../../../src/providers/upstream.ts';
import { startFaultUpstream, type Wire } from '../../support/fault-upstream.ts';
import { type Script, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { faultOf } from './make-attempt.ts';

const signal = new AbortController().signal;
const call = (url: string) => ({ url, headers: { 'x-api-key': 'k' }, body: '{"a":1}', signal });
const slowReset: Script = async (answer) => {
  await Bun.sleep(600);
  answer.reset();
};

test('a request on a kept connection that was closed is retried once, on a new connection', async () => {
  await using upstream = await startScriptedUpstream(scripts.message(), scripts.resetBeforeHead(), scripts.message());
  await (await fetchUpstream(call(upstream.url))).text();
  expect((await fetchUpstream(call(upstream.url))).status).toBe(200);
  expect(upstream.requests.map((request) => request.body)).toEqual(['{"a":1}', '{"a":1}', '{"a":1}']);
  expect(upstream.connectionCount).toBe(2);
});

test('the retry never uses another kept connection, which may be closed, too', async () => {
  const pause: Script = async (answer, request) => {
    await Bun.sleep(30); // time during which both calls run, so that they need two connections
    return scripts.message()(answer, request);
  };
  const reset = scripts.resetBeforeHead();
  await using upstream = await startScriptedUpstream(pause, pause, reset, scripts.message());
  const both = [fetchUpstream(call(upstream.url)), fetchUpstream(call(upstream.url))];
  for (const response of await Promise.all(both)) await response.text();
  expect((await fetchUpstream(call(upstream.url))).status).toBe(200);
  expect(upstream.connectionCount).toBe(3);
});

test('a request is retried only once', async () => {
  await using upstream = await startScriptedUpstream(scripts.resetBeforeHead());
  expect(await faultOf(fetchUpstream(call(upstream.url)))).toMatchObject({ kind: 'failed', status: null });
  expect(upstream.requests).toHaveLength(2);
});

test('a late break is not retried, because the work may have been done', async () => {
  await using upstream = await startScriptedUpstream(slowReset);
  expect((await faultOf(fetchUpstream(call(upstream.url)))).kind).toBe('failed');
  expect(upstream.requests).toHaveLength(1);
});

test('nothing is retried after an abort by the service', async () => {
  const controller = new AbortController();
  await using upstream = await startScriptedUpstream(scripts.hangBeforeHead());
  const waiting = fetchUpstream({ ...call(upstream.url), signal: controller.signal });
  await Bun.sleep(20);
  controller.abort(new RangeError('why'));
  expect((await faultOf(waiting)).kind).toBe('aborted');
  await upstream.aborted();
  expect(upstream.requests).toHaveLength(1);
  expect((await faultOf(fetchUpstream({ ...call(upstream.url), signal: controller.signal }))).kind).toBe('aborted');
  expect(upstream.requests).toHaveLength(1);
});

test('a closed port is a failure', async () => {
  expect((await faultOf(fetchUpstream(call('http://127.0.0.1:1/')))).kind).toBe('failed');
});

test('a redirect is not followed, so that the credential is sent nowhere else', async () => {
  await using elsewhere = await startScriptedUpstream(scripts.message());
  await using upstream = await startScriptedUpstream(scripts.redirect(`${elsewhere.url}/v1/messages`));
  expect(await faultOf(fetchUpstream(call(upstream.url)))).toMatchObject({ kind: 'failed', status: 307 });
  expect(elsewhere.requests).toHaveLength(0);
});

test('a body is read up to its maximum size, then the upstream is stopped', async () => {
  await using upstream = await startScriptedUpstream(scripts.json('12345'));
  const read = async (bytesMax: number) => readBounded(await fetchUpstream(call(upstream.url)), bytesMax);
  expect(await read(5)).toBe('12345');
  expect(await read(4)).toBeNull();
  upstream.play(scripts.splitStream(3));
  expect(await read(10_000)).toContain('message_stop');
  upstream.play(scripts.flood());
  expect(await read(100_000)).toBeNull();
  await upstream.aborted();
});

test('a compressed body is bounded by its uncompressed size', async () => {
  const packed = Bun.gzipSync(Buffer.alloc(1_000_000, 'x'));
  const bomb: Script = async (answer) => {
    answer.begin(200, { 'content-encoding': 'gzip' });
    await answer.write(packed);
    answer.end();
  };
  await using upstream = await startScriptedUpstream(bomb);
  expect(await readBounded(await fetchUpstream(call(upstream.url)), 10_000)).toBeNull();
  expect((await readBounded(await fetchUpstream(call(upstream.url)), 1_000_000))?.length).toBe(1_000_000);
});

test('a body that is read for a limited time is the part that has arrived by then', async () => {
  const hang: Script = async (answer) => {
    answer.begin(500, {});
    await answer.write('part');
  };
  await using upstream = await startScriptedUpstream(hang);
  expect(await readBounded(await fetchUpstream(call(upstream.url)), 100, 50)).toBe('part');
  await upstream.aborted();
});

test('a body that breaks off is a failure', async () => {
  await using upstream = await startScriptedUpstream(scripts.dropMidStream());
  expect((await faultOf(readJson(await fetchUpstream(call(upstream.url)), signal))).kind).toBe('failed');
});

test('an unused body is stopped', async () => {
  await using upstream = await startScriptedUpstream(scripts.flood());
  await cancelBody(await fetchUpstream(call(upstream.url)));
  await upstream.aborted();
});

test.each<[string, (wire: Wire, good: string) => void | Promise<void>]>([
  [
    'at once',
    (wire, good) => {
      wire.send(200, {}, good);
      wire.send(200, {}, 'of nobody');
    },
  ],
  [
    'a moment later',
    async (wire, good) => {
      wire.send(200, {}, good);
      await Bun.sleep(20);
      wire.send(200, {}, 'of nobody');
    },
  ],
  [
    'after its last chunk',
    (wire, good) => {
      wire.begin(200);
      wire.chunk(good);
      wire.raw('0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nof nobody');
    },
  ],
])('an unsolicited response, sent %s, is never used for the next request', async (_when, play) => {
  let count = 0;
  await using upstream = await startFaultUpstream((wire) => play(wire, `answer ${++count}`));
  for (const answer of ['answer 1', 'answer 2', 'answer 3']) {
    expect(await readBounded(await fetchUpstream(call(upstream.url)), 100)).toBe(answer);
    await Bun.sleep(answer === 'answer 1' ? 0 : 40); // once before and once after the unsolicited response has arrived
  }
  expect(upstream.requests).toHaveLength(3);
});

const MEGABYTE = new Uint8Array(1024 * 1024);
/** A body of so many megabytes, and how many of them were read. */
function streamed(count: number) {
  const reads: number[] = [];
  const body = {
    contentType: 'multipart/form-data; boundary=b',
    bytes: count * MEGABYTE.length,
    async *read() {
      const read = reads.push(0) - 1;
      for (let at = 0; at < count; at++) {
        reads[read] = at + 1;
        yield MEGABYTE;
      }
    },
  };
  return { body, reads };
}

test('a streamed body is sent with its type and length, and again on a new connection', async () => {
  await using upstream = await startScriptedUpstream(scripts.message(), scripts.resetBeforeHead(), scripts.message());
  await (await fetchUpstream(call(upstream.url))).text();
  const { body, reads } = streamed(2);
  expect((await fetchUpstream({ ...call(upstream.url), body })).status).toBe(200);
  expect(reads).toEqual([2, 2]);
  const { headers, bytes } = upstream.requests.at(-1) ?? {};
  expect(headers).toMatchObject({
    'content-type': body.contentType,
    'content-length': String(body.bytes),
    'x-api-key': 'k',
  });
  expect(bytes?.length).toBe(body.bytes);
});

test('a streamed body is read no further than a provider takes it, and not to its end after an abort', async () => {
  const leaving = new AbortController();
  const { body, reads } = streamed(512);
  let taken = 0;
  let ahead = 0;
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', ({ length }) => {
        taken += length / MEGABYTE.length;
        ahead = Math.max(ahead, (reads[0] ?? 0) - taken);
        if (taken > 64) leaving.abort();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const sending = fetchUpstream({ ...call(`http://127.0.0.1:${port}`), body, signal: leaving.signal });
  expect(await faultOf(sending)).toMatchObject({ kind: 'aborted' });
  expect(ahead).toBeLessThan(32);
  expect(reads[0]).toBeLessThan(256);
  server.close();
});
