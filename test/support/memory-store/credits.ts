// Credits that were given under a reference, which credits an account once.

import type { NewEntry } from '../../../src/ledger/ledger.ts';
import type { MemoryTables } from './tables.ts';

/** Amount that the reference credited to the account; null if none. */
export function creditedAmount(tables: MemoryTables, account: number, reference: string): number | null {
  const entry = tables.entries.find(
    (one) => one.account === account && one.reference === reference && isReferredCredit(one),
  );
  if (entry === undefined) return tables.carriedCredits.get(`${account} ${reference}`) ?? null;
  return entry.credit === account ? entry.amount : -entry.amount;
}

export function isReferredCredit({ kind, reference }: NewEntry): boolean {
  return reference !== null && ['payment', 'promotion', 'adjustment', 'debt_write_off'].includes(kind);
}
