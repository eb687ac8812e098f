// Reads everything that changed balances within a time, account by account and newest first: messages with what paid for
// them, and every other entry of the journal. A page of records and one of entries are in memory, never more.

import { setTimeout as wait } from 'node:timers/promises';
import type { Account } from '../accounts/accounts.ts';
import { assert } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type Entry, type EntryKind, type StoredUsageRecord, systemAccounts } from '../ledger/ledger.ts';
import type { ExportQuestion, Place, Reading } from './export-question.ts';

/** A message with all entries of its end, or one entry of another kind. */
export interface Charge {
  kind: 'message' | Exclude<EntryKind, 'usage' | 'write_off'>;
  account: number;
  atMs: number;
  /** The message, or the one that a refund or correction is about; null: there is none, or it is no longer stored. */
  record: StoredUsageRecord | null;
  requestId: string | null;
  /** The reference and note of an entry that is about no message. */
  reference: string | null;
  note: string | null;
  /** The parts that balance and plan paid, and that nobody could pay; negative if it was given back. */
  balancePaid: Nano;
  planPaid: Nano;
  writtenOff: Nano;
}

export interface ChargePage {
  charges: Charge[];
  /** All changes before this place have been read. */
  next: Place;
}

type Scope = Pick<ExportQuestion, 'account' | 'sinceMs' | 'untilMs'>;

/**
 * Pages of charges, from a place on. Throws object_not_found for an unknown account, and if the journal of the time is no longer
 * stored; store_unavailable and overloaded only after several attempts.
 */
export async function* readCharges(reading: Reading, scope: Scope, from: Place | null): AsyncGenerator<ChargePage> {
  const keptSinceMs = await tried(() => reading.sources.retention.retainedSince('journal'));
  if (keptSinceMs !== null && scope.sinceMs < keptSinceMs)
    throw new TurnpikeError(
      'object_not_found',
      `The journal is kept only since ${new Date(keptSinceMs).toISOString().slice(0, 7)}.`,
    );
  for await (const { id } of accountsOf(reading, scope.account, from)) {
    const untilMs = from?.account === id ? Math.min(from.untilMs, scope.untilMs) : scope.untilMs;
    yield* chargesOf(reading, id, { sinceMs: scope.sinceMs, untilMs });
  }
}

/** By id, so that a place names one. Those that are created meanwhile may have charges in it, too. */
async function* accountsOf(reading: Reading, only: number | null, from: Place | null): AsyncGenerator<{ id: number }> {
  const { accounts } = reading.sources;
  if (only !== null) {
    yield { id: only };
    return;
  }
  let after: number | null = null;
  let isReached = from === null;
  for (;;) {
    const page: Account[] = await tried(() => accounts.listAccounts({ after, limit: bounds.exportPageRows }));
    for (const account of page) {
      isReached ||= account.id === from?.account;
      if (isReached) yield account;
    }
    if (page.length < bounds.exportPageRows) break;
    after = page.at(-1)?.id ?? null;
  }
  assert(isReached, 'accounts are never deleted, so that the one of a place exists');
}

interface Span {
  sinceMs: number;
  untilMs: number;
}

async function* chargesOf(reading: Reading, account: number, span: Span): AsyncGenerator<ChargePage> {
  const { ledger, usage } = reading.sources;
  const page = { account, ...span, limit: bounds.exportPageRows };
  const filters = { key: null, madeBy: null, outcome: null };
  const { requester } = reading;
  const records = new Feed((before) => usage.listUsage({ ...page, ...filters, before }, requester));
  const entries = new Feed((before) => ledger.listEntries({ ...page, before }, requester));
  const recordsSinceMs = (await tried(() => reading.sources.retention.retainedSince('usage'))) ?? 0;
  let charges: Charge[] = [];
  for (;;) {
    const atMs = Math.max((await records.peek())?.atMs ?? -1, (await entries.peek())?.atMs ?? -1);
    if (atMs < 0) break;
    charges.push(...join(account, await records.takeAt(atMs), await entries.takeAt(atMs)));
    if (charges.length < bounds.exportPageRows) continue;
    await findMessages(reading, charges, recordsSinceMs);
    yield { charges, next: { account, untilMs: atMs - 1 } };
    charges = [];
  }
  await findMessages(reading, charges, recordsSinceMs);
  yield { charges, next: { account, untilMs: span.sinceMs - 1 } };
}

