// Sets of places of requests in a batch.

import { parseWholeNumber } from '../base/checked-number.ts';

const PLACE_MAX = 10_000_000; // above those of any batch

/** Has a byte for each place. A `Set` of 100,000 numbers needs thirty times the memory, and filling it blocks the event loop. */
export class Places {
  #marks = new Uint8Array();
  #size = 0;

  /** Reads what `text` returns, in any order. Ranges of another form are ignored. */
  static read(text: string): Places {
    const places = new Places();
    places.addAll(text);
    return places;
  }

  get size(): number {
    return this.#size;
  }

  has(place: number): boolean {
    return this.#marks[place] === 1;
  }

  add(place: number): void {
    this.#addRange(place, place);
  }

  /** Adds the ranges of a text, as `read` does. */
  addAll(text: string): void {
    for (const range of text.split(',')) {
      const [first, last = first] = range.split('-').map(parseWholeNumber);
      if (first != null && last != null && last >= first && last <= PLACE_MAX) this.#addRange(first, last);
    }
  }

  /** Removes those that `places` has, too. */
  deleteAll(places: Places): void {
    for (let place = 0; place < this.#marks.length; place++)
      if (places.has(place) && this.has(place)) {
        this.#marks[place] = 0;
        this.#size--;
      }
  }

  clear(): void {
    this.#marks.fill(0);
    this.#size = 0;
  }

  /** Ranges in ascending order, such as "0-41,43". */
  get text(): string {
    const ranges: string[] = [];
    for (let first = this.#marks.indexOf(1); first >= 0; ) {
      const end = this.#marks.indexOf(0, first);
      const last = (end < 0 ? this.#marks.length : end) - 1;
      ranges.push(first === last ? String(first) : `${first}-${last}`);
      first = end < 0 ? -1 : this.#marks.indexOf(1, end);
    }
    return ranges.join(',');
  }

  #addRange(first: number, last: number): void {
    if (last >= this.#marks.length) {
      const longer = new Uint8Array(Math.max(last + 1, 2 * this.#marks.length));
      longer.set(this.#marks);
      this.#marks = longer;
    }
    for (let place = first; place <= last; place++) {
      this.#size += 1 - (this.#marks[place] as number);
      this.#marks[place] = 1;
    }
  }
}
