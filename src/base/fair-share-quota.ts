// A quota that owners share. Beyond half of it each owner is limited to a fair share, so that none locks others out.

import { assert } from './assert.ts';
import { isWholeNumber } from './checked-number.ts';

/** `full`: no owner can take the amount. `share`: only this owner cannot. */
type Shortage = 'full' | 'share';

export class FairShareQuota {
  readonly #max: () => number;
  readonly #takenBy = new Map<number, number>();
  #taken = 0;

  /** `max` is read each time, because a setting may change. A lower one does not revoke what is taken. */
  constructor(max: () => number) {
    this.#max = max;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Whether an owner that has nothing yet could take the amount. */
  hasRoomFor(amount: number): boolean {
    return this.#taken + amount <= this.#max();
  }

  /**
   * Takes the amount and returns null, or takes nothing and returns the shortage. While more than half is taken, each owner
   * may have `max` divided by the number of owners plus one, so that the next owner finds something left. This does not limit
   * an owner that has nothing. `begun` is what the owner has already taken for the same request; it does not count either.
   */
  take(owner: number, amount: number, begun = 0): Shortage | null {
    assert(isWholeNumber(amount), 'an amount taken from a quota is a whole number');
    if (amount === 0) return null; // taking nothing makes no owner
    const max = this.#max();
    const taken = this.#taken + amount;
    if (taken > max) return 'full';
    const before = this.#takenBy.get(owner) ?? 0;
    const own = before + amount;
    const owners = this.#takenBy.size + (before === 0 ? 1 : 0);
    if (taken > max / 2 && before > begun && own > max / (owners + 1)) return 'share';
    this.#taken = taken;
    this.#takenBy.set(owner, own);
    return null;
  }

  giveBack(owner: number, amount: number): void {
    assert(isWholeNumber(amount), 'an amount returned to a quota is a whole number');
    if (amount === 0) return;
    const own = (this.#takenBy.get(owner) ?? 0) - amount;
    assert(own >= 0, 'an owner returns no more than it took');
    this.#taken -= amount;
    if (own > 0) this.#takenBy.set(owner, own);
    else this.#takenBy.delete(owner);
  }
}
