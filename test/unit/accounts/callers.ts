// Callers and a store of them for the tests of this folder. It has no tests of its own.

import type { Caller } from '../../../src/accounts/accounts.ts';

export const NOW_MS = 1_760_000_000_000;

/** A caller without restrictions, except those given. */
export function makeCaller(
  changes: { key?: Partial<Caller['key']>; account?: Partial<Caller['account']> } = {},
): Caller {
  return {
    account: { id: 1, name: 'demo', groups: ['default'], status: 'enabled', createdAtMs: NOW_MS, ...changes.account },
    above: [],
    person: null,
    key: {
      id: 11,
      accountId: 1,
      name: 'first',
      prefix: 'sk-tp-Ab3d',
      groups: null,
      models: null,
      status: 'enabled',
      expiresAtMs: null,
      origins: null,
      addresses: null,
      madeBy: null,
      createdAtMs: NOW_MS,
      ...changes.key,
    },
    secretExpiresAtMs: null,
    plan: null,
  };
}

/** A store that holds each lookup until the test completes it. */
export class PausedStore {
  readonly rows = new Map<string, Caller>();
  readonly lookedUp: string[] = [];
  #held: (() => void)[] = [];
  isHolding = false;
  isDown = false;

  findCallerOfKey(keyId: number): Promise<Caller | null> {
    return this.findKeyBySecretHash([`key ${keyId}`]);
  }

  async findKeyBySecretHash(hashes: readonly string[]): Promise<Caller | null> {
    this.lookedUp.push(hashes.join());
    if (this.isDown) throw new Error('the disk is unavailable');
    const caller = hashes.map((hash) => this.rows.get(hash)).find((found) => found !== undefined) ?? null; // Reads now and responds later, as a slow store does.
    if (this.isHolding) await new Promise<void>((resolve) => this.#held.push(resolve));
    return caller;
  }

  release(): void {
    for (const resolve of this.#held.splice(0)) resolve();
  }
}
