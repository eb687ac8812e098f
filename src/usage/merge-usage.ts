// Evidence only rises: a later count of a message never lowers an earlier one.

import { bounds } from '../config/config.ts';
import { dearerTier } from '../wire/wire.ts';
import { NAMES_MAX, type PartialCounts, type PartialUsage } from './read-usage.ts';

/**
 * The largest of both, count by count; the parts of the prompt together. Names of counts that fell are added to
 * `contradicted`.
 */
export function mergeUsage(before: PartialUsage, after: PartialUsage): PartialUsage {
  const later = fillPrompt(before, after);
  const fallen: string[] = [];
  if (tokensOf(later) < tokensOf(before)) fallen.push('input_tokens');
  if (hasFallen(before.output, after.output)) fallen.push('output_tokens');
  if (hasFallen(before.webSearches, after.webSearches)) fallen.push('web_search_requests');
  const merged = mergePrompt(before, later);
  const isCredible = tokensOf(merged) <= bounds.usageTokensMax;
  return {
    ...(isCredible ? merged : promptOf(before)),
    output: largest(before.output, after.output),
    thinking: largest(before.thinking, after.thinking),
    soundInput: largest(before.soundInput, after.soundInput),
    soundOutput: largest(before.soundOutput, after.soundOutput),
    webSearches: largest(before.webSearches, after.webSearches),
    tier: before.tier && after.tier ? dearerTier(before.tier, after.tier) : (after.tier ?? before.tier),
    compactions: mergeCompactions(before.compactions, after.compactions),
    disbelieved: union(before.disbelieved, isCredible ? after.disbelieved : [...after.disbelieved, 'input_tokens']),
    unknown: union(before.unknown, after.unknown),
    contradicted: union(before.contradicted, fallen),
  };
}

type Prompt = Omit<PartialCounts, 'output'>;

function promptOf({ input, cacheRead, cacheWrite, cacheWrite5m, cacheWrite1h }: Prompt): Prompt {
  return { input, cacheRead, cacheWrite, cacheWrite5m, cacheWrite1h };
}

/** The later counts; an absent one is unchanged. */
function fillPrompt(before: Prompt, after: Prompt): Prompt {
  return {
    input: after.input ?? before.input,
    cacheRead: after.cacheRead ?? before.cacheRead,
    cacheWrite: after.cacheWrite ?? before.cacheWrite,
    cacheWrite5m: after.cacheWrite5m ?? before.cacheWrite5m,
    cacheWrite1h: after.cacheWrite1h ?? before.cacheWrite1h,
  };
}

/**
 * The sum and the cache writes, which cost most, never fall. Providers may say late how much was read from a cache, so the
 * later split counts, unless its sum is lower.
 */
function mergePrompt(before: Prompt, later: Prompt): Prompt {
  const sum = Math.max(tokensOf(before), tokensOf(later));
  const writes = {
    cacheWrite: largest(before.cacheWrite, later.cacheWrite),
    cacheWrite5m: largest(before.cacheWrite5m, later.cacheWrite5m),
    cacheWrite1h: largest(before.cacheWrite1h, later.cacheWrite1h),
  };
  const cacheRead = tokensOf(later) < tokensOf(before) ? before.cacheRead : later.cacheRead;
  const input = later.input === null ? null : Math.max(0, sum - writesOf(writes) - (cacheRead ?? 0));
  return { input, cacheRead, ...writes };
}

function tokensOf(prompt: Prompt): number {
  return (prompt.input ?? 0) + (prompt.cacheRead ?? 0) + writesOf(prompt);
}

function writesOf(prompt: Pick<Prompt, 'cacheWrite' | 'cacheWrite5m' | 'cacheWrite1h'>): number {
  return Math.max(prompt.cacheWrite ?? 0, (prompt.cacheWrite5m ?? 0) + (prompt.cacheWrite1h ?? 0));
}

function mergeCompactions(before: PartialCounts | null, after: PartialCounts | null): PartialCounts | null {
  if (before === null || after === null) return after ?? before;
  const merged = { ...mergePrompt(before, fillPrompt(before, after)), output: largest(before.output, after.output) };
  return tokensOf(merged) + (merged.output ?? 0) <= bounds.usageTokensMax ? merged : before;
}

function hasFallen(before: number | null, after: number | null): boolean {
  return before !== null && after !== null && after < before;
}

function largest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.max(one, other);
}

function union(before: string[], after: string[]): string[] {
  if (after.length === 0 || before.length >= NAMES_MAX) return before;
  return [...new Set([...before, ...after])].slice(0, NAMES_MAX);
}
