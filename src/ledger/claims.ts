// Claims: the idempotency keys of callers. A claim stands for one message, which is answered once and
// charged once. It is free again when its message ended and was no answer; what that one was charged by
// no doing of its caller is given back to whoever asks again.

import { bounds } from '../config.ts';
import { spent } from './meters.ts';
import type { Admit, Answer, Claim } from './operation.ts';
import {
  type AccountRow,
  type ClaimRow,
  type Effect,
  type Ending,
  type HoldRow,
  type KeyRow,
  type NewEntry,
  type Rows,
  systemAccounts,
} from './rows.ts';

interface Payer {
  account: AccountRow;
  key: KeyRow;
}

/** The answer to a claim that is not free, or the ending, if any, whose cost is to be given back first. */
export function readClaim(rows: Rows, { key, requestId }: Admit, claim: Claim): Answer | { forgiven: Ending | null } {
  const taken = rows.claim(key, claim.name);
  if (taken === undefined || taken.requestId === requestId || taken.atMs + bounds.claimKeptMs <= rows.nowMs)
    return { forgiven: null };
  const isRunning = rows.hold(taken.requestId) !== undefined;
  if (isRunning || taken.isAnswered) {
    if (taken.requestHash !== claim.requestHash)
      return { ok: false, reason: 'claim_mismatch', requestId: taken.requestId };
    return { ok: false, reason: isRunning ? 'claim_running' : 'claim_answered', requestId: taken.requestId };
  }
  // Who asks for something else has not asked again: with as little as can be asked he would get back what he had.
  const ending = taken.requestHash === claim.requestHash ? rows.ending(taken.requestId) : undefined;
  return { forgiven: ending !== undefined && isForgivable(ending) ? ending : null };
}

/**
 * What the caller ended himself, or ended with his money, he pays: else he could have answers in parts for nothing.
 * What expired is forgiven also where it cost nothing: its owner may come back, and would have it billed.
 */
function isForgivable({ record, endedBy }: Ending): boolean {
  const mayCost = endedBy === 'expired' || (record.cost > 0 && endedBy !== 'forgiven');
  return mayCost && record.outcome !== 'client_gone' && record.outcome !== 'quota_cut';
}

/** Gives back what was paid for an ending that was no answer. */
export function forgive(
  { account, key }: Payer,
  { record: before }: Ending,
  nowMs: number,
): Payer & Pick<Effect, 'entries' | 'corrections'> {
  const paid = before.cost - before.writtenOff;
  const shared = { account: account.id, atMs: nowMs, debit: systemAccounts.revenue, reference: before.requestId };
  const note = 'asked again under its idempotency key';
  const entries: NewEntry[] = [
    { ...shared, credit: account.id, amount: paid, kind: 'correction', note },
    { ...shared, credit: systemAccounts.writeOffs, amount: before.writtenOff, kind: 'correction', note },
  ];
  return {
    account: { ...account, balance: account.balance + paid, spending: spent(account.spending, -paid, 0) },
    key: { ...key, spending: spent(key.spending, -paid, 0) },
    entries: entries.filter(({ amount }) => amount > 0),
    corrections: [{ ending: { record: { ...before, cost: 0, writtenOff: 0 }, endedBy: 'forgiven' }, before }],
  };
}

/** The claim as it stands when its message begins. */
export function claimOf({ key, requestId }: Admit, { name, requestHash }: Claim, nowMs: number): ClaimRow {
  return { key, name, requestId, requestHash, atMs: nowMs, isAnswered: false };
}

/** The claim of a message that ends with an answer; nothing where it has none, or another message has it now. */
export function answeredClaim(rows: Rows, { key, claim: name, requestId }: HoldRow): ClaimRow[] {
  const claim = name === null ? undefined : rows.claim(key, name);
  return claim?.requestId === requestId ? [{ ...claim, isAnswered: true }] : [];
}
