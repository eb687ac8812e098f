// Memory that others lost to long streams and large bodies: a process of its own is weighed while it relays them.
// docs/known-failures.md says whose failure each was.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { catalogueOf } from '../catalog/support.ts';
import { bodyOf } from '../post-messages/world.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { spawnTurnpike } from '../support/start-turnpike.ts';
import { documentOf, KINDS, speak } from './provider-kinds.ts';

const MEGABYTE = 1024 * 1024;
const STREAM_MEGABYTES = 256;
const STREAM_GROWTH_MEGABYTES_MAX = 240; // the text alone would be more
const IMAGE_MEGABYTES = 16;
const IMAGES_AT_ONCE = 4;
const IMAGE_COPIES_MAX = 8; // as it came, as it was read, as it is sent, and what the runtime has under way of each

describe.each(KINDS)('over a provider of the kind %s', (kind) => {
  test(`a stream of ${STREAM_MEGABYTES} MB passes, and its text is not kept`, async () => {
    await using upstream = await startScriptedUpstream(speak(kind, longText(), 'cut'));
    await using service = await startWeighed(upstream.url);
    const [secret = ''] = await service.makeKeys(1);
    const growth = await service.growthOf(async () => {
      const response = await service.post(secret, bodyOf({ model: kind, stream: true, max_tokens: 4_000 }));
      let bytes = 0;
      for await (const piece of response.body as ReadableStream<Uint8Array>) bytes += piece.length;
      expect(bytes).toBeGreaterThan(STREAM_MEGABYTES * MEGABYTE);
    });
    expect(growth).toBeLessThan(STREAM_GROWTH_MEGABYTES_MAX);
  });

  test(`${IMAGES_AT_ONCE} images of ${IMAGE_MEGABYTES} MB at once take less than ${IMAGE_COPIES_MAX} times their bytes`, async () => {
    await using taker = await startTaker(IMAGES_AT_ONCE);
    await using service = await startWeighed(taker.url);
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(IMAGE_MEGABYTES * MEGABYTE) };
    const messages = [{ role: 'user', content: [{ type: 'image', source }] }];
    const body = JSON.stringify(bodyOf({ model: kind, messages }));
    const secrets = await service.makeKeys(IMAGES_AT_ONCE); // an account has its share alone of the room for bodies
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

function* longText(): Generator<string> {
  const piece = 'x'.repeat(MEGABYTE / 16);
  for (let count = 0; count < STREAM_MEGABYTES * 16; count++) yield piece;
}

/** A provider that takes whole bodies, and answers none of them; `hasAll` resolves when it has so many. */
async function startTaker(count: number) {
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

/** A service in a process of its own whose memory can be looked at, with a free model of each kind at this address. */
async function startWeighed(url: string) {
  const turnpike = await spawnTurnpike();
  const residentMegabytes = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${turnpike.process.pid}/status`, 'utf8'))?.[1]) / 1024;
  const settings = { finish_without_caller_seconds: 1 };
  await turnpike.admin('POST', '/apply', {
    document: { ...documentOf(url, { input: '0', output: '0' }), settings },
  });
  return Object.assign(turnpike, {
    makeKeys: (count: number) =>
      Promise.all(Array.from({ length: count }, async () => (await turnpike.makeKey()).secret)),
    /** The most that the process holds while this goes on, beyond what it held before. */
    async growthOf(doing: () => Promise<void>): Promise<number> {
      const before = residentMegabytes();
      let most = before;
      const timer = setInterval(() => {
        most = Math.max(most, residentMegabytes());
      }, 10);
      await doing();
      clearInterval(timer);
      return most - before;
    },
  });
}

test('a stop waits ten minutes for streams unless it is told otherwise', () => {
  expect(catalogueOf({}).settings.drainSeconds).toBeGreaterThanOrEqual(600);
});
