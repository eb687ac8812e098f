// What changes when the installation comes under another secret: at once what it sealed, one by one
// what it hashed, since only who shows a key or token can tell its secret. The same for every store.

import type { RememberedCreation, Trail } from '../audit/audit.ts';
import type { CatalogDocument } from '../catalog/catalog.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import { trailRows } from './account-writes.ts';
import type { AlongsideRow } from './alongside.ts';

/** What a start under a new secret writes. */
export interface SecretChange {
  /** With their credentials sealed anew. */
  documents: readonly CatalogDocument[];
  creations: readonly RememberedCreation[];
  /** Texts of the installation that were sealed, and are sealed anew. */
  resealed: readonly { name: string; value: string; replaces: string }[];
  proof: { name: string; value: string; replaces: string };
}

/** All of it in one transaction: the installation is under the one secret or under the other. */
export async function writeSecretChange(gate: LedgerGate, change: SecretChange, trail: Trail): Promise<void> {
  const alongside: AlongsideRow[] = [
    ...change.documents.map((document) => ({ table: 'catalog' as const, put: document })),
    ...change.creations.map((creation) => ({ table: 'creations' as const, resealed: creation })),
    ...change.resealed.map((fact) => ({ table: 'installation' as const, ...fact })),
    { table: 'installation', ...change.proof },
    ...trailRows(trail),
  ];
  await gate.submit({ operations: [], alongside });
}

/** Keeps the secret of a key or of a token under another hash. Nothing where that was done before. */
export async function moveHash(
  gate: LedgerGate,
  table: 'key_secrets' | 'tokens',
  from: string,
  to: string,
): Promise<void> {
  await gate.submit({ operations: [], alongside: [{ table, rehash: { from, to } }] satisfies AlongsideRow[] });
}
