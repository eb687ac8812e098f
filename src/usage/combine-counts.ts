// Combines the counts that a provider reports at different times and of different parts of one message.

import { NO_TOKENS, type TokenCounts } from '../wire/wire.ts';
import { NAMES_MAX, type PartialCounts, type PartialUsage } from './read-usage.ts';

/** Adds up the parts. Cache writes that no lifetime is said of are those of 5 minutes, the protocol's default. */
export function sumCounts(parts: readonly PartialCounts[], webSearches: number): TokenCounts {
  const counts: TokenCounts = { ...NO_TOKENS, webSearches };
  for (const part of parts) {
    const written1h = part.cacheWrite1h ?? 0;
    const written = Math.max(part.cacheWrite ?? 0, (part.cacheWrite5m ?? 0) + written1h);
    counts.input += part.input ?? 0;
    counts.output += part.output ?? 0;
    counts.cacheRead += part.cacheRead ?? 0;
    counts.cacheWrite5m += written - written1h;
    counts.cacheWrite1h += written1h;
  }
  return counts;
}

/** Counts of a stream are cumulative: a later one replaces an earlier one, unless it is absent. */
export function replaceCounts(before: PartialUsage, after: PartialUsage): PartialUsage {
  return {
    input: after.input ?? before.input,
    output: after.output ?? before.output,
    cacheRead: after.cacheRead ?? before.cacheRead,
    cacheWrite: after.cacheWrite ?? before.cacheWrite,
    cacheWrite5m: after.cacheWrite5m ?? before.cacheWrite5m,
    cacheWrite1h: after.cacheWrite1h ?? before.cacheWrite1h,
    thinking: after.thinking ?? before.thinking,
    webSearches: after.webSearches ?? before.webSearches,
    speed: after.speed ?? before.speed,
    compactions: after.compactions.length > 0 ? after.compactions : before.compactions,
    disbelieved: union(before.disbelieved, after.disbelieved),
    unknown: union(before.unknown, after.unknown),
  };
}

function union(before: string[], after: string[]): string[] {
  if (after.length === 0 || before.length >= NAMES_MAX) return before;
  return [...new Set([...before, ...after])].slice(0, NAMES_MAX);
}
