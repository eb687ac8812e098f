// Hashes passwords, a few at a time: each takes memory and a processor on purpose, and whoever sends many passwords
// at once must get neither.

import { bounds } from '../config.ts';

const ARGON2ID = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const; // 19 MiB

/** Keyboards write an accent in one character or in two. */
function asTyped(password: string): string {
  return password.normalize('NFC');
}

/** Too many wait for their turn. */
export class HashingCrowded extends Error {
  override name = 'HashingCrowded';
}

export class PasswordHashing {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number = bounds.passwordsHashedAtOnce, waitingMax: number = bounds.passwordsWaitingMax) {
    this.#atOnce = atOnce;
    this.#waitingMax = waitingMax;
  }

  /** Costs the same as `verify`. Throws HashingCrowded. */
  hash(password: string): Promise<string> {
    return this.#inTurn(() => Bun.password.hash(asTyped(password), ARGON2ID));
  }

  /** Throws HashingCrowded. */
  verify(password: string, hash: string): Promise<boolean> {
    return this.#inTurn(() => Bun.password.verify(asTyped(password), hash));
  }

  /** The runtime works on them beside this thread. */
  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#waitingMax) throw new HashingCrowded('too many passwords wait');
      await new Promise<void>((resolve) => this.#waiting.push(resolve)); // whoever leaves hands the place on
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
