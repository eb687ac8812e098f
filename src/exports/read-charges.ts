// Reads everything that changed balances within a time, account by account and newest first: messages with what paid for
// them, and every other entry of the journal. A message is read once, with the account that sent it; its record has what paid for it.
// Only where retention has dropped the records are messages read from the journal, with the account that paid. A refund is read with
// that account, too. A page of records and one of entries are in memory, never more.

import { setTimeout as wait } from 'node:timers/promises';
import type { Account } from '../accounts/accounts.ts';
import { assert } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import { nextTurn } from '../base/timers.ts';
import type { Hideable } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { besideUsageKinds, type Entry, type EntryKind, systemAccounts } from '../ledger/ledger.ts';
import type { ChargedMessage, ChargedRecord } from '../reports/reports.ts';
import type { ExportQuestion, Place, Reading } from './export-question.ts';

/** The record of a message, without what is hidden from the reader of the file. */
export type ShownRecord = Omit<ChargedRecord, 'group'> & { group: string | null };

/** A message with all entries of its end, or one entry of another kind. */
export interface Charge {
  kind: 'message' | Exclude<EntryKind, 'usage' | 'write_off'>;
  /** The account that sent the message; of other entries, the one whose balance changed. */
  account: number;
  /** The account whose balance changed: `account`, or one that was above it. */
  payer: number;
  atMs: number;
  /** The message, or the one that a refund or correction is about; null: there is none, or it is no longer stored. */
  record: ShownRecord | null;
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
  /** The account of the place is neither above nor below another, so that no other has charges of it. */
  isAlone: boolean;
}

/** Some messages would be in the file twice, or not at all: by their records, and by the journal of the account that paid. */
export class RecordsDropped extends TurnpikeError {
  constructor() {
    super('overloaded', 'Retention dropped records of this time while the file was made. Request it again.');
  }
}

type Scope = Pick<ExportQuestion, 'account' | 'below' | 'reader' | 'sinceMs' | 'untilMs'>;

/** An account to read. */
interface Source {
  id: number;
  isAlone: boolean;
  /** Its messages and its balance are asked for; otherwise only what it got back for messages of others. */
  isAsked: boolean;
}

/** Entries that are about a message of any time, and of any account below. */
const aboutMessages = ['refund', 'correction'] as const;

/**
 * Pages of charges, from a place on. Throws object_not_found for an unknown account, and if the journal of the time is no longer
 * stored; RecordsDropped if retention has dropped records since the file began; store_unavailable and overloaded only after several attempts.
 */
export async function* readCharges(reading: Reading, scope: Scope, from: Place | null): AsyncGenerator<ChargePage> {
  const keptSinceMs = await tried(reading, () => reading.sources.retention.retainedSince('journal'));
  if (keptSinceMs !== null && scope.sinceMs < keptSinceMs)
    throw new TurnpikeError(
      'object_not_found',
      `The journal is kept only since ${new Date(keptSinceMs).toISOString().slice(0, 7)}.`,
    );
  const { account, below } = scope;
  const company = account === null ? null : await companyOf(reading, account, below);
  const isAsked = (id: number) => company?.get(id)?.isAsked ?? company === null;
  const hidden = new Set(scope.reader === null ? [] : reading.names.hidden);
  const recordsSinceMs = from?.recordsSinceMs ?? (await recordsSince(reading, scope));
  for await (const source of sourcesOf(reading, company, from)) {
    const untilMs = from?.account === source.id ? Math.min(from.untilMs, scope.untilMs) : scope.untilMs;
    const withRecords = { sinceMs: recordsSinceMs, untilMs, hasRecords: true };
    const without = { sinceMs: scope.sinceMs, untilMs: Math.min(untilMs, recordsSinceMs - 1), hasRecords: false };
    for (const span of [withRecords, without])
      if (span.sinceMs <= span.untilMs)
        for await (const page of chargesOf(reading, source, span, isAsked)) {
          if ((await recordsSince(reading, scope)) > recordsSinceMs) throw new RecordsDropped();
          const charges = hidden.size === 0 ? page.charges : page.charges.map((charge) => withoutNames(charge, hidden));
          yield { ...page, charges, next: { ...page.next, recordsSinceMs } };
        }
  }
}

/** The start of the retained records in this time. */
async function recordsSince(reading: Reading, { sinceMs }: Scope): Promise<number> {
  return Math.max(sinceMs, (await tried(reading, () => reading.sources.retention.retainedSince('usage'))) ?? 0);
}

function withoutNames(charge: Charge, hidden: ReadonlySet<Hideable>): Charge {
  const { record } = charge;
  if (record === null) return charge;
  return {
    ...charge,
    record: {
      ...record,
      ...(hidden.has('provider') && { provider: null }),
      ...(hidden.has('upstream_model') && { upstreamModel: null }),
      ...(hidden.has('group') && { group: null }),
    },
  };
}

/** The account, those below it if they are asked for, and those above it, which may have paid. */
async function companyOf(reading: Reading, account: number, hasBelow: boolean): Promise<ReadonlyMap<number, Source>> {
  const { accounts } = reading.sources;
  const below = hasBelow ? await tried(reading, () => accounts.listBelow(account)) : [];
  if (below.length >= bounds.accountsBelowReadMax)
    throw new TurnpikeError(
      'invalid_request',
      'below: there are too many accounts below this one: request one of them',
    );
  const company = new Map<number, Source>();
  for (const id of [account, ...below.map((one) => one.id)]) company.set(id, { id, isAlone: false, isAsked: true });
  let above = (await tried(reading, () => accounts.getAccount(account)))?.parentId ?? null;
  for (let levels = 0; above !== null && levels < bounds.accountChainMax; levels++) {
    const id: number = above;
    company.set(id, { id, isAlone: false, isAsked: false });
    above = (await tried(reading, () => accounts.getAccount(id)))?.parentId ?? null;
  }
  return company;
}

