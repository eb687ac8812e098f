// Data residency: which routes of a model a group may use. A provider states where it processes data, and a group where
// data of its messages may be processed; nothing is inferred from addresses or regions.

import type { Catalog, Group, ProviderSettings, Route } from './model.ts';

/** Whether all places where the provider processes data are within the group's; a provider that states none never is. */
export function isWithinResidency(
  { residency: places }: Pick<ProviderSettings, 'residency'>,
  { residency: allowed }: Pick<Group, 'residency'>,
): boolean {
  return allowed === null || (places?.every((place) => allowed.includes(place)) ?? false);
}

/** Routes by the group and the routes that they were chosen from; valid for one set of providers. */
const chosen = new WeakMap<
  Group,
  { providers: Catalog['providers']; routes: WeakMap<readonly Route[], readonly Route[]> }
>();

/**
 * The routes that messages of the group may use, decided once per snapshot: the same array for the same one, and `routes`
 * itself where all of them fit. The catalog's residency of the group applies, if the catalog still has it.
 */
export function routesWithinResidency(
  { providers, groups }: Pick<Catalog, 'providers' | 'groups'>,
  sold: Group,
  routes: readonly Route[],
): readonly Route[] {
  const group = groups.get(sold.name) ?? sold;
  if (group.residency === null) return routes;
  let known = chosen.get(group);
  if (known?.providers !== providers) {
    known = { providers, routes: new WeakMap() };
    chosen.set(group, known);
  }
  let within = known.routes.get(routes);
  if (within === undefined) {
    const fits = ({ provider }: Route) => {
      const settings = providers.get(provider);
      return settings !== undefined && isWithinResidency(settings, group);
    };
    within = routes.every(fits) ? routes : Object.freeze(routes.filter(fits));
    known.routes.set(routes, within);
  }
  return within;
}
