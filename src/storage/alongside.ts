// Rows of accounts, keys, tokens, people, the catalogue and the audit that are written in the ledger's transaction, beside
// what the ledger decides: the shapes that travel to its thread.

import type { AccessToken, Account, KeptLink, Key, Person } from '../accounts/accounts.ts';
import type { AuditRecord, DecidedAt, RememberedCreation } from '../audit/audit.ts';
import type { CatalogDocument, DocumentKind } from '../catalog/catalog.ts';
import type { ForgottenTable, StoredAnswer } from '../ledger/ledger.ts';

export type AlongsideRow =
  | { table: 'accounts'; account: Account }
  | { table: 'keys'; key: Key }
  /** A new secret of a key; those that it has end at `othersEndAtMs`, or sooner where that is so already. */
  | { table: 'key_secrets'; keyId: number; secretHash: string; othersEndAtMs: number | null }
  | { table: 'tokens'; token: AccessToken; secretHash: string | null }
  /** A new person, or one that is changed. */
  | { table: 'people'; person: Person; link: KeptLink }
  /** What is kept under one hash of a secret is kept under another; nothing where it is no more. */
  | { table: 'key_secrets' | 'tokens'; rehash: { from: string; to: string } }
  | { table: 'audit_records'; record: AuditRecord }
  /** Those up to `forgetUntilMs` go at the same time. */
  | { table: 'creations'; creation: RememberedCreation; forgetUntilMs: number }
  /** The same creation, its secret sealed anew. */
  | { table: 'creations'; resealed: RememberedCreation }
  /** Refused where another value stands than `replaces`: null for none. */
  | { table: 'installation'; name: string; value: string; replaces: string | null }
  /** What was learned of a model, by which its messages are estimated. */
  | { table: 'learned'; model: string; document: unknown }
  /** The answer to a claim, once for each message. The oldest go where all of them become too large. */
  | { table: 'answers'; answer: StoredAnswer }
  /** The oldest rows of before then go, a bounded number of them. Refused where they are still to be kept. */
  | { table: ForgottenTable; forget: { beforeMs: number } }
  /** The oldest entries of the account go, a bounded number of those of before then, behind one that carries their sum forward. */
  | { table: 'entries'; carry: { account: number; beforeMs: number } }
  | { table: 'catalog'; put: CatalogDocument }
  | { table: 'catalog'; remove: { kind: DocumentKind; name: string } }
  /** Every node is to end the running messages of this key. Nothing where there is one process, as below. */
  | { table: 'changes'; cut: number }
  /** Refused as Outpaced where something was changed since by which its bundle was decided. */
  | { table: 'changes'; since: DecidedAt };

/** The same for every store. */
export function answerRow(answer: StoredAnswer): AlongsideRow {
  return { table: 'answers', answer };
}
