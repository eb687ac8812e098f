// A host that never completes a connection: it listens, accepts nothing, and its queue is full, so that the system
// drops new connections. It stands for a remote host behind a firewall.

import { dlopen, FFIType, ptr } from 'bun:ffi';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Works on Linux only. Elsewhere its tests are skipped, which counts as a failure under CI. */
export const cannotBeMade = process.platform !== 'linux';

export interface UnreachableHost extends AsyncDisposable {
  /** The origin, "http://127.0.0.1:…". */
  url: string;
}

const IPV4 = 2;
const STREAM = 1;
const CONNECTIONS_MAX = 16; // Fills the queue: it takes one or two connections.
const KNOCK_MS = 200;

export async function startUnreachableHost(): Promise<UnreachableHost> {
  const { symbols: system } = dlopen('libc.so.6', {
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    bind: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
    listen: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    getsockname: { args: [FFIType.i32, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
    close: { args: [FFIType.i32], returns: FFIType.i32 },
  });
  const listener = system.socket(IPV4, STREAM, 0);
  const address = Uint8Array.of(IPV4, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  if (system.bind(listener, ptr(address), address.length) !== 0 || system.listen(listener, 0) !== 0)
    throw new Error('the unreachable host cannot listen');
  system.getsockname(listener, ptr(address), ptr(Uint32Array.of(address.length)));
  const port = new DataView(address.buffer).getUint16(2);
  const waiting = await fillQueue(port);
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.destroy();
      system.close(listener);
    },
  };
}

async function fillQueue(port: number): Promise<Socket[]> {
  const waiting: Socket[] = [];
  while (waiting.length < CONNECTIONS_MAX) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    waiting.push(socket);
    await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), sleep(KNOCK_MS)]);
    if (socket.connecting) return waiting;
  }
  throw new Error('the unreachable host can be reached');
}
