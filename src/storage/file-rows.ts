// Rows of files: their statements and their reads, the same for both databases.

import type { FileStore, FileSum, HIDDEN_PURPOSES, StoredFile } from '../files/files.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import { submit } from './account-writes.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { prepareOne } from './readable-rows.ts';
import { columnsAs, LAST, type SqlReader } from './sql-reader.ts';

type Hidden = `'${(typeof HIDDEN_PURPOSES)[0]}', '${(typeof HIDDEN_PURPOSES)[1]}'`;
const HIDDEN: Hidden = "'batch_requests', 'batch_results'";

export type FileRow =
  | { table: 'files'; created: StoredFile }
  /** Refused as Outpaced unless the file is pending. */
  | { table: 'files'; kept: Pick<StoredFile, 'id' | 'dueAtMs'> }
  | { table: 'files'; dropped: { id: number; dueAtMs: number } }
  | { table: 'files'; forgotten: number };

export function fileStatement(row: FileRow): CoCommittedStatement {
  if ('created' in row) {
    const { id, accountId, companyId, keyId, onlyKeyId, status, createdAtMs, dueAtMs, bytes, ...texts } = row.created;
    const { name, mediaType, purpose, keySealed } = texts;
    const numbers = [id, accountId, companyId, keyId, onlyKeyId, status, createdAtMs, dueAtMs, bytes];
    return {
      text: `INSERT INTO files (id, account_id, company_id, key_id, only_key_id, status, created_at_ms, due_at_ms, bytes,
           name, media_type, purpose, key_sealed)
         VALUES ($1, $2, $3, $4, CAST($5 AS bigint), $6, $7, CAST($8 AS bigint), $9, $10, $11, $12, $13)`,
      values: [...numbers, name, mediaType, purpose, keySealed],
    };
  }
  if ('kept' in row)
    return {
      text: `UPDATE files SET status = 'stored', due_at_ms = CAST($2 AS bigint) WHERE id = $1 AND status = 'pending'`,
      values: [row.kept.id, row.kept.dueAtMs],
      race: 'the file was removed meanwhile',
    };
  if ('dropped' in row)
    return {
      text: `UPDATE files SET status = 'deleted', due_at_ms = $2 WHERE id = $1 AND status <> 'deleted'`,
      values: [row.dropped.id, row.dropped.dueAtMs],
    };
  return { text: `DELETE FROM files WHERE id = $1 AND status = 'deleted'`, values: [row.forgotten] };
}

type FileWrites = Pick<FileStore, 'createFile' | 'keepFile' | 'dropFile' | 'forgetFile'>;

export function fileWrites(gate: LedgerGate): FileWrites {
  return {
    createFile: (created) => submit(gate, [], [{ table: 'files', created }]),
    keepFile: (id, dueAtMs) => submit(gate, [], [{ table: 'files', kept: { id, dueAtMs } }]),
    dropFile: (id, dueAtMs) => submit(gate, [], [{ table: 'files', dropped: { id, dueAtMs } }]),
    forgetFile: (forgotten) => submit(gate, [], [{ table: 'files', forgotten }]),
  };
}

export type FileReads = Omit<FileStore, keyof FileWrites>;

export function fileReads(on: SqlReader): FileReads {
  const numbers = ['id', 'accountId', 'companyId', 'keyId', 'onlyKeyId', 'createdAtMs', 'dueAtMs', 'bytes'];
  const columns = columnsAs(on, 'r', numbers, ['status', 'name', 'mediaType', 'purpose', 'keySealed']);
  const rows = (rest: string) => on.prepare<StoredFile>(`SELECT ${columns} FROM files r ${rest}`);
  const page = (comparison: '<' | '>', direction: 'DESC' | 'ASC') =>
    rows(`WHERE r.account_id = $1 AND (r.created_at_ms, r.id) ${comparison} ($2, $3) AND r.status = 'stored'
      AND (r.due_at_ms IS NULL OR r.due_at_ms > $4) AND (r.only_key_id IS NULL OR r.only_key_id = $5)
      AND ($6 = '' OR r.purpose = $6) AND r.purpose NOT IN (${HIDDEN}) ORDER BY r.created_at_ms ${direction}, r.id ${direction} LIMIT $7`);
  const pages = { asc: page('>', 'ASC'), desc: page('<', 'DESC') };
  const due = rows('WHERE r.due_at_ms <= $1 ORDER BY r.due_at_ms LIMIT $2');
  const sums =
    on.prepare<FileSum>(`SELECT ${on.number('count(*)')} AS files, ${on.number('COALESCE(SUM(r.bytes), 0)')} AS bytes
    FROM files r WHERE r.company_id = $1 AND r.status <> 'deleted'`);
  return {
    getFile: prepareOne(on, `SELECT ${columns} FROM files r WHERE r.id = $1`, (row: StoredFile) => row),
    listFiles: ({ accountId, keyId, nowMs, purpose, order, after, limit }) => {
      const beginning = order === 'desc' ? LAST : -1;
      const { createdAtMs, id } = after ?? { createdAtMs: beginning, id: beginning };
      return pages[order](accountId, createdAtMs, id, nowMs, keyId, purpose ?? '', limit);
    },
    sumFiles: async (companyId) => (await sums(companyId))[0] ?? { files: 0, bytes: 0 },
    listDueFiles: due,
  };
}
