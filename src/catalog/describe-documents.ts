// The stored catalog as an apply file, without credentials: those that a file omits stay as they are.

import { isDeepStrictEqual } from 'node:util';
import { readDocument } from './build-catalog.ts';
import { takeListed } from './catalog-file.ts';
import { groupInput, storedModel, storedProvider, storedSettings } from './document.ts';
import type { CatalogDocument, DocumentKind } from './store.ts';

/** Applying the result changes nothing, but prices taken from another version's list are stated as numbers. */
export function describeDocuments(documents: readonly CatalogDocument[]) {
  const inOrder = documents.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const described = <T>(kind: DocumentKind, describe: (entry: CatalogDocument) => T): Record<string, T> =>
    Object.fromEntries(inOrder.filter((one) => one.kind === kind).map((entry) => [entry.name, describe(entry)]));
  const stored = inOrder.find(({ kind }) => kind === 'settings');
  const { vendor_prefixes, ...settings } = stored === undefined ? {} : readDocument(storedSettings, stored);
  return {
    document: {
      ...(vendor_prefixes !== undefined && { vendor_prefixes }),
      providers: described('provider', describeProvider),
      models: described('model', describeModel),
      groups: described('group', (entry) => readDocument(groupInput, entry)),
      settings,
    },
    origins: inOrder.map(({ kind, name, origin }) => ({ kind, name, origin })),
  };
}

/** Without `base_url` inside the service; further credentials without their secrets. */
function describeProvider(entry: CatalogDocument) {
  const { kind, base_url, private_network, credentials } = readDocument(storedProvider, entry);
  const further = Object.entries(credentials).map(([name, { account, group }]) => [name, { account, group }] as const);
  return {
    kind,
    ...(base_url !== '' && { base_url }),
    private_network,
    ...(further.length > 0 && { credentials: Object.fromEntries(further) }),
  };
}

function describeModel(entry: CatalogDocument) {
  const { price, price_source, created_at: _, ...members } = readDocument(storedModel, entry);
  if (price_source === undefined) return { ...members, price };
  const { members: taken, listedOn } = takeListed(entry.name, { ...members, catalogue: true }, [], []);
  const isAsListed =
    listedOn === price_source.catalogue && isDeepStrictEqual((taken as { price?: unknown }).price, price);
  return isAsListed ? { ...members, catalogue: true as const } : { ...members, price };
}
