// A proxy between a node and PostgreSQL that injects network faults: it cuts, drops, holds and delays data, per
// direction, at once or at a given chunk. It recognizes only commits of the protocol.

import { connect, createServer, type Socket } from 'node:net';

export type Direction = 'toServer' | 'toClient';

/**
 * `hold`: receives silently, and forwards on release, including closes. `lose`: receives silently and never forwards;
 * a connection that lost something forwards nothing more in that direction.
 */
export type Course = 'pass' | 'hold' | 'lose';

/** `end`: closes like a peer; `reset`: resets like a peer that does not know the connection. */
export type Cut = 'end' | 'reset';

/** Faults at a chunk, for its connection alone. */
export type Fault =
  /** Closes the connection on both sides without forwarding the chunk. */
  | 'cut-before'
  /** Forwards the chunk, then closes the connection on both sides. */
  | 'cut-after'
  /** Forwards the chunk, and drops everything that comes back. */
  | 'lose-answer'
  /** Holds the chunk and everything after it in its direction until `pass`. */
  | 'hold'
  /** Drops the chunk and everything after it in its direction. */
  | 'lose';

/** Treatment of new connections: `refuse` closes them at once, `ignore` accepts them and stays silent. */
export type Welcome = 'accept' | 'refuse' | 'ignore';

export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** Number of connections so far, and number of open ones. */
  readonly accepted: number;
  readonly open: number;
  /** The same URL with the proxy's address. */
  through(url: string): string;
  /** Affects current and future connections; both directions by default. `pass` delivers held data. */
  pass(direction?: Direction): void;
  hold(direction?: Direction): void;
  lose(direction?: Direction): void;
  /** Delays each chunk by this time, in order; 0 removes the delay. */
  delay(ms: number, direction?: Direction): void;
  /** Closes current connections on both sides and drops held data. */
  cut(how?: Cut): void;
  /** Affects future connections. */
  welcome(how: Welcome): void;
  /** Injects the fault at the first matching chunk of any connection, and resolves then. One chunk gets one fault. */
  at(direction: Direction, matches: Matches, fault: Fault): Promise<void>;
  /** Removes all faults. */
  heal(): void;
  close(): Promise<void>;
}

/** `commits`: names under which the connection has prepared a commit. */
export type Matches = (chunk: Buffer, commits: ReadonlySet<string>) => boolean;

/** Matches a chunk with this text. A text split over two chunks is not found, so keep it short. */
export function containing(text: string): Matches {
  return (chunk) => chunk.includes(text);
}

/** Matches a chunk to the server that requests a commit, as text or as a prepared statement. */
export const askingToCommit: Matches = (chunk, commits) =>
  chunk.includes('COMMIT\0') || [...commits].some((name) => chunk.includes(`\0${name}\0\0\0`));

/** Matches a chunk to the client that confirms a commit. */
export const tellingOfCommit: Matches = containing('COMMIT\0');

interface Plan {
  direction: Direction;
  matches: Matches;
  fault: Fault;
  done(): void;
}

/** Settings of all connections, including future ones. */
interface Weather {
  course: Record<Direction, Course>;
  delayMs: Record<Direction, number>;
  plans: Set<Plan>;
}

// The message Parse: its length, the name, the text.
const COMMIT_PREPARED = /P[\s\S]{4}([^\0]+)\0COMMIT\0/g;
const DIRECTIONS: readonly Direction[] = ['toServer', 'toClient'];

