// How providers do, by their last attempts: what operators see. Routing does not look at it.

import { bounds } from '../config.ts';

/** In milliseconds since 1970; null for never. */
export interface Health {
  isUp: boolean;
  lastSuccessMs: number | null;
  lastFailureMs: number | null;
}

interface Noted extends Omit<Health, 'isUp'> {
  /** Of the last attempts, the newest last: whether the provider answered. */
  answered: boolean[];
}

/** How an attempt can end, as the gateway names it. */
export const ATTEMPT_RESULTS = [
  'answered',
  'rejected',
  'credentials',
  'rate_limited',
  'overloaded',
  'failed',
  'timeout',
  'aborted',
] as const;

const UNSEEN: Noted = { answered: [], lastSuccessMs: null, lastFailureMs: null };

export class UpstreamHealth {
  readonly #notedOf = new Map<string, Noted>();

  /** A refusal of the content is an answer; what we broke off ourselves says nothing. */
  note(provider: string, result: string, nowMs: number): void {
    if (result === 'aborted') return;
    const noted = this.#find(provider);
    const isAnswered = result === 'answered' || result === 'rejected';
    if (isAnswered) noted.lastSuccessMs = nowMs;
    else noted.lastFailureMs = nowMs;
    noted.answered.push(isAnswered);
    if (noted.answered.length > bounds.upstreamHealthAttempts) noted.answered.shift();
  }

  /** Down: none of the last attempts was answered, and there were as many as that takes. */
  of(provider: string): Health {
    const { answered, lastSuccessMs, lastFailureMs } = this.#notedOf.get(provider) ?? UNSEEN;
    const isUp = answered.length < bounds.upstreamHealthAttempts || answered.includes(true);
    return { isUp, lastSuccessMs, lastFailureMs };
  }

  #find(provider: string): Noted {
    let noted = this.#notedOf.get(provider);
    if (noted === undefined) {
      if (this.#notedOf.size >= bounds.metricSeriesMax) this.#notedOf.clear(); // the catalogue changed very often
      noted = { ...UNSEEN, answered: [] };
      this.#notedOf.set(provider, noted);
    }
    return noted;
  }
}
