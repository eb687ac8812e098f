// How many rows of daily totals the tags of a company make in a day on this node. Keys, models and people make few; sets of tags are as
// many as clients like, so that one key could fill the reports of everybody. Beyond the bound, totals count under no set of their own.

import { DAY_MS } from '../base/clock.ts';
import { FairCache } from '../base/fair-cache.ts';
import { bounds } from '../config/config.ts';

/** A row of the totals, but for its provider: the key has a person and an account. */
export interface TagRow {
  /** The uppermost account. */
  company: number;
  key: number;
  model: string;
  tagSet: number;
}

export class TagRows {
  readonly #rowsMax: number;
  /** The rows of each company that this node knows to be counted; a row that was forgotten counts again. */
  #known = new FairCache<string, true>(bounds.tagRowsCachedMax);
  readonly #counts = new Map<number, number>();
  #day = 0;

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax;
  }

  /** Whether the totals of this day may have the row. */
  take({ company, key, model, tagSet }: TagRow, nowMs: number): boolean {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.#day) this.#begin(day);
    const name = `${key} ${tagSet} ${model}`;
    if (this.#known.get(company, name) !== undefined) return true;
    const count = this.#counts.get(company) ?? 0;
    if (count >= this.#rowsMax) return false;
    this.#counts.set(company, count + 1);
    this.#known.set(company, name, true);
    return true;
  }

  #begin(day: number): void {
    this.#day = day;
    this.#counts.clear();
    this.#known = new FairCache(bounds.tagRowsCachedMax);
  }
}
