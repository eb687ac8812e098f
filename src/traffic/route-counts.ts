// Counts the attempts of this node at routes by hour, and the results of messages by model, when a message has ended. A process
// stores whole hours of its own, so that storing them twice counts nothing twice.

import { bounds } from '../config/config.ts';
import type { RouteCounts, RouteHour, RouteSlot } from './traffic-store.ts';

const HOUR_MS = 3_600_000;
export const SLOT_MS = 300_000;

/** Results that say nothing about the route: content of the client or the model, and attempts that this service ended. */
export const NEUTRAL: readonly string[] = ['rejected', 'unusable', 'aborted'];

/** The facts of an ended message that are counted. */
export interface EndedMessage {
  model: string;
  /** `upstream_cut`: the answer of the last attempt broke off. */
  outcome: string;
  attempts: readonly EndedAttempt[];
  /** The error that the client got. */
  error: { code: string; message: string } | null;
}

interface EndedAttempt {
  provider: string;
  model: string;
  credential?: string | null;
  result: string;
  /** The provider's HTTP status. */
  status?: number | null;
  /** The provider's words. */
  reason?: string | null;
  ms: number;
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

  count(message: EndedMessage, nowMs: number): void {
    if (nowMs >= this.#atMs + HOUR_MS) this.#beginHour(nowMs);
    const { model, outcome, attempts, error } = message;
    for (const [at, attempt] of attempts.entries()) {
      const counted = this.#find(model, attempt.provider, attempt.model);
      if (counted === null) return;
      const isCut = at === attempts.length - 1 && outcome === 'upstream_cut';
      if (attempt.result !== 'answered') addFault(counted, attempt.result, attempt, nowMs);
      else if (isCut) addFault(counted, 'cut', { ...attempt, reason: error?.message ?? null }, nowMs);
      else {
        addAnswer(counted, nowMs);
        add(counted.hour.counts.times, bucketOf(attempt.ms));
      }
    }
    const fault = faultOfMessage(message);
    const ofModel = fault === undefined ? null : this.#find(model, NO_ROUTE, NO_ROUTE);
    if (ofModel === null) return;
    if (fault == null) addAnswer(ofModel, nowMs);
    else addFault(ofModel, fault, attempts.at(-1) ?? null, nowMs);
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

/** Provider and upstream model of the row that counts the messages of a model. */
export const NO_ROUTE = '';

/** null: it was answered. undefined: the result says nothing about the routes. */
function faultOfMessage({ outcome, attempts, error }: EndedMessage): string | null | undefined {
  const last = attempts.at(-1);
  if (outcome === 'upstream_cut') return 'cut';
  if (outcome !== 'failed') return last?.result === 'answered' ? null : undefined;
  if (last === undefined) return error?.code.startsWith('upstream_') ? 'unavailable' : undefined;
  return last.result === 'answered' || NEUTRAL.includes(last.result) ? undefined : last.result;
}

function addAnswer(counted: Counted, nowMs: number): void {
  counted.isChanged = true;
  counted.hour.counts.answered++;
  slotOf(counted, nowMs).answered++;
}

function addFault(counted: Counted, fault: string, attempt: EndedAttempt | null, nowMs: number): void {
  counted.isChanged = true;
  const { counts } = counted.hour;
  add(counts.faults, fault);
  if (NEUTRAL.includes(fault)) return;
  const slot = slotOf(counted, nowMs);
  slot.failed++;
  slot.firstFailedAtMs ||= nowMs;
  const { provider = null, credential = null, status = null, reason = null } = attempt ?? {};
  counts.last = { atMs: nowMs, fault, provider, credential, status, reason };
}

function slotOf({ hour: { atMs, counts } }: Counted, nowMs: number): RouteSlot {
  counts.slots ??= {};
  const place = Math.max(0, Math.floor((nowMs - atMs) / SLOT_MS));
  const slot = counts.slots[place] ?? { answered: 0, failed: 0, firstFailedAtMs: 0 };
  counts.slots[place] = slot;
  return slot;
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
