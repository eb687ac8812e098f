// Messages in progress on this node: their number is bounded, and shutdown can wait for them or end them early.

import { FairShareQuota } from '../base/fair-share-quota.ts';
import { Roster } from '../base/roster.ts';
import { bounds } from '../config/config.ts';
import { overloaded } from '../errors.ts';
import type { OpenMessage } from './open-message.ts';

/** Why the service ends a message early. */
export type CutReason = 'revoked' | 'draining';

export class RunningMessages {
  /** Bytes of requests that are kept until the provider has counted their prompts. */
  readonly uncountedPrompts = new FairShareQuota(() => bounds.uncountedPromptBytesMax);
  /** Streams whose bill only their end reveals, read to it after their clients disconnected. */
  readonly unread = new FairShareQuota(() => bounds.unreadStreamsMax);
  /** Messages whose bill by the upper bound waits for its correction. */
  readonly corrections = new FairShareQuota(() => bounds.correctionsMax);
  readonly #running = new Roster<OpenMessage>();
  /** Streams that a setting lets be read to their end after their clients disconnected. */
  readonly #finishing = new Set<OpenMessage>();
  /** Messages without their clients, whose upstreams continue for the bill or the idempotency key. */
  readonly #unattended = new Set<OpenMessage>();
  #emptied: (() => void)[] = [];

  get count(): number {
    return this.#running.size;
  }

  /** Number of streams. */
  countStreams(): number {
    return this.#running.list().filter(({ admitted }) => admitted.isStream).length;
  }

  ids(): Set<string> {
    return new Set(this.#running.list().map(({ requestId }) => requestId));
  }

  get countUnattended(): number {
    return this.#unattended.size;
  }

  addUnattended(message: OpenMessage): void {
    this.#unattended.add(message);
  }

  add(message: OpenMessage): void {
    this.#running.add(message);
  }

  /** Whether one more stream may be finished without its client, given at most `max`. */
  takeFinishing(message: OpenMessage, max: number): boolean {
    if (this.#finishing.size >= max) return false;
    this.#finishing.add(message);
    return true;
  }

  remove(message: OpenMessage): void {
    this.#running.remove(message);
    if (this.#finishing.size > 0) this.#finishing.delete(message);
    if (this.#unattended.size > 0) this.#unattended.delete(message);
    if (this.#running.size > 0) return;
    for (const resolve of this.#emptied) resolve();
    this.#emptied = [];
  }

  /** Ends all messages of a key. */
  cutKey(keyId: number): void {
    const failures: unknown[] = [];
    for (const message of this.#running.list()) {
      if (message.admitted.caller.key.id !== keyId) continue;
      try {
        message.cut('revoked');
      } catch (failure) {
        failures.push(failure); // the others are cut all the same
      }
    }
    if (failures.length > 0) throw failures[0];
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

export class Slots {
  readonly #room: FairShareQuota;

  /** `slotsMax` is read on each call, because the setting may change. */
  constructor(slotsMax: () => number) {
    this.#room = new FairShareQuota(slotsMax);
  }

  /** Number of slots taken. */
  get taken(): number {
    return this.#room.taken;
  }

  /** Takes a slot for the account. Throws overloaded if none is left, or the account has used its fair share. */
  take(accountId: number): Slot {
    const shortage = this.#room.take(accountId, 1);
    if (shortage === 'full') throw overloaded('Too many messages are in progress. Try again in a moment.');
    if (shortage === 'share')
      throw overloaded("This account is using its full share of the service's capacity. Try again in a moment.");
    return new Slot(this.#room, accountId);
  }
}

/** The slot of one message. */
export class Slot implements Disposable {
  readonly #room: FairShareQuota;
  readonly #accountId: number;
  #isTaken = true;

  constructor(room: FairShareQuota, accountId: number) {
    this.#room = room;
    this.#accountId = accountId;
  }

  /** Only the first call counts. */
  giveBack(): void {
    if (this.#isTaken) this.#room.giveBack(this.#accountId, 1);
    this.#isTaken = false;
  }

  [Symbol.dispose](): void {
    this.giveBack();
  }
}
