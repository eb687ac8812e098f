// The rate levels that the ledger last told of each key, for the answers that ask no meter: listings, and
// refusals before admission. Not asked anew for them: nobody pays for those, and a flood of them must cost little.

import type { Caller } from '../accounts/accounts.ts';
import type { Catalogue } from '../catalog/catalog.ts';
import type { Level, Levels } from '../ledger/ledger.ts';

const PER_MS = 60_000; // limits are by the minute

export class LastLevels {
  /**
   * By the caller as it was when they were told: levels hold for its limits, and another snapshot of key or account may
   * have others. One that nobody else remembers any more is not kept here either.
   */
  #ofCaller = new WeakMap<Caller, Levels>();
  /** That of all levels here: those of another are not kept, nor is it, since keys may rest for long and it may be large. */
  #catalogue: Catalogue | null = null;

  /** What the ledger told of an admission or a refusal; null where it told nothing. */
  remember(caller: Caller, catalogue: Catalogue, levels: Levels | null): void {
    if (levels === null) return;
    if (catalogue !== this.#catalogue) {
      this.#catalogue = catalogue;
      this.#ofCaller = new WeakMap();
    }
    if (hasLimits(levels)) this.#ofCaller.set(caller, levels);
    else this.#ofCaller.delete(caller);
  }

  /** What was last told, and what came back since; null when nothing is known. What others took meanwhile is not seen. */
  find(caller: Caller, catalogue: Catalogue, nowMs: number): Levels | null {
    if (catalogue !== this.#catalogue) return null;
    const told = this.#ofCaller.get(caller);
    if (told === undefined) return null;
    const { requests, inputTokens, outputTokens } = told;
    return {
      requests: recovered(requests, nowMs),
      inputTokens: recovered(inputTokens, nowMs),
      outputTokens: recovered(outputTokens, nowMs),
    };
  }
}

function hasLimits({ requests, inputTokens, outputTokens }: Levels): boolean {
  return requests !== null || inputTokens !== null || outputTokens !== null;
}

/** A limit comes back continuously, so that what is missing at a time is what comes back until the reset. */
function recovered(level: Level | null, nowMs: number): Level | null {
  if (level === null) return null;
  const { limit, resetAtMs } = level;
  if (resetAtMs <= nowMs) return { limit, remaining: limit, resetAtMs: nowMs };
  const remaining = Math.floor(limit - ((resetAtMs - nowMs) * limit) / PER_MS);
  return { limit, remaining: Math.max(level.remaining, remaining), resetAtMs };
}
