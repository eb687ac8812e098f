// Idempotency records. A record binds a client's idempotency key to one message, which is answered and charged once.
// The key becomes free again if that message ends without an answer. Charges of such failed attempts are reversed in
// the transaction that settles a later attempt as the answer, and never before. What is returned to an account in a day
// is bounded.

import type { Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { returned, rolled, spent } from './meters.ts';
import type { Admit, Answer, IdempotencyClaim, Outcome } from './operation.ts';
import { type Payers, payersOf, payingAccount, rowsAfter, withRecharge } from './payers.ts';
import {
  type AccountRow,
  type Effect,
  type Ending,
  type HoldRow,
  type IdempotencyRow,
  type KeyRow,
  type NewEntry,
  type PersonRow,
  type Rows,
  systemAccounts,
} from './rows.ts';
import { atCost } from './usage-record.ts';

/** The payers after the charges of failed attempts were reversed, and the rows to write. */
export interface Reversed extends Required<Pick<Effect, 'entries' | 'corrections'>> {
  payers: Payers;
  /** Changed rows that the failed attempts were charged to, but this message is not. */
  others: { accounts: AccountRow[]; people: PersonRow[] };
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
export function answerIdempotencyRecord(rows: Rows, hold: HoldRow, payers: Payers, reversalsMax: Nano): Reversed {
  const claim = hold.claim === null ? undefined : rows.claim(hold.key, hold.claim);
  const changed = new ChangedRows(rows, payers);
  const entries: NewEntry[] = [];
  const corrections: Required<Effect>['corrections'] = [];
  const isOwn = claim?.requestId === hold.requestId;
  for (const failed of isOwn ? claim.failedAttempts : []) {
    const ending = rows.ending(failed);
    if (ending === undefined || !isReversible(ending)) continue;
    const { record: before } = ending;
    const paid = before.cost - before.writtenOff;
    const charged = payersOf(changed, before);
    const reversals = rolled(payingAccount(charged).reversals, 'day', rows.nowMs);
    if (paid > reversalsMax - reversals.used) continue;
    const after = withRecharge(charged, returned(paid, before), before, rows.nowMs);
    changed.put(after);
    if (paid > 0) changed.putAccount({ ...payingAccount(after), reversals: spent(reversals, paid, 0) });
    entries.push(...reversalEntries(before, rows.nowMs));
    corrections.push({
      ending: { record: { ...atCost(before, 0), writtenOff: 0, planPaid: 0 }, endedBy: 'forgiven' },
      before,
    });
  }
  const answered = isOwn ? { ...claim, isAnswered: true } : undefined;
  return { ...changed.of(hold), claim: answered, entries, corrections };
}

/** Rows under the changes of one operation. */
class ChangedRows implements Pick<Rows, 'nowMs' | 'account' | 'key' | 'person'> {
  readonly nowMs: number;
  readonly #rows: Rows;
  readonly #accounts = new Map<number, AccountRow>();
  readonly #people = new Map<number, PersonRow>();
  #key: KeyRow;

  constructor(rows: Rows, payers: Payers) {
    this.nowMs = rows.nowMs;
    this.#rows = rows;
    this.#key = payers.key;
    this.put(payers);
  }

  account(id: number): AccountRow | undefined {
    return this.#accounts.get(id) ?? this.#rows.account(id);
  }

  /** The attempts of an idempotency record are all of one key. */
  key(): KeyRow {
    return this.#key;
  }

  person(id: number): PersonRow | undefined {
    return this.#people.get(id) ?? this.#rows.person(id);
  }

  put(payers: Payers): void {
    const { accounts, key, people } = rowsAfter(payers);
    for (const account of accounts) this.putAccount(account);
    if (key !== undefined) this.#key = key;
    for (const person of people) this.#people.set(person.id, person);
  }

  putAccount(account: AccountRow): void {
    this.#accounts.set(account.id, account);
  }

  /** The payers of the message, and the other rows. */
  of(hold: HoldRow): Pick<Reversed, 'payers' | 'others'> {
    const payers = payersOf(this, hold);
    for (const { id } of payers.accounts) this.#accounts.delete(id);
    if (payers.person !== null) this.#people.delete(payers.person.id);
    return { payers, others: { accounts: [...this.#accounts.values()], people: [...this.#people.values()] } };
  }
}

function reversalEntries(
  { payer: account, requestId, cost, writtenOff, planPaid }: Ending['record'],
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
