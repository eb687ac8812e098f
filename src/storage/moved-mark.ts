// What says that an installation was moved, on both sides: the same id in what it left and in what it went to.

/** Names of facts of the installation. */
export const moveNames = { to: 'moved_to', from: 'moved_from' } as const;

/** What stands in the database that was left, from the moment before the other one was committed. */
export interface MoveMark {
  id: string;
  atMs: number;
  /** Where it went: "turnpike at 127.0.0.1:5432". */
  to: string;
  /** False until it is known that the other database has it. */
  isDone: boolean;
}

const TAKE_BACK = '"turnpike move --take-back" lets it be served from here again';

/** Why a store that was left is not opened. */
export function markInWords({ atMs, to, isDone }: MoveMark): string {
  const when = new Date(atMs).toISOString();
  return isDone
    ? `this installation was moved to the database ${to} at ${when}: it is served from there, with --database or TURNPIKE_DATABASE_URL. ${TAKE_BACK}, without what was done there since`
    : `a move of this installation to the database ${to} was cut short at ${when}, when it may have been made: the same "turnpike move" again finds out and ends it. ${TAKE_BACK}; see first that nothing serves it from there`;
}
