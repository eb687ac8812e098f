// From the name that a caller asked for to what is sold under it: the model, the group whose price
// and limits apply, and the routes to it. Which route is taken is not decided here.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { matchesAnyPattern } from './match-pattern.ts';
import type { Catalogue, Group, Model, Route } from './model.ts';
import { type Buyer, credentialsFor, hasOwnCredential } from './own-credentials.ts';

/** A model as one caller may buy it. */
export interface Offer {
  model: Model;
  /** The first of the caller's groups that offers the model: its multiplier and limits apply. */
  group: Group;
  /** At least one, each to a provider that the catalogue knows and that takes a credential which the caller may use. */
  routes: readonly Route[];
  /** Over credentials of the caller's account alone, also when the catalogue changes before they are used. */
  ownOnly?: true;
}

/** What of a caller matters here. */
export interface CallerScope {
  /** The account's number. */
  account: number;
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

/** The offer over credentials of the account alone; null where it has none at any of the offer's providers. */
export function withOwnCredentials({ providers }: Catalogue, offer: Offer, account: number): Offer | null {
  const isOwn = ({ provider }: Route) => {
    const settings = providers.get(provider);
    return settings !== undefined && hasOwnCredential(settings, account);
  };
  const routes = offer.routes.filter(isOwn);
  return routes.length === 0 ? null : { ...offer, routes, ownOnly: true };
}

function offerOf(catalogue: Catalogue, caller: CallerScope, model: Model): Offer | null {
  if (caller.keyModels !== null && !matchesAnyPattern(caller.keyModels, model.name)) return null;
  for (const groupName of caller.groups) {
    const group = catalogue.groups.get(groupName);
    if (group === undefined || !matchesAnyPattern(group.models, model.name)) continue;
    const routes = usableRoutes(catalogue, model, { account: caller.account, group: groupName });
    if (routes.length > 0) return { model, group, routes };
  }
  return null;
}

function usableRoutes({ providers }: Catalogue, { routes }: Model, buyer: Buyer): readonly Route[] {
  const isUsable = ({ provider }: Route) => {
    const settings = providers.get(provider);
    return settings !== undefined && credentialsFor(settings, buyer).length > 0;
  };
  return routes.every(isUsable) ? routes : routes.filter(isUsable);
}
