// Reads of what is committed, by this node or another: accounts, keys, catalogue, balances, single usage records. Short
// reads by index; lists of what grows without end are reports (report-reads.ts).

import type { CatalogStore } from '../../catalog/catalog.ts';
import type { AnswerStore, LedgerReader, StoredAnswer, UsageStore } from '../../ledger/ledger.ts';
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
import type { Reader } from './read-pool.ts';
import { ACCOUNT_COLUMNS, KEY_COLUMNS, USAGE_COLUMNS } from './row-columns.ts';
import { earliestMonthOf } from './usage-months.ts';

export type ReadStore = ReturnType<typeof readStore>;

/** All reads over one reader but for reports. */
export function readStore(reader: Reader) {
  return {
    ...accessReads(reader),
    ...installationReads(reader),
    ...meterReads(reader),
    ...recordReads(reader),
  };
}

function installationReads(reader: Reader) {
  return {
    async readInstallation(name: string) {
      const [row] = await reader.read<{ value: string }>('SELECT value FROM installation WHERE name = $1', name);
      return row?.value ?? null;
    },
    async loadLearned() {
      const rows = await reader.read<{ model: string; document: string }>(
        'SELECT model, document FROM learned ORDER BY model',
      );
      return rows.map(({ model, document }): [string, unknown] => [model, JSON.parse(document)]);
    },
    async loadCatalog() {
      const rows = await reader.read<{ document: string }>(
        'SELECT kind, name, origin, document FROM catalog ORDER BY kind, name',
      );
      return rows.map((row) => ({ ...row, document: JSON.parse(row.document) })) as Awaited<
        ReturnType<CatalogStore['loadCatalog']>
      >;
    },
  };
}

const ACCOUNT = `SELECT ${ACCOUNT_COLUMNS} FROM account_meters m WHERE m.id = $1`;
const KEY = `SELECT ${KEY_COLUMNS} FROM key_meters m WHERE m.id = $1`;
// In one statement: two of them may see a message between them.
const CALLER = `
  SELECT row_to_json(a)::text AS account, row_to_json(k)::text AS key
  FROM (${ACCOUNT}) a, (${KEY.replace('$1', '$2')}) k`;
const OPEN_HOLDS = 'SELECT count(*)::float8 AS count, coalesce(sum(amount), 0)::float8 AS held FROM holds';
// The first of the ids: they begin with the time.
const OLDEST_HOLD = 'SELECT document FROM holds ORDER BY request_id LIMIT 1';
const OPEN_MESSAGE = `
  SELECT h.account_id::float8 AS account, h.key_id::float8 AS key FROM holds h WHERE h.request_id = $1`;

function meterReads(reader: Reader): Omit<LedgerReader, 'listEntries' | 'listHolds' | 'readMonth'> {
  return {
    async openHolds() {
      const [sums] = await reader.read<{ count: number; held: number }>(OPEN_HOLDS);
      const [oldest] = await reader.read<{ document: string }>(OLDEST_HOLD);
      const { openedAtMs } = oldest === undefined ? { openedAtMs: null } : JSON.parse(oldest.document);
      return { count: sums?.count ?? 0, held: sums?.held ?? 0, oldestAtMs: openedAtMs };
    },
    async accountMeters(id, nowMs) {
      const [row] = await reader.read<AccountMetersTable>(ACCOUNT, id);
      return row === undefined ? null : describeAccountMeters(readAccountRow(row), nowMs);
    },
    async keyMeters(id, nowMs) {
      const [row] = await reader.read<KeyMetersTable>(KEY, id);
      return row === undefined ? null : describeKeyMeters(readKeyRow(row), nowMs);
    },
    async callerMeters(question, nowMs) {
      const [row] = await reader.read<{ account: string; key: string }>(CALLER, question.account, question.key);
      if (row === undefined) return null;
      const account = readAccountRow(JSON.parse(row.account) as AccountMetersTable);
      return describeCallerMeters(account, readKeyRow(JSON.parse(row.key) as KeyMetersTable), question, nowMs);
    },
    async openMessage(requestId) {
      const [row] = await reader.read<{ account: number; key: number }>(OPEN_MESSAGE, requestId);
      return row ?? null;
    },
  };
}

const RECORD = `SELECT ${USAGE_COLUMNS} FROM usage_records r WHERE r.request_id = $1 AND r.month >= $2`;
const ANSWER = `
  SELECT r.request_id AS "requestId", r.at_ms::float8 AS "atMs", r.bytes::float8 AS bytes, r.sealed
  FROM answers r WHERE r.request_id = $1`;

function recordReads(reader: Reader): Pick<UsageStore, 'getUsage'> & Pick<AnswerStore, 'findAnswer'> {
  return {
    async getUsage(requestId) {
      const [row] = await reader.read<UsageTable>(RECORD, requestId, earliestMonthOf(requestId));
      return row === undefined ? null : readUsageRecord(row);
    },
    async findAnswer(requestId) {
      const [row] = await reader.read<StoredAnswer>(ANSWER, requestId);
      return row ?? null;
    },
  };
}
