// From the name that a caller asked for to what is sold under it: the model, the group whose price
// and limits apply, and the routes to it. Which route is taken is not decided here, only their order.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { matchesAnyPattern } from './match-pattern.ts';
import type { Catalogue, Group, Model, Route } from './model.ts';

/** A model as one caller may buy it. */
export interface Offer {
  model: Model;
  /** The first of the caller's groups that offers the model: its multiplier and limits apply. */
  group: Group;
  /** At least one, each to a provider that the catalogue knows. */
  routes: readonly Route[];
}

/** What of a caller matters here. */
export interface CallerScope {
  /** Patterns of the key; null: all models. */
  keyModels: readonly string[] | null;
  /** Names of groups, in order. Those that the catalogue does not know are passed over. */
  groups: readonly string[];
}

/**
 * The offer behind a name or an alias. Throws model_not_found, in the same words whether there is
 * no such model, the key or its groups may not use it, or no provider serves it.
 */
export function resolveModel(catalogue: Catalogue, caller: CallerScope, requestedName: string): Offer {
  const name = catalogue.aliases.get(requestedName) ?? requestedName;
  const model = catalogue.models.get(name);
  const offer = model === undefined ? null : offerOf(catalogue, caller, model);
  if (offer !== null) return offer;
  const shown = requestedName.slice(0, bounds.modelNameCharactersMax);
  throw new TurnpikeError('model_not_found', `model: ${shown}: there is no such model, or this key may not use it`);
}

/** Everything that a caller may buy, in the catalogue's order. */
export function listOffers(catalogue: Catalogue, caller: CallerScope): Offer[] {
  const offers: Offer[] = [];
  for (const model of catalogue.models.values()) {
    const offer = offerOf(catalogue, caller, model);
    if (offer !== null) offers.push(offer);
  }
  return offers;
}

/**
 * The order in which routes are tried: lower priority first; inside one priority by lot, each
 * drawn with its share of the weight. `random` gives numbers in [0, 1).
 */
export function orderRoutes(routes: readonly Route[], random: () => number): Route[] {
  const rest = routes.toSorted((one, other) => one.priority - other.priority);
  const ordered: Route[] = [];
  while (rest.length > 0) {
    const priority = rest[0]?.priority;
    const equals = rest.filter((route) => route.priority === priority);
    const drawn = equals.length === 1 ? 0 : drawByWeight(equals, random());
    ordered.push(...rest.splice(drawn, 1)); // the equals stand at the front
  }
  return ordered;
}

function offerOf(catalogue: Catalogue, caller: CallerScope, model: Model): Offer | null {
  if (caller.keyModels !== null && !matchesAnyPattern(caller.keyModels, model.name)) return null;
  const isUsable = (route: Route) => catalogue.providers.has(route.provider);
  const routes = model.routes.every(isUsable) ? model.routes : model.routes.filter(isUsable);
  if (routes.length === 0) return null;
  for (const groupName of caller.groups) {
    const group = catalogue.groups.get(groupName);
    if (group !== undefined && matchesAnyPattern(group.models, model.name)) return { model, group, routes };
  }
  return null;
}

/** Routes of weight 0 are drawn only when nothing else is left. */
function drawByWeight(routes: readonly Route[], lot: number): number {
  const total = routes.reduce((sum, route) => sum + route.weight, 0);
  let left = lot * total;
  let last = 0;
  for (const [index, route] of routes.entries()) {
    if (route.weight === 0) continue;
    if (left < route.weight) return index;
    left -= route.weight;
    last = index;
  }
  return last;
}
