// The sets of tags that the daily totals of an account distinguish: a bounded number in a month, so that no client adds rows to the
// reports of everybody. What lies beyond is counted by its fixed tags.

import { periodStartMs } from '../base/clock.ts';
import { FairCache } from '../base/fair-cache.ts';
import { NO_TAG_SET, OTHER_TAG_SET } from '../base/tag-set-numbers.ts';
import { bounds } from '../config/config.ts';
import { tagSetOf } from './tags.ts';

/** A set of tags that an account uses in a month. `text` is that of `tagsText`. */
export interface TagSet {
  account: number;
  monthMs: number;
  id: number;
  text: string;
}

export interface TagSetStore {
  /** Whether the set is stored, and how many the account has in the month. */
  findTagSet(set: Pick<TagSet, 'account' | 'monthMs' | 'id'>): Promise<{ isStored: boolean; count: number }>;
  /** Stores the set unless the account has `setsMax` of them in the month. Durable when it resolves. */
  addTagSet(set: TagSet, setsMax: number): Promise<void>;
}

export class TagSets {
  readonly #store: TagSetStore;
  readonly #setsMax: number;
  /** By month and number of the set, of each account: the number that counts. */
  readonly #known = new FairCache<string, number>(bounds.tagSetsCachedMax);
  readonly #finding = new Map<string, Promise<number>>();

  constructor(store: TagSetStore, setsMax: number = bounds.tagSetsPerMonthMax) {
    this.#store = store;
    this.#setsMax = setsMax;
  }

  /**
   * The number under which the account's totals count a set in this month: its own, else that of `lesser`, else OTHER_TAG_SET. A
   * promise if this node does not know it. Without the store, it is OTHER_TAG_SET: no message fails for its tags.
   */
  find(account: number, text: string, lesser: string, nowMs: number): number | Promise<number> {
    if (text === '') return NO_TAG_SET;
    const id = tagSetOf(text);
    const monthMs = periodStartMs('month', nowMs);
    const name = `${monthMs} ${id}`;
    const known = this.#known.get(account, name);
    if (known !== undefined) return known;
    const key = `${account} ${name}`;
    const begun = this.#finding.get(key);
    if (begun !== undefined) return begun;
    if (this.#finding.size >= bounds.tagSetsFoundAtOnceMax) return OTHER_TAG_SET;
    const finding = this.#look({ account, monthMs, id, text }, lesser)
      .then((found) => {
        this.#known.set(account, name, found);
        return found;
      })
      .catch(() => OTHER_TAG_SET)
      .finally(() => this.#finding.delete(key));
    this.#finding.set(key, finding);
    return finding;
  }

  async #look(set: TagSet, lesser: string): Promise<number> {
    if (await this.#has(set, this.#setsMax)) return set.id;
    if (lesser === '' || lesser === set.text) return OTHER_TAG_SET;
    const reduced = { ...set, id: tagSetOf(lesser), text: lesser };
    return (await this.#has(reduced, 2 * this.#setsMax)) ? reduced.id : OTHER_TAG_SET;
  }

  /** Asked again after a set was added: another one may have been the last. */
  async #has(set: TagSet, setsMax: number): Promise<boolean> {
    const before = await this.#store.findTagSet(set);
    if (before.isStored || before.count >= setsMax) return before.isStored;
    await this.#store.addTagSet(set, setsMax);
    return (await this.#store.findTagSet(set)).isStored;
  }
}
