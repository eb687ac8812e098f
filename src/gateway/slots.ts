// In-flight slots: one per message in progress, from authentication to its end. Slots are bounded. When few are left,
// each account gets only its fair share, so that one account's flood does not block others.

import { FairShareQuota } from '../base/fair-share-quota.ts';
import { overloaded } from '../errors.ts';

/** The slot of one message. */
export interface Slot extends Disposable {
  /** Only the first call counts. */
  giveBack(): void;
}

export class Slots {
  readonly #room: FairShareQuota;

  /** `slotsMax` is read on each call, because the setting may change. */
  constructor(slotsMax: () => number) {
    this.#room = new FairShareQuota(slotsMax);
  }

  /** Number of slots taken. */
  get taken(): number {
    return this.#room.taken;
  }

  /** Takes a slot for the account. Throws overloaded if none is left, or the account has used its fair share. */
  take(accountId: number): Slot {
    const shortage = this.#room.take(accountId, 1);
    if (shortage === 'full') throw overloaded('Too many messages are in progress. Try again in a moment.');
    if (shortage === 'share')
      throw overloaded("This account is using its full share of the service's capacity. Try again in a moment.");
    return new TakenSlot(this.#room, accountId);
  }
}

class TakenSlot implements Slot {
  readonly #room: FairShareQuota;
  readonly #accountId: number;
  #isTaken = true;

  constructor(room: FairShareQuota, accountId: number) {
    this.#room = room;
    this.#accountId = accountId;
  }

  giveBack(): void {
    if (this.#isTaken) this.#room.giveBack(this.#accountId, 1);
    this.#isTaken = false;
  }

  [Symbol.dispose](): void {
    this.giveBack();
  }
}
