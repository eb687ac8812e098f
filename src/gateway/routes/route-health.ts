// How the ways to models do, on this node: which failed several times in a row, which were told to wait, and
// how many messages each carries. It only orders and bounds; what is tried, and when it is given up, stands in attempts.

import { bounds } from '../../config.ts';
import type { FaultKind } from '../../providers/providers.ts';
import type { Candidate } from './candidate.ts';

/**
 * `open`: its circuit is, or somebody is just finding out whether it still has to be. `resting`: its provider
 * told us when to come again. `full`: it carries as many messages as it may.
 */
export type Standing = 'ready' | 'open' | 'resting' | 'full';

/** A message on its way. Every passage is finished, once or more often. */
export interface Passage {
  /** An answer has begun; `isWhole`: it is there. */
  answered(isWhole: boolean): void;
  /** The attempt failed, or its answer broke off. */
  failed(kind: FaultKind, retryAfterMs: number | null): void;
  /** The upstream works no more for this message. A passage that was answered and did not fail went well. */
  finish(): void;
}

/** How one target does, for people. Times in milliseconds since 1970; null for never, or not at present. */
export interface TargetHealth {
  provider: string;
  /** The credential's name; null where the provider takes none. */
  credential: string | null;
  /** The model's name at the provider. */
  model: string;
  state: 'ready' | 'open' | 'half_open' | 'resting';
  /** When an open circuit is tried again, or a rest ends. */
  untilMs: number | null;
  failuresInARow: number;
  inFlight: number;
  lastFailure: { kind: FaultKind; atMs: number } | null;
}

interface Target extends Omit<TargetHealth, 'state' | 'untilMs'> {
  /** What it is all about: with another credential it begins anew. */
  secret: string | null;
  /** Null while the circuit is closed. */
  openUntilMs: number | null;
  /** How often it was opened without having been closed. */
  openings: number;
  restUntilMs: number;
  /** Somebody finds out whether it is well again. */
  isProbed: boolean;
}

/** What says nothing about the provider: the caller's content, and what we broke off ourselves. */
const NEUTRAL: readonly FaultKind[] = ['rejected', 'aborted'];

export class RouteHealth {
  readonly #targets = new Map<string, Target>();
  readonly #carried = new Map<string, number>(); // by lane, those above zero
  readonly #nowMs: () => number;
  readonly #failuresMax: () => number;

  /** `failuresMax`: after how many failures in a row a circuit opens; asked each time, since a setting may change. */
  constructor(failuresMax: () => number, nowMs: () => number = Date.now) {
    this.#failuresMax = failuresMax;
    this.#nowMs = nowMs;
  }

