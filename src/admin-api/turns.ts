// Changes take turns: each reads what stands, decides, and writes, so two at once could undo each
// other (a renaming would enable again a key that was just disabled). Reads do not wait.

export type TakeTurn = <T>(change: () => Promise<T>) => Promise<T>;

/** Runs changes one after another, in the order in which they came. A failed one does not stop the next. */
export function makeTurns(): TakeTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (change) => {
    const mine = last.then(change);
    last = mine.catch(() => undefined); // its caller is told; the next change only needs to know that it is over
    return mine;
  };
}
