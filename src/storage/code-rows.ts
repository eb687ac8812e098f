// Redemption codes and their batches: the rows written with their credits, and the reads. The same for both databases.

import type { LedgerGate } from '../ledger/ledger.ts';
import type { CodeBatch, CodeStore, Redemption, StoredCode } from '../payments/payments.ts';
import { submit } from './account-writes.ts';
import type { CoCommittedRow, CoCommittedStatement } from './co-committed.ts';
import { prepareOne } from './readable-rows.ts';
import { columnsAs, type SqlReader } from './sql-reader.ts';

export type CodeRow =
  /** A new batch, and the hash of each of its codes in order. */
  | { table: 'code_batches'; batch: CodeBatch; hashes: readonly string[] }
  | { table: 'code_batches'; id: number; status: CodeBatch['status'] }
  /** Refused as Outpaced if the code was redeemed, or its batch expired, was disabled, or is used up by the account. */
  | { table: 'codes'; batch: CodeBatch; number: number; redemption: Redemption };

export function codeStatements(row: CodeRow): CoCommittedStatement[] {
  if (row.table === 'codes') return redeem(row);
  if ('hashes' in row) return [insertBatch(row.batch), ...insertCodes(row.batch.id, row.hashes)];
  return [{ text: 'UPDATE code_batches SET status = $2 WHERE id = $1', values: [row.id, row.status] }];
}

function insertBatch(batch: CodeBatch): CoCommittedStatement {
  const { id, name, kind, amount, count, redeemed, expiresAtMs, isOncePerAccount, note, status, madeBy } = batch;
  return {
    text: `INSERT INTO code_batches (id, created_at_ms, name, kind, amount, count, redeemed, expires_at_ms,
         once_per_account, note, status, made_by)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    values: [
      id,
      batch.createdAtMs,
      name,
      kind,
      amount,
      count,
      redeemed,
      expiresAtMs,
      isOncePerAccount ? 1 : 0,
      note,
      status,
      madeBy,
    ],
  };
}

const CODES_AT_ONCE = 500; // a statement's parameters are limited

function insertCodes(batch: number, hashes: readonly string[]): CoCommittedStatement[] {
  const statements: CoCommittedStatement[] = [];
  for (let from = 0; from < hashes.length; from += CODES_AT_ONCE) {
    const some = hashes.slice(from, from + CODES_AT_ONCE);
    const rows = some.map((_, at) => `($1, $2 + ${at}, $${at + 3})`);
    const text = `INSERT INTO codes (batch_id, number, hash) VALUES ${rows.join(', ')}`;
    statements.push({ text, values: [batch, from + 1, ...some] });
  }
  return statements;
}

/**
 * The account's row is locked, so that two codes of a batch are never redeemed by it at the same time. The batch's row comes
 * first, so that two nodes that redeem codes of a batch wait for each other in the same order.
 */
function redeem({ batch, number, redemption: { account, by, atMs } }: Extract<CodeRow, { table: 'codes' }>) {
  return [
    {
      text: `UPDATE code_batches SET redeemed = redeemed + 1
         WHERE id = $1 AND redeemed < count AND status = 'enabled' AND (expires_at_ms IS NULL OR expires_at_ms > $2)`,
      values: [batch.id, atMs],
      race: 'the batch of the code is used up, disabled or has expired',
    },
    {
      text: `UPDATE codes SET account_id = $3, redeemed_by = $4, redeemed_at_ms = $5, once_account_id = $6
         WHERE batch_id = $1 AND number = $2 AND account_id IS NULL
           AND NOT EXISTS (SELECT 1 FROM codes o WHERE o.batch_id = $1 AND o.once_account_id = $6)`,
      values: [batch.id, number, account, by, atMs, batch.isOncePerAccount ? account : null],
      race: 'the code was redeemed, or the account redeemed another one of its batch',
    },
  ];
}

type CodeWrites = Pick<CodeStore, 'createCodeBatch' | 'setCodeBatchStatus' | 'redemptionRows'>;

export function codeWrites(gate: LedgerGate): CodeWrites {
  return {
    createCodeBatch: (batch, hashes, auditContext) =>
      submit(gate, [], [{ table: 'code_batches', batch, hashes }], auditContext),
    setCodeBatchStatus: (id, status, auditContext) =>
      submit(gate, [], [{ table: 'code_batches', id, status }], auditContext),
    redemptionRows: (batch, { number }, redemption): CoCommittedRow[] => [
      { table: 'codes', batch, number, redemption },
    ],
  };
}

export type CodeReads = Omit<CodeStore, keyof CodeWrites>;

export function codeReads(on: SqlReader): CodeReads {
  const integers = ['id', 'createdAtMs', 'amount', 'count', 'redeemed', 'expiresAtMs', 'oncePerAccount'];
  const batchColumns = columnsAs(on, 'r', integers, ['name', 'kind', 'note', 'status', 'madeBy']);
  const codeColumns = columnsAs(on, 'c', ['number', 'account', 'redeemedAtMs'], ['redeemedBy']);
  const byHash = `SELECT ${batchColumns}, ${codeColumns} FROM codes c JOIN code_batches r ON r.id = c.batch_id WHERE c.hash = $1`;
  const newest = on.prepare<BatchTable>(
    `SELECT ${batchColumns} FROM code_batches r
     WHERE (r.created_at_ms, r.id) < (COALESCE((SELECT l.created_at_ms FROM code_batches l WHERE l.id = $1), $2), $1)
     ORDER BY r.created_at_ms DESC, r.id DESC LIMIT $3`,
  );
  const ofBatch = on.prepare<CodeTable>(
    `SELECT ${codeColumns} FROM codes c
     WHERE c.batch_id = $1 AND c.number > $2 ORDER BY c.number LIMIT $3`,
  );
  const once = on.prepare('SELECT 1 FROM codes c WHERE c.batch_id = $1 AND c.once_account_id = $2');
  return {
    findCode: prepareOne(on, byHash, readFound),
    getCodeBatch: prepareOne(on, `SELECT ${batchColumns} FROM code_batches r WHERE r.id = $1`, readBatch),
    listCodeBatches: async ({ before, limit }) =>
      (await newest(before ?? 0, Number.MAX_SAFE_INTEGER, limit)).map(readBatch),
    listCodes: async ({ batch, after, limit }) =>
      (await ofBatch(batch, after ?? 0, limit)).map((row) => readCode(batch, row)),
    hasRedeemed: async (batch, account) => (await once(batch, account)).length > 0,
  };
}

type BatchTable = Omit<CodeBatch, 'isOncePerAccount'> & { oncePerAccount: number };

function readBatch({ oncePerAccount, ...batch }: BatchTable): CodeBatch {
  return { ...batch, isOncePerAccount: oncePerAccount === 1 };
}

function readFound({ number, account, redeemedAtMs, redeemedBy, ...batch }: BatchTable & CodeTable) {
  return { batch: readBatch(batch), code: readCode(batch.id, { number, account, redeemedAtMs, redeemedBy }) };
}

interface CodeTable {
  number: number;
  account: number | null;
  redeemedAtMs: number | null;
  redeemedBy: string | null;
}

function readCode(batch: number, { number, account, redeemedAtMs: atMs, redeemedBy: by }: CodeTable): StoredCode {
  const isRedeemed = account !== null && atMs !== null && by !== null;
  return { batch, number, redemption: isRedeemed ? { account, atMs, by } : null };
}
