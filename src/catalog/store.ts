// What the catalogue needs of a store: named documents, replaced together.

import type { Trail } from '../audit/audit.ts';
import type { JsonObject } from '../wire/wire.ts';

export type DocumentKind = 'provider' | 'model' | 'group' | 'settings';

/** One object of the catalogue as it is stored: what `apply` takes, with credentials sealed. */
export interface CatalogDocument {
  kind: DocumentKind;
  name: string;
  /** Who made it: `--prune` removes only what a file made. */
  origin: 'start' | 'file' | 'api';
  document: JsonObject;
}

export interface CatalogStore {
  loadCatalog(): Promise<CatalogDocument[]>;
  /** All in one transaction. */
  saveCatalog(
    put: readonly CatalogDocument[],
    remove: readonly { kind: DocumentKind; name: string }[],
    trail: Trail,
  ): Promise<void>;
}
