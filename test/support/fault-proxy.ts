// A proxy on loopback between a node and PostgreSQL, that fails as networks fail: it cuts, swallows, holds back and delivers late, for
// each direction by itself, at once or at a chunk that is waited for. Of the protocol it knows only how a commit looks. No tests of its own.

import { connect, createServer, type Socket } from 'node:net';

export type Direction = 'toServer' | 'toClient';

/**
 * `hold`: taken in silence, and passed on when it is let; ends of connections too. `lose`: taken in silence and never passed on; a
 * connection that lost something passes nothing any more in that direction.
 */
export type Course = 'pass' | 'hold' | 'lose';

/** `end`: as a peer that closes; `reset`: as a peer that knows nothing of the connection. */
export type Cut = 'end' | 'reset';

/** What happens at a chunk that was waited for, to its connection alone. */
export type Fault =
  /** The connection ends on both sides, and the chunk is not passed on. */
  | 'cut-before'
  /** The chunk is passed on, and the connection ends on both sides right behind it. */
  | 'cut-after'
  /** The chunk is passed on, and nothing comes back. */
  | 'lose-answer'
  /** The chunk and all behind it in its direction are held back until `pass`. */
  | 'hold'
  /** The chunk and all behind it in its direction never arrive. */
  | 'lose';

/** What new connections meet: `refuse` closes them at once, `ignore` takes them and never says a word. */
export type Welcome = 'accept' | 'refuse' | 'ignore';

export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** How many connections were asked for so far, and how many pass through it now. */
  readonly accepted: number;
  readonly open: number;
  /** The same URL, with the proxy in the place of the server. */
  through(url: string): string;
  /** For present and future connections; both directions where none is named. What was held is delivered by `pass`. */
  pass(direction?: Direction): void;
  hold(direction?: Direction): void;
  lose(direction?: Direction): void;
  /** Each chunk is passed on so much later, in order; 0 ends that. */
  delay(ms: number, direction?: Direction): void;
  /** Ends present connections on both sides. What is held there is gone. */
  cut(how?: Cut): void;
  /** For connections to come. */
  welcome(how: Welcome): void;
  /** At the first chunk of any connection that matches; resolves when that has happened. One chunk is met by one fault. */
  at(direction: Direction, matches: Matches, fault: Fault): Promise<void>;
  /** Forgets faults that were waited for, and lets all be as it should: passes, accepts, delays nothing. */
  heal(): void;
  close(): Promise<void>;
}

/** `commits`: the names under which its connection has prepared a commit, of which the wire says no more. */
export type Matches = (chunk: Buffer, commits: ReadonlySet<string>) => boolean;

/** A chunk with this text. A text in two chunks is not found, so it is to be short. */
export function containing(text: string): Matches {
  return (chunk) => chunk.includes(text);
}

/** To the server: a chunk that asks for a commit, be it said, or prepared and asked by its name. */
export const askingToCommit: Matches = (chunk, commits) =>
  chunk.includes('COMMIT\0') || [...commits].some((name) => chunk.includes(`\0${name}\0\0\0`));

/** To the client: a chunk that says that a commit is made. */
export const tellingOfCommit: Matches = containing('COMMIT\0');

interface Plan {
  direction: Direction;
  matches: Matches;
  fault: Fault;
  done(): void;
}

/** What holds for all connections, those to come too. */
interface Weather {
  course: Record<Direction, Course>;
  delayMs: Record<Direction, number>;
  plans: Set<Plan>;
}

// The message Parse: its length, the name, the text.
const COMMIT_PREPARED = /P[\s\S]{4}([^\0]+)\0COMMIT\0/g;
const DIRECTIONS: readonly Direction[] = ['toServer', 'toClient'];

/** Starts it in front of a server on a port of loopback. */
export async function startFaultProxy(serverPort: number): Promise<FaultProxy> {
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
    client.on('error', () => {}); // whoever resets it is part of the play
    if (welcome === 'refuse') return void client.destroy();
    if (welcome === 'ignore') return void ignored.add(client);
    const link = new Link(client, serverPort, weather, () => links.delete(link));
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

  /** Whether the chunk is passed on now. */
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

/** One direction of a connection. Chunks go on in order; a null is the end. */
class Stream {
  /** Told when an end has been passed on. */
  onEnded: () => void = () => {};
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #settings: StreamSettings;
  readonly #held: (Buffer | null)[] = [];
  #course: Course;
  #isEnded = false;
  /** Of delayed chunks the last, so that what comes behind it keeps its place. */
  #late: Promise<void> | null = null;

  constructor(from: Socket, to: Socket, settings: StreamSettings) {
    this.#from = from;
    this.#to = to;
    this.#settings = settings;
    this.#course = settings.course;
    from.on('data', (chunk: Buffer) => this.#receive(chunk));
    from.on('close', () => this.#go(null)); // also after an error; a second end is none
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
    // Whoever does not read is not read from: nothing gathers here but what is held.
    if (this.#to.write(chunk)) return;
    this.#from.pause();
    this.#to.once('drain', () => this.#from.resume());
  }
}
