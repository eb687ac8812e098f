// The rate-limit headers of an answer, under the vendor's name that the request itself used.

import type { Level, Levels } from '../ledger/ledger.ts';

/** `<vendor>-ratelimit-…-{limit,remaining,reset}` for the limits that are set. */
export function rateHeaders(levels: Levels | null, vendorPrefix: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (levels === null) return headers;
  const { requests, inputTokens, outputTokens } = levels;
  if (requests === null && inputTokens === null && outputTokens === null) return headers;
  putLevel(headers, `${vendorPrefix}-ratelimit-requests`, requests);
  putLevel(headers, `${vendorPrefix}-ratelimit-input-tokens`, inputTokens);
  putLevel(headers, `${vendorPrefix}-ratelimit-output-tokens`, outputTokens);
  putLevel(headers, `${vendorPrefix}-ratelimit-tokens`, together(inputTokens, outputTokens));
  return headers;
}

function putLevel(headers: Record<string, string>, name: string, level: Level | null): void {
  if (level === null) return;
  headers[`${name}-limit`] = String(level.limit);
  headers[`${name}-remaining`] = String(level.remaining);
  headers[`${name}-reset`] = `${new Date(level.resetAtMs).toISOString().slice(0, 19)}Z`;
}

function together(input: Level | null, output: Level | null): Level | null {
  if (input === null || output === null) return input ?? output;
  return {
    limit: input.limit + output.limit,
    remaining: input.remaining + output.remaining,
    resetAtMs: Math.max(input.resetAtMs, output.resetAtMs),
  };
}
