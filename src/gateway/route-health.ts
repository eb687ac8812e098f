// Circuit breakers of targets on this node: consecutive failures, cooldowns requested by providers, and messages in
// flight. They order and limit the targets; attempts.ts decides what is tried and given up.

import type { Catalog, Credential, ProviderSettings, Route } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { FaultKind, ProviderEndpoint } from '../providers/providers.ts';
import type { PricedTier } from '../wire/wire.ts';

/** A route with one credential of its provider. */
export interface Target {
  readonly route: Route;
  readonly settings: ProviderSettings;
  /** null if the provider needs none. */
  readonly credential: Credential | null;
  /** The address of its requests. */
  readonly endpoint: ProviderEndpoint;
  /** The route's weight divided among its credentials. */
  readonly weight: number;
  /** Identifies the route of this model; its concurrency limit counts by it. */
  readonly routeKey: string;
  /** Identifies the provider's model, service tier and credential; health is tracked by it. */
  readonly healthKey: string;
  /** Absent: standard. */
  readonly tier?: PricedTier;
}

/**
 * `open`: the circuit is open, or being probed. `resting`: in a cooldown that the provider requested. `full`: at the
 * route's concurrency limit.
 */
export type BreakerState = 'ready' | 'open' | 'resting' | 'full';

/** Health of one target, for operators. Times in milliseconds since 1970; null: never, or not at present. */
export interface TargetHealth {
  provider: string;
  /** Credential name; null if the provider needs none. */
  credential: string | null;
  /** Model name at the provider. */
  model: string;
  state: 'ready' | 'open' | 'half_open' | 'resting';
  /** End of the open state or the cooldown. */
  untilMs: number | null;
  failuresInARow: number;
  inFlight: number;
  lastFailure: { kind: FaultKind; atMs: number } | null;
  /** Mean time to the first content of measured streams; null without any. */
  firstTokenMs: number | null;
}

interface TrackedTarget extends Omit<TargetHealth, 'state' | 'untilMs' | 'firstTokenMs'> {
  /** A changed address or credential resets the state. */
  baseUrl: string;
  isBearer: boolean;
  identity: unknown;
  /** Those of other tiers are not: lists have one line for a provider's model and credential. */
  isListed: boolean;
  /** null while the circuit is closed. */
  openUntilMs: number | null;
  /** Times opened since the circuit was last closed. */
  openings: number;
  cooldownUntilMs: number;
  /** No probe during a cooldown before this time. */
  nextProbeMs: number;
  /** Probes during the cooldown that were refused again. */
  failedProbes: number;
  /** A probe is in progress. */
  isProbed: boolean;
  firstToken: FirstTokenTime;
}

/** Faults that say nothing about the provider: rejected content, and requests that this service aborted. */
const NEUTRAL: readonly FaultKind[] = ['rejected', 'unusable', 'aborted'];

export class RouteHealth {
  readonly #tracked = new Map<string, TrackedTarget>();
  readonly #carried = new Map<string, number>(); // by route key; only counts above zero
  readonly #nowMs: () => number;
  readonly #failuresMax: () => number;

  /**
   * `failuresMax`: consecutive failures after which a circuit opens; read on each call, because the setting may
   * change.
   */
  constructor(failuresMax: () => number, nowMs: () => number = Date.now) {
    this.#failuresMax = failuresMax;
    this.#nowMs = nowMs;
  }

