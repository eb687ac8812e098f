// How providers do, by their last attempts: what operators see. Routing does not look at it.

import { bounds } from '../config.ts';

interface Health {
  /** Of the last attempts, the newest last: whether the provider answered. */
  answered: boolean[];
  lastSuccessMs: number;
  lastFailureMs: number;
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

export class UpstreamHealth {
  readonly #healthOf = new Map<string, Health>();

  /** A refusal of the content is an answer; what we broke off ourselves says nothing. */
  note(provider: string, result: string, nowMs: number): void {
    if (result === 'aborted') return;
    const health = this.#find(provider);
    const isAnswered = result === 'answered' || result === 'rejected';
    if (isAnswered) health.lastSuccessMs = nowMs;
    else health.lastFailureMs = nowMs;
    health.answered.push(isAnswered);
    if (health.answered.length > bounds.upstreamHealthAttempts) health.answered.shift();
  }

  /** Down: none of the last attempts was answered, and there were as many as that takes. */
  isUp(provider: string): boolean {
    const answered = this.#healthOf.get(provider)?.answered ?? [];
    return answered.length < bounds.upstreamHealthAttempts || answered.includes(true);
  }

  /** In milliseconds since 1970; 0 for never. */
  lastSuccessMs(provider: string): number {
    return this.#healthOf.get(provider)?.lastSuccessMs ?? 0;
  }

  lastFailureMs(provider: string): number {
    return this.#healthOf.get(provider)?.lastFailureMs ?? 0;
  }

  #find(provider: string): Health {
    let health = this.#healthOf.get(provider);
    if (health === undefined) {
      if (this.#healthOf.size >= bounds.metricSeriesMax) this.#healthOf.clear(); // the catalogue changed very often
      health = { answered: [], lastSuccessMs: 0, lastFailureMs: 0 };
      this.#healthOf.set(provider, health);
    }
    return health;
  }
}
