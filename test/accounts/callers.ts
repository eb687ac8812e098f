// Callers and a store of them for the tests of this room. No tests of its own.

import type { Caller } from '../../src/accounts/accounts.ts';

export const NOW_MS = 1_760_000_000_000;

/** A caller whom nothing stands in the way of, but for what is given. */
export function makeCaller(
  changes: { key?: Partial<Caller['key']>; account?: Partial<Caller['account']> } = {},
): Caller {
  return {
    account: { id: 1, name: 'demo', groups: ['default'], status: 'enabled', createdAtMs: NOW_MS, ...changes.account },
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
  };
}

/** A store that holds each look-up until it is told how it ends. */
export class HeldStore {
  readonly rows = new Map<string, Caller>();
  readonly asked: string[] = [];
  /** Moves that were asked for: "former > present". */
  readonly moves: string[] = [];
  #held: (() => void)[] = [];
  isHolding = false;
  isDown = false;

  async findKeyBySecretHash(hash: string, otherHash = hash): Promise<Caller | null> {
    this.asked.push(hash);
    if (this.isDown) throw new Error('the disk is gone');
    const caller = this.rows.get(hash) ?? this.rows.get(otherHash) ?? null; // Read now, answered later: as a slow store does.
    if (this.isHolding) await new Promise<void>((resolve) => this.#held.push(resolve));
    return caller;
  }

  async move(from: string, to: string): Promise<void> {
    this.moves.push(`${from} > ${to}`);
    if (this.isDown) throw new Error('the disk is gone');
    const caller = this.rows.get(from);
    if (caller === undefined) return;
    this.rows.delete(from);
    this.rows.set(to, caller);
  }

  release(): void {
    for (const resolve of this.#held.splice(0)) resolve();
  }
}