  breakerState(target: Target): BreakerState {
    if (this.#isFull(target)) return 'full';
    const tracked = this.#known(target);
    if (tracked === null) return 'ready';
    const nowMs = this.#nowMs();
    if (nowMs < tracked.cooldownUntilMs) return 'resting';
    if (tracked.openUntilMs === null) return 'ready';
    return nowMs < tracked.openUntilMs || tracked.isProbed ? 'open' : 'ready';
  }

  /** Time until the cooldown or open state ends; 0 if there is none. */
  waitMs(target: Target): number {
    const tracked = this.#known(target);
    if (tracked === null) return 0;
    return Math.max(0, Math.max(tracked.cooldownUntilMs, tracked.openUntilMs ?? 0) - this.#nowMs());
  }

  /** The last fault; null if there was none. */
  lastFault(target: Target): FaultKind | null {
    return this.#known(target)?.lastFailure?.kind ?? null;
  }

  /** The first-token time to expect of a stream, for comparison; 0 for a target that should be measured. */
  expectedFirstTokenMs(target: Target): number {
    return this.#known(target)?.firstToken.expectedMs(this.#nowMs()) ?? 0;
  }

  /** The mean first-token time; NaN, which no comparison holds for, before the first measurement. */
  meanFirstTokenMs(target: Target): number {
    return this.#known(target)?.firstToken.meanMs ?? Number.NaN;
  }

  /**
   * null if the target is full, is being probed, or its next probe is not due. `isTimed`: the time to the answer, which is
   * a stream, is measured.
   */
  enter(target: Target, isTimed = false): Permit | null {
    if (this.#isFull(target)) return null;
    const tracked = this.#known(target) ?? this.#add(target);
    const isWell = tracked.cooldownUntilMs === 0 && tracked.openUntilMs === null; // the common case: avoids reading the clock
    const nowMs = isWell ? 0 : this.#nowMs();
    const isCoolingDown = nowMs < tracked.cooldownUntilMs;
    if (isCoolingDown && (tracked.isProbed || nowMs < tracked.nextProbeMs)) return null;
    const isProbe =
      !tracked.isProbed && (isCoolingDown || (tracked.openUntilMs !== null && nowMs >= tracked.openUntilMs));
    if (isProbe) tracked.isProbed = true;
    this.#carry(target.routeKey, 1);
    tracked.inFlight++;
    const permit = new Permit(this.#hooks, target.routeKey, tracked, isProbe, isCoolingDown);
    if (isTimed) permit.time(this.#nowMs);
    return permit;
  }

  /** Targets used since the start in the standard tier, in order of first use. */
  list(): TargetHealth[] {
    const nowMs = this.#nowMs();
    return [...this.#tracked.values()].filter(({ isListed }) => isListed).map((tracked) => describe(tracked, nowMs));
  }

  readonly #hooks: PermitHooks = {
    left: (routeKey) => this.#carry(routeKey, -1),
    failed: (permit, kind, retryAfterMs) => this.#noteFailure(permit, kind, retryAfterMs),
  };

  #noteFailure({ tracked, isProbe, cooldownUntilMs }: Permit, kind: FaultKind, retryAfterMs: number | null): void {
    const nowMs = this.#nowMs();
    tracked.lastFailure = { kind, atMs: nowMs };
    if (retryAfterMs !== null && retryAfterMs > 0) {
      // The provider responds and says when it will serve again.
      close(tracked);
      tracked.failuresInARow = 0;
      tracked.cooldownUntilMs = nowMs + Math.min(retryAfterMs, bounds.credentialCooldownMsMax);
      tracked.failedProbes = cooldownUntilMs === null ? 0 : tracked.failedProbes + 1;
      const pauses = tracked.failedProbes - bounds.cooldownProbesMax;
      tracked.nextProbeMs = pauses < 0 ? nowMs : nowMs + doubled(bounds.cooldownProbeMs, pauses);
      return;
    }
    tracked.failuresInARow++;
    const isOpen = tracked.openUntilMs !== null;
    if (isOpen ? !isProbe : tracked.failuresInARow < this.#failuresMax()) return;
    tracked.openUntilMs = nowMs + doubled(bounds.circuitOpenMs, tracked.openings);
    tracked.openings++;
  }

  #isFull({ route, routeKey }: Target): boolean {
    return route.concurrency !== null && (this.#carried.get(routeKey) ?? 0) >= route.concurrency;
  }

  #carry(routeKey: string, change: 1 | -1): void {
    const carried = (this.#carried.get(routeKey) ?? 0) + change;
    if (carried === 0) this.#carried.delete(routeKey);
    else this.#carried.set(routeKey, carried);
  }

  #known(target: Target): TrackedTarget | null {
    const tracked = this.#tracked.get(target.healthKey);
    return tracked === undefined || isReplaced(tracked, target) ? null : tracked;
  }

  #add(target: Target): TrackedTarget {
    if (this.#tracked.size >= bounds.routeTargetsMax) this.#forget();
    const { route, settings, credential } = target;
    const tracked: TrackedTarget = {
      provider: route.provider,
      credential: credential?.name ?? null,
      model: route.upstreamModel,
      baseUrl: settings.baseUrl,
      isBearer: settings.isBearer,
      identity: credential?.secret.identity() ?? null,
      isListed: target.tier === undefined,
      failuresInARow: 0,
      inFlight: 0,
      lastFailure: null,
      openUntilMs: null,
      openings: 0,
      cooldownUntilMs: 0,
      nextProbeMs: 0,
      failedProbes: 0,
      isProbed: false,
      firstToken: new FirstTokenTime(),
    };
    this.#tracked.set(target.healthKey, tracked);
    return tracked;
  }

  /** Evicts idle, healthy targets, which loses only their line in lists. If none is left, the oldest go. */
  #forget(): void {
    const nowMs = this.#nowMs();
    for (const [name, tracked] of this.#tracked) if (isIdleAndWell(tracked, nowMs)) this.#tracked.delete(name);
    for (const name of this.#tracked.keys()) {
      if (this.#tracked.size < bounds.routeTargetsMax) return;
      this.#tracked.delete(name);
    }
  }
}

interface PermitHooks {
  left(routeKey: string): void;
  failed(permit: Permit, kind: FaultKind, retryAfterMs: number | null): void;
}

/** Leave to try a target. Every permit is finished, at least once. */
export class Permit {
  readonly tracked: TrackedTarget;
  /** End of the cooldown in which the permit was issued; null: none. */
  readonly cooldownUntilMs: number | null;
  readonly #hooks: PermitHooks;
  readonly #routeKey: string;
  #isProbe: boolean;
  #isOver = false;
  #hasAnswered = false;
  #timed: { nowMs: () => number; startedMs: number } | null = null;

  constructor(hooks: PermitHooks, routeKey: string, tracked: TrackedTarget, isProbe: boolean, isCoolingDown: boolean) {
    this.#hooks = hooks;
    this.#routeKey = routeKey;
    this.tracked = tracked;
    this.#isProbe = isProbe;
    this.cooldownUntilMs = isCoolingDown ? tracked.cooldownUntilMs : null;
  }

  get isProbe(): boolean {
    return this.#isProbe;
  }

  /** Measures the time from now to the answer. */
  time(nowMs: () => number): void {
    this.#timed = { nowMs, startedMs: nowMs() };
    this.tracked.firstToken.began(this.#timed.startedMs);
  }

  /** An answer has begun, a stream with its first content; `isWhole`: it is complete. */
  answered(isWhole: boolean): void {
    if (this.#isOver) return;
    const { tracked, cooldownUntilMs } = this;
    this.#hasAnswered = true;
    this.#endProbe();
    close(tracked);
    if (cooldownUntilMs === tracked.cooldownUntilMs) tracked.cooldownUntilMs = 0;
    if (isWhole) tracked.failuresInARow = 0;
    if (this.#timed === null) return;
    const atMs = this.#timed.nowMs();
    tracked.firstToken.measured(Math.max(0, atMs - this.#timed.startedMs), atMs);
    this.#timed = null;
  }

  /** The attempt failed, or its answer broke off. */
  failed(kind: FaultKind, retryAfterMs: number | null): void {
    if (this.#isOver) return;
    this.#hasAnswered = false;
    if (!NEUTRAL.includes(kind)) this.#hooks.failed(this, kind, retryAfterMs);
    this.finish();
  }

  /**
   * The upstream no longer works for this message. A permit that was answered and did not fail counts as a success.
   */
  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endProbe();
    this.#hooks.left(this.#routeKey);
    this.tracked.inFlight--;
    if (this.#hasAnswered) this.tracked.failuresInARow = 0;
  }

  /** Once only: a later probe may belong to another message. */
  #endProbe(): void {
    if (this.#isProbe) this.tracked.isProbed = false;
    this.#isProbe = false;
  }
}

/**
 * How long a target takes to the first content of a stream: a mean that decays, so that recent streams count most and a
 * target that is not used is measured again.
 */
export class FirstTokenTime {
  #meanMs: number | null = null;
  #measurements = 0;
  #measuredAtMs = 0;
  /** The last stream that was sent to be measured. */
  #triedAtMs = Number.NEGATIVE_INFINITY;

  /** The mean in milliseconds; null before the first measurement. */
  get meanMs(): number | null {
    return this.#meanMs;
  }

  /** A stream is sent. */
  began(nowMs: number): void {
    this.#triedAtMs = nowMs;
  }

  /** Its first content arrived after `ms`. */
  measured(ms: number, nowMs: number): void {
    const before = this.#meanMs ?? ms;
    const counted = Math.min(ms, Math.max(before, 1) * bounds.firstTokenGrowthMax);
    // The first measurements count equally, later ones by the time since the one before.
    const share = Math.max(1 - this.#decay(nowMs), 1 / (this.#measurements + 1));
    this.#meanMs = before + (counted - before) * share;
    this.#measurements++;
    this.#measuredAtMs = nowMs;
  }

  /**
   * For comparison with other targets. Without measurements it falls with time, down to 0, so that the target is tried
   * again, by one stream per trial time: others expect the mean meanwhile, and the worst of a target that has none.
   */
  expectedMs(nowMs: number): number {
    const isTried = nowMs - this.#triedAtMs < bounds.firstTokenTrialMs;
    if (isTried) return this.#meanMs ?? Number.POSITIVE_INFINITY;
    return this.#meanMs === null ? 0 : this.#meanMs * this.#decay(nowMs);
  }

  #decay(nowMs: number): number {
    return Math.exp(-Math.max(0, nowMs - this.#measuredAtMs) / bounds.firstTokenDecayMs);
  }
}

function close(tracked: TrackedTarget): void {
  tracked.openUntilMs = null;
  tracked.openings = 0;
}

/** Doubles each time, up to a minute. */
function doubled(firstMs: number, times: number): number {
  return Math.min(firstMs * 2 ** Math.min(times, 16), bounds.circuitOpenMsMax);
}

function isReplaced(tracked: TrackedTarget, { settings, credential }: Target): boolean {
  if (tracked.baseUrl !== settings.baseUrl || tracked.isBearer !== settings.isBearer) return true;
  return tracked.identity !== (credential?.secret.identity() ?? null);
}

function isIdleAndWell(
  { inFlight, failuresInARow, openUntilMs, cooldownUntilMs }: TrackedTarget,
  nowMs: number,
): boolean {
  return inFlight === 0 && failuresInARow === 0 && openUntilMs === null && nowMs >= cooldownUntilMs;
}

function describe(tracked: TrackedTarget, nowMs: number): TargetHealth {
  const { provider, credential, model, failuresInARow, inFlight, lastFailure, openUntilMs, cooldownUntilMs } = tracked;
  const firstTokenMs = tracked.firstToken.meanMs;
  const known = { provider, credential, model, failuresInARow, inFlight, lastFailure, firstTokenMs };
  if (nowMs < cooldownUntilMs) return { ...known, state: 'resting', untilMs: cooldownUntilMs };
  if (openUntilMs === null) return { ...known, state: 'ready', untilMs: null };
  return { ...known, state: nowMs < openUntilMs ? 'open' : 'half_open', untilMs: openUntilMs };
}

/** Targets of the catalog that were used since the start, and removed ones that still carry messages. */
export function listHealth(health: Pick<RouteHealth, 'list'>, { providers, models }: Catalog): TargetHealth[] {
  const routed = new Set<string>();
  for (const { routes } of models.values())
    for (const { provider, upstreamModel } of routes) routed.add(`${provider}\n${upstreamModel}`);
  return health.list().filter(({ provider, model, credential, inFlight }) => {
    if (inFlight > 0) return true;
    const credentials = providers.get(provider)?.credentials;
    if (credentials === undefined || !routed.has(`${provider}\n${model}`)) return false;
    return credential === null ? credentials.length === 0 : credentials.some(({ name }) => name === credential);
  });
}
