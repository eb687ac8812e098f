// The ledger's invariants, verified from sums over the stored rows. Used by `turnpike check` and by tests.

import { formatUsd } from '../base/money.ts';

/** What a store sums up of its rows, in one consistent read. Amounts are exact. */
export interface LedgerSums {
  accounts: {
    id: string;
    balance: bigint;
    held: bigint;
    creditLine: bigint;
    allowanceHeld: bigint;
    /** Credits minus debits of its entries. */
    entries: bigint;
    /** Amounts of its open holds. */
    holds: bigint;
    /** Costs of its usage records, and of its daily totals. */
    recordsCost: bigint;
    totalsCost: bigint;
  }[];
  keys: { id: string; quotaHeld: bigint; holds: bigint }[];
  entries: number;
  openHolds: number;
  /** Request ids whose usage entries do not add up to the cost of their record. */
  unbalancedRequests: string[];
  /** Entries whose amount is negative, whose sides are one account, or whose account has no row. */
  strangeEntries: string[];
}

export interface CheckReport {
  ok: boolean;
  accounts: number;
  entries: number;
  open_holds: number;
  faults: string[];
}

/** Every broken invariant in words; `ok` when there is none. */
export function checkLedger(sums: LedgerSums): CheckReport {
  const faults: string[] = [];
  const expect = (what: string, is: bigint, should: bigint) => {
    if (is !== should) faults.push(`${what}: ${formatUsd(is)} is stored, ${formatUsd(should)} is the sum`);
  };
  for (const account of sums.accounts) {
    expect(`${account.id} balance against its entries`, account.balance, account.entries);
    expect(`${account.id} held against its open holds`, account.held, account.holds);
    expect(`${account.id} allowance held against its open holds`, account.allowanceHeld, account.holds);
    expect(`${account.id} daily totals against its usage records`, account.totalsCost, account.recordsCost);
    if (account.balance - account.held < -account.creditLine) {
      faults.push(
        `${account.id}: balance ${formatUsd(account.balance)} less ${formatUsd(account.held)} held is below its floor`,
      );
    }
  }
  for (const key of sums.keys) expect(`${key.id} quota held against its open holds`, key.quotaHeld, key.holds);
  for (const requestId of sums.unbalancedRequests) faults.push(`${requestId}: its entries do not add up to its cost`);
  faults.push(...sums.strangeEntries);
  return {
    ok: faults.length === 0,
    accounts: sums.accounts.length,
    entries: sums.entries,
    open_holds: sums.openHolds,
    faults,
  };
}
