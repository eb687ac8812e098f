// When what happened to a submission, noted as it passes and read once, at its end: for metrics
// and traces. What a bill or a limit depends on is never measured with these.

/** Milliseconds of `performance.now()`, whose zero means nothing outside of this process; null until it has happened. */
export interface MessageTimes {
  readonly startedMs: number;
  /** How long its body was waited for: the caller's time, not ours. */
  bodyMs: number;
  /** When the ledger was asked to admit it, and when it had answered. */
  askedMs: number | null;
  admittedMs: number | null;
  /** How long attempts lasted until the first events or the whole message had come, or until they failed. */
  upstreamMs: number;
  /** When the first events of the route that answers had come, or its whole message. */
  answeredMs: number | null;
  /** When the ledger was asked to end it, and when it had answered. */
  endedMs: number | null;
  settledMs: number | null;
}

/** The times of a submission that begins now. */
export function startTimes(): MessageTimes {
  return {
    startedMs: performance.now(),
    bodyMs: 0,
    askedMs: null,
    admittedMs: null,
    upstreamMs: 0,
    answeredMs: null,
    endedMs: null,
    settledMs: null,
  };
}
