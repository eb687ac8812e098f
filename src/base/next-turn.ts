// Long work on the event loop stops now and then, so that everything else that waits goes on.

/** Resolves at the next turn of the event loop, after what is ready now. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