/** Rows from the newest, a page at a time. */
class Feed<Row extends { atMs: number; seq: number }> {
  readonly #read: (before: number | null) => Promise<Row[]>;
  #rows: Row[] = [];
  #at = 0;
  #before: number | null = null;
  #isDone = false;

  constructor(read: (before: number | null) => Promise<Row[]>) {
    this.#read = read;
  }

  async peek(): Promise<Row | null> {
    while (this.#at >= this.#rows.length && !this.#isDone) {
      this.#rows = await tried(() => this.#read(this.#before));
      this.#at = 0;
      this.#before = this.#rows.at(-1)?.seq ?? null;
      this.#isDone = this.#rows.length < bounds.exportPageRows;
    }
    return this.#rows[this.#at] ?? null;
  }

  /** The next rows of this millisecond: no more than the service ends in one. */
  async takeAt(atMs: number): Promise<Row[]> {
    const rows: Row[] = [];
    for (let row = await this.peek(); row?.atMs === atMs; row = await this.peek()) {
      rows.push(row);
      this.#at++;
    }
    return rows;
  }
}

/** The charges of one millisecond: a message's record and entries have the same time. */
function join(account: number, records: readonly StoredUsageRecord[], entries: readonly Entry[]): Charge[] {
  const messages = new Map<string, Charge>();
  const charges: Charge[] = [];
  for (const record of records) {
    const charge = emptyCharge('message', account, record.atMs, record.requestId);
    charge.record = record;
    messages.set(record.requestId, charge);
    charges.push(charge);
  }
  for (const entry of entries) {
    const { kind, reference, atMs } = entry;
    if (kind !== 'usage' && kind !== 'write_off') {
      charges.push(chargeOf(entry, kind, account));
      continue;
    }
    const requestId = reference ?? '';
    let charge = messages.get(requestId);
    if (charge === undefined) {
      charge = emptyCharge('message', account, atMs, requestId);
      messages.set(requestId, charge);
      charges.push(charge);
    }
    addParts(charge, entry);
  }
  return charges;
}

function emptyCharge(kind: Charge['kind'], account: number, atMs: number, requestId: string | null): Charge {
  const nothing = { balancePaid: 0, planPaid: 0, writtenOff: 0 };
  return { kind, account, atMs, requestId, record: null, reference: null, note: null, ...nothing };
}

function chargeOf(entry: Entry, kind: Charge['kind'], account: number): Charge {
  const isOfMessage = kind === 'refund' || kind === 'correction';
  const { reference, note } = entry;
  const charge = emptyCharge(kind, account, entry.atMs, isOfMessage ? reference : null);
  if (isOfMessage) addParts(charge, entry);
  else Object.assign(charge, { reference, balancePaid: paidBy(account, entry) });
  return { ...charge, note };
}

function addParts(charge: Charge, entry: Entry): void {
  charge.balancePaid += paidBy(charge.account, entry);
  charge.planPaid += paidBy(systemAccounts.plans, entry);
  charge.writtenOff += paidBy(systemAccounts.writeOffs, entry);
}

function paidBy(party: number, { debit, credit, amount }: Entry): Nano {
  if (debit === party) return amount;
  return credit === party ? -amount : 0;
}

/** Finds the messages of refunds and corrections, which may be of any time. */
async function findMessages(reading: Reading, charges: readonly Charge[], recordsSinceMs: number): Promise<void> {
  for (const charge of charges) {
    const { record, requestId, kind, atMs } = charge;
    if (record !== null || requestId === null) continue;
    if (kind === 'message' && atMs < recordsSinceMs) continue; // records were dropped before their entries
    charge.record = await tried(() => reading.sources.usage.getUsage(requestId));
  }
}

/** A read, repeated while the store is busy or restarts. */
async function tried<Value>(read: () => Promise<Value>): Promise<Value> {
  for (const pauseMs of bounds.exportReadPausesMs) {
    try {
      return await read();
    } catch (failure) {
      if (!isPassing(failure)) throw failure;
      await wait(pauseMs, undefined, { ref: false });
    }
  }
  return await read();
}

function isPassing(failure: unknown): boolean {
  return failure instanceof TurnpikeError && (failure.code === 'overloaded' || failure.code === 'store_unavailable');
}
