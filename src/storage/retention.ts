// Dropping old rows, as bundles for the ledger: nothing of it is decided by the ledger, and all of it happens
// in its transactions. The same for every store.

import { type Kept, keptSinceNames, type LedgerGate, type RetentionStore } from '../ledger/ledger.ts';
import type { InstallationStore } from '../secrets/secrets.ts';
import type { AlongsideRow } from './alongside.ts';

export type RetentionReads = Pick<RetentionStore, 'countForgotten' | 'countToCarry' | 'listToCarry'>;

/** A RetentionStore of what a store can tell, over a gate of the ledger. */
export function retentionStore(
  gate: LedgerGate,
  reads: RetentionReads & Pick<InstallationStore, 'readInstallation'>,
): RetentionStore {
  const submit = async (row: AlongsideRow) => {
    await gate.submit({ operations: [], alongside: [row] });
  };
  const keptSince = async (kept: Kept) => {
    const value = await reads.readInstallation(keptSinceNames[kept]);
    return value === null ? null : Number(value);
  };
  return {
    countForgotten: reads.countForgotten,
    countToCarry: reads.countToCarry,
    listToCarry: reads.listToCarry,
    keptSince,
    async keepSince(kept, sinceMs) {
      const before = await keptSince(kept);
      if (before !== null && before >= sinceMs) return;
      const replaces = before === null ? null : String(before);
      await submit({ table: 'installation', name: keptSinceNames[kept], value: String(sinceMs), replaces });
    },
    forget: (table, beforeMs) => submit({ table, forget: { beforeMs } }),
    carry: (account, beforeMs) => submit({ table: 'entries', carry: { account, beforeMs } }),
  };
}
