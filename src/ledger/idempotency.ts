// Idempotency records. A record binds a client's idempotency key to one message, which is answered and charged once.
// The key becomes free again if that message ends without an answer. Charges of such failed attempts are reversed in
// the transaction that settles a later attempt as the answer, and never before. What is returned to an account in a day
// is bounded.

import type { Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { recharged, returned, rolled, spent } from './meters.ts';
import type { Admit, Answer, IdempotencyClaim, Outcome } from './operation.ts';
import {
  type AccountRow,
  type Effect,
  type Ending,
  type HoldRow,
  type IdempotencyRow,
  type KeyRow,
  type NewEntry,
  type Rows,
  systemAccounts,
} from './rows.ts';

export interface Payer {
  account: AccountRow;
  key: KeyRow;
}

/** The payer after the charges of failed attempts were reversed, and the rows to write. */
export interface Reversed extends Payer, Required<Pick<Effect, 'entries' | 'corrections'>> {
  claim: IdempotencyRow | undefined;
}

/** The refusal if the key is in use, or the failed attempts whose charges the answer will reverse, oldest first. */
export function checkIdempotency(
  rows: Rows,
  { key, requestId }: Admit,
  claim: IdempotencyClaim,
): Answer | { failedAttempts: string[] } {
  const taken = rows.claim(key, claim.name);
  if (taken === undefined || taken.requestId === requestId || taken.atMs + bounds.idempotencyKeptMs <= rows.nowMs)
    return { failedAttempts: [] };
  const isRunning = rows.hold(taken.requestId) !== undefined;
  if (isRunning || taken.isAnswered) {
    if (taken.requestHash !== claim.requestHash)
      return { ok: false, reason: 'claim_mismatch', requestId: taken.requestId };
    return { ok: false, reason: isRunning ? 'claim_running' : 'claim_answered', requestId: taken.requestId };
  }
  // A different body is a different request: a cheap one must not reverse the charge of an expensive one.
  if (taken.requestHash !== claim.requestHash) return { failedAttempts: [] };
  const ending = rows.ending(taken.requestId);
  const isAdded = ending !== undefined && isReversible(ending);
  const failedAttempts = isAdded ? [...taken.failedAttempts, taken.requestId] : taken.failedAttempts;
  return { failedAttempts: failedAttempts.slice(-bounds.failedAttemptsReversedMax) };
}

/**
 * A client that disconnects or runs out of money pays for what it received, otherwise partial answers would be free. So
 * does one whose prompt made the model's own output unusable (`failed` with a cost). An expired message is reversed even
 * at cost 0: its owner may return late and charge it.
 */
function isReversible({ record, endedBy }: Ending): boolean {
  const mayCost = endedBy === 'expired' || (record.cost > 0 && endedBy !== 'forgiven');
  return mayCost && !FINAL_OUTCOMES.has(record.outcome);
}

const FINAL_OUTCOMES: ReadonlySet<Outcome> = new Set(['client_gone', 'quota_cut', 'failed']);

/**
 * Marks the record as answered and reverses the charges of its failed attempts, oldest first: each that fits whole into what
 * is left of `reversalsMax` on this day (UTC). The others stay charged. Changes nothing if the message has no record, or the
 * record belongs to another message by now.
 */
export function answerIdempotencyRecord(
  rows: Rows,
  { key: keyId, claim: name, requestId }: HoldRow,
  payer: Payer,
  reversalsMax: Nano,
): Reversed {
  const claim = name === null ? undefined : rows.claim(keyId, name);
  if (claim?.requestId !== requestId) return { ...payer, claim: undefined, entries: [], corrections: [] };
  let { account, key } = payer;
  const entries: NewEntry[] = [];
  const corrections: Required<Effect>['corrections'] = [];
  for (const failed of claim.failedAttempts) {
    const ending = rows.ending(failed);
    if (ending === undefined || !isReversible(ending)) continue;
    const { record: before } = ending;
    const paid = before.cost - before.writtenOff;
    const reversals = rolled(account.reversals, 'day', rows.nowMs);
    if (paid > reversalsMax - reversals.used) continue;
    if (paid > 0) account = { ...account, reversals: spent(reversals, paid, 0) };
    account = recharged(account, returned(paid, before), before, rows.nowMs);
    key = { ...key, spending: spent(key.spending, -paid, 0) };
    entries.push(...reversalEntries(account.id, before, rows.nowMs));
    corrections.push({
      ending: { record: { ...before, cost: 0, writtenOff: 0, planPaid: 0 }, endedBy: 'forgiven' },
      before,
    });
  }
  return { account, key, claim: { ...claim, isAnswered: true }, entries, corrections };
}

function reversalEntries(
  account: number,
  { requestId, cost, writtenOff, planPaid }: Ending['record'],
  nowMs: number,
): NewEntry[] {
  const shared = { account, atMs: nowMs, debit: systemAccounts.revenue, reference: requestId };
  const note = 'reversed: a later attempt under its idempotency key was answered';
  const entries: NewEntry[] = [
    { ...shared, credit: account, amount: cost - writtenOff - planPaid, kind: 'correction', note },
    { ...shared, credit: systemAccounts.plans, amount: planPaid, kind: 'correction', note },
    { ...shared, credit: systemAccounts.writeOffs, amount: writtenOff, kind: 'correction', note },
  ];
  return entries.filter(({ amount }) => amount > 0);
}

/** The row to write when the message is admitted. */
export function idempotencyRowOf(
  { key, requestId }: Admit,
  { name, requestHash }: IdempotencyClaim,
  failedAttempts: string[],
  nowMs: number,
): IdempotencyRow {
  return { key, name, requestId, requestHash, atMs: nowMs, isAnswered: false, failedAttempts };
}
