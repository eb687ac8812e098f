// Reads over the in-memory tables, with the same answers as the stores that last.

import type { Account, AccountStore, Key } from '../../accounts/accounts.ts';
import type { CatalogStore } from '../../catalog/catalog.ts';
import type { LedgerReader, StoredUsageRecord, UsageStore } from '../../ledger/ledger.ts';
import type { InstallationStore } from '../../secrets/secrets.ts';
import { describeAccountMeters, describeKeyMeters } from '../describe-meters.ts';
import type { MemoryTables } from './tables.ts';

type Reads = Pick<AccountStore, 'findKeyBySecretHash' | 'getAccount' | 'listAccounts' | 'getKey' | 'listKeys'> &
  Pick<CatalogStore, 'loadCatalog'> &
  Pick<InstallationStore, 'readInstallation'> &
  LedgerReader &
  UsageStore;

export function memoryReads(tables: MemoryTables): Reads {
  return { ...accountReads(tables), ...meterReads(tables), ...recordReads(tables) };
}

function accountReads(tables: MemoryTables) {
  return {
    async findKeyBySecretHash(secretHash: string) {
      const found = [...tables.keys.values()].find((row) => row.secretHash === secretHash);
      const account = found && tables.accounts.get(found.key.accountId);
      return found === undefined || account === undefined ? null : { key: found.key, account };
    },
    async getAccount(id: number) {
      return tables.accounts.get(id) ?? null;
    },
    async getKey(id: number) {
      return tables.keys.get(id)?.key ?? null;
    },
    async listAccounts(page: { after: number | null; limit: number }) {
      return after<Account>([...tables.accounts.values()], page);
    },
    async listKeys(page: { accountId: number | null; after: number | null; limit: number }) {
      const keys = [...tables.keys.values()].map((row) => row.key);
      return after<Key>(page.accountId === null ? keys : keys.filter((key) => key.accountId === page.accountId), page);
    },
    async readInstallation(name: string) {
      return tables.installation.get(name) ?? null;
    },
    async loadCatalog() {
      return [...tables.catalog.values()].sort((one, other) =>
        `${one.kind} ${one.name}` < `${other.kind} ${other.name}` ? -1 : 1,
      );
    },
  };
}

function meterReads(tables: MemoryTables): LedgerReader {
  return {
    async accountMeters(id, nowMs) {
      const row = tables.accountMeters.get(id);
      return row === undefined ? null : describeAccountMeters(row, nowMs);
    },
    async keyMeters(id, nowMs) {
      const row = tables.keyMeters.get(id);
      return row === undefined ? null : describeKeyMeters(row, nowMs);
    },
    async listEntries({ account, sinceMs, before, limit }) {
      const entries = tables.entries
        .map(({ account: of, ...entry }, index) => ({ of, seq: index + 1, ...entry }))
        .filter((entry) => entry.of === account && entry.atMs >= (sinceMs ?? 0));
      return newestFirst(entries, before, limit).map(({ of: _, ...entry }) => entry);
    },
  };
}

function recordReads(tables: MemoryTables): UsageStore {
  const stored = (): StoredUsageRecord[] =>
    [...tables.endings.values()].map(({ record }, index) => ({ ...record, seq: index + 1 }));
  return {
    async listUsage({ account, key, sinceMs, untilMs, before, limit }) {
      const records = stored()
        .filter((record) => account === null || record.account === account)
        .filter((record) => key === null || record.key === key)
        .filter((record) => record.atMs >= (sinceMs ?? 0) && record.atMs <= (untilMs ?? Infinity));
      return newestFirst(records, before, limit);
    },
    async getUsage(requestId) {
      return stored().find((record) => record.requestId === requestId) ?? null;
    },
  };
}

function newestFirst<Row extends { seq: number; atMs: number }>(
  rows: Row[],
  before: number | null,
  limit: number,
): Row[] {
  const sorted = rows.sort((one, other) => other.atMs - one.atMs || other.seq - one.seq);
  const start = before === null ? 0 : sorted.findIndex((row) => row.seq === before) + 1;
  return sorted.slice(start, start + limit);
}

function after<Row extends { id: number; createdAtMs: number }>(
  rows: Row[],
  page: { after: number | null; limit: number },
): Row[] {
  const sorted = rows.sort((one, other) => one.createdAtMs - other.createdAtMs || one.id - other.id);
  const start = page.after === null ? 0 : sorted.findIndex((row) => row.id === page.after) + 1;
  return sorted.slice(start, start + page.limit);
}
