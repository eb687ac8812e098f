// A client that does not read its stream for a while, and providers that wait for it. It has no tests of its own.

import { connect } from 'node:net';
import { type Answer, eventText, type Script, upstreamEvents } from '../../support/scripted-upstream.ts';
import { bodyOf, type Json } from '../post-messages/world.ts';

const DELTA = eventText({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: 'word '.repeat(3_000) },
});

/** Streams until a write was blocked for `ms`, then runs `ending`. */
function streamUntilBlocked(ms: number, ending: (answer: Answer, isBlocked: () => void) => void | Promise<void>) {
  const { promise: blocked, resolve } = Promise.withResolvers<void>();
  const script: Script = async (answer, request) => {
    if (JSON.parse(request.body).stream !== true) return answer.reset();
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(upstreamEvents().slice(0, 2).join(''));
    for (;;) {
      const isWritten = await Promise.race([answer.write(DELTA).then(() => true), Bun.sleep(ms).then(() => false)]);
      if (answer.isGone) return;
      if (!isWritten) break;
    }
    await ending(answer, resolve);
  };
  return { script, blocked };
}

/** A provider that aborts a stream that was not read for `ms`. */
export function blockedFor(ms: number): { script: Script; gaveUp: Promise<void> } {
  const { script, blocked } = streamUntilBlocked(ms, (answer, isBlocked) => {
    answer.drop();
    isBlocked();
  });
  return { script, gaveUp: blocked };
}

/** A provider that waits as long as necessary, and completes its stream. */
export function patient(ms: number): { script: Script; isWaiting: Promise<void> } {
  const { script, blocked } = streamUntilBlocked(ms, async (answer, isBlocked) => {
    isBlocked();
    await answer.write(upstreamEvents().slice(-3).join(''));
    answer.end();
  });
  return { script, isWaiting: blocked };
}

/**
 * Posts a small message over its own socket, reads nothing of the response until `until` resolves, then all of it.
 * Returns the body.
 */
export async function readSlowly(
  url: string,
  secret: string,
  members: Json,
  headers: Record<string, string>,
  until: Promise<unknown>,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify(bodyOf({ max_tokens: 64_000_000, ...members }));
  const lines = Object.entries({
    host: hostname,
    'content-type': 'application/json',
    'content-length': String(body.length),
    'x-api-key': secret,
    connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  const chunks: Buffer[] = [];
  const ended = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  socket.write(`POST /v1/messages HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  await until;
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  await ended;
  return bodyOfChunks(Buffer.concat(chunks));
}

/** The body of a response in chunks. */
function bodyOfChunks(answer: Buffer): string {
  let at = answer.indexOf('\r\n\r\n') + 4;
  const parts: Buffer[] = [];
  for (;;) {
    const end = answer.indexOf('\r\n', at);
    const size = Number.parseInt(answer.toString('latin1', at, end), 16);
    if (!(size > 0)) return Buffer.concat(parts).toString();
    parts.push(answer.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
