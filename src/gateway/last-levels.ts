// The last known rate levels per key, for answers that take nothing from the meters: lists, and refusals before
// admission. Those are free of charge, so they must not query the ledger.

import type { Caller } from '../accounts/accounts.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Level, Levels } from '../ledger/ledger.ts';

const PER_MS = 60_000; // limits are per minute

export class LastLevels {
  /**
   * By caller snapshot: levels are valid only for that snapshot's limits. Weak, so that unused snapshots are
   * collected.
   */
  #ofCaller = new WeakMap<Caller, Levels>();
  /** The catalog of all levels here. When it changes, all levels are dropped. */
  #catalog: Catalog | null = null;

  /** Levels of an admission or refusal; null if there were none. */
  remember(caller: Caller, catalog: Catalog, levels: Levels | null): void {
    if (levels === null) return;
    if (catalog !== this.#catalog) {
      this.#catalog = catalog;
      this.#ofCaller = new WeakMap();
    }
    if (hasLimits(levels)) this.#ofCaller.set(caller, levels);
    else this.#ofCaller.delete(caller);
  }

  /**
   * The last known levels plus what has refilled since; null if unknown. Does not include what other requests took
   * meanwhile.
   */
  find(caller: Caller, catalog: Catalog, nowMs: number): Levels | null {
    if (catalog !== this.#catalog) return null;
    const reported = this.#ofCaller.get(caller);
    if (reported === undefined) return null;
    const { requests, inputTokens, outputTokens } = reported;
    return {
      requests: recovered(requests, nowMs),
      inputTokens: recovered(inputTokens, nowMs),
      outputTokens: recovered(outputTokens, nowMs),
    };
  }
}

function hasLimits({ requests, inputTokens, outputTokens }: Levels): boolean {
  return requests !== null || inputTokens !== null || outputTokens !== null;
}

/** Limits refill continuously until the reset. */
function recovered(level: Level | null, nowMs: number): Level | null {
  if (level === null) return null;
  const { limit, resetAtMs } = level;
  if (resetAtMs <= nowMs) return { limit, remaining: limit, resetAtMs: nowMs };
  const remaining = Math.floor(limit - ((resetAtMs - nowMs) * limit) / PER_MS);
  return { limit, remaining: Math.max(level.remaining, remaining), resetAtMs };
}

/** `<vendor>-ratelimit-…-{limit,remaining,reset}` for the configured limits. */
export function rateHeaders(levels: Levels | null, vendorPrefix: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (levels === null) return headers;
  const { requests, inputTokens, outputTokens } = levels;
  if (requests === null && inputTokens === null && outputTokens === null) return headers;
  const names = namesOf(vendorPrefix);
  putLevel(headers, names.requests, requests);
  putLevel(headers, names.inputTokens, inputTokens);
  putLevel(headers, names.outputTokens, outputTokens);
  putLevel(headers, names.tokens, together(inputTokens, outputTokens));
  return headers;
}

/** The names of the three headers of one limit. */
type LimitNames = ReturnType<typeof limitNames>;

const namesByPrefix = new Map<string, Record<'requests' | 'inputTokens' | 'outputTokens' | 'tokens', LimitNames>>();

/** Joined once for each configured prefix. */
function namesOf(vendorPrefix: string) {
  let names = namesByPrefix.get(vendorPrefix);
  if (names === undefined) {
    names = {
      requests: limitNames(`${vendorPrefix}-ratelimit-requests`),
      inputTokens: limitNames(`${vendorPrefix}-ratelimit-input-tokens`),
      outputTokens: limitNames(`${vendorPrefix}-ratelimit-output-tokens`),
      tokens: limitNames(`${vendorPrefix}-ratelimit-tokens`),
    };
    namesByPrefix.set(vendorPrefix, names);
  }
  return names;
}

function limitNames(name: string) {
  return { limit: `${name}-limit`, remaining: `${name}-remaining`, reset: `${name}-reset` };
}

function putLevel(headers: Record<string, string>, names: LimitNames, level: Level | null): void {
  if (level === null) return;
  headers[names.limit] = String(level.limit);
  headers[names.remaining] = String(level.remaining);
  headers[names.reset] = formatSecond(Math.floor(level.resetAtMs / 1000));
}

/** The latest times, by second: limits reset within a minute. */
const formatted = Array.from({ length: 64 }, () => ({ second: -1, text: '' }));

function formatSecond(second: number): string {
  const latest = formatted[second % formatted.length] as { second: number; text: string };
  if (latest.second !== second) {
    latest.second = second;
    latest.text = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
  }
  return latest.text;
}

function together(input: Level | null, output: Level | null): Level | null {
  if (input === null || output === null) return input ?? output;
  return {
    limit: input.limit + output.limit,
    remaining: input.remaining + output.remaining,
    resetAtMs: Math.max(input.resetAtMs, output.resetAtMs),
  };
}
