// The health of routes, from the attempts of all nodes: each node tells the same. Pure.

import { integerOf } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { bucketMs, NEUTRAL, SLOT_MS } from './route-counts.ts';
import type { RouteCounts, RouteFailure, RouteHour } from './traffic-store.ts';

const HOUR_MS = 3_600_000;

export const routeStates = ['not_used', 'healthy', 'degraded', 'down'] as const;
export type RouteState = (typeof routeStates)[number];

export interface RouteHealthReport {
  state: RouteState;
  answered: number;
  failed: number;
  /** By fault, most first; rejected content is not among them. */
  faults: { fault: string; count: number }[];
  /** Attempts whose content the provider rejected. */
  rejected: number;
  /** Times to the first content or the whole answer, to a fifth; null without an answer. */
  p50Ms: number | null;
  p95Ms: number | null;
  /** When the failures began that have not stopped; null: the latest results are healthy. */
  failingSinceMs: number | null;
  /** The attempts that decide the state. */
  recent: Results;
  last: RouteFailure | null;
}

export interface Results {
  answered: number;
  failed: number;
}

/** `hours` are those of one route since a day before. */
export function judgeRoute(hours: readonly RouteHour[], nowMs: number): RouteHealthReport {
  const all = sum(hours.map(({ counts }) => counts));
  const faults = Object.entries(all.faults)
    .filter(([fault]) => !NEUTRAL.includes(fault))
    .map(([fault, count]) => ({ fault, count }))
    .sort((one, other) => other.count - one.count || (one.fault < other.fault ? -1 : 1));
  const blocks = blocksOf(hours);
  const recent = recentOf(blocks, nowMs);
  return {
    state: stateOf(recent),
    answered: all.answered,
    failed: failuresOf(all),
    faults,
    rejected: all.faults['rejected'] ?? 0,
    p50Ms: percentile(all.times, 0.5),
    p95Ms: percentile(all.times, 0.95),
    failingSinceMs: failingSince(blocks),
    recent,
    last: all.last ?? null,
  };
}

/** The share of answered attempts; null without attempts. */
export function shareAnswered({ answered, failed }: Results): number | null {
  return answered + failed === 0 ? null : answered / (answered + failed);
}

/** The state of a provider by those of its routes: down if all that are used are. */
export function judgeProvider(routes: readonly RouteState[]): RouteState {
  const used = routes.filter((state) => state !== 'not_used');
  if (used.length === 0) return 'not_used';
  if (used.every((state) => state === 'down')) return 'down';
  return used.every((state) => state === 'healthy') ? 'healthy' : 'degraded';
}

/** Results of a few minutes, or of an hour that an earlier release counted. */
interface Block extends Results {
  atMs: number;
  endMs: number;
  firstFailedAtMs: number;
}

/** The latest first. */
function blocksOf(hours: readonly RouteHour[]): Block[] {
  const blocks = new Map<number, Block>();
  const addBlock = (atMs: number, lengthMs: number, { answered, failed }: Results, firstFailedAtMs: number) => {
    const block = blocks.get(atMs) ?? { atMs, endMs: atMs, answered: 0, failed: 0, firstFailedAtMs: 0 };
    block.endMs = Math.max(block.endMs, atMs + lengthMs);
    block.answered += answered;
    block.failed += failed;
    if (failed > 0) block.firstFailedAtMs = Math.min(block.firstFailedAtMs || firstFailedAtMs, firstFailedAtMs);
    blocks.set(atMs, block);
  };
  for (const { atMs, counts } of hours)
    if (counts.slots === undefined)
      addBlock(atMs, HOUR_MS, { answered: counts.answered, failed: failuresOf(counts) }, atMs);
    else
      for (const [slot, results] of Object.entries(counts.slots))
        addBlock(atMs + integerOf(slot) * SLOT_MS, SLOT_MS, results, results.firstFailedAtMs);
  return [...blocks.values()].sort((one, other) => other.atMs - one.atMs);
}

/** The results of routes since then, to five minutes; without those of hours that an earlier release counted. */
export function resultsSince(hours: readonly RouteHour[], sinceMs: number): Results {
  const results: Results = { answered: 0, failed: 0 };
  for (const { atMs, counts } of hours)
    for (const [slot, { answered, failed }] of Object.entries(counts.slots ?? {})) {
      if (atMs + (integerOf(slot) + 1) * SLOT_MS <= sinceMs) continue;
      results.answered += answered;
      results.failed += failed;
    }
  return results;
}

/** The latest results: of some minutes at least, and as far back as there are too few attempts to judge by. */
function recentOf(blocks: readonly Block[], nowMs: number): Results {
  const recent: Results = { answered: 0, failed: 0 };
  for (const { endMs, answered, failed } of blocks) {
    const isOld = endMs <= nowMs - bounds.routeJudgedMs;
    if (isOld && recent.answered + recent.failed >= bounds.routeJudgedAttempts) break;
    recent.answered += answered;
    recent.failed += failed;
  }
  return recent;
}

function stateOf(recent: Results): RouteState {
  const share = shareAnswered(recent);
  if (share === null) return 'not_used';
  if (recent.answered === 0 && recent.failed >= bounds.routeDeadLeast) return 'down';
  if (share < bounds.routeDownShare && recent.answered + recent.failed >= bounds.routeJudgedLeast) return 'down';
  return share < bounds.routeDegradedShare ? 'degraded' : 'healthy';
}

function failingSince(blocks: readonly Block[]): number | null {
  let sinceMs: number | null = null;
  for (const block of blocks) {
    const share = shareAnswered(block);
    if (share === null) continue;
    if (share >= bounds.routeDegradedShare) break;
    sinceMs = block.firstFailedAtMs;
  }
  return sinceMs;
}

function failuresOf({ faults }: RouteCounts): number {
  let failed = 0;
  for (const [fault, count] of Object.entries(faults)) if (!NEUTRAL.includes(fault)) failed += count;
  return failed;
}

function sum(parts: readonly RouteCounts[]): RouteCounts {
  const all: RouteCounts = { answered: 0, faults: {}, times: {} };
  for (const { answered, faults, times, last } of parts) {
    all.answered += answered;
    addTo(all.faults, faults);
    addTo(all.times, times);
    if (last !== undefined && last.atMs > (all.last?.atMs ?? 0)) all.last = last;
  }
  return all;
}

function addTo(sums: Record<string, number>, counts: Record<string, number>): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
}

/** Names of buckets are whole numbers, which objects have in ascending order. */
function percentile(times: Record<string, number>, share: number): number | null {
  const buckets = Object.entries(times);
  let left = buckets.reduce((all, [, count]) => all + count, 0) * share;
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return bucketMs(integerOf(bucket));
  }
  return null;
}