/** Starts the proxy in front of a server, on a port of loopback. A function is asked for each connection. */
export async function startFaultProxy(serverPort: number | (() => number)): Promise<FaultProxy> {
  const weather: Weather = {
    course: { toServer: 'pass', toClient: 'pass' },
    delayMs: { toServer: 0, toClient: 0 },
    plans: new Set(),
  };
  const links = new Set<Link>();
  const ignored = new Set<Socket>();
  let accepted = 0;
  let welcome: Welcome = 'accept';
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    accepted++;
    client.on('error', () => {}); // The test resets connections on purpose.
    if (welcome === 'refuse') return void client.destroy();
    if (welcome === 'ignore') return void ignored.add(client);
    const port = typeof serverPort === 'number' ? serverPort : serverPort();
    const link = new Link(client, port, weather, () => links.delete(link));
    links.add(link);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const set = (course: Course, direction?: Direction) => {
    for (const one of direction === undefined ? DIRECTIONS : [direction]) {
      weather.course[one] = course;
      for (const link of links) link.take(one, course);
    }
  };
  const delay = (ms: number, direction?: Direction) => {
    for (const one of direction === undefined ? DIRECTIONS : [direction]) weather.delayMs[one] = ms;
  };
  const close = async () => {
    for (const link of links) link.cut('end');
    for (const client of ignored) client.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    port,
    get accepted() {
      return accepted;
    },
    get open() {
      return links.size;
    },
    through(url) {
      const parsed = new URL(url);
      parsed.port = String(port);
      return parsed.href;
    },
    pass: (direction) => set('pass', direction),
    hold: (direction) => set('hold', direction),
    lose: (direction) => set('lose', direction),
    delay,
    cut(how = 'end') {
      for (const link of links) link.cut(how);
    },
    welcome(how) {
      welcome = how;
    },
    at: (direction, matches, fault) =>
      new Promise((resolve) => weather.plans.add({ direction, matches, fault, done: resolve })),
    heal() {
      weather.plans.clear();
      welcome = 'accept';
      delay(0);
      set('pass');
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** One connection of a client, and the one to the server that was opened for it. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #streams: Record<Direction, Stream>;
  readonly #forget: () => void;
  readonly #commits = new Set<string>();

  constructor(client: Socket, serverPort: number, weather: Weather, forget: () => void) {
    this.#client = client;
    this.#server = connect({ port: serverPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.#forget = forget;
    const open = (direction: Direction, from: Socket, to: Socket) =>
      new Stream(from, to, {
        course: weather.course[direction],
        delayMs: () => weather.delayMs[direction],
        meet: (chunk) => this.#meet(weather.plans, direction, chunk),
      });
    this.#streams = {
      toServer: open('toServer', client, this.#server),
      toClient: open('toClient', this.#server, client),
    };
    for (const socket of [client, this.#server]) {
      socket.on('error', () => {});
      socket.on('close', () => this.#closeWhenBothAre());
    }
  }

  take(direction: Direction, course: Course): void {
    this.#streams[direction].take(course);
  }

  cut(how: Cut): void {
    for (const stream of Object.values(this.#streams)) stream.take('lose');
    for (const socket of [this.#client, this.#server]) {
      if (how === 'reset') socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  #closeWhenBothAre(): void {
    if (this.#client.destroyed && this.#server.destroyed) this.#forget();
  }

  /** Returns whether the chunk is forwarded now. */
  #meet(plans: Set<Plan>, direction: Direction, chunk: Buffer): 'pass' | 'stop' | 'end-behind' {
    if (direction === 'toServer')
      for (const [, name] of chunk.toString('latin1').matchAll(COMMIT_PREPARED)) this.#commits.add(name as string);
    const plan = [...plans].find((one) => one.direction === direction && one.matches(chunk, this.#commits));
    if (plan === undefined) return 'pass';
    plans.delete(plan);
    queueMicrotask(plan.done);
    const back = direction === 'toServer' ? 'toClient' : 'toServer';
    switch (plan.fault) {
      case 'cut-before':
        this.cut('end');
        return 'stop';
      case 'cut-after':
        this.take(back, 'lose');
        this.#streams[direction].onEnded = () => this.cut('end');
        return 'end-behind';
      case 'lose-answer':
        this.take(back, 'lose');
        return 'pass';
      case 'hold':
      case 'lose':
        this.take(direction, plan.fault);
        return 'pass'; // goes the way of the course that was just taken
    }
  }
}

interface StreamSettings {
  course: Course;
  delayMs(): number;
  meet(chunk: Buffer): 'pass' | 'stop' | 'end-behind';
}

/** One direction of a connection. Chunks are forwarded in order; null is the end. */
class Stream {
  /** Called when an end was forwarded. */
  onEnded: () => void = () => {};
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #settings: StreamSettings;
  readonly #held: (Buffer | null)[] = [];
  #course: Course;
  #isEnded = false;
  /** The last delayed chunk, so that later ones keep their order. */
  #late: Promise<void> | null = null;

  constructor(from: Socket, to: Socket, settings: StreamSettings) {
    this.#from = from;
    this.#to = to;
    this.#settings = settings;
    this.#course = settings.course;
    from.on('data', (chunk: Buffer) => this.#receive(chunk));
    from.on('close', () => this.#go(null)); // Also called after an error; a second end has no effect.
    from.on('end', () => this.#go(null));
  }

  take(course: Course): void {
    if (this.#course === 'lose') return;
    this.#course = course;
    if (course === 'lose') this.#held.length = 0;
    if (course === 'pass') for (const chunk of this.#held.splice(0)) this.#send(chunk);
  }

  #receive(chunk: Buffer): void {
    const decided = this.#settings.meet(chunk);
    if (decided !== 'stop') this.#go(chunk);
    if (decided === 'end-behind') this.#go(null);
  }

  #go(chunk: Buffer | null): void {
    if (this.#course === 'hold') this.#held.push(chunk);
    if (this.#course !== 'pass') return;
    const ms = this.#settings.delayMs();
    if (ms === 0 && this.#late === null) this.#send(chunk);
    else this.#sendLate(chunk, ms);
  }

  #sendLate(chunk: Buffer | null, ms: number): void {
    const inTurn = Promise.all([this.#late, Bun.sleep(ms)]).then(() => {
      this.#send(chunk);
      if (this.#late === inTurn) this.#late = null;
    });
    this.#late = inTurn;
  }

  #send(chunk: Buffer | null): void {
    if (this.#isEnded || this.#to.destroyed) return;
    if (chunk === null) {
      this.#isEnded = true;
      this.#to.end(() => this.onEnded());
      return;
    }
    // Reads only as fast as the peer reads: only held data is buffered.
    if (this.#to.write(chunk)) return;
    this.#from.pause();
    this.#to.once('drain', () => this.#from.resume());
  }
}
