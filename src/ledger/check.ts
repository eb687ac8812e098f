// Verifies the ledger's invariants from sums over the stored rows. Used by `turnpike check` and by tests.

import { formatUsd } from '../base/money.ts';

/** Sums that a store computes over its rows in one consistent read. Amounts are exact. */
export interface LedgerSums {
  accounts: {
    id: string;
    balance: bigint;
    held: bigint;
    creditLine: bigint;
    allowanceHeld: bigint;
    planHeld: bigint;
    /** Credits minus debits of the account's entries. */
    entries: bigint;
    /** Sums over open holds: of it and of accounts below, of those that it pays for, and of the part that its plan holds. */
    holds: bigint;
    paidHolds: bigint;
    planHolds: bigint;
  }[];
  /** Debts of all accounts, and the same by their entries. */
  debt: bigint;
  debtEntries: bigint;
  keys: { id: string; quotaHeld: bigint; holds: bigint }[];
  people: { id: string; held: bigint; holds: bigint }[];
  entries: number;
  openHolds: number;
  /**
   * Start of the retained usage records and journal, in milliseconds since 1970; null if nothing was ever dropped.
   */
  usageSinceMs: number | null;
  journalSinceMs: number | null;
  /** Request ids whose entries do not add up to the record's cost or write-off. */
  unbalancedRequests: string[];
  /** Entries with amount zero, with sides that do not include their account, or whose account has no row. */
  strangeEntries: string[];
  /** Day, account, key and model of each total that differs from the sum of its usage records. */
  unequalTotals: string[];
  /** Account and month of each recorded change that differs from the sum of its entries. */
  wrongMonths: string[];
  /** Holds without an account or key, of an ended message, or inconsistent in themselves. */
  strangeHolds: string[];
  /**
   * Accounts and keys whose count of running messages differs from the number of their open holds that have not left.
   */
  miscountedRunning: string[];
  /** Accounts and keys without meters, and meters without an account. */
  withoutMeters: string[];
}

export interface CheckReport {
  ok: boolean;
  accounts: number;
  entries: number;
  open_holds: number;
  /** Start of the verified records and journal; null if all of them are retained. */
  usage_since: string | null;
  journal_since: string | null;
  faults: string[];
}

/** One sentence per broken invariant; `ok` is true if there are none. */
export function checkLedger(sums: LedgerSums): CheckReport {
  const faults: string[] = [];
  const expect = (what: string, is: bigint, should: bigint) => {
    if (is !== should) faults.push(`${what}: ${formatUsd(is)} is stored, the sum is ${formatUsd(should)}`);
  };
  for (const account of sums.accounts) {
    expect(`${account.id}: balance is not the sum of its entries`, account.balance, account.entries);
    expect(
      `${account.id}: held amount is not the sum of its holds`,
      account.held,
      account.paidHolds - account.planHolds,
    );
    expect(`${account.id}: held allowance is not the sum of its holds`, account.allowanceHeld, account.holds);
    expect(`${account.id}: what its plan holds is not the sum of its holds`, account.planHeld, account.planHolds);
    if (account.balance - account.held < -account.creditLine) {
      faults.push(
        `${account.id}: balance ${formatUsd(account.balance)} minus ${formatUsd(account.held)} held is lower than the credit line allows`,
      );
    }
  }
  expect('the debts of all accounts are not the sum of their entries', sums.debt, sums.debtEntries);
  for (const key of sums.keys) expect(`${key.id}: held quota is not the sum of its holds`, key.quotaHeld, key.holds);
  for (const person of sums.people)
    expect(`${person.id}: held budget is not the sum of its holds`, person.held, person.holds);
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
