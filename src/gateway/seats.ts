// A seat for every message under way, from the moment its caller is known until it has ended. Seats are
// bounded, and while few are left one account has no more than its share: its flood shuts out nobody else.

import { FairRoom } from '../base/fair-room.ts';
import { overloaded } from '../errors.ts';

/** Of one message. */
export interface Seat extends Disposable {
  /** The first call counts. */
  giveBack(): void;
}

export class Seats {
  readonly #room: FairRoom;

  /** `seatsMax` is asked each time: a setting may change. */
  constructor(seatsMax: () => number) {
    this.#room = new FairRoom(seatsMax);
  }

  /** How many are taken. */
  get taken(): number {
    return this.#room.taken;
  }

  /** A seat for the account. Throws overloaded when there is none, or the account has its share of them. */
  take(accountId: number): Seat {
    const shortage = this.#room.take(accountId, 1);
    if (shortage === 'full') throw overloaded('Too many messages are in progress. Try again in a moment.');
    if (shortage === 'share')
      throw overloaded('This account has its share of a busy service in progress. Try again in a moment.');
    let isTaken = true;
    const giveBack = () => {
      if (isTaken) this.#room.giveBack(accountId, 1);
      isTaken = false;
    };
    return { giveBack, [Symbol.dispose]: giveBack };
  }
}
