// Makes one visit over a bare socket, and keeps what came back.

import { connect, type Socket } from 'node:net';
import { readAnswers } from './answers.ts';
import type { RenderedVisit, Visit } from './plan.ts';

const RECEIVED_BYTES_MAX = 4 * 1024 * 1024;
/** Not that of the bystanders: the service counts failures by address. */
const ADDRESS = '127.0.0.2';

export interface Transcript {
  received: Buffer;
  /** The service ended the connection, not this client. */
  isClosed: boolean;
  /** More came than is kept. */
  isCut: boolean;
}

/** Resolves when the connection is closed, at the latest after the visit's patience and what it takes to send. */
export async function makeVisit(visit: Visit, rendered: RenderedVisit, port: number): Promise<Transcript> {
  await Bun.sleep(visit.startMs);
  const { ending } = visit;
  const chunks: Buffer[] = [];
  let receivedBytes = 0;
  let isClosed = false;
  let hasLeft = false;
  const socket = connect({ port, host: '127.0.0.1', localAddress: ADDRESS, allowHalfOpen: true });
  const closed = Promise.withResolvers<void>();
  const leave = (isReset: boolean) => {
    hasLeft = true;
    if (isReset) socket.resetAndDestroy();
    else socket.destroy();
    closed.resolve();
  };
  const timer = setTimeout(() => leave(false), visit.patienceMs);
  const joined = () => Buffer.concat(chunks);
  socket.on('error', () => {
    isClosed = !hasLeft;
    closed.resolve();
  });
  socket.on('close', () => {
    isClosed ||= !hasLeft;
    closed.resolve();
  });
  socket.on('end', () => {
    isClosed ||= !hasLeft;
    leave(false);
  });
  socket.on('data', (bytes: Buffer) => {
    receivedBytes += bytes.byteLength;
    if (receivedBytes <= RECEIVED_BYTES_MAX) chunks.push(bytes);
    if (ending === 'reset-in-answer' || ending === 'close-in-answer') leave(ending === 'reset-in-answer');
    else if (ending !== 'read-late' && hasAll(joined(), rendered)) leave(false);
  });
  if (ending === 'read-late') {
    socket.pause();
    setTimeout(() => socket.resume(), visit.restMs + visit.patienceMs / 2);
  }
  await Promise.race([
    closed.promise,
    sendAll(socket, visit, rendered.bytes).then(() => endSending(visit, socket, leave)),
  ]);
  await closed.promise;
  clearTimeout(timer);
  socket.destroy();
  return { received: joined(), isClosed, isCut: receivedBytes > RECEIVED_BYTES_MAX };
}

function hasAll(received: Buffer, { methods }: RenderedVisit): boolean {
  return readAnswers(received, methods, false).whole.length >= methods.length;
}

async function sendAll(socket: Socket, visit: Visit, bytes: Buffer): Promise<void> {
  const length = visit.ending.endsWith('in-request') ? Math.floor(bytes.byteLength * visit.part) : bytes.byteLength;
  const size = Math.max(1, Math.ceil(length / visit.pieces));
  for (let from = 0; from < length && !socket.destroyed; from += size) {
    if (from > 0) await Bun.sleep(visit.pauseMs);
    socket.write(bytes.subarray(from, Math.min(length, from + size)));
  }
}

/** Actions after everything was sent; visits that keep reading end by what they receive, or by their timeout. */
async function endSending({ ending, restMs }: Visit, socket: Socket, leave: (isReset: boolean) => void): Promise<void> {
  if (ending === 'half-close') socket.end();
  if (!ending.endsWith('in-request') && !ending.endsWith('when-sent')) return;
  await Bun.sleep(restMs);
  leave(ending.startsWith('reset'));
}
