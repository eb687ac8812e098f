// What stands, as a file would have it: the documents that can be changed and applied again. No credential is in it,
// sealed or not: one that a file leaves out stays as it is.

import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { JsonObject } from '../wire/wire.ts';
import {
  type GroupInput,
  type SettingsInput,
  storedGroup,
  storedModel,
  storedProvider,
  storedSettings,
} from './document.ts';
import type { CatalogDocument, DocumentKind } from './store.ts';
import { takeListed } from './take-listed.ts';

/** A model as a file would have it. */
export type ModelDescription = Omit<z.output<typeof storedModel>, 'price' | 'price_source' | 'created_at'> & {
  price?: z.output<typeof storedModel>['price'];
  catalogue?: true;
};
export interface ProviderDescription {
  kind: string;
  /** Not of what is inside the service. */
  base_url?: string;
  private_network: boolean;
  /** The further ones, without what opens the provider. */
  credentials?: Record<string, { account: string | null; group: string | null }>;
}
export interface DocumentsDescription {
  document: {
    vendor_prefixes?: string[];
    providers: Record<string, ProviderDescription>;
    models: Record<string, ModelDescription>;
    groups: Record<string, GroupInput>;
    settings: Omit<SettingsInput, 'vendor_prefixes'>;
  };
  /** Who made each of them. */
  origins: { kind: DocumentKind; name: string; origin: CatalogDocument['origin'] }[];
}

/**
 * Describes what stands. Applied as it is, it changes nothing, but for a model whose price was taken from the list of
 * another version: that is stated here, since this version's list may have another.
 */
export function describeDocuments(documents: readonly CatalogDocument[]): DocumentsDescription {
  const inOrder = documents.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const described = <T>(kind: DocumentKind, describe: (document: JsonObject, name: string) => T): Record<string, T> =>
    Object.fromEntries(
      inOrder.filter((one) => one.kind === kind).map(({ name, document }) => [name, describe(document, name)]),
    );
  const stored = inOrder.find(({ kind }) => kind === 'settings')?.document ?? {};
  const { vendor_prefixes, ...settings } = storedSettings.parse(stored);
  return {
    document: {
      ...(vendor_prefixes !== undefined && { vendor_prefixes }),
      providers: described('provider', describeProvider),
      models: described('model', describeModel),
      groups: described('group', (document) => storedGroup.parse(document)),
      settings,
    },
    origins: inOrder.map(({ kind, name, origin }) => ({ kind, name, origin })),
  };
}

function describeProvider(document: JsonObject): ProviderDescription {
  const { kind, base_url, private_network, credentials } = storedProvider.parse(document);
  const further = Object.entries(credentials).map(([name, { account, group }]) => [name, { account, group }] as const);
  return {
    kind,
    ...(base_url !== '' && { base_url }),
    private_network,
    ...(further.length > 0 && { credentials: Object.fromEntries(further) }),
  };
}

function describeModel(document: JsonObject, name: string): ModelDescription {
  const { price, price_source, created_at: _, ...members } = storedModel.parse(document);
  if (price_source === undefined) return { ...members, price };
  const { members: taken, listedOn } = takeListed(name, { ...members, catalogue: true }, [], []);
  const isAsListed =
    listedOn === price_source.catalogue && isDeepStrictEqual((taken as { price?: unknown }).price, price);
  return isAsListed ? { ...members, catalogue: true } : { ...members, price };
}
