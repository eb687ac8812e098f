// Reads of what is committed, on a connection of its own that never writes: accounts, keys,
// catalogue, balances, journal, usage records. Short reads by index, so that they may run on the
// main thread.

import type { Database } from 'bun:sqlite';
import type { AccountStore, TokenStore } from '../../accounts/accounts.ts';
import type { AuditStore } from '../../audit/audit.ts';
import type { CatalogStore } from '../../catalog/catalog.ts';
import type { Entry, LedgerReader, UsageStore } from '../../ledger/ledger.ts';
import type { InstallationStore } from '../../secrets/secrets.ts';
import { describeAccountMeters, describeCallerMeters, describeKeyMeters } from '../describe-meters.ts';
import { accessReads } from './access-reads.ts';
import { auditReads } from './audit-reads.ts';
import { isBefore, LAST } from './page-order.ts';
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
  Pick<TokenStore, 'findTokenBySecretHash' | 'getToken' | 'listTokens'> &
  Pick<CatalogStore, 'loadCatalog'> &
  Pick<InstallationStore, 'readInstallation'> &
  LedgerReader &
  UsageStore &
  AuditStore;

/** All reads over one connection. */
export function readStore(database: Database): ReadStore {
  return {
    ...accessReads(database),
    ...installationReads(database),
    ...meterReads(database),
    ...recordReads(database),
    ...auditReads(database),
  };
}

function installationReads(database: Database) {
  return {
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
  const open = prepareText(database, 'SELECT account_id AS account, key_id AS key FROM holds WHERE request_id = $1');
  const bothOf = database.transaction(
    (accountId: number, keyId: number) =>
      [account.get(accountId), key.get(keyId)] as [AccountMetersTable | null, KeyMetersTable | null],
  );
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
    async callerMeters(question, nowMs) {
      // In one transaction: two statements alone may see a message between them.
      const [accountRow, keyRow] = bothOf(question.account, question.key);
      return describeCallerMeters(
        accountRow === null ? null : readAccountRow(accountRow),
        keyRow === null ? null : readKeyRow(keyRow),
        question,
        nowMs,
      );
    },
    async openMessage(requestId) {
      return open.get(requestId) as { account: number; key: number } | null;
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