/** In an order that does not change, so that a place names one. Those that are created meanwhile may have charges in it, too. */
async function* sourcesOf(
  reading: Reading,
  company: ReadonlyMap<number, Source> | null,
  from: Place | null,
): AsyncGenerator<Source> {
  if (company !== null) {
    const inOrder = [...company.values()].sort((one, other) => one.id - other.id);
    yield* inOrder.filter(({ id }) => from === null || id >= from.account);
    return;
  }
  const { accounts } = reading.sources;
  let after: number | null = null;
  let isReached = from === null;
  for (;;) {
    const page: Account[] = await tried(reading, () => accounts.listAccounts({ after, limit: bounds.exportPageRows }));
    for (const { id, parentId = null } of page) {
      isReached ||= id === from?.account;
      if (!isReached) continue;
      const isAlone = parentId === null && (await tried(reading, () => accounts.listBelow(id))).length === 0;
      yield { id, isAlone, isAsked: true };
    }
    if (page.length < bounds.exportPageRows) break;
    after = page.at(-1)?.id ?? null;
  }
  assert(isReached, 'accounts are never deleted, so that the one of a place exists');
}

interface Span {
  sinceMs: number;
  untilMs: number;
  /** Messages are read by their records, not by the entries that paid for them. */
  hasRecords: boolean;
}

async function* chargesOf(
  reading: Reading,
  { id: account, isAlone, isAsked }: Source,
  { sinceMs, untilMs, hasRecords }: Span,
  isAskedAccount: (id: number) => boolean,
): AsyncGenerator<ChargePage> {
  const { ledger, usage } = reading.sources;
  const { requester } = reading;
  const page = { account, sinceMs, untilMs, limit: bounds.exportPageRows };
  const kinds = isAsked ? hasRecords && { kinds: besideUsageKinds } : { kinds: aboutMessages };
  const messages = new Feed(async (before) =>
    isAsked && hasRecords ? await tried(reading, () => usage.listCharged({ ...page, before }, requester)) : [],
  );
  const entries = new Feed((before) =>
    tried(reading, () => ledger.listEntries({ ...page, ...kinds, before }, requester)),
  );
  let charges: Charge[] = [];
  const pageUntil = async (atMs: number): Promise<ChargePage> => {
    await findRecords(reading, charges);
    const asked = charges.filter((charge) => isAskedAccount(charge.account));
    return { charges: asked, next: { account, untilMs: atMs - 1 }, isAlone };
  };
  for (;;) {
    const atMs = Math.max((await messages.peek())?.atMs ?? -1, (await entries.peek())?.atMs ?? -1);
    if (atMs < 0) break;
    charges.push(...(await messages.takeAt(atMs)).map((message) => messageCharge(account, message)));
    charges.push(...entryCharges(account, await entries.takeAt(atMs)));
    if (charges.length < bounds.exportPageRows) continue;
    yield await pageUntil(atMs);
    charges = [];
  }
  yield await pageUntil(sinceMs);
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
      this.#rows = await this.#read(this.#before);
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

function messageCharge(account: number, { record, balancePaid, planPaid, writtenOff }: ChargedMessage): Charge {
  const charge = emptyCharge('message', account, record.atMs, record.requestId);
  return { ...charge, payer: record.payer, record, balancePaid, planPaid, writtenOff };
}

/** The charges of one millisecond: the entries of a message's end have the same time. */
function entryCharges(account: number, entries: readonly Entry[]): Charge[] {
  const messages = new Map<string, Charge>();
  const charges: Charge[] = [];
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
  return { kind, account, payer: account, atMs, requestId, record: null, reference: null, note: null, ...nothing };
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
  charge.balancePaid += paidBy(charge.payer, entry);
  charge.planPaid += paidBy(systemAccounts.plans, entry);
  charge.writtenOff += paidBy(systemAccounts.writeOffs, entry);
}

function paidBy(party: number, { debit, credit, amount }: Entry): Nano {
  if (debit === party) return amount;
  return credit === party ? -amount : 0;
}

/** Gives refunds and corrections the records of their messages, which may be of any time, and the accounts that sent these. */
async function findRecords(reading: Reading, charges: readonly Charge[]): Promise<void> {
  const aboutMessages = charges.filter(({ kind, requestId }) => kind !== 'message' && requestId !== null);
  const { exportReadsAtOnce } = bounds;
  for (let at = 0; at < aboutMessages.length; at += exportReadsAtOnce) {
    const some = aboutMessages.slice(at, at + exportReadsAtOnce);
    await Promise.all(some.map((charge) => findRecord(reading, charge)));
    await nextTurn();
  }
}

async function findRecord(reading: Reading, charge: Charge): Promise<void> {
  const record = await tried(reading, () => reading.sources.usage.getUsage(charge.requestId ?? ''));
  if (record !== null) Object.assign(charge, { record, account: record.account });
}

/** A read, repeated while the store is busy or restarts. */
async function tried<Value>({ signal }: Pick<Reading, 'signal'>, read: () => Promise<Value>): Promise<Value> {
  for (const pauseMs of bounds.exportReadPausesMs) {
    signal?.throwIfAborted();
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
