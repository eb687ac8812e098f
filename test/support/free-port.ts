// A port for a server whose address must be known before it starts. Contains no tests.

/** Below the ports that Linux gives to outgoing connections: none of them takes it before the server starts. */
const FIRST = 10_000;
const LAST = 32_767;

const given = new Set<number>();

/** An unused port on loopback, each time another one. */
export function freePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    if (given.has(port) || !canListen(port)) continue;
    given.add(port);
    return port;
  }
}

function canListen(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
