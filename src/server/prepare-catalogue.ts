// What is sold before an operator has said anything: the sandbox, and the provider whose key the
// environment gives. Nothing that stands is touched.

import { describeChange, type Trail, theService } from '../audit/audit.ts';
import { type CatalogDocument, credentialContext, firstDocuments } from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import { sandboxModelNames } from '../providers/providers.ts';
import type { OpenStore } from './open-store.ts';

/** Makes the catalogue that a new installation begins with, and a provider whose key the environment gives. */
export async function prepareCatalogue(config: Config, { vault, stores }: OpenStore, nowMs: number): Promise<void> {
  const present = await stores.catalog.loadCatalog();
  const apiKey = config.providerKeys.anthropic;
  const sealed = apiKey === null ? null : vault.seal(apiKey, credentialContext('anthropic'));
  const documents = firstDocuments(sandboxModelNames, sealed, nowMs);
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

/** A provider that came with the environment only later, and its models; nothing of what stands is touched. */
function missingDocuments(
  documents: readonly CatalogDocument[],
  present: readonly CatalogDocument[],
): CatalogDocument[] {
  if (!documents.some(isAnthropic) || present.some(isAnthropic)) return [];
  const names = new Set(present.map((entry) => `${entry.kind} ${entry.name}`));
  const isWanted = ({ kind, name }: CatalogDocument) =>
    (kind === 'provider' || kind === 'model') && !name.startsWith('sandbox');
  return documents.filter((entry) => isWanted(entry) && !names.has(`${entry.kind} ${entry.name}`));
}

function isAnthropic(entry: CatalogDocument): boolean {
  return entry.kind === 'provider' && entry.document['kind'] === 'anthropic';
}
