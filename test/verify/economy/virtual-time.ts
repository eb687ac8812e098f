// Virtual time for the whole process: while it is installed, the clocks and timers of the runtime are its own.
// What the node set is deferred while the node is suspended; what is outside of it (providers, clients, another
// node, the store) goes on.

import { drainMicrotasks } from 'bun:jsc';
import type { Timers } from '../../../src/base/timers.ts';

/** A timer that the node or the world has set. */
interface Due {
  atMs: number;
  /** The order of setting, where the time is the same. */
  turn: number;
  isOfNode: boolean;
  /** Repeats after so many milliseconds; null: once. */
  everyMs: number | null;
  callback: (() => void) | null;
  ref(): Due;
  unref(): Due;
  hasRef(): boolean;
}

const START_MS = Date.UTC(2026, 10, 18, 12); // no period begins near it
const EVENTS_MAX = 600_000; // of one episode
const REPLACED = [
  ...['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'],
  'fetch',
];

/** Something sets timers in a circle. */
export class TooManyEvents extends Error {
  override name = 'TooManyEvents';
}

/** Something waits for what virtual time does not bring, such as another thread. */
export class NotSettled extends Error {
  override name = 'NotSettled';
}

export class VirtualTime {
  /** Since the episode began. */
  nowMs = 0;
  events = 0;
  /** Answers what the process fetches. */
  network: (url: string, settings: RequestInit) => Promise<Response> = async (url) => {
    throw new Error(`nothing answers ${url}`);
  };
  #turns = 0;
  #isSuspended = false;
  readonly #heap: Due[] = [];
  /** Timers that expired while the node was suspended. */
  #missed: Due[] = [];
  #restore: (() => void) | null = null;

  get epochMs(): number {
    return START_MS + this.nowMs;
  }

  /** Replaces the clocks and timers of the runtime, until `uninstall`. Nothing but the episode may run meanwhile. */
  install(): void {
    const runtime = globalThis as unknown as Record<string, unknown>;
    const kept = REPLACED.map((name) => [name, runtime[name]] as const);
    const { now: dateNow } = Date;
    const elapsed = performance.now;
    const cancel = (due?: Due | null) => {
      if (due) due.callback = null;
    };
    const set = (callback: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
      this.#push(ms, true, null, () => callback(...given));
    runtime['setTimeout'] = set;
    runtime['setInterval'] = (callback: (...given: unknown[]) => void, ms = 1, ...given: unknown[]) =>
      this.#push(ms, true, Math.max(1, ms), () => callback(...given));
    // The store's work and the next turn of the loop belong to no suspended process: they are done at once.
    runtime['setImmediate'] = (callback: (...given: unknown[]) => void, ...given: unknown[]) =>
      this.#push(0, false, null, () => callback(...given));
    for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) runtime[name] = cancel;
    runtime['fetch'] = (url: string, settings: RequestInit) => this.network(url, settings);
    Date.now = () => this.epochMs;
    performance.now = () => this.nowMs;
    this.#restore = () => {
      for (const [name, value] of kept) runtime[name] = value;
      Date.now = dateNow;
      performance.now = elapsed;
    };
  }

  uninstall(): void {
    this.#restore?.();
    this.#restore = null;
  }

  /** Calls back after `ms`, also while the node is suspended. Returns what takes it back. */
  after(ms: number, callback: () => void): () => void {
    const due = this.#push(ms, false, null, callback);
    return () => {
      due.callback = null;
    };
  }

  /** Timers of another node, which goes on while this one is suspended. */
  readonly outside: Timers = {
    after: (ms, callback) => this.after(ms, callback),
    every: (ms, callback) => {
      const due = this.#push(ms, false, ms, callback);
      return () => {
        due.callback = null;
      };
    },
    soon: (callback) => void this.after(0, callback),
  };

  /** Hands something to the node now, or when it is resumed. */
  deliver(callback: () => void): void {
    if (this.#isSuspended) this.#missed.push(this.#makeDue(0, true, null, callback));
    else callback();
  }

  /** The node stands still for so long, and then does at once what it missed. */
  suspend(ms: number): void {
    this.#isSuspended = true;
    this.runFor(ms);
    this.#isSuspended = false;
    for (const due of this.#missed.splice(0)) {
      due.atMs = this.nowMs;
      due.turn = this.#turns++;
      this.#add(due);
    }
  }

  runFor(ms: number): void {
    const untilMs = this.nowMs + ms;
    drainMicrotasks();
    while ((this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY) <= untilMs) this.#step();
    this.nowMs = untilMs;
  }

  /** Runs until it is done, for at most so long. False: it is not. */
  runUntil(isDone: () => boolean, msMax: number): boolean {
    const untilMs = this.nowMs + msMax;
    drainMicrotasks();
    while (!isDone()) {
      if ((this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY) > untilMs) {
        this.nowMs = untilMs;
        return false;
      }
      this.#step();
    }
    return true;
  }

  /** The result of the promise, while virtual time passes. */
  wait<Value>(promise: Promise<Value>): Value {
    const settled: { value?: Value; failure?: unknown; isDone: boolean } = { isDone: false };
    promise.then(
      (value) => Object.assign(settled, { value, isDone: true }),
      (failure) => Object.assign(settled, { failure, isDone: true }),
    );
    if (!this.runUntil(() => settled.isDone, 60_000)) throw new NotSettled('a promise of the world was not settled');
    if ('failure' in settled) throw settled.failure;
    return settled.value as Value;
  }

  #step(): void {
    const due = this.#pop();
    if (due === undefined || due.callback === null) return;
    if (++this.events > EVENTS_MAX) throw new TooManyEvents(`${EVENTS_MAX} timers of one episode, at ${this.nowMs} ms`);
    this.nowMs = Math.max(this.nowMs, due.atMs);
    if (this.#isSuspended && due.isOfNode) {
      this.#missed.push(due);
      return;
    }
    const { callback } = due;
    if (due.everyMs === null) due.callback = null;
    callback();
    drainMicrotasks();
    if (due.everyMs === null || due.callback === null) return;
    due.atMs = this.nowMs + due.everyMs;
    due.turn = this.#turns++;
    this.#add(due);
  }

  #push(ms: number, isOfNode: boolean, everyMs: number | null, callback: () => void): Due {
    const due = this.#makeDue(ms, isOfNode, everyMs, callback);
    this.#add(due);
    return due;
  }

  #makeDue(ms: number, isOfNode: boolean, everyMs: number | null, callback: () => void): Due {
    const due: Due = {
      atMs: this.nowMs + Math.max(0, Math.ceil(ms)),
      turn: this.#turns++,
      isOfNode,
      everyMs,
      callback,
      ref: () => due,
      unref: () => due,
      hasRef: () => true,
    };
    return due;
  }

  #add(due: Due): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(due);
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!isBefore(due, heap[above] as Due)) break;
      heap[place] = heap[above] as Due;
      place = above;
    }
    heap[place] = due;
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = place * 2 + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Due, heap[below] as Due)) below++;
      if (!isBefore(heap[below] as Due, last)) break;
      heap[place] = heap[below] as Due;
      place = below;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(one: Due, other: Due): boolean {
  return one.atMs === other.atMs ? one.turn < other.turn : one.atMs < other.atMs;
}
