// Resolves a requested name to an offer: the model, the group whose price and limits apply, and its routes.

import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  type PricedTier,
  type Serves,
  type ServiceTier,
  UNITS,
  type Unbounded,
  type Unit,
  type Units,
  unitEntries,
  unitsOf,
} from '../wire/wire.ts';
import type { Catalog, Credential, Group, Model, ModelPrice, ProviderSettings, Route } from './model.ts';
import { routesWithinResidency } from './residency.ts';
import { isCharged, isImagePriced, isUnitPriced } from './unit-price.ts';

interface CompiledPattern {
  head: string;
  middles: readonly string[];
  /** null if the pattern has no `*`: the head is the whole name. */
  tail: string | null;
}

const COMPILED_PATTERNS_MAX = 10_000; // account holders create patterns: the cache is cleared when it is full
const compiledPatterns = new Map<string, CompiledPattern>();

/** Whether the pattern matches the whole name. Case-sensitive. */
export function matchesPattern(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  const { head, middles, tail } = compile(pattern);
  if (tail === null) return name === head;
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false;
  const end = name.length - tail.length;
  let from = head.length;
  for (const middle of middles) {
    const at = name.indexOf(middle, from);
    if (at < 0 || at + middle.length > end) return false;
    from = at + middle.length;
  }
  return true;
}

export function matchesAnyPattern(patterns: readonly string[], name: string): boolean {
  for (const pattern of patterns) if (matchesPattern(pattern, name)) return true;
  return false;
}

function compile(pattern: string): CompiledPattern {
  const known = compiledPatterns.get(pattern);
  if (known !== undefined) return known;
  const parts = pattern.split('*');
  const compiled: CompiledPattern = {
    head: parts[0] ?? '',
    middles: parts.slice(1, -1).filter((part) => part !== ''),
    tail: parts.length === 1 ? null : (parts[parts.length - 1] ?? ''),
  };
  if (compiledPatterns.size >= COMPILED_PATTERNS_MAX) compiledPatterns.clear();
  compiledPatterns.set(pattern, compiled);
  return compiled;
}

/** The account and group of a message. */
export interface Buyer {
  /** The account's number. */
  account: number;
  /** The group that sells the model. */
  group: string;
}

const NONE_NEEDED: readonly null[] = [null];

/** The account's own; else the group's; else the shared ones. Empty: the provider is unavailable to this buyer. */
export function credentialsFor({ credentials }: ProviderSettings, buyer: Buyer): readonly (Credential | null)[] {
  if (credentials.length === 0) return NONE_NEEDED;
  if (credentials.every(isShared)) return credentials;
  const ofAccount = credentials.filter(({ account }) => account === buyer.account);
  if (ofAccount.length > 0) return ofAccount;
  const ofGroup = credentials.filter(({ account, group }) => account === null && group === buyer.group);
  return ofGroup.length > 0 ? ofGroup : credentials.filter(isShared);
}

function isShared({ account, group }: Credential): boolean {
  return account === null && group === null;
}

/** A model as one caller may buy it. */
export interface Offer {
  model: Model;
  /** The caller's first group that offers the model: its multiplier and limits apply. */
  group: Group;
  /** At least one, each to a known provider within the group's residency, with a credential that the caller may use. */
  routes: readonly Route[];
  /** Only through credentials of the caller's account, even if the catalog changes before they are used. */
  ownOnly?: true;
  /** The service tier that the message requests; absent: standard. */
  tier?: PricedTier;
}

export interface CallerScope {
  /** The account's number. */
  account: number;
  /** Patterns of the key; null: all models. */
  keyModels: readonly string[] | null;
  /** Names of groups, in order. Unknown ones are skipped. */
  groups: readonly string[];
}

/**
 * Throws model_not_found, in the same words for a model that is unknown, forbidden, without a provider or for another
 * use.
 */
export function resolveModel(
  catalog: Catalog,
  caller: CallerScope,
  requestedName: string,
  serves: Serves = 'messages',
): Offer {
  const name = catalog.aliases.get(requestedName) ?? requestedName;
  const model = catalog.models.get(name);
  const offer = model?.serves === serves ? offerOf(catalog, caller, model) : null;
  if (offer !== null) return offer;
  throw notFound(requestedName, model?.serves === serves ? residencyCause(catalog, caller, model) : null);
}

/** Whether a name is that of a model for images. */
export function makesImages({ aliases, models }: Catalog, name: string): boolean {
  return models.get(aliases.get(name) ?? name)?.serves === 'images';
}

/** The error for a name that the caller may not use, whatever the reason. `cause`: for operators. */
export function notFound(requestedName: string, cause: string | null = null): TurnpikeError {
  const shown = requestedName.slice(0, bounds.modelNameCharactersMax);
  const text = `model: ${shown}: the model does not exist, or this key does not have access to it`;
  return new TurnpikeError('model_not_found', text, cause === null ? {} : { cause });
}

/** Why the model is not offered, for operators, if residency is the reason; null if it is not. */
function residencyCause(catalog: Catalog, { keyModels, groups }: CallerScope, model: Model): string | null {
  if (keyModels !== null && !matchesAnyPattern(keyModels, model.name)) return null;
  for (const name of groups) {
    const group = catalog.groups.get(name);
    if (group === undefined || !matchesAnyPattern(group.models, model.name)) continue;
    if (model.routes.length > 0 && routesWithinResidency(catalog, group, model.routes).length === 0)
      return `no route of the model ${model.name} is within the residency of the group ${name} (${group.residency?.join(', ')})`;
  }
  return null;
}

