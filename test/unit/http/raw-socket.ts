// A raw socket to a server of these tests, for data that no client library sends. It has no tests of its own.

import { connect } from 'node:net';

const PATIENCE_MS = 5_000;

/** A text to send, a number of milliseconds to wait, or an action to wait for. */
type Part = string | Uint8Array | number | (() => Promise<unknown>);

/** Performs the parts in order. Resolves to the received text once `isEnough`, or at the end. */
export function exchange(
  port: number,
  parts: readonly Part[],
  isEnough: (received: string) => boolean = (received) => received.includes('\r\n\r\n'),
): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1');
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(received);
    };
    const timer = setTimeout(finish, PATIENCE_MS);
    socket.on('data', (bytes) => {
      received += bytes;
      if (isEnough(received)) finish();
    });
    socket.on('close', finish);
    socket.on('error', finish);
    void sendParts(socket, parts);
  });
}

async function sendParts(socket: ReturnType<typeof connect>, parts: readonly Part[]) {
  for (const part of parts) {
    if (socket.destroyed) return;
    if (typeof part === 'function') await part();
    else if (typeof part === 'number') await Bun.sleep(part);
    else socket.write(part);
  }
}
