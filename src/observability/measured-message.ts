// What metrics and traces read of what the rest of the service reports: declared here by its shape, so
// that this room knows none of the others.

/** An admitted message that has ended, as the gateway reports it. Amounts in nanodollars. */
export interface MeasuredMessage {
  record: {
    group: string;
    model: string;
    provider: string | null;
    stream: boolean;
    outcome: string;
    inputTokens: number;
    outputTokens: number;
    cacheReadTokens: number;
    cacheWrite5mTokens: number;
    cacheWrite1hTokens: number;
    usageSource: string;
    cost: number;
    writtenOff: number;
    providerCost: number | null;
    attempts: readonly { provider: string; result: string; ms: number }[];
  };
  times: MeasuredTimes;
  code: string | null;
  disbelieved: readonly string[];
  unknown: readonly string[];
}

/** In milliseconds, on the clock of `performance.now()`; null for what did not happen. */
export interface MeasuredTimes {
  startedMs: number;
  bodyMs: number;
  askedMs: number | null;
  admittedMs: number | null;
  upstreamMs: number;
  answeredMs: number | null;
  endedMs: number | null;
  settledMs: number | null;
}

/** Any other request that was answered. */
export interface MeasuredAnswer {
  failure: { code: string } | null;
  submission: { times: MeasuredTimes; replayOf: string | null } | null;
}
