// Rows of accounts, keys, tokens, the catalogue and the audit that are written in the ledger's transaction, beside
// what the ledger decides: the shapes that travel to its thread.

import type { AccessToken, Account, Key } from '../accounts/accounts.ts';
import type { AuditRecord, RememberedCreation } from '../audit/audit.ts';
import type { CatalogDocument, DocumentKind } from '../catalog/catalog.ts';

export type AlongsideRow =
  | { table: 'accounts'; account: Account }
  | { table: 'keys'; key: Key }
  /** A new secret of a key; those that it has end at `othersEndAtMs`, or sooner where that is so already. */
  | { table: 'key_secrets'; keyId: number; secretHash: string; othersEndAtMs: number | null }
  | { table: 'tokens'; token: AccessToken; secretHash: string | null }
  | { table: 'audit_records'; record: AuditRecord }
  /** Those of before `forgetBeforeMs` go at the same time. */
  | { table: 'creations'; creation: RememberedCreation; forgetBeforeMs: number }
  | { table: 'installation'; name: string; value: string }
  | { table: 'catalog'; put: CatalogDocument }
  | { table: 'catalog'; remove: { kind: DocumentKind; name: string } };
