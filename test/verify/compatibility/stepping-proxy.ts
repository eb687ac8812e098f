// A proxy before PostgreSQL that hands over one statement at a time, also of a text with several, and asks before each. So a test can
// end the client, or the server, between any two statements of a migration.

import { connect, createServer, type Socket } from 'node:net';
import { splitStatements } from './split-statements.ts';

/** `cut` closes the connection instead of handing the statement over; `cut-after` does so once the server has carried it out. */
export type Verdict = 'pass' | 'cut' | 'cut-after';

export interface SteppingProxy extends AsyncDisposable {
  /** The same URL with the proxy's address. */
  through(url: string): string;
  /** Asked before each statement. By default all pass. */
  decide: (statement: string) => Verdict | Promise<Verdict>;
  /** Texts are handed over as the client sent them. */
  isWhole: boolean;
}

/** One message of the client, or several up to a Sync, and the text to decide about. `isPart`: its end is not told to the client. */
interface Step {
  text: string;
  bytes: Buffer;
  isPart: boolean;
}

const QUERY = 'Q'.charCodeAt(0);
const SYNC = 'S'.charCodeAt(0);
const PARSE = 'P'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);
const READY = 'Z'.charCodeAt(0);
const ERROR = 'E'.charCodeAt(0);

export async function startSteppingProxy(port: number): Promise<SteppingProxy> {
  const open = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('error', () => {});
    }
    const cut = () => {
      client.destroy();
      server.destroy();
    };
    server.on('close', cut);
    handOver(proxy, client, server, cut);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const proxy: SteppingProxy = {
    through(url) {
      const through = new URL(url);
      through.port = String((listener.address() as { port: number }).port);
      return through.href;
    },
    decide: () => 'pass',
    isWhole: false,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => listener.close(() => resolve()));
    },
  };
  return proxy;
}

function handOver(proxy: SteppingProxy, client: Socket, server: Socket, cut: () => void): void {
  const waiting: Step[] = [];
  let current: Step | null = null;
  let isDeciding = false;
  let isCutAfter = false;
  let hasFailed = false;
  // A client that is killed while its statement is decided about closes before the server gets it.
  client.on('close', () => {
    if (!isDeciding && !isCutAfter) cut();
  });
  const next = async () => {
    if (current !== null) return;
    current = waiting.shift() ?? null;
    if (current === null) return;
    isDeciding = true;
    const verdict = await proxy.decide(current.text);
    isDeciding = false;
    if (verdict === 'cut' || (verdict === 'pass' && client.destroyed)) cut();
    else {
      isCutAfter = verdict === 'cut-after';
      server.write(current.bytes);
    }
  };
  readClient(client, server, (step) => {
    if (!proxy.isWhole && step.bytes[0] === QUERY) waiting.push(...divide(step));
    else waiting.push(step);
    void next();
  });
  readMessages(server, (message) => {
    if (message[0] === READY && isCutAfter) return cut();
    if (message[0] === ERROR) hasFailed = true;
    const isEndOfPart = message[0] === READY && current?.isPart === true;
    if (isEndOfPart && hasFailed) for (let isPart = true; isPart; ) isPart = waiting.shift()?.isPart ?? false; // as the server does
    if (!isEndOfPart || hasFailed) client.write(message);
    if (message[0] !== READY) return;
    hasFailed = false;
    current = null;
    void next();
  });
}

function divide({ text }: Step): Step[] {
  const statements = splitStatements(text);
  return statements.map((statement, at) => {
    const bytes = Buffer.alloc(6 + Buffer.byteLength(statement));
    bytes[0] = QUERY;
    bytes.writeInt32BE(bytes.length - 1, 1);
    bytes.write(statement, 5);
    return { text: statement, bytes, isPart: at < statements.length - 1 };
  });
}

/** The first message has no type. */
function readClient(client: Socket, server: Socket, take: (step: Step) => void): void {
  let isGreeted = false;
  let bytes: Buffer[] = [];
  let text = '';
  readMessages(
    client,
    (message) => {
      if (!isGreeted || message[0] === TERMINATE) {
        isGreeted = true;
        server.write(message);
        return;
      }
      bytes.push(message);
      if (message[0] === QUERY) text = message.subarray(5, -1).toString();
      if (message[0] === PARSE)
        text =
          message
            .subarray(message.indexOf(0, 5) + 1)
            .toString()
            .split('\0')[0] ?? '';
      if (message[0] !== QUERY && message[0] !== SYNC) return;
      take({ text, bytes: Buffer.concat(bytes), isPart: false });
      bytes = [];
      text = '';
    },
    true,
  );
}

/** Calls `take` for each message of the protocol: a type, then its length, which counts itself. */
function readMessages(socket: Socket, take: (message: Buffer) => void, isUntypedFirst = false): void {
  let buffer: Buffer = Buffer.alloc(0);
  let typeBytes = isUntypedFirst ? 0 : 1;
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    while (buffer.length >= typeBytes + 4) {
      const length = typeBytes + buffer.readInt32BE(typeBytes);
      if (buffer.length < length) return;
      const message = Buffer.from(buffer.subarray(0, length));
      buffer = buffer.subarray(length);
      typeBytes = 1;
      take(message);
    }
  });
}
