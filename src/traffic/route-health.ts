// The health of routes in the last day, from the attempts of all nodes and the circuits of this one. Pure.

import { integerOf } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { bucketMs } from './route-counts.ts';
import type { RouteCounts, RouteHour } from './traffic-store.ts';

const HOUR_MS = 3_600_000;

/** Results that say nothing about the route: content of the client or the model, and attempts that this service ended. */
const NEUTRAL: readonly string[] = ['rejected', 'unusable', 'aborted'];

export const routeStates = ['not_used', 'healthy', 'degraded', 'down'] as const;
export type RouteState = (typeof routeStates)[number];

/** Circuits of the targets of a route on this node. `closed`: all of them, or none was used. */
export type Circuits = 'closed' | 'some open' | 'all open';

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
}

/** `hours` are those of one route since a day before. */
export function judgeRoute(hours: readonly RouteHour[], circuits: Circuits, nowMs: number): RouteHealthReport {
  const all = sum(hours.map(({ counts }) => counts));
  const failed = failuresOf(all);
  const faults = Object.entries(all.faults)
    .filter(([fault]) => !NEUTRAL.includes(fault))
    .map(([fault, count]) => ({ fault, count }))
    .sort((one, other) => other.count - one.count || (one.fault < other.fault ? -1 : 1));
  return {
    state: stateOf(hours, { answered: all.answered, failed }, circuits, nowMs),
    answered: all.answered,
    failed,
    faults,
    rejected: all.faults['rejected'] ?? 0,
    p50Ms: percentile(all.times, 0.5),
    p95Ms: percentile(all.times, 0.95),
  };
}

interface Results {
  answered: number;
  failed: number;
}

/** The last hour decides; without attempts in it, the last day. Below `routeJudgedLeast` attempts no route is down by them. */
function stateOf(hours: readonly RouteHour[], ofDay: Results, circuits: Circuits, nowMs: number): RouteState {
  if (circuits === 'all open') return 'down';
  const ofHour = lastHour(hours, nowMs);
  const judged = ofHour.answered + ofHour.failed > 0 ? ofHour : ofDay;
  const attempts = judged.answered + judged.failed;
  if (attempts === 0) return circuits === 'some open' ? 'degraded' : 'not_used';
  const share = judged.answered / attempts;
  if (share < bounds.routeDownShare && attempts >= bounds.routeJudgedLeast) return 'down';
  return circuits === 'some open' || share < bounds.routeDegradedShare ? 'degraded' : 'healthy';
}

/** The current hour, and as much of the one before as still lies within sixty minutes. */
function lastHour(hours: readonly RouteHour[], nowMs: number): Results {
  const currentMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const shareBefore = 1 - (nowMs - currentMs) / HOUR_MS;
  const results: Results = { answered: 0, failed: 0 };
  for (const { atMs, counts } of hours) {
    const share = atMs >= currentMs ? 1 : atMs === currentMs - HOUR_MS ? shareBefore : 0;
    results.answered += counts.answered * share;
    results.failed += failuresOf(counts) * share;
  }
  return results;
}

function failuresOf({ faults }: RouteCounts): number {
  let failed = 0;
  for (const [fault, count] of Object.entries(faults)) if (!NEUTRAL.includes(fault)) failed += count;
  return failed;
}

function sum(parts: readonly RouteCounts[]): RouteCounts {
  const all: RouteCounts = { answered: 0, faults: {}, times: {} };
  for (const { answered, faults, times } of parts) {
    all.answered += answered;
    addTo(all.faults, faults);
    addTo(all.times, times);
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
