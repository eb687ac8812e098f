// Decides from stored facts whether to recharge an account now. Pure.

import type { Account } from '../accounts/accounts.ts';
import { DAY_MS } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import type { AccountMeters } from '../ledger/ledger.ts';
import type { BonusTier } from './bonus.ts';
import type { Billing, Payment, PaymentStore } from './payment.ts';

/** The operator's settings. */
export interface RechargeTerms {
  minimum: Nano;
  maximum: Nano;
  perDayMax: number;
  isTaxAutomatic: boolean;
  bonusTiers: readonly BonusTier[];
}

export interface RechargeFacts {
  account: Account;
  meters: AccountMeters;
  billing: Billing | null;
  /** The newest auto-recharges, newest first. */
  latest: readonly Payment[];
  /** Auto-recharges of this day that have not failed. */
  madeToday: number;
}

/** The newest auto-recharges of an account, as many as a decision needs. */
export function latestRecharges(store: Pick<PaymentStore, 'listPayments'>, accountId: number): Promise<Payment[]> {
  const all = { status: null, sinceMs: null, untilMs: null, after: null };
  return store.listPayments({ ...all, accountId, kind: 'auto_recharge', limit: bounds.rechargeFailuresMax });
}

export type NoRecharge =
  | 'off'
  | 'disabled'
  /** A debt is paid by the holder: it comes from money that was taken back. */
  | 'debt'
  | 'out_of_bounds'
  /** The payment takes days. */
  | 'pending'
  | 'suspended'
  | 'failed_lately'
  | 'limit'
  | 'no_method';

export type RechargeDecision =
  | { kind: 'charge'; amount: Nano; billing: Billing }
  /** At least the threshold is available. */
  | { kind: 'enough' }
  | { kind: 'await'; payment: number }
  | { kind: 'none'; reason: NoRecharge };

export function decideRecharge(facts: RechargeFacts, terms: RechargeTerms, nowMs: number): RechargeDecision {
  const { account, meters, billing, latest, madeToday } = facts;
  const { autoRecharge = null, status } = account;
  const none = (reason: NoRecharge): RechargeDecision => ({ kind: 'none', reason });
  if (autoRecharge === null) return none('off');
  if (status !== 'enabled') return none('disabled');
  if (meters.debt === 0 && meters.available >= autoRecharge.threshold) return { kind: 'enough' };
  const [last] = latest;
  if (last?.status === 'pending')
    return nowMs - last.createdAtMs < bounds.rechargeCheckMs ? { kind: 'await', payment: last.id } : none('pending');
  if (meters.debt > 0) return none('debt');
  if (autoRecharge.amount < terms.minimum || autoRecharge.amount > terms.maximum) return none('out_of_bounds');
  if (isSuspended(account, latest)) return none('suspended');
  if (last !== undefined && isResting(last, autoRecharge.sinceMs, nowMs)) return none('failed_lately');
  if (madeToday >= Math.min(autoRecharge.perDayMax, terms.perDayMax)) return none('limit');
  return billing === null ? none('no_method') : { kind: 'charge', amount: autoRecharge.amount, billing };
}

/** The latest recharges since the setting was last changed have all failed: it is switched off until it is set again. */
export function isSuspended({ autoRecharge }: Account, latest: readonly Payment[]): boolean {
  if (autoRecharge == null || latest.length < bounds.rechargeFailuresMax) return false;
  return latest.slice(0, bounds.rechargeFailuresMax).every((payment) => hasFailed(payment, autoRecharge.sinceMs));
}

function hasFailed({ status, createdAtMs }: Payment, sinceMs: number): boolean {
  return createdAtMs >= sinceMs && status === 'failed';
}

/** A failed one is not repeated for a while. `canceled`: the provider could not be used. */
function isResting({ status, createdAtMs, updatedAtMs }: Payment, sinceMs: number, nowMs: number): boolean {
  const isUnsuccessful = status === 'failed' || status === 'canceled';
  return isUnsuccessful && createdAtMs >= sinceMs && nowMs - updatedAtMs < bounds.rechargeFailedRestMs;
}

export function startOfDayMs(nowMs: number): number {
  return nowMs - (nowMs % DAY_MS);
}
