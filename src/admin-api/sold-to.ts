// What of the catalogue a principal sees: all of it, or what its account is sold.

import { type Group, listOffers, type Model } from '../catalog/catalog.ts';
import type { AdminDependencies } from './dependencies.ts';
import type { Principal } from './principal.ts';

/** Of an account's token: the account's groups, and the models that a key of the account can reach through them. */
export async function soldTo(
  { accounts, catalog }: AdminDependencies,
  { accountId }: Principal,
): Promise<{ groups: Group[]; models: Model[] }> {
  const catalogue = catalog.current();
  if (accountId === null) return { groups: [...catalogue.groups.values()], models: [...catalogue.models.values()] };
  const groups = (await accounts.getAccount(accountId))?.groups ?? [];
  return {
    groups: [...catalogue.groups.values()].filter((group) => groups.includes(group.name)),
    models: listOffers(catalogue, { account: accountId, keyModels: null, groups }).map((offer) => offer.model),
  };
}
