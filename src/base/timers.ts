// Timers as a parameter of code that waits, so that a simulation can let minutes pass at once.

export interface Timers {
  /** Calls back once, after `ms`. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
  /** Calls back every `ms`, without keeping the process running. Returns a function that stops it. */
  every(ms: number, callback: () => void): () => void;
  /** Calls back on the next turn of the event loop. */
  soon(callback: () => void): void;
}

export const machineTimers: Timers = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  every(ms, callback) {
    const timer = setInterval(callback, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
  soon(callback) {
    setImmediate(callback);
  },
};

export function sleep(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => timers.after(ms, resolve));
}

/** Resolves after `ms`, without keeping the process running. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

/** Rejects with `late()` when the promise takes longer than `ms`; its later outcome is ignored. */
export function within<Value>(timers: Timers, ms: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stopWaiting = timers.after(ms, () => reject(late()));
    promise.then(
      (value) => {
        stopWaiting();
        resolve(value);
      },
      (failure) => {
        stopWaiting();
        reject(failure);
      },
    );
  });
}

/** Many waits of one length, with at most one timer of the runtime. */
export class EqualWaits {
  readonly #ms: number;
  /** In the order of their ends. */
  readonly #waits = new Set<EqualWait>();
  #isTimed = false;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Sets the end of the wait, and calls `onEnd` then unless it is cancelled before. */
  begin(wait: EqualWait): void {
    wait.endMs = performance.now() + this.#ms;
    this.#waits.add(wait);
    if (!this.#isTimed) this.#time(this.#ms);
  }

  cancel(wait: EqualWait): void {
    this.#waits.delete(wait);
  }

  #time(ms: number): void {
    this.#isTimed = true;
    setTimeout(() => this.#endDue(), ms).unref();
  }

  #endDue(): void {
    this.#isTimed = false;
    for (const wait of this.#waits) {
      const leftMs = wait.endMs - performance.now();
      if (leftMs > 0) {
        this.#time(Math.ceil(leftMs));
        return;
      }
      this.#waits.delete(wait);
      wait.onEnd();
    }
  }
}

export interface EqualWait {
  endMs: number;
  onEnd(): void;
}

/** Resolves on the next turn of the event loop: lets other work run between steps of long work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

let ownTurns: Promise<void> = Promise.resolve();

/** As `nextTurn`, on a turn that no other caller gets: long steps of several requests do not add up to one. */
export function ownTurn(): Promise<void> {
  ownTurns = ownTurns.then(nextTurn);
  return ownTurns;
}

export interface Requester {
  /** Id of the requester, such as "tok_…". */
  requesterId: string;
  /** Aborted when the response is no longer needed. */
  signal: AbortSignal;
}
