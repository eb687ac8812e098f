// Virtual time: what is to happen stands in one queue, and each step takes what is due next. Everything
// belongs to a process, which can die (nothing of it happens any more) or be suspended (it happens later, at once).

import { drainMicrotasks } from 'bun:jsc';
import type { Timers } from '../../../src/base/timers.ts';

interface Due {
  atMs: number;
  /** In the order in which it was asked for, where the time is the same. */
  turn: number;
  process: Process;
  callback: (() => void) | null;
}

export class Process {
  isAlive = true;
  isSuspended = false;
  /** Events that were due while it was suspended. */
  readonly missed: Due[] = [];
}

export class Scheduler {
  /** Virtual milliseconds since the run began. */
  nowMs = 0;
  readonly #heap: Due[] = [];
  #turns = 0;

  /** Lets it happen after `ms`, unless the process died or it was taken back by what this returns. */
  after(ms: number, process: Process, callback: () => void): () => void {
    const due: Due = { atMs: this.nowMs + ms, turn: this.#turns++, process, callback };
    this.#push(due);
    return () => {
      due.callback = null;
    };
  }

  /** Lets the next event happen, with all that follows of it at once. False: there is none. */
  step(): boolean {
    for (let due = this.#pop(); due !== undefined; due = this.#pop()) {
      const { process, callback } = due;
      if (callback === null || !process.isAlive) continue;
      this.nowMs = Math.max(this.nowMs, due.atMs);
      if (process.isSuspended) {
        process.missed.push(due);
        continue;
      }
      due.callback = null;
      callback();
      drainMicrotasks();
      return true;
    }
    return false;
  }

  /** Events that the process missed while suspended are due now, in their order. */
  resume(process: Process): void {
    process.isSuspended = false;
    for (const due of process.missed.splice(0)) {
      if (due.callback !== null) this.#push({ ...due, atMs: this.nowMs, turn: this.#turns++ });
    }
  }

  timersOf(process: Process): Timers {
    const after = (ms: number, callback: () => void) => this.after(ms, process, callback);
    return {
      after,
      every: (ms, callback) => {
        let end = () => {};
        const turn = () => {
          end = after(ms, turn);
          callback();
        };
        end = after(ms, turn);
        return () => end();
      },
      soon: (callback) => void after(0, callback),
    };
  }

  #push(due: Due): void {
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
