// A bounded cache that owners share. When it is full, an owner with more than its share loses its least recent entry, so
// that none evicts the entries of others.

export class FairCache<Key, Value> {
  readonly #max: number;
  /** The most recent entry of each owner is last. */
  readonly #owned = new Map<number, Map<Key, Value>>();
  #size = 0;
  /** The owner that lost the last entry: often it still has more than its share. */
  #last = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get(owner: number, key: Key): Value | undefined {
    return this.#owned.get(owner)?.get(key);
  }

  /** Makes the entry the most recent one of its owner. Returns the entry that it evicted; null if none. */
  set(owner: number, key: Key, value: Value): [Key, Value] | null {
    this.delete(owner, key);
    const own = this.#owned.get(owner) ?? new Map<Key, Value>();
    this.#owned.set(owner, own);
    own.set(key, value);
    this.#size++;
    return this.#size > this.#max ? this.#evict(owner) : null;
  }

  delete(owner: number, key: Key): void {
    const own = this.#owned.get(owner);
    if (own === undefined || !own.delete(key)) return;
    this.#size--;
    if (own.size === 0) this.#owned.delete(owner);
  }

  #evict(setter: number): [Key, Value] | null {
    const share = this.#max / this.#owned.size;
    const hasMore = (owner: number) => (this.#owned.get(owner)?.size ?? 0) > share;
    const isOwn = hasMore(setter) && this.#owned.get(setter)?.size !== 1; // not the entry that was just set
    if (isOwn) this.#last = setter;
    else if (!hasMore(this.#last)) this.#last = this.#owned.keys().find(hasMore) ?? setter;
    const [oldest] = this.#owned.get(this.#last) ?? [];
    if (oldest === undefined) return null;
    this.delete(this.#last, oldest[0]);
    return oldest;
  }
}
