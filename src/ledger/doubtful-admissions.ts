// Admissions of which it is not known whether the store has them: each is released, or its hold would stay for as long as its node
// lives. None is forgotten: where there are too many, nothing more is admitted.

import { bounds } from '../config.ts';
import type { Admit, Release } from './operation.ts';
import { emptyRecord } from './usage-record.ts';

export class DoubtfulAdmissions {
  readonly #end: (release: Release) => Promise<unknown>;
  readonly #releases = new Map<string, Release>();
  #isReleasing = false;

  /** `end` is to try until the store has it. */
  constructor(end: (release: Release) => Promise<unknown>) {
    this.#end = end;
  }

  /** Whether so many more could not be remembered. */
  isFullWith(more: number): boolean {
    return this.#releases.size + more >= bounds.doubtfulAdmissionsMax;
  }

  add({ requestId, account, key, group, draft }: Admit): void {
    const record = {
      ...emptyRecord({ requestId, account, key, group, ...draft }),
      outcome: 'failed' as const,
      status: 503,
    };
    this.#releases.set(requestId, { kind: 'release', requestId, record });
    if (!this.#isReleasing) void this.#releaseAll();
  }

  /** Piece by piece: while the store is gone those of the first wait for it, and the others behind them. */
  async #releaseAll(): Promise<void> {
    this.#isReleasing = true;
    while (this.#releases.size > 0) {
      const piece = this.#releases.values().take(bounds.rowsAtOnce);
      await Promise.all([...piece].map((release) => this.#release(release)));
    }
    this.#isReleasing = false;
  }

  async #release(release: Release): Promise<void> {
    await this.#end(release).catch(() => {}); // the ledger cannot take it, by a mistake of our own: no further try would help
    this.#releases.delete(release.requestId);
  }
}
