// All that modules declare as their stores, as one value: what every kind of store gives.

import type { AccountStore, PersonStore, TokenStore } from '../accounts/accounts.ts';
import type { AuditStore } from '../audit/audit.ts';
import type { CatalogStore } from '../catalog/catalog.ts';
import type { AnswerStore, LedgerGate, LedgerReader, RetentionStore, UsageStore } from '../ledger/ledger.ts';
import type { InstallationStore } from '../secrets/secrets.ts';
import type { LearnedStore } from '../usage/usage.ts';

export interface Stores {
  gate: LedgerGate;
  accounts: AccountStore;
  tokens: TokenStore;
  people: PersonStore;
  audit: AuditStore;
  catalog: CatalogStore;
  ledger: LedgerReader;
  usage: UsageStore;
  answers: AnswerStore;
  installation: InstallationStore;
  retention: RetentionStore;
  learned: LearnedStore;
}
