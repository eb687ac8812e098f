// A queue of tasks of several owners. Owners take turns, so that one with a hundred tasks delays another by one.

export interface QueueBounds {
  /** Tasks that run at the same time, in all and of one owner. */
  running: number;
  runningPerOwner: number;
  /** Tasks that run or wait, in all and of one owner. */
  tasks: number;
  tasksPerOwner: number;
}

interface Share {
  running: number;
  /** Oldest first. */
  waiting: (() => void)[];
}

export class FairQueue<Owner> {
  readonly #bounds: QueueBounds;
  readonly #refuse: () => Error;
  /** The next owner is first. */
  readonly #shares = new Map<Owner, Share>();
  #running = 0;
  #tasks = 0;

  /** `refuse` makes the error for a task beyond the bounds. */
  constructor(bounds: QueueBounds, refuse: () => Error) {
    this.#bounds = bounds;
    this.#refuse = refuse;
  }

  get size(): number {
    return this.#shares.size;
  }

  /** Resolves when a task may run, until it is disposed. Rejects with `refuse()`, or with the reason of the signal. */
  async enter(owner: Owner, signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    const share = this.#shares.get(owner) ?? { running: 0, waiting: [] };
    const isFull = share.running + share.waiting.length >= this.#bounds.tasksPerOwner;
    if (isFull || this.#tasks >= this.#bounds.tasks) throw this.#refuse();
    this.#shares.set(owner, share);
    this.#tasks++;
    if (!this.#mayBegin(share)) await this.#wait(owner, share, signal);
    else this.#begin(owner, share);
    return {
      [Symbol.dispose]: () => {
        const wasFull = this.#running >= this.#bounds.running;
        share.running--;
        this.#running--;
        this.#leave(owner, share);
        // Unless all slots were taken, only this owner's tasks wait for the slot.
        if (wasFull) this.#beginNext();
        else if (share.waiting.length > 0 && this.#mayBegin(share)) this.#resume(owner, share);
      },
    };
  }

  async #wait(owner: Owner, share: Share, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    share.waiting.push(resolve);
    const leave = () => {
      const at = share.waiting.indexOf(resolve);
      if (at < 0) return;
      share.waiting.splice(at, 1);
      this.#leave(owner, share);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave);
    await promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  #mayBegin({ running }: Share): boolean {
    return running < this.#bounds.runningPerOwner && this.#running < this.#bounds.running;
  }

  /** Counts a task as running and puts its owner behind the others. */
  #begin(owner: Owner, share: Share): void {
    share.running++;
    this.#running++;
    this.#shares.delete(owner);
    this.#shares.set(owner, share);
  }

  #beginNext(): void {
    for (const [owner, share] of this.#shares) {
      if (share.waiting.length === 0 || !this.#mayBegin(share)) continue;
      this.#resume(owner, share);
      return;
    }
  }

  #resume(owner: Owner, share: Share): void {
    const resume = share.waiting.shift();
    this.#begin(owner, share);
    resume?.();
  }

  #leave(owner: Owner, share: Share): void {
    this.#tasks--;
    if (share.running + share.waiting.length === 0) this.#shares.delete(owner);
  }
}