  standing(candidate: Candidate): Standing {
    if (this.#isFull(candidate)) return 'full';
    const target = this.#targets.get(candidate.target);
    if (target === undefined || isReplaced(target, candidate)) return 'ready';
    const nowMs = this.#nowMs();
    if (nowMs < target.restUntilMs) return 'resting';
    if (target.openUntilMs === null) return 'ready';
    return nowMs < target.openUntilMs || target.isProbed ? 'open' : 'ready';
  }

  /** How long until a rest or an open circuit ends; 0 when there is none. */
  waitMs({ target: name }: Candidate): number {
    const target = this.#targets.get(name);
    if (target === undefined) return 0;
    return Math.max(0, Math.max(target.restUntilMs, target.openUntilMs ?? 0) - this.#nowMs());
  }

  /** Null when it is full, or rests and is asked by another message already. */
  enter(candidate: Candidate): Passage | null {
    const target = this.#find(candidate);
    const nowMs = this.#nowMs();
    const isResting = nowMs < target.restUntilMs;
    if (this.#isFull(candidate) || (isResting && target.isProbed)) return null;
    const isProbe = !target.isProbed && (isResting || (target.openUntilMs !== null && nowMs >= target.openUntilMs));
    if (isProbe) target.isProbed = true;
    this.#carry(candidate.lane, 1);
    target.inFlight++;
    return this.#passage(candidate.lane, target, isProbe);
  }

  /** Those that were used in this run, and are neither well nor idle first. */
  list(): TargetHealth[] {
    const nowMs = this.#nowMs();
    return [...this.#targets.values()].map((target) => describe(target, nowMs));
  }

  #passage(lane: string, target: Target, isProbe: boolean): Passage {
    let isOver = false;
    let hasAnswered = false;
    const endProbe = () => {
      if (isProbe) target.isProbed = false;
    };
    const finish = () => {
      if (isOver) return;
      isOver = true;
      endProbe();
      this.#carry(lane, -1);
      target.inFlight--;
      if (hasAnswered) target.failuresInARow = 0;
    };
    return {
      answered: (isWhole) => {
        if (isOver) return;
        hasAnswered = true;
        endProbe();
        close(target);
        if (isProbe) target.restUntilMs = 0;
        if (isWhole) target.failuresInARow = 0;
      },
      failed: (kind, retryAfterMs) => {
        if (isOver) return;
        hasAnswered = false;
        if (!NEUTRAL.includes(kind)) this.#noteFailure(target, kind, retryAfterMs, isProbe);
        finish();
      },
      finish,
    };
  }

  #noteFailure(target: Target, kind: FaultKind, retryAfterMs: number | null, isProbe: boolean): void {
    const nowMs = this.#nowMs();
    target.lastFailure = { kind, atMs: nowMs };
    if (retryAfterMs !== null && retryAfterMs > 0) {
      // It is there, and says when it will serve again.
      close(target);
      target.failuresInARow = 0;
      target.restUntilMs = nowMs + Math.min(retryAfterMs, bounds.credentialRestMsMax);
      return;
    }
    target.failuresInARow++;
    const isOpen = target.openUntilMs !== null;
    if (isOpen ? !isProbe : target.failuresInARow < this.#failuresMax()) return;
    const openMs = Math.min(bounds.circuitOpenMs * 2 ** Math.min(target.openings, 16), bounds.circuitOpenMsMax);
    target.openUntilMs = nowMs + openMs;
    target.openings++;
  }

  #isFull({ route, lane }: Candidate): boolean {
    return route.concurrency !== null && (this.#carried.get(lane) ?? 0) >= route.concurrency;
  }

  #carry(lane: string, change: 1 | -1): void {
    const carried = (this.#carried.get(lane) ?? 0) + change;
    if (carried === 0) this.#carried.delete(lane);
    else this.#carried.set(lane, carried);
  }

  #find(candidate: Candidate): Target {
    const known = this.#targets.get(candidate.target);
    if (known !== undefined && !isReplaced(known, candidate)) return known;
    if (this.#targets.size >= bounds.metricSeriesMax) this.#targets.clear(); // the catalogue changed very often
    const { route, credential } = candidate;
    const target: Target = {
      provider: route.provider,
      credential: credential?.name ?? null,
      model: route.upstreamModel,
      secret: credential?.secret.reveal() ?? null,
      failuresInARow: 0,
      inFlight: 0,
      lastFailure: null,
      openUntilMs: null,
      openings: 0,
      restUntilMs: 0,
      isProbed: false,
    };
    this.#targets.set(candidate.target, target);
    return target;
  }
}

function close(target: Target): void {
  target.openUntilMs = null;
  target.openings = 0;
}

function isReplaced(target: Target, { credential }: Candidate): boolean {
  return target.secret !== (credential?.secret.reveal() ?? null);
}

function describe(target: Target, nowMs: number): TargetHealth {
  const { provider, credential, model, failuresInARow, inFlight, lastFailure, openUntilMs, restUntilMs } = target;
  const known = { provider, credential, model, failuresInARow, inFlight, lastFailure };
  if (nowMs < restUntilMs) return { ...known, state: 'resting', untilMs: restUntilMs };
  if (openUntilMs === null) return { ...known, state: 'ready', untilMs: null };
  return { ...known, state: nowMs < openUntilMs ? 'open' : 'half_open', untilMs: openUntilMs };
}
