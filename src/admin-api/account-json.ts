// An account as the API shows it, and how one is found by the id that a caller gave.

import { z } from '@hono/zod-openapi';
import type { Account } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import type { AccountMeters } from '../ledger/ledger.ts';
import { amountShown, idField, timeShown } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { periodField } from './fields.ts';
import { maySeeAccount, type Principal } from './principal.ts';

export const accountSchema = z
  .object({
    id: idField('acct'),
    name: z.string(),
    groups: z.array(z.string()),
    status: z.enum(['enabled', 'disabled']),
    balance: amountShown,
    held: amountShown,
    available: amountShown,
    credit_line: amountShown,
    allowance: amountShown.nullable(),
    allowance_period: periodField,
    allowance_used: amountShown,
    created_at: timeShown,
  })
  .openapi('Account');

type MetersTerms = Pick<AccountMeters, 'creditLine' | 'allowance' | 'allowancePeriod'>;

export interface AccountWithMeters {
  account: Account;
  meters: AccountMeters;
}

export function accountJson({ account, meters }: AccountWithMeters): z.infer<typeof accountSchema> {
  return {
    id: formatId('acct', account.id),
    name: account.name,
    groups: [...account.groups],
    status: account.status,
    balance: formatUsd(meters.balance),
    held: formatUsd(meters.held),
    available: formatUsd(meters.available),
    credit_line: formatUsd(meters.creditLine),
    allowance: meters.allowance === null ? null : formatUsd(meters.allowance),
    allowance_period: meters.allowancePeriod,
    allowance_used: formatUsd(meters.allowanceUsed),
    created_at: new Date(account.createdAtMs).toISOString(),
  };
}

/** What of an account a change can touch, for the audit: no balances, which move by themselves. */
export function accountTermsJson({ account, meters }: { account: Account; meters: MetersTerms }) {
  return {
    name: account.name,
    groups: [...account.groups],
    status: account.status,
    credit_line: formatUsd(meters.creditLine),
    allowance: meters.allowance === null ? null : formatUsd(meters.allowance),
    allowance_period: meters.allowancePeriod,
  };
}

/** The account of an id "acct_…" with its meters, where the principal may see it. Throws object_not_found. */
export async function findAccount(
  dependencies: AdminDependencies,
  principal: Principal,
  id: string,
): Promise<AccountWithMeters> {
  const number = parseId('acct', id);
  const isSeen = number !== null && maySeeAccount(principal, number);
  const account = isSeen ? await dependencies.accounts.getAccount(number) : null;
  if (account === null) throw new TurnpikeError('object_not_found', `There is no account "${id}".`);
  return withMeters(dependencies, account);
}

/** The number of such an account. Throws object_not_found. */
export async function accountNumber(
  dependencies: AdminDependencies,
  principal: Principal,
  id: string,
): Promise<number> {
  return (await findAccount(dependencies, principal, id)).account.id;
}

export async function withMeters(dependencies: AdminDependencies, account: Account): Promise<AccountWithMeters> {
  const meters = await dependencies.ledger.accountMeters(account.id, dependencies.clock.nowMs());
  // Both are written in one transaction, so the one without the other is a fault of the store.
  if (meters === null) throw new Error(`account ${account.id} has no row in the ledger`);
  return { account, meters };
}
