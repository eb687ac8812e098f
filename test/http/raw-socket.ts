// A bare socket toward a server of these tests, for what no client library would send. No tests of its own.

import { connect } from 'node:net';

const PATIENCE_MS = 5_000;

/** Sends text, waits where a number of milliseconds stands, and resolves with all that came back once `isEnough`, or the end. */
export function exchange(
  port: number,
  parts: readonly (string | Uint8Array | number)[],
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

async function sendParts(socket: ReturnType<typeof connect>, parts: readonly (string | Uint8Array | number)[]) {
  for (const part of parts) {
    if (socket.destroyed) return;
    if (typeof part === 'number') await Bun.sleep(part);
    else socket.write(part);
  }
}
