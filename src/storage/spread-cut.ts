// Has every node end the running messages of a key.

import type { LedgerGate } from '../ledger/ledger.ts';
import type { AlongsideRow } from './alongside.ts';

/** Nodes hear of it as of every change. Nothing where the store is of one process. */
export async function spreadCut(gate: LedgerGate, key: number): Promise<void> {
  await gate.submit({ operations: [], alongside: [{ table: 'changes', cut: key }] satisfies AlongsideRow[] });
}
