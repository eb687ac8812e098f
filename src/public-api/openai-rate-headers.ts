// The rate limits of an answer in the headers that clients of OpenAI look at, beside those of the vendor's name.

const LIMITS = ['requests', 'tokens'];

/** All of their names, as browsers are told of them. */
export const OPENAI_RATE_HEADERS: string = LIMITS.flatMap((limit) =>
  ['limit', 'remaining', 'reset'].map((figure) => `x-ratelimit-${figure}-${limit}`),
).join(', ');

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` for the limits that the answer's headers tell of. */
export function openAiRateHeaders(
  headers: Readonly<Record<string, string>>,
  vendorPrefix: string,
  nowMs: number,
): Record<string, string> {
  const told: Record<string, string> = {};
  for (const limit of LIMITS) {
    const name = `${vendorPrefix}-ratelimit-${limit}`;
    const most = headers[`${name}-limit`];
    if (most === undefined) continue;
    told[`x-ratelimit-limit-${limit}`] = most;
    told[`x-ratelimit-remaining-${limit}`] = headers[`${name}-remaining`] ?? '0';
    told[`x-ratelimit-reset-${limit}`] = formatWait(Date.parse(headers[`${name}-reset`] ?? '') - nowMs);
  }
  return told;
}

/** A time from now, as "6m0s" or "7s". */
function formatWait(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000)) || 0; // 0 where it is no time
  const minutes = Math.floor(seconds / 60);
  return `${minutes > 0 ? `${minutes}m` : ''}${seconds % 60}s`;
}
