// Who is present: a list that its members join and leave in any order, at the cost of a few stores.
// Not a Set: with members that come and go by the thousand, and own much, the collector pays dearly for one.

/** A member knows its place, so that it is found without a search. ABSENT when it is on no roster. */
export interface Placed {
  place: number;
}

export const ABSENT = -1;

/** A member is on one roster at a time. */
export class Roster<Member extends Placed> {
  readonly #members: (Member | null)[] = [];
  readonly #freePlaces: number[] = [];

  get size(): number {
    return this.#members.length - this.#freePlaces.length;
  }

  /** One that is present stays where it is. */
  add(member: Member): void {
    if (member.place !== ABSENT) return;
    member.place = this.#freePlaces.pop() ?? this.#members.length;
    this.#members[member.place] = member;
  }

  /** One that is absent stays so. */
  remove(member: Member): void {
    if (member.place === ABSENT) return;
    this.#members[member.place] = null;
    this.#freePlaces.push(member.place);
    member.place = ABSENT;
  }

  /** Those present now: a copy, so that they may leave while it is walked. */
  list(): Member[] {
    return this.#members.filter((member) => member !== null);
  }
}
