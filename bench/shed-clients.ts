// Clients above the shed limit: each sends a message with a body of 32 MB, reads the response, and retries on a new
// connection. `polite` ones stop sending at the response, `deaf` ones send to the end.

const [, , url = '', key = '', countText = '500', secondsText = '10', manners = 'polite'] = process.argv;
const { hostname, port } = new URL(url);
const bodyBytes = 32 * 1024 * 1024;
const piece = Buffer.alloc(64 * 1024, 'x');
const retryMs = 1_000;
const deafWaitMsMax = 30_000;

/** The results, printed as one line. */
export interface ShedFigures {
  /** Responses by status; "cut" for connections that ended without one. */
  answers: Record<string, number>;
  /** From the sent head to the first byte of the response. */
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  megabytesSent: number;
}

const answers: Record<string, number> = {};
const timesMs: number[] = [];
let bytesSent = 0;

async function attempt(): Promise<void> {
  const ended = Promise.withResolvers<void>();
  let left = bodyBytes;
  let startedMs = 0;
  let isAnswered = false;
  const send = (socket: Bun.Socket) => {
    if (left === 0 || (isAnswered && manners === 'polite')) {
      if (isAnswered) socket.end();
      return;
    }
    const written = socket.write(piece.subarray(0, Math.min(left, piece.length)));
    if (written < 0) return;
    left -= written;
    bytesSent += written;
    if (written === piece.length) setImmediate(send, socket); // sends one piece per turn of the event loop
  };
  await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open(socket) {
        startedMs = performance.now();
        socket.write(
          `POST /v1/messages HTTP/1.1\r\nhost: ${hostname}:${port}\r\nx-api-key: ${key}\r\n` +
            `content-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`,
        );
        setImmediate(send, socket);
      },
      drain: send,
      data(socket, bytes) {
        if (isAnswered) return;
        isAnswered = true;
        timesMs.push(performance.now() - startedMs);
        const status = bytes.toString('latin1', 9, 12);
        answers[status] = (answers[status] ?? 0) + 1;
        if (manners === 'polite' || left === 0) socket.end();
      },
      close: () => ended.resolve(),
      error: () => ended.resolve(),
    },
  }).catch(() => ended.resolve());
  await Promise.race([ended.promise, Bun.sleep(deafWaitMsMax)]);
  if (!isAnswered) answers['cut'] = (answers['cut'] ?? 0) + 1;
}

const endMs = performance.now() + Number(secondsText) * 1000;
async function tryAgainAndAgain(): Promise<void> {
  while (performance.now() < endMs) {
    await attempt();
    await Bun.sleep(retryMs * (1 + Math.random()));
  }
}

await Promise.all(Array.from({ length: Number(countText) }, tryAgainAndAgain));
timesMs.sort((one, other) => one - other);
const at = (share: number) => timesMs[Math.floor((timesMs.length - 1) * share)] ?? Number.NaN;
const figures: ShedFigures = {
  answers,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  maxMs: at(1),
  megabytesSent: bytesSent / 1e6,
};
console.log(JSON.stringify(figures));
process.exit(0);
