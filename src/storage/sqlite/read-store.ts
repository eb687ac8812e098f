// Reads of what is committed, on a connection of its own that never writes: accounts, keys,
// catalogue, balances, single usage records. Short reads by index, so that they may run on the
// main thread; lists of what grows without end are reports (report-reads.ts).

import type { Database } from 'bun:sqlite';
import type { AccountStore, PersonStore, TokenStore } from '../../accounts/accounts.ts';
import type { AuditStore } from '../../audit/audit.ts';
import type { CatalogStore } from '../../catalog/catalog.ts';
import type { AnswerStore, LedgerReader, UsageStore } from '../../ledger/ledger.ts';
import type { InstallationStore } from '../../secrets/secrets.ts';
import type { LearnedStore } from '../../usage/usage.ts';
import { describeAccountMeters, describeCallerMeters, describeKeyMeters } from '../describe-meters.ts';
import {
  type AccountMetersTable,
  type KeyMetersTable,
  readAccountRow,
  readKeyRow,
  readUsageRecord,
  type UsageTable,
} from '../row-codec.ts';
import { accessReads } from './access-reads.ts';
import { answerReads } from './answers.ts';
import type { ReportReads } from './report-reads.ts';
import { prepareText } from './statements.ts';

export type ReadStore = Pick<
  AccountStore,
  'findKeyBySecretHash' | 'getAccount' | 'listAccounts' | 'getKey' | 'listKeys' | 'countKeys'
> &
  Pick<TokenStore, 'findTokenBySecretHash' | 'getToken' | 'listTokens' | 'countTokens'> &
  Omit<PersonStore, 'createPerson' | 'updatePerson'> &
  Pick<CatalogStore, 'loadCatalog'> &
  Pick<InstallationStore, 'readInstallation'> &
  Pick<LearnedStore, 'loadLearned'> &
  Omit<LedgerReader, keyof ReportReads> &
  Omit<UsageStore, keyof ReportReads> &
  Pick<AnswerStore, 'findAnswer'> &
  Omit<AuditStore, keyof ReportReads>;

/** All reads over one connection but for reports. */
export function readStore(database: Database): ReadStore {
  return {
    ...accessReads(database),
    ...installationReads(database),
    ...meterReads(database),
    ...recordReads(database),
    ...answerReads(database),
  };
}

function installationReads(database: Database) {
  return {
    async readInstallation(name: string) {
      const row = prepareText(database, 'SELECT value FROM installation WHERE name = $1').get(name);
      return row === null ? null : (row as { value: string }).value;
    },
    async loadLearned() {
      const rows = prepareText(database, 'SELECT model, document FROM learned ORDER BY model').all();
      return (rows as { model: string; document: string }[]).map(({ model, document }): [string, unknown] => [
        model,
        JSON.parse(document),
      ]);
    },
    async loadCatalog() {
      const rows = prepareText(database, 'SELECT kind, name, origin, document FROM catalog ORDER BY kind, name').all();
      return (rows as { document: string }[]).map((row) => ({ ...row, document: JSON.parse(row.document) })) as Awaited<
        ReturnType<CatalogStore['loadCatalog']>
      >;
    },
  };
}

function meterReads(database: Database): Omit<LedgerReader, 'listEntries' | 'listHolds' | 'readMonth'> {
  const account = prepareText(database, 'SELECT * FROM account_meters WHERE id = $1');
  const key = prepareText(database, 'SELECT * FROM key_meters WHERE id = $1');
  const open = prepareText(database, 'SELECT account_id AS account, key_id AS key FROM holds WHERE request_id = $1');
  const bothOf = database.transaction(
    (accountId: number, keyId: number) =>
      [account.get(accountId), key.get(keyId)] as [AccountMetersTable | null, KeyMetersTable | null],
  );
  const holds = prepareText(database, 'SELECT count(*) AS count, total(amount) AS held FROM holds');
  // The first of the ids: they begin with the time.
  const oldestHold = prepareText(
    database,
    "SELECT json_extract(document, '$.openedAtMs') AS atMs FROM holds ORDER BY request_id LIMIT 1",
  );
  return {
    async openHolds() {
      const sums = holds.get() as { count: number; held: number };
      return { ...sums, oldestAtMs: (oldestHold.get() as { atMs: number } | null)?.atMs ?? null };
    },
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
  };
}

function recordReads(database: Database): Pick<UsageStore, 'getUsage'> {
  const one = prepareText(database, 'SELECT * FROM usage_records WHERE request_id = $1');
  return {
    async getUsage(requestId) {
      const row = one.get(requestId) as UsageTable | null;
      return row === null ? null : readUsageRecord(row);
    },
  };
}
