// The targets of a message in the order of attempts: routes with their credentials, the healthy ones first. With a
// single target nothing is computed, since most installations have only one.

import {
  type Catalog,
  type Credential,
  credentialsFor,
  type Offer,
  type ProviderSettings,
  type Route,
  routesWithinResidency,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import {
  isJsonObject,
  isThinking,
  type JsonObject,
  jsonObjects,
  type MessageRequest,
  objectOf,
  type SpokenAnswers,
} from '../wire/wire.ts';
import type { Conversation, Conversations } from './conversations.ts';
import type { AdmittedRequest } from './plan-message.ts';
import type { BreakerState, RouteHealth, Target } from './route-health.ts';

/** Targets that are the same for every account, by the model's routes; valid for one set of providers. */
const shared = new WeakMap<readonly Route[], { providers: Catalog['providers']; targets: readonly Target[] }>();

/**
 * All targets of an offer. At least one, unless the catalog changed since the offer was made: what a provider or the group
 * now states about residency applies.
 */
export function listTargets(catalog: Catalog, offer: Offer, account: number): readonly Target[] {
  const { providers } = catalog;
  const routes = routesWithinResidency(catalog, offer.group, offer.routes);
  const known = offer.tier === undefined ? shared.get(routes) : undefined;
  if (known !== undefined && known.providers === providers) return known.targets;
  const targets = makeTargets(providers, routes, offer, account);
  if (offer.tier === undefined && isForEveryone(catalog, routes, offer)) shared.set(routes, { providers, targets });
  return targets;
}

/**
 * A target as its provider and credential are now; null once the operator has removed one of them, or does not allow this
 * provider for the group any more. `catalog` is the one that the offer was made from.
 */
export function presentTarget(
  now: Catalog,
  { catalog, offer, caller }: Pick<AdmittedRequest, 'catalog' | 'offer' | 'caller'>,
  listed: Target,
): Target | null {
  if (now === catalog) return listed;
  const present = listTargets(now, offer, caller.account.id);
  return present.find(({ healthKey }) => healthKey === listed.healthKey) ?? null;
}

function makeTargets(
  providers: Catalog['providers'],
  routes: readonly Route[],
  offer: Offer,
  account: number,
): Target[] {
  const targets: Target[] = [];
  for (const route of routes) {
    const settings = providers.get(route.provider);
    if (settings === undefined) continue; // removed meanwhile
    const place = `${route.provider}\n${route.upstreamModel}`;
    // A provider limits each tier by itself: a refusal in one says nothing about the others.
    const healthPlace = offer.tier === undefined ? place : `${place}\n\n${offer.tier}`;
    const { credentials: _, residency: __, ...address } = settings;
    const credentials = usableCredentials(settings, offer, account);
    for (const credential of credentials)
      targets.push({
        route,
        settings,
        credential,
        endpoint: { ...address, credential: credential?.secret ?? null },
        weight: route.weight / credentials.length,
        routeKey: `${offer.model.name}\n${place}`,
        healthKey: credential === null ? healthPlace : `${healthPlace}\n${credential.name}`,
        ...(offer.tier !== undefined && { tier: offer.tier }),
      });
  }
  return targets;
}

/**
 * The account's own credential may have been removed meanwhile: an object stored there must not be requested with
 * another credential.
 */
function usableCredentials(
  settings: ProviderSettings,
  { group, ownOnly }: Offer,
  account: number,
): readonly (Credential | null)[] {
  const credentials = credentialsFor(settings, { account, group: group.name });
  return ownOnly === true ? credentials.filter((credential) => credential?.account === account) : credentials;
}

/** Whether every account in groups of this residency has the same targets. */
function isForEveryone(catalog: Catalog, routes: readonly Route[], { model, group }: Offer): boolean {
  const isShared = ({ account, group }: Credential) => account === null && group === null;
  return (
    routes === routesWithinResidency(catalog, group, model.routes) &&
    routes.every(({ provider }) => catalog.providers.get(provider)?.credentials.every(isShared))
  );
}

const RANKS: Readonly<Record<BreakerState, number>> = { ready: 0, open: 1, resting: 2, full: 3 };

/** The inputs of the order. */
interface OrderInputs extends Pick<Conversation, 'drawOf' | 'kept'> {
  health: Pick<RouteHealth, 'breakerState' | 'waitMs'>;
  /** By which the faster of the two that the draw puts first is chosen; absent: the draw decides. */
  expectedMs?: ((target: Target) => number) | undefined;
}

/** All targets, including full ones: they may have a free slot when their turn comes. */
export function orderTargets(targets: readonly Target[], { health, drawOf, kept, expectedMs }: OrderInputs): Target[] {
  const ranked = targets.map((target) => {
    const rank = RANKS[health.breakerState(target)];
    const waitMs = rank === RANKS.ready ? 0 : health.waitMs(target);
    const lot = target.healthKey === kept ? KEPT_LOT : arrivalTime(drawOf(target.healthKey), target.weight);
    return { target, rank, waitMs, lot };
  });
  ranked.sort(
    (one, other) =>
      one.rank - other.rank ||
      one.waitMs - other.waitMs ||
      one.target.route.priority - other.target.route.priority ||
      one.lot - other.lot,
  );
  const inOrder = ranked.map(({ target }) => target);
  const [first, second] = ranked;
  if (expectedMs === undefined || first === undefined || second === undefined) return inOrder;
  const isPair =
    first.lot !== KEPT_LOT &&
    second.rank === RANKS.ready &&
    second.target.route.priority === first.target.route.priority;
  if (isPair && second.target.weight > 0 && expectedMs(second.target) < expectedMs(first.target) * NOTICEABLY_FASTER)
    inOrder.splice(0, 2, second.target, first.target);
  return inOrder;
}

const NOTICEABLY_FASTER = 0.8; // closer times are equal: the weights decide
const KEPT_LOT = -1; // before all others

/**
 * Arrival time of a Poisson process with rate `weight`: each target comes first with its share of the weight, and
 * removing one keeps the order of the others. Weight 0 comes last.
 */
function arrivalTime(lot: number, weight: number): number {
  return weight === 0 ? Number.MAX_VALUE : -Math.log(1 - lot) / weight;
}

/** The message to find targets for. */
export interface TargetQuery {
  account: number;
  key: number;
  offer: Offer;
  request: MessageRequest;
}

export interface TargetList {
  /** In the order of attempts; includes targets that are full at present. */
  targets: readonly Target[];
  /** Records which target the message used; null with a single target. */
  conversation: Conversation | null;
}

export function findTargets(
  { health, conversations }: { health: RouteHealth; conversations: Conversations },
  catalog: Catalog,
  { account, key, offer, request }: TargetQuery,
): TargetList {
  const { spoken } = request;
  const listed = listTargets(catalog, offer, account);
  const targets = spoken === undefined ? listed : listed.filter((target) => keeps(target, spoken));
  if (targets.length < 2) return { targets, conversation: null };
  const conversation = conversations.find(account, key, request);
  const { drawOf, kept } = conversation;
  const inOrder = orderTargets(targets, { health, drawOf, kept, expectedMs: speedsFor(health, offer, request) });
  if (!isBound(request)) return { targets: inOrder, conversation };
  const [home] = orderTargets(targets, { health: ALL_WELL, drawOf, kept });
  return { targets: inOrder.filter((target) => home !== undefined && isSameCustomer(target, home)), conversation };
}

/**
 * Only streams measure targets that need it. Whole answers, whose times are not comparable, follow the measurements of
 * streams. A conversation that may not lose its thinking is drawn, so that every node finds the same target for it.
 */
function speedsFor(health: RouteHealth, { model }: Offer, { body, stream }: MessageRequest): OrderInputs['expectedMs'] {
  if (!model.prefersLatency || keepsThinking(body)) return undefined;
  return (target) => (stream ? health.expectedFirstTokenMs(target) : health.meanFirstTokenMs(target));
}

const ALL_WELL: OrderInputs['health'] = { breakerState: () => 'ready', waitMs: () => 0 };

/**
 * Whether the client wants an error rather than the loss of thinking that it sends back. A provider drops thinking of
 * another of its customers without an error, so only the conversation's own target may answer.
 */
function isBound({ body }: MessageRequest): boolean {
  return (
    keepsThinking(body) && jsonObjects(body['messages']).some(({ content }) => jsonObjects(content).some(isThinking))
  );
}

function keepsThinking(body: JsonObject): boolean {
  const binding = objectOf(body['thinking'])['block_binding'];
  return isJsonObject(binding) && binding['prefix_mismatch_behavior'] !== 'drop_block';
}

/** Whether the provider keeps the answers for this credential. */
export function keeps(
  { route, credential }: Pick<Target, 'route' | 'credential'>,
  spoken: Pick<SpokenAnswers, 'provider' | 'credential'>,
): boolean {
  return route.provider === spoken.provider && (credential?.name ?? null) === spoken.credential;
}

/** Other credentials of a provider may belong to another of its customers. */
function isSameCustomer(one: Target, other: Target): boolean {
  return one.route.provider === other.route.provider && one.credential?.name === other.credential?.name;
}

export class AttemptIterator {
  readonly #targets: readonly Target[];
  readonly #lastStartMs: number;
  #place = 0;
  #begun = 0;
  /** Route keys tried so far, and whether they were given up. null until a second target is requested. */
  #isGivenUp: Map<string, boolean> | null = null;

  constructor(targets: readonly Target[], secondsMax: number) {
    this.#targets = targets;
    this.#lastStartMs = performance.now() + secondsMax * 1000;
  }

  /** null when no target is left or a bound is reached. */
  next(): Target | null {
    if (this.#begun >= bounds.attemptsMax || performance.now() > this.#lastStartMs) return null;
    for (; ; this.#place++) {
      const target = this.#targets[this.#place];
      if (target === undefined) return null;
      if (this.#isGivenUp?.get(target.routeKey) === true || this.#crowdsOut(target)) continue;
      this.#place++;
      return target;
    }
  }

  /** The target is tried. */
  begin({ routeKey }: Target): void {
    this.#begun++;
    if (this.#targets.length < 2) return;
    this.#isGivenUp ??= new Map();
    this.#isGivenUp.set(routeKey, false);
  }

  /** No other credential of this route will succeed. */
  giveUp({ routeKey }: Target): void {
    this.#isGivenUp?.set(routeKey, true);
  }

  /** Whether the target repeats a tried route while the remaining attempts just suffice for untried routes. */
  #crowdsOut({ routeKey }: Target): boolean {
    const tried = this.#isGivenUp;
    if (this.#targets.length <= bounds.attemptsMax || tried?.has(routeKey) !== true) return false;
    const untried = new Set<string>();
    for (const later of this.#targets.slice(this.#place)) if (!tried.has(later.routeKey)) untried.add(later.routeKey);
    return this.#begun + untried.size >= bounds.attemptsMax;
  }
}
