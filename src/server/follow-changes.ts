// What other nodes change reaches this one: it asks the store a few times a second, and forgets what it remembers of what
// changed. While it cannot ask, it goes by nothing that it remembers.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import type { Change, ChangeFeed } from '../storage/postgres/postgres.ts';

/** What a node does with what it is told. */
export interface FollowParts {
  feed: ChangeFeed;
  /** Read before anything was that is remembered. */
  epoch: number;
  forgetKey(id: number): void;
  forgetAccount(id: number): void;
  /** Of accounts and keys: all of them, and all refusals. */
  forgetAll(): void;
  cutKey(id: number): void;
  /** Throws store_unavailable, and what a document that cannot be taken throws. */
  readCatalogue(): Promise<void>;
  log: Pick<LogWriter, 'write'>;
}

export interface Following {
  /** False where the store has not answered for a while: whoever sends messages here may send them elsewhere. */
  isHearing(): boolean;
  stop(): Promise<void>;
}

/** Begins at once. */
export function followChanges(parts: FollowParts): Following {
  const follower = new Follower(parts);
  const ended = follower.run();
  return {
    isHearing: () => follower.silentMs < bounds.changesDeafMs,
    async stop() {
      follower.stop();
      await ended;
    },
  };
}

class Follower {
  readonly #parts: FollowParts;
  readonly #stopping = Promise.withResolvers<void>();
  #epoch: number;
  #heardMs = performance.now();
  #isStopped = false;

  constructor(parts: FollowParts) {
    this.#parts = parts;
    this.#epoch = parts.epoch;
  }

  /** Since it last began a question that was answered. */
  get silentMs(): number {
    return performance.now() - this.#heardMs;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopping.resolve();
  }

  async run(): Promise<void> {
    // Beside the loop, which waits for its answers.
    const watch = setInterval(() => this.#forgetIfDeaf(), bounds.changesPollMs);
    while (!this.#isStopped) {
      const askedMs = performance.now();
      try {
        await this.#ask();
        this.#heardMs = askedMs;
      } catch {
        // Asked again at the next turn; the watch forgets meanwhile.
      }
      await Promise.race([Bun.sleep(bounds.changesPollMs), this.#stopping.promise]);
    }
    clearInterval(watch);
  }

  async #ask(): Promise<void> {
    const { feed } = this.#parts;
    const told = await feed.readSince(this.#epoch);
    if (told !== null) {
      for (const change of withoutRepetitions(told.changes)) await this.#take(change);
      this.#epoch = told.epoch;
      return;
    }
    const epoch = await feed.readEpoch(); // before what is read anew
    this.#parts.forgetAll();
    await this.#readCatalogue();
    this.#epoch = epoch;
  }

  async #take(change: Change): Promise<void> {
    if (change.kind === 'key') this.#parts.forgetKey(change.id);
    else if (change.kind === 'account') this.#parts.forgetAccount(change.id);
    else if (change.kind === 'cut') this.#parts.cutKey(change.id);
    else await this.#readCatalogue();
  }

  /** One that cannot be taken, such as one sealed under a secret that this node was not given, leaves the present one. */
  async #readCatalogue(): Promise<void> {
    try {
      await this.#parts.readCatalogue();
    } catch (failure) {
      if (failure instanceof TurnpikeError && failure.code === 'store_unavailable') throw failure;
      const at = new Date().toISOString();
      this.#parts.log.write({ at, event: 'catalogue_not_taken', cause: describeFailure(failure) });
    }
  }

  #forgetIfDeaf(): void {
    if (this.silentMs > bounds.changesSilenceMsMax) this.#parts.forgetAll();
  }
}

/** A catalogue of several documents is read once. */
function withoutRepetitions(changes: readonly Change[]): Change[] {
  const catalogueAt = changes.findLastIndex(({ kind }) => kind === 'catalog');
  return changes.filter(({ kind }, at) => kind !== 'catalog' || at === catalogueAt);
}
