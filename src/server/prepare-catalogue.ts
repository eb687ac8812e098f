// What is sold before an operator has said anything: the sandbox, and the providers whose keys the
// environment gives. Nothing that stands is touched.

import { describeChange, type Trail, theService } from '../audit/audit.ts';
import {
  type CatalogDocument,
  credentialContext,
  type FirstFamily,
  firstDocuments,
  firstFamilies,
  firstKinds,
} from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import { sandboxModelNames } from '../providers/providers.ts';
import type { OpenStore } from './open-store.ts';

/** Makes the catalogue that a new installation begins with, and the providers whose keys the environment gives. */
export async function prepareCatalogue(config: Config, { vault, stores }: OpenStore, nowMs: number): Promise<void> {
  const present = await stores.catalog.loadCatalog();
  const sealedKeys: Partial<Record<FirstFamily, string>> = {};
  for (const family of firstFamilies) {
    const apiKey = config.providerKeys[family];
    if (apiKey !== null) sealedKeys[family] = vault.seal(apiKey, credentialContext(family));
  }
  const documents = firstDocuments(sandboxModelNames, sealedKeys, nowMs);
  const missing = present.length === 0 ? documents : missingDocuments(documents, present);
  if (missing.length > 0) await stores.catalog.saveCatalog(missing, [], firstTrail(missing, nowMs));
}

function firstTrail(documents: readonly CatalogDocument[], nowMs: number): Trail {
  const audit = documents.map(({ kind, name, document }) => ({
    atMs: nowMs,
    actor: theService,
    action: `${kind}.create`,
    object: `${kind} ${name}`,
    account: null,
    ...describeChange(null, document),
  }));
  return { audit, creation: null };
}

/**
 * Providers that came with the environment only later, and their models; nothing of what stands is touched. Where a
 * provider of the kind, of the name or of the address is there already, the operator has seen to it.
 */
function missingDocuments(
  documents: readonly CatalogDocument[],
  present: readonly CatalogDocument[],
): CatalogDocument[] {
  const names = new Set(present.map((entry) => `${entry.kind} ${entry.name}`));
  const isThere = (family: FirstFamily) => {
    const made = documents.find(({ kind, name }) => kind === 'provider' && name === family);
    return names.has(`provider ${family}`) || present.some((entry) => isOfKind(entry, family) || isAt(entry, made));
  };
  const families = new Set<unknown>(firstFamilies.filter((family) => !isThere(family)));
  return documents.filter((entry) => families.has(familyOf(entry)) && !names.has(`${entry.kind} ${entry.name}`));
}

function isOfKind({ kind, document }: CatalogDocument, family: FirstFamily): boolean {
  return kind === 'provider' && document['kind'] === firstKinds[family];
}

function isAt({ kind, document }: CatalogDocument, made: CatalogDocument | undefined): boolean {
  const hostOf = (address: unknown) => URL.parse(String(address))?.host;
  const host = hostOf(made?.document['base_url']);
  return kind === 'provider' && host !== undefined && hostOf(document['base_url']) === host;
}

/** The family that a first document belongs to: a provider's name, or what a model's only route leads to. */
function familyOf({ kind, name, document }: CatalogDocument): unknown {
  if (kind === 'provider') return name;
  const routes = document['routes'];
  return Array.isArray(routes) ? (routes[0] as { provider?: unknown }).provider : null;
}
