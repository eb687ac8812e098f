// Redemption codes in memory.

import { Outpaced } from '../../../src/ledger/ledger.ts';
import type { CodeBatch, StoredCode } from '../../../src/payments/payments.ts';
import type { CoCommittedRow } from '../../../src/storage/co-committed.ts';
import type { CodeReads, CodeRow } from '../../../src/storage/code-rows.ts';
import type { MemoryTables } from './tables.ts';

type RedeemedRow = Extract<CodeRow, { table: 'codes' }>;

/** Throws Outpaced if the code cannot be redeemed after the rows `before` it. */
export function refuseOutpacedCode(tables: MemoryTables, row: RedeemedRow, before: readonly CoCommittedRow[]): void {
  const { batch, number, redemption } = row;
  const now = tables.codeBatches.get(batch.id);
  const isOver = now?.status !== 'enabled' || (now.expiresAtMs !== null && now.expiresAtMs <= redemption.atMs);
  const earlier = before.filter((one): one is RedeemedRow => one.table === 'codes' && one.batch.id === batch.id);
  const redeemed = [...codesOf(tables, batch.id).filter((code) => code.redemption !== null), ...earlier];
  const isTaken = redeemed.some((one) => one.number === number);
  const isUsedUp = batch.isOncePerAccount && redeemed.some((one) => one.redemption?.account === redemption.account);
  if (isOver || isTaken || isUsedUp) throw new Outpaced('the code cannot be redeemed');
}

export function writeCodes(tables: MemoryTables, row: CodeRow): void {
  const { codeBatches, codes } = tables;
  if (row.table === 'codes') {
    const [hash, code] = entryOf(tables, row.batch.id, row.number);
    const batch = codeBatches.get(row.batch.id) as CodeBatch;
    codes.set(hash, { ...code, redemption: row.redemption });
    codeBatches.set(batch.id, { ...batch, redeemed: batch.redeemed + 1 });
  } else if ('hashes' in row) {
    codeBatches.set(row.batch.id, row.batch);
    for (const [at, hash] of row.hashes.entries())
      codes.set(hash, { batch: row.batch.id, number: at + 1, redemption: null });
  } else {
    const batch = codeBatches.get(row.id);
    if (batch !== undefined) codeBatches.set(row.id, { ...batch, status: row.status });
  }
}

export function codeReads(tables: MemoryTables): CodeReads {
  const { codeBatches, codes } = tables;
  return {
    async findCode(hash) {
      const code = codes.get(hash);
      const batch = code && codeBatches.get(code.batch);
      return code === undefined || batch === undefined ? null : { batch, code };
    },
    getCodeBatch: async (id) => codeBatches.get(id) ?? null,
    async listCodeBatches({ before, limit }) {
      const sorted = [...codeBatches.values()].sort((a, b) => b.createdAtMs - a.createdAtMs || b.id - a.id);
      const from = before === null ? 0 : sorted.findIndex(({ id }) => id === before) + 1;
      return sorted.slice(from, from + limit);
    },
    listCodes: async ({ batch, after, limit }) =>
      codesOf(tables, batch)
        .filter(({ number }) => number > (after ?? 0))
        .slice(0, limit),
    hasRedeemed: async (batch, account) =>
      codesOf(tables, batch).some(({ redemption }) => redemption?.account === account),
  };
}

function codesOf({ codes }: MemoryTables, batch: number): StoredCode[] {
  return [...codes.values()].filter((code) => code.batch === batch);
}

function entryOf({ codes }: MemoryTables, batch: number, number: number): [string, StoredCode] {
  const found = [...codes].find(([, code]) => code.batch === batch && code.number === number);
  if (found === undefined) throw new Error(`there is no code ${number} of batch ${batch}`);
  return found;
}
