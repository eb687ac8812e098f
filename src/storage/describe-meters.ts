// The meters of an account or key as they read now, for those who ask and do not take.

import {
  type AccountMeters,
  type AccountRow,
  type CallerMeters,
  type CallerQuestion,
  groupRates,
  type KeyMeters,
  type KeyRow,
  readLimits,
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
    allowanceHeld: row.spending.held,
  };
}

export function describeKeyMeters(row: KeyRow, nowMs: number): KeyMeters {
  return {
    quota: row.quota,
    quotaPeriod: row.quotaPeriod,
    quotaUsed: rolled(row.spending, row.quotaPeriod, nowMs).used,
    quotaHeld: row.spending.held,
    lastUsedAtMs: row.lastUsedAtMs,
    ...row.limits,
  };
}

/** Both rows must be of one committed state. Null when one is missing or the key is another account's. */
export function describeCallerMeters(
  account: AccountRow | null,
  key: KeyRow | null,
  { groups }: CallerQuestion,
  nowMs: number,
): CallerMeters | null {
  if (account === null || key === null || key.account !== account.id) return null;
  const ofKey = readLimits(key.rates, key.limits, nowMs).map((level) => ({ ...level, group: null }));
  const ofGroups = groups.flatMap(({ name, limits }) =>
    readLimits(groupRates(account, name), limits, nowMs).map((level) => ({ ...level, group: name })),
  );
  return {
    account: describeAccountMeters(account, nowMs),
    key: describeKeyMeters(key, nowMs),
    levels: [...ofKey, ...ofGroups],
  };
}
