// Who asks for a report, and whether the answer is still wanted: reports wait in a queue, with a
// share for each asker.

export interface Asking {
  /** Whose share of the queue it takes, such as "tok_…". */
  asker: string;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
}
