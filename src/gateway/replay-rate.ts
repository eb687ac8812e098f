// How fast stored responses are replayed to one account by this node. A replay is free, but the node reads, opens and sends
// the response again. The first replay of each response does not count, so that retries after an outage are not limited.

import { bounds } from '../config/config.ts';

const MINUTE_MS = 60_000;

export class ReplayRate {
  /** Responses that were replayed, by request id; the least recently replayed first. */
  readonly #replayed = new Set<string>();
  /** Bytes of repeated replays that have not drained yet, by account; the least recent first. */
  readonly #used = new Map<number, { bytes: number; atMs: number }>();

  /** Milliseconds until the response may be replayed to the account; 0: now. */
  waitMs(accountId: number, requestId: string, nowMs: number): number {
    if (!this.#replayed.has(requestId)) return 0;
    const excess = this.#usedBytes(accountId, nowMs) - bounds.replayedBytesPerMinuteMax;
    return excess < 0 ? 0 : Math.ceil(((excess + 1) * MINUTE_MS) / bounds.replayedBytesPerMinuteMax);
  }

  /** The response is replayed. One larger than what is left is replayed whole, and the account waits afterwards. */
  take(accountId: number, requestId: string, bytes: number, nowMs: number): void {
    const isRepeated = this.#replayed.delete(requestId);
    this.#replayed.add(requestId);
    const [oldest] = this.#replayed;
    if (this.#replayed.size > bounds.replayedResponsesMax && oldest !== undefined) this.#replayed.delete(oldest);
    if (isRepeated) this.#use(accountId, this.#usedBytes(accountId, nowMs) + bytes, nowMs);
  }

  #usedBytes(accountId: number, nowMs: number): number {
    const used = this.#used.get(accountId);
    if (used === undefined) return 0;
    const drained = (Math.max(0, nowMs - used.atMs) * bounds.replayedBytesPerMinuteMax) / MINUTE_MS;
    return Math.max(0, used.bytes - drained);
  }

  #use(accountId: number, bytes: number, nowMs: number): void {
    this.#used.delete(accountId);
    this.#used.set(accountId, { bytes, atMs: nowMs });
    const [least] = this.#used.keys();
    if (this.#used.size > bounds.replayAccountsMax && least !== undefined) this.#used.delete(least);
  }
}
