// Bounds wrong redemption codes per account and per address. A right code is refused, too, once there were too many wrong
// ones, until the window has passed: otherwise guessing would cost nothing.

import { networksOf } from '../base/addresses.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';

interface Window {
  startMs: number;
  wrong: number;
}

/** An account that redeems codes, and the address of the request (its networks count). */
export interface Guesser {
  account: number;
  address: string;
}

export class CodeGuesses {
  /** Oldest window first. */
  readonly #windows = new Map<string, Window>();

  /** Throws too_many_failures. */
  refuse(guesser: Guesser, nowMs: number): void {
    for (const [name, wrongMax] of namesOf(guesser)) {
      const window = this.#windows.get(name);
      const retryAfterMs = window === undefined ? 0 : window.startMs + bounds.codeGuessWindowMs - nowMs;
      if (window === undefined || window.wrong < wrongMax || retryAfterMs <= 0) continue;
      throw new TurnpikeError('too_many_failures', 'Too many wrong codes. Try again later.', { retryAfterMs });
    }
  }

  /** Counts a wrong code. */
  count(guesser: Guesser, nowMs: number): void {
    for (const [name] of namesOf(guesser)) {
      const window = this.#windows.get(name);
      if (window !== undefined && nowMs - window.startMs < bounds.codeGuessWindowMs) window.wrong++;
      else this.#open(name, nowMs);
    }
  }

  #open(name: string, nowMs: number): void {
    this.#windows.delete(name);
    if (this.#windows.size >= bounds.codeGuessersMax) {
      const [oldest] = this.#windows.keys();
      if (oldest !== undefined) this.#windows.delete(oldest);
    }
    this.#windows.set(name, { startMs: nowMs, wrong: 1 });
  }
}

/** The names under which a wrong code is counted, each with its bound. */
function namesOf({ account, address }: Guesser): [string, number][] {
  const { subscriber, site } = networksOf(address);
  return [
    [`account ${account}`, bounds.codeGuessesPerAccountMax],
    [`address ${subscriber}`, bounds.codeGuessesPerAddressMax],
    [`site ${site}`, bounds.codeGuessesPerSiteMax],
  ];
}
