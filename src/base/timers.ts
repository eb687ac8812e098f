// Waiting as a dependency, so that a simulation can let minutes pass in no time. Whoever waits takes
// these as a parameter, with the machine's own where nothing else is given.

export interface Timers {
  /** Calls back once, after `ms`. The function that it returns takes that back. */
  after(ms: number, callback: () => void): () => void;
  /** Calls back again and again, every `ms`, and keeps no process running for it. What it returns ends that. */
  every(ms: number, callback: () => void): () => void;
  /** Calls back at the next turn of the event loop. */
  soon(callback: () => void): void;
}

/** The timers of the runtime. */
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

/** Resolves after `ms`. */
export function sleep(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => timers.after(ms, resolve));
}

/** The promise, for no longer than `ms`: then it rejects with what `late` gives, and the promise goes unheard. */
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
