// Reads of what is committed, on a connection of its own that never writes: accounts, keys,
// catalogue, balances, journal, usage records. Short reads by index, so that they may run on the
// main thread.

import type { Database, Statement } from 'bun:sqlite';
import type { Account, AccountStore, Key } from '../../accounts/accounts.ts';
import type { CatalogStore } from '../../catalog/catalog.ts';
import type { Entry, LedgerReader, UsageStore } from '../../ledger/ledger.ts';
import type { InstallationStore } from '../../secrets/secrets.ts';
import { describeAccountMeters, describeKeyMeters } from '../describe-meters.ts';
import {
  type AccountMetersTable,
  type KeyMetersTable,
  readAccountRow,
  readKeyRow,
  readUsageRecord,
  type UsageTable,
} from './row-codec.ts';
import { prepareText } from './statements.ts';

export type ReadStore = Pick<
  AccountStore,
  'findKeyBySecretHash' | 'getAccount' | 'listAccounts' | 'getKey' | 'listKeys'
> &
  Pick<CatalogStore, 'loadCatalog'> &
  Pick<InstallationStore, 'readInstallation'> &
  LedgerReader &
  UsageStore;

const LAST = Number.MAX_SAFE_INTEGER;

/** All reads over one connection. */
export function readStore(database: Database): ReadStore {
  return { ...accountReads(database), ...meterReads(database), ...recordReads(database) };
}

function accountReads(database: Database) {
  const keyByHash = prepareText(
    database,
    `SELECT k.document AS key, a.document AS account FROM keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.secret_hash = $1`,
  );
  const account = prepareText(database, 'SELECT document FROM accounts WHERE id = $1');
  const key = prepareText(database, 'SELECT document FROM keys WHERE id = $1');
  // Both lists are in the order of creation; the last one seen is found by its id.
  const accounts = prepareText(
    database,
    `SELECT document FROM accounts
     WHERE (created_at_ms, id) > (COALESCE((SELECT created_at_ms FROM accounts WHERE id = $1), -1), $1)
     ORDER BY created_at_ms, id LIMIT $2`,
  );
  const keyList = (where: string) =>
    prepareText(
      database,
      `SELECT document FROM keys
       WHERE ${where} (created_at_ms, id) > (COALESCE((SELECT created_at_ms FROM keys WHERE id = $1), -1), $1)
       ORDER BY created_at_ms, id LIMIT $2`,
    );
  const keys = keyList('');
  const keysOfAccount = keyList('account_id = $3 AND ');
  return {
    async findKeyBySecretHash(secretHash: string) {
      const row = keyByHash.get(secretHash) as { key: string; account: string } | null;
      return row === null ? null : { key: JSON.parse(row.key) as Key, account: JSON.parse(row.account) as Account };
    },
    async getAccount(id: number) {
      return readDocument<Account>(account.get(id));
    },
    async getKey(id: number) {
      return readDocument<Key>(key.get(id));
    },
    async listAccounts(page: { after: number | null; limit: number }) {
      return readDocuments<Account>(accounts.all(page.after ?? 0, page.limit));
    },
    async listKeys(page: { accountId: number | null; after: number | null; limit: number }) {
      const bound = [page.after ?? 0, page.limit];
      return readDocuments<Key>(
        page.accountId === null ? keys.all(...bound) : keysOfAccount.all(...bound, page.accountId),
      );
    },
    async readInstallation(name: string) {
      const row = prepareText(database, 'SELECT value FROM installation WHERE name = $1').get(name);
      return row === null ? null : (row as { value: string }).value;
    },
    async loadCatalog() {
      const rows = prepareText(database, 'SELECT kind, name, origin, document FROM catalog ORDER BY kind, name').all();
      return (rows as { document: string }[]).map((row) => ({ ...row, document: JSON.parse(row.document) })) as Awaited<
        ReturnType<CatalogStore['loadCatalog']>
      >;
    },
  };
}

function meterReads(database: Database): LedgerReader {
  const account = prepareText(database, 'SELECT * FROM account_meters WHERE id = $1');
  const key = prepareText(database, 'SELECT * FROM key_meters WHERE id = $1');
  const entries = prepareText(
    database,
    `SELECT seq, at_ms, debit, credit, amount, kind, reference, note FROM entries
     WHERE account_id = $1 AND at_ms >= $2 AND ${isBefore('entries', '$3')} ORDER BY at_ms DESC, seq DESC LIMIT $4`,
  );
  return {
    async accountMeters(id, nowMs) {
      const row = account.get(id) as AccountMetersTable | null;
      return row === null ? null : describeAccountMeters(readAccountRow(row), nowMs);
    },
    async keyMeters(id, nowMs) {
      const row = key.get(id) as KeyMetersTable | null;
      return row === null ? null : describeKeyMeters(readKeyRow(row), nowMs);
    },
    async listEntries(page) {
      const rows = entries.all(page.account, page.sinceMs ?? 0, page.before ?? LAST, page.limit);
      return (rows as (Omit<Entry, 'atMs'> & { at_ms: number })[]).map(({ at_ms: atMs, ...entry }) => ({
        atMs,
        ...entry,
      }));
    },
  };
}

function recordReads(database: Database): UsageStore {
  const one = prepareText(database, 'SELECT * FROM usage_records WHERE request_id = $1');
  const list = (where: string) =>
    prepareText(
      database,
      `SELECT * FROM usage_records WHERE ${where} at_ms >= $1 AND at_ms <= $2 AND ${isBefore('usage_records', '$3')}
       ORDER BY at_ms DESC, seq DESC LIMIT $4`,
    );
  const all = list('');
  const ofAccount = list('account_id = $5 AND ');
  const ofKey = list('key_id = $5 AND ($6 IS NULL OR account_id = $6) AND ');
  return {
    async listUsage({ account, key, sinceMs, untilMs, before, limit }) {
      const bound = [sinceMs ?? 0, untilMs ?? LAST, before ?? LAST, limit];
      const rows =
        key !== null
          ? ofKey.all(...bound, key, account)
          : account !== null
            ? ofAccount.all(...bound, account)
            : all.all(...bound);
      return (rows as UsageTable[]).map(readUsageRecord);
    },
    async getUsage(requestId) {
      const row = one.get(requestId) as UsageTable | null;
      return row === null ? null : readUsageRecord(row);
    },
  };
}

/** What comes after the row numbered `seq` in a list that is newest first, also where a clock was set back. */
function isBefore(table: string, seq: string): string {
  return `(at_ms, seq) < (COALESCE((SELECT at_ms FROM ${table} WHERE seq = ${seq}), ${LAST}), ${seq})`;
}

function readDocument<Value>(row: ReturnType<Statement['get']>): Value | null {
  return row === null ? null : (JSON.parse((row as { document: string }).document) as Value);
}

function readDocuments<Value>(rows: unknown[]): Value[] {
  return (rows as { document: string }[]).map((row) => JSON.parse(row.document) as Value);
}