/** Everything that a caller may buy, or only what serves one use, in the catalog's order. */
export function listOffers(catalog: Catalog, caller: CallerScope, serves?: Serves): Offer[] {
  const offers: Offer[] = [];
  for (const model of catalog.models.values()) {
    if (serves !== undefined && model.serves !== serves) continue;
    const offer = offerOf(catalog, caller, model);
    if (offer !== null) offers.push(offer);
  }
  return offers;
}

/**
 * The offer over credentials of the account alone; null where it has none at any of the offer's providers. `kind` is
 * that of the only providers that serve the request; null: all do.
 */
export function withOwnCredentials(
  { providers }: Catalog,
  offer: Offer,
  account: number,
  kind: string | null = null,
): Offer | null {
  const isOwn = (credential: Credential) => credential.account === account;
  const routes = offer.routes.filter(({ provider: name }) => {
    const provider = providers.get(name);
    return provider?.credentials.some(isOwn) && (kind === null || provider.kind === kind);
  });
  return routes.length === 0 ? null : { ...offer, routes, ownOnly: true };
}

/** The model as the caller may buy it; null if they may not. */
export function offerOf(catalog: Catalog, caller: CallerScope, model: Model): Offer | null {
  if (caller.keyModels !== null && !matchesAnyPattern(caller.keyModels, model.name)) return null;
  for (const groupName of caller.groups) {
    const group = catalog.groups.get(groupName);
    if (group === undefined || !matchesAnyPattern(group.models, model.name)) continue;
    const routes = usableRoutes(catalog, group, model, caller.account);
    if (routes.length > 0) return { model, group, routes };
  }
  return null;
}

/** The group with the limits that a plan has in place of its own, if the plan pays for its messages. */
export function groupUnder(
  { plans }: Catalog,
  group: Group,
  { name, groups }: { name: string; groups: readonly string[] | null },
): Group {
  const ofPlan = groups === null || groups.includes(group.name) ? plans.get(name)?.limits : undefined;
  if (ofPlan === undefined) return group;
  const given = Object.entries(ofPlan).filter(([, limit]) => limit !== null);
  return given.length === 0 ? group : { ...group, limits: { ...group.limits, ...Object.fromEntries(given) } };
}

function usableRoutes(catalog: Catalog, group: Group, model: Model, account: number): readonly Route[] {
  const { providers } = catalog;
  const routes = routesWithinResidency(catalog, group, model.routes);
  const buyer: Buyer = { account, group: group.name };
  const isUsable = ({ provider }: Route) => {
    const settings = providers.get(provider);
    return settings !== undefined && credentialsFor(settings, buyer).length > 0;
  };
  return routes.every(isUsable) ? routes : routes.filter(isUsable);
}

/** Features of a request that have, or would need, a price of their own. */
export interface PricedFeatures {
  /** null without the provider's web search tool. */
  webSearch: { usesMax: number | null } | null;
  longContext: boolean;
  /** The path of the first sound that the provider gets; null: none. */
  sound: string | null;
  /** The answer is spoken. */
  speaks: boolean;
  tier: ServiceTier;
  /** The refusal of a feature that no setting can give a price. */
  notOffered: string | null;
}

/**
 * The units that the model is billed by, or costs the operator: others are not counted. Throws feature_not_priced for images of a
 * size and quality that have no price beside others that have, and for a unit with a price but without a known most.
 */
export function requireUnits({ model, routes }: Offer, units: Units, unbounded: Unbounded = {}): Units {
  const { price, name } = model;
  const { counts, image } = units;
  if (counts.images && price.units && price.units.images !== null && !isImagePriced(price.units, image))
    throw new TurnpikeError('feature_not_priced', `size: images of ${image} have no price for the model ${name}`);
  const isPaid = (unit: Unit, paid: ModelPrice | null) =>
    paid !== null && isCharged(unit, paid.units ?? null, paid.standard);
  const refused = UNITS.find((unit) => unbounded[unit] !== undefined && isPaid(unit, price));
  if (refused !== undefined) throw new TurnpikeError('feature_not_priced', unbounded[refused] ?? '');
  const isCounted = (unit: Unit) =>
    !unit.endsWith('_tokens') || isPaid(unit, price) || routes.some(({ cost }) => isPaid(unit, cost));
  return unitsOf(Object.fromEntries(unitEntries(units).filter(([unit]) => isCounted(unit))), image);
}

// Providers need no beta up to here, so only models with larger windows sell long context.
const USUAL_CONTEXT_TOKENS = 200_000;

/**
 * Throws feature_not_priced for a feature that a price would make available, and feature_unavailable for one that has
 * none anywhere. The message begins with the field or the feature's name.
 */
export function checkFeatures(offer: Offer, features: PricedFeatures): void {
  if (features.notOffered !== null) throw new TurnpikeError('feature_unavailable', features.notOffered);
  const { name, price, maxInputTokens } = offer.model;
  const refuse = (feature: string) => {
    throw new TurnpikeError('feature_not_priced', `${feature} has no price for the model ${name}`);
  };
  if (features.webSearch !== null && price.webSearchPerThousand === null) refuse('web_search:');
  const requireSound = (path: string, unit: Unit) => {
    if (!isUnitPriced(price.units ?? null, unit)) refuse(`${path}: sound`);
    if (features.tier !== 'standard') refuse(`${path}: sound in the service tier ${features.tier}`);
  };
  if (features.sound !== null) requireSound(features.sound, 'input_audio_tokens');
  if (features.speaks) requireSound('audio', 'output_audio_tokens');
  // A model whose window exceeds the usual one sells all of it at its standard rates.
  const sellsLongContext = price.longContext !== null || (maxInputTokens ?? 0) > USUAL_CONTEXT_TOKENS;
  if (features.longContext && !sellsLongContext) refuse('long context:');
}
