// Callers by the keyed hash of their secret: a bounded cache in front of the store. It forgets
// what changed at once; a balance, a quota or a limit is never in it.

import { assert } from '../base/assert.ts';
import { bounds } from '../config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type { AccountStore, Caller } from './account.ts';
import { type FormerHashes, findUnderEither } from './former-hash.ts';

export class KeyDirectory {
  readonly #store: Pick<AccountStore, 'findKeyBySecretHash'>;
  readonly #hash: (secret: string) => string;
  readonly #former: FormerHashes | null;
  readonly #generationMax: number;
  readonly #generationCharactersMax: number;
  /** Found again since the last turn, and not yet. When the first is full it becomes the second: an LRU without reordering. */
  #recent = new Map<string, Caller>();
  #older = new Map<string, Caller>();
  /** Of the lists of those that came to the first since its turn. */
  #recentCharacters = 0;
  /** Look-ups under way, shared by all who ask for the same secret. */
  readonly #lookups = new Map<string, Promise<Caller | null>>();
  /** Changes with every `forget`, so that a look-up begun before it is not remembered. */
  #version = 0;

  /**
   * `hash` is the installation's keyed hash; `former` that of the secret before it, if it is accepted. `cachedMax`
   * callers, at least 2, are remembered, fewer where their lists are long: together of `charactersMax`, and one more.
   */
  constructor(
    store: Pick<AccountStore, 'findKeyBySecretHash'>,
    hash: (secret: string) => string,
    former: FormerHashes | null = null,
    cachedMax: number = bounds.cachedKeysMax,
    charactersMax: number = bounds.cachedKeyCharactersMax,
  ) {
    assert(cachedMax >= 2, 'a key directory remembers at least two callers');
    this.#store = store;
    this.#hash = hash;
    this.#former = former;
    this.#generationMax = Math.floor(cachedMax / 2);
    this.#generationCharactersMax = Math.floor(charactersMax / 2);
  }

  /**
   * Who the secret belongs to, or null when nobody; at once when it is remembered. Whether key and account
   * are enabled is not looked at. Rejects with store_unavailable when the store cannot tell,
   * never with null; throws overloaded when too many look-ups are under way.
   */
  find(secret: string): Caller | null | Promise<Caller | null> {
    const hash = this.#hash(secret);
    const recent = this.#recent.get(hash);
    if (recent !== undefined) return recent;
    const older = this.#older.get(hash);
    if (older !== undefined) {
      this.#older.delete(hash);
      this.#remember(hash, older);
      return older;
    }
    return this.#lookups.get(hash) ?? this.#startLookup(secret, hash);
  }

  /** The key changed: the next `find` reads it anew. */
  forget(keyId: number): void {
    this.#forgetWhere((caller) => caller.key.id === keyId);
  }

  /** The account or any of its keys changed. */
  forgetAccount(accountId: number): void {
    this.#forgetWhere((caller) => caller.account.id === accountId);
  }

  /** Anything may have changed. */
  forgetAll(): void {
    this.#forgetWhere(() => true);
  }

  /** How many callers are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  #startLookup(secret: string, hash: string): Promise<Caller | null> {
    if (this.#lookups.size >= bounds.keyLookupsMax)
      throw overloaded('Too many keys are being looked up. Try again in a moment.');
    const lookup = this.#lookUp(secret, hash).finally(() => {
      if (this.#lookups.get(hash) === lookup) this.#lookups.delete(hash);
    });
    this.#lookups.set(hash, lookup);
    return lookup;
  }

  async #lookUp(secret: string, hash: string): Promise<Caller | null> {
    const version = this.#version;
    let caller: Caller | null;
    try {
      caller = await this.#findStored(secret, hash);
    } catch (cause) {
      throw new TurnpikeError('store_unavailable', 'The key cannot be checked at the moment. Try again shortly.', {
        cause,
      });
    }
    // Unknown secrets are not remembered: there is no bound on how many can be invented.
    if (caller !== null && version === this.#version) this.#remember(hash, caller);
    return caller;
  }

  async #findStored(secret: string, hash: string): Promise<Caller | null> {
    const formerHash = this.#former?.hash(secret) ?? null;
    const { found, isFormer } = await findUnderEither(hash, formerHash, (one, other) =>
      this.#store.findKeyBySecretHash(one, other),
    );
    // Not awaited: the message has its caller. A move that fails is made when the key is looked up again.
    if (found !== null && isFormer && formerHash !== null)
      this.#former?.move(formerHash, hash).catch(() => this.forget(found.key.id));
    return found;
  }

  #remember(hash: string, caller: Caller): void {
    this.#recent.set(hash, caller);
    this.#recentCharacters += charactersOf(caller);
    if (this.#recent.size < this.#generationMax && this.#recentCharacters < this.#generationCharactersMax) return;
    this.#older = this.#recent;
    this.#recent = new Map();
    this.#recentCharacters = 0;
  }

  #forgetWhere(isChanged: (caller: Caller) => boolean): void {
    this.#version++;
    this.#lookups.clear(); // Whoever asks from now on must not join a look-up that may have read the old row.
    for (const callers of [this.#recent, this.#older]) {
      for (const [hash, caller] of callers) if (isChanged(caller)) callers.delete(hash);
    }
  }
}

/** What of a caller may be long: the lists that its makers gave. */
function charactersOf({ account, key }: Caller): number {
  let characters = 0;
  for (const list of [account.groups, key.groups, key.models, key.origins, key.addresses])
    for (const text of list ?? []) characters += text.length;
  return characters;
}
