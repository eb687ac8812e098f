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
  }[];
  keys: { id: string; quotaHeld: bigint; holds: bigint }[];
  entries: number;
  openHolds: number;
  /** From when on usage records and the journal are whole, in milliseconds since 1970; null where nothing was ever dropped. */
  usageSinceMs: number | null;
  journalSinceMs: number | null;
  /** Request ids whose entries do not add up to the cost of their record, or to what was written off of it. */
  unbalancedRequests: string[];
  /** Entries that move nothing, or money of another account than they are about, or whose account has no row. */
  strangeEntries: string[];
  /** Days, accounts, keys and models whose total is not the sum of its usage records. */
  unequalTotals: string[];
  /** Accounts and months of which the changes of the balance are not the sum of their entries. */
  wrongMonths: string[];
  /** Holds without an account or a key of that account, of a message that has ended, or at odds with themselves. */
  strangeHolds: string[];
  /** Accounts and keys whose count of running messages is not that of their open holds, but for those left. */
  miscountedRunning: string[];
  /** Accounts and keys without meters, and meters without an account. */
  withoutMeters: string[];
}

export interface CheckReport {
  ok: boolean;
  accounts: number;
  entries: number;
  open_holds: number;
  /** From when on records and journal are whole, and verified; null: all. */
  usage_since: string | null;
  journal_since: string | null;
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
    if (account.balance - account.held < -account.creditLine) {
      faults.push(
        `${account.id}: balance ${formatUsd(account.balance)} less ${formatUsd(account.held)} held is below its floor`,
      );
    }
  }
  for (const key of sums.keys) expect(`${key.id} quota held against its open holds`, key.quotaHeld, key.holds);
  for (const requestId of sums.unbalancedRequests) faults.push(`${requestId}: its entries do not add up to its cost`);
  faults.push(
    ...sums.strangeEntries,
    ...sums.unequalTotals,
    ...sums.wrongMonths,
    ...sums.strangeHolds,
    ...sums.miscountedRunning,
    ...sums.withoutMeters,
  );
  return {
    ok: faults.length === 0,
    accounts: sums.accounts.length,
    entries: sums.entries,
    open_holds: sums.openHolds,
    usage_since: timeOf(sums.usageSinceMs),
    journal_since: timeOf(sums.journalSinceMs),
    faults,
  };
}

function timeOf(sinceMs: number | null): string | null {
  return sinceMs === null ? null : new Date(sinceMs).toISOString();
}
