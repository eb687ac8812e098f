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
  /** What it is all about: at another address, or with another credential, it begins anew. */
  baseUrl: string;
  secret: string | null;
  /** Null while the circuit is closed. */
  openUntilMs: number | null;
  /** How often it was opened without having been closed. */
  openings: number;
  restUntilMs: number;
  /** In a rest nobody asks before. */
  askAgainMs: number;
  /** How often it was asked in its rest, and told us again to wait. */
  vainAsks: number;
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
    const target = this.#known(candidate);
    if (target === null) return 'ready';
    const nowMs = this.#nowMs();
    if (nowMs < target.restUntilMs) return 'resting';
    if (target.openUntilMs === null) return 'ready';
    return nowMs < target.openUntilMs || target.isProbed ? 'open' : 'ready';
  }

  /** How long until a rest or an open circuit ends; 0 when there is none. */
  waitMs(candidate: Candidate): number {
    const target = this.#known(candidate);
    if (target === null) return 0;
    return Math.max(0, Math.max(target.restUntilMs, target.openUntilMs ?? 0) - this.#nowMs());
  }

  /** What its last failure was; null when it had none. */
  lastFault(candidate: Candidate): FaultKind | null {
    return this.#known(candidate)?.lastFailure?.kind ?? null;
  }

  /** Null when it is full, or rests and is asked by another message already, or was asked in vain too often. */
  enter(candidate: Candidate): Passage | null {
    if (this.#isFull(candidate)) return null;
    const target = this.#known(candidate) ?? this.#add(candidate);
    const isWell = target.restUntilMs === 0 && target.openUntilMs === null; // nearly always: no clock is asked
    const nowMs = isWell ? 0 : this.#nowMs();
    const isResting = nowMs < target.restUntilMs;
    if (isResting && (target.isProbed || nowMs < target.askAgainMs)) return null;
    const isProbe = !target.isProbed && (isResting || (target.openUntilMs !== null && nowMs >= target.openUntilMs));
    if (isProbe) target.isProbed = true;
    this.#carry(candidate.lane, 1);
    target.inFlight++;
    const passage = { lane: candidate.lane, target, isProbe, restUntilMs: isResting ? target.restUntilMs : null };
    return new Way(passage, this.#hooks);
  }

  /** Those that were used in this run, in the order of their first use. */
  list(): TargetHealth[] {
    const nowMs = this.#nowMs();
    return [...this.#targets.values()].map((target) => describe(target, nowMs));
  }

  readonly #hooks: PassageHooks = {
    left: (lane) => this.#carry(lane, -1),
    failed: (entry, kind, retryAfterMs) => this.#noteFailure(entry, kind, retryAfterMs),
  };

  #noteFailure({ target, isProbe, restUntilMs }: Entry, kind: FaultKind, retryAfterMs: number | null): void {
    const nowMs = this.#nowMs();
    target.lastFailure = { kind, atMs: nowMs };
    if (retryAfterMs !== null && retryAfterMs > 0) {
      // It is there, and says when it will serve again.
      close(target);
      target.failuresInARow = 0;
      target.restUntilMs = nowMs + Math.min(retryAfterMs, bounds.credentialRestMsMax);
      target.vainAsks = restUntilMs === null ? 0 : target.vainAsks + 1;
      const pauses = target.vainAsks - bounds.restAsksMax;
      target.askAgainMs = pauses < 0 ? nowMs : nowMs + doubled(bounds.restAskMs, pauses);
      return;
    }
    target.failuresInARow++;
    const isOpen = target.openUntilMs !== null;
    if (isOpen ? !isProbe : target.failuresInARow < this.#failuresMax()) return;
    target.openUntilMs = nowMs + doubled(bounds.circuitOpenMs, target.openings);
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

  #known(candidate: Candidate): Target | null {
    const target = this.#targets.get(candidate.target);
    return target === undefined || isReplaced(target, candidate) ? null : target;
  }

  #add(candidate: Candidate): Target {
    if (this.#targets.size >= bounds.routeTargetsMax) this.#forget();
    const { route, settings, credential } = candidate;
    const target: Target = {
      provider: route.provider,
      credential: credential?.name ?? null,
      model: route.upstreamModel,
      baseUrl: settings.baseUrl,
      secret: credential?.secret.reveal() ?? null,
      failuresInARow: 0,
      inFlight: 0,
      lastFailure: null,
      openUntilMs: null,
      openings: 0,
      restUntilMs: 0,
      askAgainMs: 0,
      vainAsks: 0,
      isProbed: false,
    };
    this.#targets.set(candidate.target, target);
    return target;
  }

  /** Makes room: of what is idle and well nothing is lost but its line in lists. Where all are in trouble, or in use, the oldest goes. */
  #forget(): void {
    const nowMs = this.#nowMs();
    for (const [name, target] of this.#targets) if (isIdleAndWell(target, nowMs)) this.#targets.delete(name);
    for (const name of this.#targets.keys()) {
      if (this.#targets.size < bounds.routeTargetsMax) return;
      this.#targets.delete(name);
    }
  }
}

/** How a message entered. */
interface Entry {
  readonly lane: string;
  readonly target: Target;
  isProbe: boolean;
  /** The end of the rest in which it entered; null: there was none. */
  readonly restUntilMs: number | null;
}

interface PassageHooks {
  left(lane: string): void;
  failed(entry: Entry, kind: FaultKind, retryAfterMs: number | null): void;
}

class Way implements Passage {
  readonly #entry: Entry;
  readonly #hooks: PassageHooks;
  #isOver = false;
  #hasAnswered = false;

  constructor(entry: Entry, hooks: PassageHooks) {
    this.#entry = entry;
    this.#hooks = hooks;
  }

  answered(isWhole: boolean): void {
    if (this.#isOver) return;
    const { target, restUntilMs } = this.#entry;
    this.#hasAnswered = true;
    this.#endProbe();
    close(target);
    if (restUntilMs === target.restUntilMs) target.restUntilMs = 0;
    if (isWhole) target.failuresInARow = 0;
  }

  failed(kind: FaultKind, retryAfterMs: number | null): void {
    if (this.#isOver) return;
    this.#hasAnswered = false;
    if (!NEUTRAL.includes(kind)) this.#hooks.failed(this.#entry, kind, retryAfterMs);
    this.finish();
  }

  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endProbe();
    const { lane, target } = this.#entry;
    this.#hooks.left(lane);
    target.inFlight--;
    if (this.#hasAnswered) target.failuresInARow = 0;
  }

  /** Once: whoever comes later may be another's probe by then. */
  #endProbe(): void {
    if (this.#entry.isProbe) this.#entry.target.isProbed = false;
    this.#entry.isProbe = false;
  }
}

function close(target: Target): void {
  target.openUntilMs = null;
  target.openings = 0;
}

/** Twice as long each time, up to a minute. */
function doubled(firstMs: number, times: number): number {
  return Math.min(firstMs * 2 ** Math.min(times, 16), bounds.circuitOpenMsMax);
}

function isReplaced(target: Target, { settings, credential }: Candidate): boolean {
  return target.baseUrl !== settings.baseUrl || target.secret !== (credential?.secret.reveal() ?? null);
}

function isIdleAndWell({ inFlight, failuresInARow, openUntilMs, restUntilMs }: Target, nowMs: number): boolean {
  return inFlight === 0 && failuresInARow === 0 && openUntilMs === null && nowMs >= restUntilMs;
}

function describe(target: Target, nowMs: number): TargetHealth {
  const { provider, credential, model, failuresInARow, inFlight, lastFailure, openUntilMs, restUntilMs } = target;
  const known = { provider, credential, model, failuresInARow, inFlight, lastFailure };
  if (nowMs < restUntilMs) return { ...known, state: 'resting', untilMs: restUntilMs };
  if (openUntilMs === null) return { ...known, state: 'ready', untilMs: null };
  return { ...known, state: nowMs < openUntilMs ? 'open' : 'half_open', untilMs: openUntilMs };
}
