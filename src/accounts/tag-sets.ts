// The sets of tags that the daily totals of an account distinguish: a bounded number in a month, and on each node a bounded number of
// rows in a day. What lies beyond is counted by its fixed tags, or as others.

import { periodStartMs } from '../base/clock.ts';
import { FairCache } from '../base/fair-cache.ts';
import { NO_TAG_SET, OTHER_TAG_SET } from '../base/tag-set-numbers.ts';
import { bounds } from '../config/config.ts';
import { type TagRow, TagRows } from './tag-rows.ts';
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
  /** Accounts whose last message was refused for lack of money; the longest ago first. */
  readonly #refused = new Set<number>();
  readonly #rows: TagRows;

  constructor(
    store: TagSetStore,
    setsMax: number = bounds.tagSetsPerMonthMax,
    rowsMax: number = bounds.tagRowsPerDayMax,
  ) {
    this.#store = store;
    this.#setsMax = setsMax;
    this.#rows = new TagRows(rowsMax);
  }

  /** The set under which a row of the totals counts: its own, or OTHER_TAG_SET beyond the rows that a company may have in a day. */
  setOfRow(row: TagRow, nowMs: number): number {
    const isOfTags = row.tagSet !== NO_TAG_SET && row.tagSet !== OTHER_TAG_SET;
    return isOfTags && !this.#rows.take(row, nowMs) ? OTHER_TAG_SET : row.tagSet;
  }

  get refusedAccounts(): number {
    return this.#refused.size;
  }

  /** Called with the outcome of each admission: who cannot pay neither reads nor stores sets. */
  noteAdmission(account: number, isRefused: boolean): void {
    if (!isRefused && this.#refused.size === 0) return;
    this.#refused.delete(account);
    if (!isRefused) return;
    this.#refused.add(account);
    const [oldest] = this.#refused;
    if (this.#refused.size > bounds.tagSetsRefusedMax && oldest !== undefined) this.#refused.delete(oldest);
  }

  /**
   * The number under which the account's totals count a set in this month: its own, else that of `lesser`, else OTHER_TAG_SET. A
   * promise if this node does not know it. Without the store, and for an account whose last message it could not pay, that is
   * OTHER_TAG_SET: no message fails for its tags.
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
    if (this.#refused.has(account) || this.#finding.size >= bounds.tagSetsFoundAtOnceMax) return OTHER_TAG_SET;
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
