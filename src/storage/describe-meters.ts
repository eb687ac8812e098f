// The meters of an account or key as they read now, for those who ask and do not take.

import {
  type AccountMeters,
  type AccountRow,
  type KeyMeters,
  type KeyRow,
  rolled,
  walletAvailable,
} from '../ledger/ledger.ts';

export function describeAccountMeters(row: AccountRow, nowMs: number): AccountMeters {
  return {
    balance: row.balance,
    held: row.held,
    available: Math.max(0, walletAvailable(row)),
    creditLine: row.creditLine,
    allowance: row.allowance,
    allowancePeriod: row.allowancePeriod,
    allowanceUsed: rolled(row.spending, row.allowancePeriod, nowMs).used,
  };
}

export function describeKeyMeters(row: KeyRow, nowMs: number): KeyMeters {
  return {
    quota: row.quota,
    quotaPeriod: row.quotaPeriod,
    quotaUsed: rolled(row.spending, row.quotaPeriod, nowMs).used,
    lastUsedAtMs: row.lastUsedAtMs,
    ...row.limits,
  };
}
