// Reads costly requests and answers as the service does, up to the plan of the message. It has no tests of its own.

import { findFront, translateBody } from '../../src/fronts/fronts.ts';
import { measurePrompt } from '../../src/usage/usage.ts';
import { parseInTurns, readFeatures } from '../../src/wire/wire.ts';
import { type Driver, streamTypeOf } from '../unit/providers/conformance/driver.ts';
import { ask, attemptOf, TOOLS } from '../unit/providers/conformance/exchange.ts';

/** Rejects as reading a body does. */
export async function readRequest(path: string, bytes: Uint8Array): Promise<void> {
  const headers = new Headers();
  const front = findFront(path, { headers, query: '' });
  const operation = front?.findOperation(path) ?? null;
  const asked = { query: '', headers, requestId: 'req_1', receivedAtMs: 0, clock: { nowMs: () => 0 } };
  const request =
    front === null || operation === null
      ? await parseInTurns(bytes)
      : (await translateBody(front, bytes, { ...asked, operation })).request;
  await measurePrompt(request, ['claude-sonnet-5-5']);
  readFeatures(request, null);
}

/** The provider's answer to a message, which arrives in chunks of `chunkBytes`. */
export async function readAnswer(driver: Driver, bytes: Uint8Array, isStreamed: boolean, chunkBytes: number) {
  const attempt = attemptOf(driver, { stream: isStreamed, tools: TOOLS });
  const headers = { 'content-type': isStreamed ? streamTypeOf(driver) : 'application/json' };
  return ask(driver, attempt, () => new Response(inChunks(bytes, chunkBytes), { headers }));
}

/** A body whose chunks arrive on turns of their own. */
function inChunks(bytes: Uint8Array, chunkBytes: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve));
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + chunkBytes));
      at += chunkBytes;
    },
  });
}
