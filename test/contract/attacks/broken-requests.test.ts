// Requests that the runtime accepts although they are invalid: an invalid host, an incomplete body. They are refused
// like other bad input, and do not count as failures of the service.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readBounded } from '../../../src/http/http.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { exchange } from '../../unit/http/raw-socket.ts';

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
});
afterAll(() => turnpike.stop());

for (const path of ['/console/', '/api/v1/accounts', '/console/auth/session', '/v1/models'])
  test.each(['[::1', '1.2.3.4.5:x', '%', 'a b', ''])(
    `a request for ${path} with an invalid host ("%s") is not a server error`,
    async (host) => {
      const head = [`GET ${path} HTTP/1.1`, `host: ${host}`, 'connection: close'];
      const isWhole = (received: string) => received.includes('\r\n\r\n');
      const answer = await exchange(Number(new URL(turnpike.url).port), [`${head.join('\r\n')}\r\n\r\n`], isWhole);
      expect(answer).toMatch(/^HTTP\/1\.1 [1-4]\d\d /);
    },
  );

test('an incomplete body is a client error', async () => {
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      controller.error(new Error('the socket was closed'));
    },
  });
  const reading = readBounded(new Request('http://localhost/', { method: 'POST', body }), 100);
  await expect(reading).rejects.toMatchObject({ code: 'request_timeout', status: 408 });
});
