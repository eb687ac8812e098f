// Memory that other systems lost to long streams and large bodies: the test relays them through a separate process
// and measures its memory. docs/known-failures.md has the sources.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';
import { catalogOf } from '../../unit/catalog/support.ts';
import { bodyOf } from '../post-messages/world.ts';
import { documentOf, KINDS, streamText } from './provider-kinds.ts';

const MEGABYTE = 1024 * 1024;
const STREAM_MEGABYTES = 256;
const STREAM_GROWTH_MEGABYTES_MAX = 240; // less than the text alone would take
const UPLOAD_MEGABYTES = 500;
const RESIDENT_MEGABYTES_MAX = 200;
const IMAGE_MEGABYTES = 16;
const IMAGES_AT_ONCE = 4;
const IMAGE_COPIES_MAX = 8; // as received, as parsed, as sent, and what the runtime buffers for each

describe.each(KINDS)('with a provider of the kind %s', (kind) => {
  test(`a stream of ${STREAM_MEGABYTES} MB is relayed without keeping its text in memory`, async () => {
    await using upstream = await startScriptedUpstream(streamText(kind, longText(), 'cut'));
    await using service = await startMeasured(upstream.url);
    const [secret = ''] = await service.makeKeys(1);
    const growth = await service.growthOf(async () => {
      const response = await service.post(secret, bodyOf({ model: kind, stream: true, max_tokens: 4_000 }));
      let bytes = 0;
      for await (const piece of response.body as ReadableStream<Uint8Array>) bytes += piece.length;
      expect(bytes).toBeGreaterThan(STREAM_MEGABYTES * MEGABYTE);
    });
    expect(growth).toBeLessThan(STREAM_GROWTH_MEGABYTES_MAX);
  });

  test(`${IMAGES_AT_ONCE} concurrent images of ${IMAGE_MEGABYTES} MB take less than ${IMAGE_COPIES_MAX} times their size in memory`, async () => {
    await using taker = await startReceiver(IMAGES_AT_ONCE);
    await using service = await startMeasured(taker.url);
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(IMAGE_MEGABYTES * MEGABYTE) };
    const messages = [{ role: 'user', content: [{ type: 'image', source }] }];
    const body = JSON.stringify(bodyOf({ model: kind, messages }));
    const secrets = await service.makeKeys(IMAGES_AT_ONCE); // one account may use only its share of the memory for bodies
    const growth = await service.growthOf(async () => {
      const leaving = new AbortController();
      const { signal } = leaving;
      const answers = secrets.map((secret) => service.post(secret, body, { signal }).catch(() => null));
      await taker.hasAll;
      leaving.abort();
      await Promise.all(answers);
    });
    expect(growth).toBeLessThan(IMAGE_COPIES_MAX * IMAGES_AT_ONCE * IMAGE_MEGABYTES);
  });
});

test(`an upload of ${UPLOAD_MEGABYTES} MB and its download leave the service below ${RESIDENT_MEGABYTES_MAX} MB of memory`, async () => {
  await using service = await startMeasured('http://127.0.0.1:9');
  const [secret = ''] = await service.makeKeys(1);
  const headers = { 'x-api-key': secret, 'content-type': 'multipart/form-data; boundary=b' };
  const most = await service.mostOf(async () => {
    const answer = await fetch(`${service.url}/v1/files`, {
      method: 'POST',
      headers,
      body: new Response(longForm() as unknown as BodyInit).body,
    });
    const { id, size_bytes } = (await answer.json()) as { id: string; size_bytes: number };
    expect(size_bytes).toBe(UPLOAD_MEGABYTES * MEGABYTE);
    const { body } = await fetch(`${service.url}/v1/files/${id}/content`, { headers: { 'x-api-key': secret } });
    let bytes = 0;
    for await (const piece of body as ReadableStream<Uint8Array>) bytes += piece.length;
    expect(bytes).toBe(size_bytes);
  });
  expect(most).toBeLessThan(RESIDENT_MEGABYTES_MAX);
});

async function* longForm(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n');
  const piece = crypto.getRandomValues(new Uint8Array(MEGABYTE / 16));
  for (let count = 0; count < UPLOAD_MEGABYTES * 16; count++) yield piece;
  yield Buffer.from('\r\n--b--\r\n');
}

function* longText(): Generator<string> {
  const piece = 'x'.repeat(MEGABYTE / 16);
  for (let count = 0; count < STREAM_MEGABYTES * 16; count++) yield piece;
}

/**
 * A provider that receives whole bodies and never responds; `hasAll` resolves once it has received the given number.
 */
async function startReceiver(count: number) {
  const { promise: hasAll, resolve } = Promise.withResolvers<void>();
  let left = count;
  const server = createServer((request) => {
    request.resume();
    request.on('end', () => --left === 0 && resolve());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, hasAll, [Symbol.asyncDispose]: close };
}

/**
 * Starts a service in a separate process whose memory can be measured, with a free model of each kind at this
 * address.
 */
async function startMeasured(url: string) {
  const turnpike = await spawnTurnpike();
  const residentMegabytes = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${turnpike.process.pid}/status`, 'utf8'))?.[1]) / 1024;
  /** The peak memory of the process during the call. */
  const mostOf = async (doing: () => Promise<void>) => {
    let most = residentMegabytes();
    const timer = setInterval(() => {
      most = Math.max(most, residentMegabytes());
    }, 10);
    await doing();
    clearInterval(timer);
    return most;
  };
  const settings = { finish_without_caller_seconds: 1 };
  await turnpike.admin('POST', '/apply', {
    document: { ...documentOf(url, { input: '0', output: '0' }), settings },
  });
  return Object.assign(turnpike, {
    makeKeys: (count: number) =>
      Promise.all(Array.from({ length: count }, async () => (await turnpike.makeKey()).secret)),
    /** The peak memory of the process during the call, minus the memory before it. */
    async growthOf(doing: () => Promise<void>): Promise<number> {
      const before = residentMegabytes();
      return (await mostOf(doing)) - before;
    },
    mostOf,
  });
}

test('a shutdown waits ten minutes for streams by default', () => {
  expect(catalogOf({}).settings.drainSeconds).toBeGreaterThanOrEqual(600);
});
