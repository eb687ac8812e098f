// Which fields of requests were left out, at most once a minute for each provider and set of fields. Names are the
// clients': the number of sets is bounded, and more are not noticed until others expire.

import { bounds } from '../config/config.ts';

const MINUTE_MS = 60_000;

export class LeftOutNotices {
  /** When each was noticed, oldest first. */
  readonly #noticed = new Map<string, number>();

  /** Whether to notice them now. */
  take(provider: string, fields: readonly string[], nowMs: number): boolean {
    const key = JSON.stringify([provider, [...fields].sort()]);
    for (const [old, atMs] of this.#noticed) {
      if (nowMs - atMs < MINUTE_MS) break;
      this.#noticed.delete(old);
    }
    if (this.#noticed.has(key) || this.#noticed.size >= bounds.leftOutNoticesMax) return false;
    this.#noticed.set(key, nowMs);
    return true;
  }
}
