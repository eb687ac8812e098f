// Messages in progress on this node, so that shutdown can wait for them or end them early.

import { type Placed, Roster } from '../base/roster.ts';

/** Why the service ends a message early. */
export type CutReason = 'revoked' | 'draining';

/** A message as this registry sees it. */
export interface Running extends Placed {
  readonly keyId: number;
  readonly isStream: boolean;
  cut(reason: CutReason): void;
}

export class RunningMessages {
  readonly #running = new Roster<Running>();
  /** Streams that are read to their end after their clients disconnected. */
  readonly #finishing = new Set<Running>();
  #emptied: (() => void)[] = [];

  get count(): number {
    return this.#running.size;
  }

  /** Number of streams. */
  countStreams(): number {
    return this.#running.list().filter((message) => message.isStream).length;
  }

  add(message: Running): void {
    this.#running.add(message);
  }

  /** Whether one more stream may be finished without its client, given at most `max`. */
  takeFinishing(message: Running, max: number): boolean {
    if (this.#finishing.size >= max) return false;
    this.#finishing.add(message);
    return true;
  }

  remove(message: Running): void {
    this.#running.remove(message);
    if (this.#finishing.size > 0) this.#finishing.delete(message);
    if (this.#running.size > 0) return;
    for (const resolve of this.#emptied) resolve();
    this.#emptied = [];
  }

  /** Ends all messages of a key. */
  cutKey(keyId: number): void {
    for (const message of this.#running.list()) if (message.keyId === keyId) message.cut('revoked');
  }

  cutAll(): void {
    for (const message of this.#running.list()) message.cut('draining');
  }

  /** Resolves to true when no message is left, or to false after `boundMs`. */
  async waitUntilEmpty(boundMs: number): Promise<boolean> {
    if (this.#running.size === 0) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#emptied.push(resolve);
    const timer = setTimeout(resolve, boundMs);
    await promise;
    clearTimeout(timer);
    return this.#running.size === 0;
  }
}
