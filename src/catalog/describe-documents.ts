// The stored catalog as an apply file, without credentials: those that a file omits stay as they are.

import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../wire/wire.ts';
import { takeListed } from './catalog-file.ts';
import { agentPolicyInput, groupInput, planInput, storedModel, storedProvider } from './document.ts';
import { type PriceList, priceListIn } from './price-list/price-list.ts';
import { storedSettings } from './settings.ts';
import { type CatalogDocument, type DocumentKind, storedSchemas } from './store.ts';

/**
 * Applying the result changes nothing, but prices taken from another version's list are stated as numbers. Objects that cannot be read
 * are left out.
 */
export function describeDocuments(documents: readonly CatalogDocument[]) {
  const inOrder = documents.filter(isReadable).sort((one, other) => (one.name < other.name ? -1 : 1));
  const described = <T>(kind: DocumentKind, describe: (document: JsonObject, name: string) => T): Record<string, T> =>
    Object.fromEntries(
      inOrder.filter((one) => one.kind === kind).map(({ name, document }) => [name, describe(document, name)]),
    );
  const list = priceListIn(documents);
  const stored = inOrder.find(({ kind }) => kind === 'settings')?.document ?? {};
  const { vendor_prefixes, ...settings } = storedSettings.parse(stored);
  return {
    document: {
      ...(vendor_prefixes !== undefined && { vendor_prefixes }),
      providers: described('provider', describeProvider),
      models: described('model', (document, name) => describeModel(document, name, list)),
      groups: described('group', (document) => groupInput.parse(document)),
      plans: described('plan', (document) => planInput.parse(document)),
      agent_policies: described('agent_policy', (document) => agentPolicyInput.parse(document)),
      settings,
    },
    origins: inOrder.flatMap(({ kind, name, origin }) => (kind === 'price_list' ? [] : [{ kind, name, origin }])),
  };
}

function isReadable({ kind, document }: CatalogDocument): boolean {
  return kind === 'price_list' || storedSchemas[kind].safeParse(document).success;
}

/** Without `base_url` inside the service; further credentials without their secrets. */
function describeProvider(document: JsonObject) {
  const { kind, base_url, api_key_sealed: _, credentials, ...others } = storedProvider.parse(document);
  const further = Object.entries(credentials).map(
    ([name, { auth, account, group }]) => [name, { ...(auth !== undefined && { auth }), account, group }] as const,
  );
  return {
    kind,
    ...(base_url !== '' && { base_url }),
    ...others,
    ...(further.length > 0 && { credentials: Object.fromEntries(further) }),
  };
}

function describeModel(document: JsonObject, name: string, list: PriceList) {
  const { price, price_changes, price_source, created_at: _, ...members } = storedModel.parse(document);
  const priced = { ...members, price, price_changes };
  if (price_source === undefined) return priced;
  const { members: taken, listedOn } = takeListed(list, name, { ...members, catalogue: true }, [], [], () => null);
  const listed = taken as Partial<typeof priced>;
  const isAsListed =
    listedOn === price_source.catalogue &&
    isDeepStrictEqual([listed.price, listed.price_changes], [price, price_changes]);
  return isAsListed ? { ...members, catalogue: true as const } : priced;
}
