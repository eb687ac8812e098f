// Room of one kind (bytes, messages) that owners share. While there is plenty anyone may take it; once
// half is taken nobody may have more than a share, so that one who floods does not shut out the others.

/** `full`: nobody could take it. `share`: only this owner cannot. */
export type Shortage = 'full' | 'share';

export class FairRoom {
  readonly #max: () => number;
  readonly #takenBy = new Map<number, number>();
  #taken = 0;

  /** `max` is asked each time: a setting may change. What is taken already stays taken. */
  constructor(max: () => number) {
    this.#max = max;
  }

  /** By all owners. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether so much could be taken by someone who has nothing yet. */
  hasRoomFor(amount: number): boolean {
    return this.#taken + amount <= this.#max();
  }

  /**
   * Takes it, or says what was short; then nothing was taken. Beyond half, an owner's share is the whole divided by the
   * owners and one more, so that there is always something left for whoever comes next. Who has nothing is not refused by it,
   * nor who has only the beginning of the same piece: `begun` is how much of it was taken before.
   */
  take(owner: number, amount: number, begun = 0): Shortage | null {
    if (amount === 0) return null; // whoever takes nothing is no owner, and gives nothing back
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
    if (amount === 0) return;
    const own = (this.#takenBy.get(owner) ?? 0) - amount;
    this.#taken -= amount;
    if (own > 0) this.#takenBy.set(owner, own);
    else this.#takenBy.delete(owner);
  }
}
