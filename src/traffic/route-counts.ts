// Counts the attempts of this node at routes by hour, when their message has ended. A process stores whole hours of its
// own, so that storing them twice counts nothing twice.

import { bounds } from '../config/config.ts';
import type { RouteCounts, RouteHour } from './traffic-store.ts';

const HOUR_MS = 3_600_000;

/** The facts of an ended message that are counted. */
export interface EndedMessage {
  model: string;
  /** `upstream_cut`: the answer of the last attempt broke off. */
  outcome: string;
  attempts: readonly { provider: string; model: string; result: string; ms: number }[];
}

interface Counted {
  hour: RouteHour;
  isChanged: boolean;
}

export class RouteCounter {
  readonly #source: string;
  #atMs = 0;
  /** The current hour, by model; a model has a few routes. */
  readonly #byModel = new Map<string, Counted[]>();
  #routes = 0;
  /** Changed counts of earlier hours. */
  #before: RouteHour[] = [];

  /** `source` identifies this process since its start. */
  constructor(source: string) {
    this.#source = source;
  }

  count({ model, outcome, attempts }: EndedMessage, nowMs: number): void {
    if (nowMs >= this.#atMs + HOUR_MS) this.#beginHour(nowMs);
    const last = attempts.length - 1;
    for (let at = 0; at <= last; at++) {
      const attempt = attempts[at] as EndedMessage['attempts'][number];
      const counted = this.#find(model, attempt.provider, attempt.model);
      if (counted === null) return;
      counted.isChanged = true;
      const { counts } = counted.hour;
      if (attempt.result !== 'answered') add(counts.faults, attempt.result);
      else if (at === last && outcome === 'upstream_cut') add(counts.faults, 'cut');
      else {
        counts.answered++;
        add(counts.times, bucketOf(attempt.ms));
      }
    }
  }

  /** The hours that have changed since the last call. */
  take(): RouteHour[] {
    const taken = this.#before;
    this.#before = [];
    for (const ofModel of this.#byModel.values())
      for (const counted of ofModel)
        if (counted.isChanged) {
          counted.isChanged = false;
          taken.push(counted.hour);
        }
    return taken;
  }

  /** Hours that could not be stored, to be taken again. Those of the current hour are taken whole. */
  putBack(hours: readonly RouteHour[]): void {
    for (const hour of hours) {
      const current = this.#byModel.get(hour.model)?.find((counted) => counted.hour === hour);
      if (current !== undefined) current.isChanged = true;
      else if (this.#before.length < bounds.routesCountedMax) this.#before.push(hour);
    }
  }

  #beginHour(nowMs: number): void {
    this.#before = this.take().slice(-bounds.routesCountedMax);
    this.#atMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
    this.#byModel.clear();
    this.#routes = 0;
  }

  /** null: too many routes were used in this hour, because the catalog changes very often. */
  #find(model: string, provider: string, upstreamModel: string): Counted | null {
    const ofModel = this.#byModel.get(model);
    if (ofModel !== undefined)
      for (const counted of ofModel)
        if (counted.hour.provider === provider && counted.hour.upstreamModel === upstreamModel) return counted;
    if (this.#routes >= bounds.routesCountedMax) return null;
    this.#routes++;
    const counts: RouteCounts = { answered: 0, faults: {}, times: {} };
    const hour = { source: this.#source, atMs: this.#atMs, model, provider, upstreamModel, counts };
    const counted = { hour, isChanged: false };
    if (ofModel === undefined) this.#byModel.set(model, [counted]);
    else ofModel.push(counted);
    return counted;
  }
}

function add(counts: Record<string, number>, name: string | number): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

const BUCKETS_PER_DOUBLING = 4; // a time is known to a fifth
const BUCKET_MAX = 88; // an hour

/** Bucket of a time in milliseconds: each begins 2^(1/4) times as late as the one before. */
export function bucketOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(BUCKET_MAX, Math.ceil(Math.log2(ms) * BUCKETS_PER_DOUBLING));
}

/** The longest time of a bucket in milliseconds, rounded. */
export function bucketMs(bucket: number): number {
  return Math.round(2 ** (bucket / BUCKETS_PER_DOUBLING));
}
