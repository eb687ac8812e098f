// The messages that run on this node, so that they can be waited for, and ended before their time.

import { type Placed, Roster } from '../base/roster.ts';

/** Why the service itself ends a message. */
export type CutReason = 'revoked' | 'draining';

/** A message as this list needs it. */
export interface Running extends Placed {
  readonly keyId: number;
  readonly isStream: boolean;
  cut(reason: CutReason): void;
}

export class RunningMessages {
  readonly #running = new Roster<Running>();
  /** Streams that are read to their end though their callers have left. */
  readonly #finishing = new Set<Running>();
  #emptied: (() => void)[] = [];

  get count(): number {
    return this.#running.size;
  }

  /** How many of them are streamed. */
  countStreams(): number {
    return this.#running.list().filter((message) => message.isStream).length;
  }

  add(message: Running): void {
    this.#running.add(message);
  }

  /** Whether one more stream may be read to its end without its caller, where `max` may at once. */
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

  /** Ends what runs with this key. */
  cutKey(keyId: number): void {
    for (const message of this.#running.list()) if (message.keyId === keyId) message.cut('revoked');
  }

  cutAll(): void {
    for (const message of this.#running.list()) message.cut('draining');
  }

  /** Resolves when none runs, or after `boundMs`; to whether none runs. */
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
