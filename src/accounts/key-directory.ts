// Callers by the hash of their secret: a bounded cache in front of the store. Changes invalidate it at once.
// Balances, quotas and limits are never cached.

import { assert } from '../base/assert.ts';
import { grantHash } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import { hashSecret, type SecretHashes } from '../secrets/secrets.ts';
import type { AccountStore, Caller } from './account.ts';

export class KeyDirectory {
  readonly #store: Pick<AccountStore, 'findKeyBySecretHash' | 'findCallerOfKey'>;
  readonly #hashesOf: SecretHashes;
  readonly #generationMax: number;
  readonly #generationCharactersMax: number;
  /**
   * Callers used since the last swap, and before it. When the first map is full it becomes the second: an LRU without
   * reordering.
   */
  #recent = new Map<string, Caller>();
  #older = new Map<string, Caller>();
  /** Size of the lists of callers added since the swap. */
  #recentCharacters = 0;
  /** Queries in progress, shared by requests with the same secret. */
  readonly #lookups = new Map<string, Promise<Caller | null>>();
  /** Increases with every `forget`, so that a query begun before it is not cached. */
  #version = 0;

  /**
   * Caches up to `cachedMax` callers (at least 2), and fewer if their lists together exceed `charactersMax`.
   */
  constructor(
    store: Pick<AccountStore, 'findKeyBySecretHash' | 'findCallerOfKey'>,
    hashesOf: SecretHashes,
    cachedMax: number = bounds.cachedKeysMax,
    charactersMax: number = bounds.cachedKeyCharactersMax,
  ) {
    assert(cachedMax >= 2, 'a key directory caches at least two callers');
    this.#store = store;
    this.#hashesOf = hashesOf;
    this.#generationMax = Math.floor(cachedMax / 2);
    this.#generationCharactersMax = Math.floor(charactersMax / 2);
  }

  /**
   * The caller that the secret belongs to, or null if it is unknown; without a promise if it is cached. Does not check
   * whether key and account are enabled. Rejects with store_unavailable if the store fails; throws overloaded if too
   * many queries are in progress.
   */
  find(secret: string): Caller | null | Promise<Caller | null> {
    const hash = hashSecret(secret);
    const look = () => this.#store.findKeyBySecretHash(this.#hashesOf(secret));
    return this.#findByHash(hash) ?? this.#lookups.get(hash) ?? this.#startLookup(hash, look);
  }

  /** The same for a sign-in of a coding agent, by a number that a verified token has. */
  findGrant(grant: number): Caller | null | Promise<Caller | null> {
    const hash = grantHash(grant);
    const look = () => this.#store.findKeyBySecretHash([hash]);
    return this.#findByHash(hash) ?? this.#lookups.get(hash) ?? this.#startLookup(hash, look);
  }

  /** The same for a key by its id, without a secret: for what was asked with it earlier. */
  findKey(keyId: number): Caller | null | Promise<Caller | null> {
    const name = `id.${keyId}`; // no secret hashes to it
    const look = () => this.#store.findCallerOfKey(keyId);
    return this.#findByHash(name) ?? this.#lookups.get(name) ?? this.#startLookup(name, look);
  }

  /** The same without a query: null if the secret is unknown or not cached. */
  findCached(secret: string): Caller | null {
    return this.#findByHash(hashSecret(secret));
  }

  #findByHash(hash: string): Caller | null {
    const recent = this.#recent.get(hash);
    if (recent !== undefined) return recent;
    const older = this.#older.get(hash);
    if (older === undefined) return null;
    this.#older.delete(hash);
    this.#remember(hash, older);
    return older;
  }

  /** The key changed: the next `find` reads it again. */
  forget(keyId: number): void {
    this.#forgetWhere((caller) => caller.key.id === keyId);
  }

  /** The account, any of its keys, or an account above it changed. */
  forgetAccount(accountId: number): void {
    this.#forgetWhere(({ account, above }) => account.id === accountId || above.some(({ id }) => id === accountId));
  }

  /** The person changed. */
  forgetPerson(personId: number): void {
    this.#forgetWhere(({ person }) => person?.id === personId);
  }

  /** Anything may have changed. */
  forgetAll(): void {
    this.#forgetWhere(() => true);
  }

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  #startLookup(hash: string, look: () => Promise<Caller | null>): Promise<Caller | null> {
    if (this.#lookups.size >= bounds.keyLookupsMax)
      throw overloaded('Too many keys are being looked up. Try again in a moment.');
    const lookup = this.#lookUp(hash, look).finally(() => {
      if (this.#lookups.get(hash) === lookup) this.#lookups.delete(hash);
    });
    this.#lookups.set(hash, lookup);
    return lookup;
  }

  async #lookUp(hash: string, look: () => Promise<Caller | null>): Promise<Caller | null> {
    const version = this.#version;
    let caller: Caller | null;
    try {
      caller = await look();
    } catch (cause) {
      throw new TurnpikeError('store_unavailable', 'The key could not be checked. Try again shortly.', {
        cause,
      });
    }
    // Unknown secrets are not cached: anyone can invent any number of them.
    if (caller !== null && version === this.#version) this.#remember(hash, caller);
    return caller;
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
    this.#lookups.clear(); // Later requests must not share a query that may have read the old row.
    for (const callers of [this.#recent, this.#older]) {
      for (const [hash, caller] of callers) if (isChanged(caller)) callers.delete(hash);
    }
  }
}

/** Characters in the lists of a caller, which may be long. */
function charactersOf({ account, key, plan }: Caller): number {
  let characters = 0;
  for (const list of [account.groups, plan?.groups ?? null, key.groups, key.models, key.origins, key.addresses])
    for (const text of list ?? []) characters += text.length;
  return characters;
}
