// What the admin API needs of the rest of the service, put together by the root. It holds no
// state of its own but the order in which changes are made.

import type { AccountStore } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { CatalogDocument, Catalogue, DocumentKind } from '../catalog/catalog.ts';
import type { LedgerGate, LedgerReader, UsageStore } from '../ledger/ledger.ts';
import type { Vault } from '../secrets/secrets.ts';

/** The catalogue in force, and the documents that it was built from. */
export interface AdminCatalog {
  current(): Catalogue;
  documents(): Promise<CatalogDocument[]>;
  /** Stores in one transaction and puts the new snapshot in force before it resolves. */
  save(put: readonly CatalogDocument[], remove: readonly { kind: DocumentKind; name: string }[]): Promise<void>;
}

export interface AdminDependencies {
  /** Who shows this token, or null when it opens nothing. */
  verifyToken(token: string): 'operator' | null;
  accounts: AccountStore;
  ledger: Pick<LedgerGate, 'submit'> & LedgerReader;
  usage: UsageStore;
  catalog: AdminCatalog;
  /** The kinds of providers that the service knows. */
  providerKinds: readonly string[];
  vault: Vault;
  clock: Clock;
  /** Drops what this node remembers of a key or an account, after a change was stored. */
  forgetKey(keyId: number): void;
  forgetAccount(accountId: number): void;
  /** Ends the running messages of a key, for `revoke --now`. */
  endKeyMessages(keyId: number): void | Promise<void>;
  /** Resolves a host's addresses, to tell private ones. */
  lookup(hostname: string): Promise<readonly string[]>;
  /** The operator's log of what failed inside; callers only see the request id. */
  report(requestId: string, thrown: unknown): void;
}
