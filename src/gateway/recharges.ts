// Automatic recharges as messages see them: a wallet below its threshold begins one, and a message that the wallet cannot
// pay for waits for it.

import type { Account } from '../accounts/accounts.ts';
import type { Nano } from '../base/money.ts';
import type { Admission } from '../ledger/ledger.ts';

export interface Recharges {
  /** Begins a recharge of the account, unless one is in progress or the last one failed. Returns at once. */
  start(account: Account): void;
  /** The account or its credit changed: an earlier failure no longer counts on this node. */
  forget(accountId: number): void;
  /**
   * The same as `start`, and waits for it. Resolves to true if the ledger should be asked again; false: no recharge is possible, it
   * failed or takes longer than `waitMs`, too many messages wait, or the client disconnected. Never rejects.
   */
  wait(account: Account, waitMs: number, signal: AbortSignal): Promise<boolean>;
}

interface Recharging {
  recharges: Recharges | null;
}

/** `walletLeft`: as in the ledger's answers. */
export function isBelowThreshold({ autoRecharge }: Account, walletLeft: Nano | null): boolean {
  return autoRecharge != null && walletLeft !== null && walletLeft < autoRecharge.threshold;
}

/** Begins a recharge if less than the account's threshold is left. */
export function noteWallet({ recharges }: Recharging, account: Account, walletLeft: Nano | null): void {
  if (recharges !== null && isBelowThreshold(account, walletLeft)) recharges.start(account);
}

/** Whether a recharge may lead to admission: the wallet is short, and below its threshold. */
export function mayRecharge({ recharges }: Recharging, account: Account, admission: Admission): boolean {
  if (recharges === null || admission.ok || admission.reason !== 'insufficient') return false;
  return admission.meter === 'wallet' && isBelowThreshold(account, admission.available);
}
