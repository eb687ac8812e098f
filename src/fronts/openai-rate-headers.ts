// Rate-limit headers as OpenAI's clients read them.

import { parseTimeMs } from '../base/checked-number.ts';

const LIMITS = ['requests', 'tokens'];

/** All header names, for CORS. */
export const OPENAI_RATE_HEADERS: string = LIMITS.flatMap((limit) =>
  ['limit', 'remaining', 'reset'].map((figure) => `x-ratelimit-${figure}-${limit}`),
).join(', ');

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` for the limits in the response's headers. */
export function openAiRateHeaders(
  headers: Readonly<Record<string, string>>,
  vendorPrefix: string,
  nowMs: number,
): Record<string, string> {
  const converted: Record<string, string> = {};
  for (const limit of LIMITS) {
    const name = `${vendorPrefix}-ratelimit-${limit}`;
    const most = headers[`${name}-limit`];
    if (most === undefined) continue;
    converted[`x-ratelimit-limit-${limit}`] = most;
    converted[`x-ratelimit-remaining-${limit}`] = headers[`${name}-remaining`] ?? '0';
    const resetMs = parseTimeMs(headers[`${name}-reset`] ?? '') ?? nowMs;
    converted[`x-ratelimit-reset-${limit}`] = formatWait(resetMs - nowMs);
  }
  return converted;
}

/** A duration such as "6m0s" or "7s". */
function formatWait(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  return `${minutes > 0 ? `${minutes}m` : ''}${seconds % 60}s`;
}
