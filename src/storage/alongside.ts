// Rows of accounts, keys and the catalogue that are written in the ledger's transaction, beside
// what the ledger decides: the shapes that travel to its thread.

import type { Account, Key } from '../accounts/accounts.ts';
import type { CatalogDocument, DocumentKind } from '../catalog/catalog.ts';

export type AlongsideRow =
  | { table: 'accounts'; account: Account }
  | { table: 'keys'; key: Key; secretHash: string | null }
  | { table: 'installation'; name: string; value: string }
  | { table: 'catalog'; put: CatalogDocument }
  | { table: 'catalog'; remove: { kind: DocumentKind; name: string } };
