// The tables of the in-memory store.

import type { Account, Key } from '../../accounts/accounts.ts';
import type { CatalogDocument } from '../../catalog/catalog.ts';
import type { AccountRow, DailyTotal, Ending, HoldRow, KeyRow, LeaseRow, NewEntry } from '../../ledger/ledger.ts';

/** All tables. Rows are values and never altered. */
export interface MemoryTables {
  accountMeters: Map<number, AccountRow>;
  keyMeters: Map<number, KeyRow>;
  holds: Map<string, HoldRow>;
  leases: Map<string, LeaseRow>;
  entries: NewEntry[];
  /** In the order they ended. */
  endings: Map<string, Ending>;
  totals: Map<string, DailyTotal>;
  accounts: Map<number, Account>;
  keys: Map<number, { key: Key; secretHash: string }>;
  catalog: Map<string, CatalogDocument>;
  installation: Map<string, string>;
}
