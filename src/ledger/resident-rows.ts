// The rows of a store with one process, in memory: read from the disk when first needed, and changed by each decision at
// once. Collects what the next write must write. Memory is ahead of the disk by that, by the write in progress, and by
// young holds.

import { bounds } from '../config/config.ts';
import { DailyTotals } from './daily-totals.ts';
import { countMonth } from './month-changes.ts';
import type {
  AccountRow,
  ChangeableRows,
  Changes,
  Effect,
  Ending,
  EventRow,
  HoldRow,
  IdempotencyRow,
  KeyRow,
  LeaseRow,
  MonthChange,
  NewEntry,
  PersonRow,
} from './rows.ts';
import { checkEffect, claimName } from './staged-rows.ts';
import { YoungHolds } from './young-holds.ts';

/** Reads rows as they are on the disk. */
export interface StoredRows {
  readAccount(id: number): AccountRow | undefined;
  readKey(id: number): KeyRow | undefined;
  readPerson(id: number): PersonRow | undefined;
  readEnding(requestId: string): Ending | undefined;
  readCredit(account: number, reference: string): number | null;
  readClaim(key: number, name: string): IdempotencyRow | undefined;
  readHolds(): HoldRow[];
  readLeases(): LeaseRow[];
}

/** Changes for the next write. */
class Unwritten {
  readonly accounts = new Map<number, AccountRow>();
  readonly keys = new Map<number, KeyRow>();
  readonly people = new Map<number, PersonRow>();
  /** Holds that are on the disk, or will be with this write. null: ended. */
  readonly holds = new Map<string, HoldRow | null>();
  readonly leases = new Map<string, LeaseRow>();
  readonly claims = new Map<string, IdempotencyRow>();
  readonly entries: NewEntry[] = [];
  readonly endings = new Map<string, Ending>();
  readonly corrections = new Map<string, Ending>();
  readonly totals = new DailyTotals();
  readonly months: MonthChange[] = [];
  readonly coCommitted: unknown[] = [];

  get isEmpty(): boolean {
    const meters = this.accounts.size + this.keys.size + this.people.size;
    return meters + this.holds.size + this.leases.size === 0 && this.coCommitted.length === 0;
  }

  changes(): Changes {
    return {
      accounts: this.accounts,
      keys: this.keys,
      people: this.people,
      holds: this.holds,
      leases: this.leases,
      claims: this.claims,
      entries: this.entries,
      endings: [...this.endings.values()],
      corrections: [...this.corrections.values()],
      totals: this.totals.byName,
      unitTotals: this.totals.units,
      months: this.months,
      coCommitted: this.coCommitted,
      isEmpty: this.isEmpty,
    };
  }
}

export class ResidentRows implements ChangeableRows {
  /** One time for all reads of a decision. */
  nowMs = 0;
  readonly #disk: StoredRows;
  readonly #accounts = new Map<number, AccountRow>();
  readonly #keys = new Map<number, KeyRow>();
  readonly #people = new Map<number, PersonRow>();
  /** All open holds, few and needed by every ending: those on the disk or in the next write, and the young ones. */
  readonly #holds = new Map<string, HoldRow>();
  readonly #young = new YoungHolds();
  readonly #leases = new Map<string, LeaseRow>();
  #unwritten = new Unwritten();
  /** In the write in progress. */
  #writing: Unwritten | null = null;

  constructor(disk: StoredRows) {
    this.#disk = disk;
    this.reload();
  }

  /** Whether memory has something that the disk does not have. */
  get isAhead(): boolean {
    return this.#writing !== null || this.#young.size > 0 || !this.#unwritten.isEmpty;
  }

  get hasYoungHolds(): boolean {
    return this.#young.size > 0;
  }

  put(effect: Effect): void {
    const unwritten = this.#unwritten;
    checkEffect(effect, unwritten.endings);
    const { accounts, key, people, hold, reserve, endedHold, leases, claim, entries, ending, corrections, events } =
      effect;
    if (accounts !== undefined) for (const account of accounts) this.#putAccount(account);
    if (key !== undefined) {
      moveToEnd(this.#keys, key.id, key);
      unwritten.keys.set(key.id, key);
    }
    if (people !== undefined) {
      for (const person of people) {
        moveToEnd(this.#people, person.id, person);
        unwritten.people.set(person.id, person);
      }
    }
    if (hold !== undefined) this.#putHold(hold);
    if (reserve !== undefined) this.#putHold(reserve);
    if (endedHold !== undefined) this.#endHold(endedHold.requestId);
    if (leases !== undefined) {
      for (const lease of leases) {
        this.#leases.set(lease.node, lease);
        unwritten.leases.set(lease.node, lease);
      }
    }
    if (claim !== undefined) unwritten.claims.set(claimName(claim.key, claim.name), claim);
    if (entries !== undefined) for (const entry of entries) unwritten.entries.push(entry);
    if (ending !== undefined) {
      unwritten.endings.set(ending.record.requestId, ending);
      unwritten.totals.count(ending.record, 1);
    }
    if (events !== undefined)
      for (const event of events) unwritten.coCommitted.push({ table: 'events', event } satisfies EventRow);
    if (corrections !== undefined) {
      for (const { ending: after, before } of corrections) {
        unwritten.corrections.set(after.record.requestId, after);
        unwritten.totals.count(before, -1);
        unwritten.totals.count(after.record, 1);
      }
    }
  }

  putCoCommitted(rows: readonly unknown[]): void {
    for (const row of rows) this.#unwritten.coCommitted.push(row);
  }

  /** Changes to write now; null without any. The next call must follow `written`. `isAll`: young holds too. */
  takeUnwritten(isAll: boolean): Changes | null {
    const unwritten = this.#unwritten;
    for (const hold of this.#young.takeDue(isAll ? Number.POSITIVE_INFINITY : this.nowMs - bounds.holdUnwrittenMs)) {
      this.#holds.set(hold.requestId, hold);
      unwritten.holds.set(hold.requestId, hold);
      for (const id of [hold.account, ...hold.above]) unwritten.accounts.set(id, this.#accounts.get(id) as AccountRow);
      unwritten.keys.set(hold.key, this.#keys.get(hold.key) as KeyRow);
      if (hold.person !== null) unwritten.people.set(hold.person, this.#people.get(hold.person) as PersonRow);
    }
    if (unwritten.isEmpty) return null;
    for (const [id, account] of unwritten.accounts)
      unwritten.accounts.set(id, this.#young.subtractFromAccount(account));
    for (const [id, key] of unwritten.keys) unwritten.keys.set(id, this.#young.subtractFromKey(key));
    for (const [id, person] of unwritten.people) unwritten.people.set(id, this.#young.subtractFromPerson(person));
    this.#writing = unwritten;
    this.#unwritten = new Unwritten();
    return unwritten.changes();
  }

  /** The changes taken last are on the disk. */
  written(): void {
    this.#writing = null;
    this.#evict();
  }

  /** Takes over what a bundle has written, while memory is not ahead. */
  remember({ accounts, keys, people, holds, leases }: Changes): void {
    for (const [id, account] of accounts) this.#accounts.set(id, account);
    for (const [id, key] of keys) this.#keys.set(id, key);
    for (const [id, person] of people) this.#people.set(id, person);
    for (const [requestId, hold] of holds) {
      if (hold === null) this.#holds.delete(requestId);
      else this.#holds.set(requestId, hold);
    }
    for (const [node, lease] of leases) this.#leases.set(node, lease);
    this.#evict();
  }

  /** Forgets everything and reads it from the disk, while memory is not ahead. */
  reload(): void {
    const holds = this.#disk.readHolds();
    const leases = this.#disk.readLeases();
    this.#accounts.clear();
    this.#keys.clear();
    this.#people.clear();
    this.#holds.clear();
    this.#leases.clear();
    for (const hold of holds) this.#holds.set(hold.requestId, hold);
    for (const lease of leases) this.#leases.set(lease.node, lease);
  }

  account(id: number): AccountRow | undefined {
    return this.#accounts.get(id) ?? load(this.#accounts, id, this.#disk.readAccount(id));
  }

  key(id: number): KeyRow | undefined {
    return this.#keys.get(id) ?? load(this.#keys, id, this.#disk.readKey(id));
  }

  person(id: number): PersonRow | undefined {
    return this.#people.get(id) ?? load(this.#people, id, this.#disk.readPerson(id));
  }

  hold(requestId: string): HoldRow | undefined {
    return this.#young.get(requestId) ?? this.#holds.get(requestId);
  }

  *holds(): Iterable<HoldRow> {
    yield* this.#holds.values();
    yield* this.#young.values();
  }

  lease(node: string): LeaseRow | undefined {
    return this.#leases.get(node);
  }

  leases(): Iterable<LeaseRow> {
    return this.#leases.values();
  }

  ending(requestId: string): Ending | undefined {
    return (
      endingIn(this.#unwritten, requestId) ?? endingIn(this.#writing, requestId) ?? this.#disk.readEnding(requestId)
    );
  }

  creditedAmount(account: number, reference: string): number | null {
    return this.#disk.readCredit(account, reference); // credits are bundles: memory is not ahead
  }

  claim(key: number, name: string): IdempotencyRow | undefined {
    const named = claimName(key, name);
    return this.#unwritten.claims.get(named) ?? this.#writing?.claims.get(named) ?? this.#disk.readClaim(key, name);
  }

  #putAccount(account: AccountRow): void {
    const { month, changes } = countMonth(this.account(account.id) ?? account, account.balance, this.nowMs);
    for (const change of changes) this.#unwritten.months.push(change);
    const row = month === account.month ? account : { ...account, month };
    moveToEnd(this.#accounts, row.id, row);
    this.#unwritten.accounts.set(row.id, row);
  }

  #putHold(hold: HoldRow): void {
    if (this.#holds.has(hold.requestId)) {
      this.#holds.set(hold.requestId, hold);
      this.#unwritten.holds.set(hold.requestId, hold);
    } else this.#young.put(hold);
  }

  #endHold(requestId: string): void {
    if (this.#young.remove(requestId)) return;
    this.#holds.delete(requestId);
    this.#unwritten.holds.set(requestId, null);
  }

  /** The rows that have not changed for longest, of those that are on the disk as they are in memory. */
  #evict(): void {
    const rows = this.#accounts.size + this.#keys.size + this.#people.size;
    if (rows <= bounds.cachedLedgerRowsMax) return;
    const excess = rows - bounds.cachedLedgerRowsMax + bounds.rowsAtOnce;
    const shareOf = ({ size }: { size: number }) => Math.ceil((excess * size) / rows);
    const { accounts, keys, people } = this.#unwritten;
    evictFirst(this.#keys, shareOf(this.#keys), (id) => keys.has(id) || this.#young.hasKey(id));
    evictFirst(this.#people, shareOf(this.#people), (id) => people.has(id) || this.#young.hasPerson(id));
    evictFirst(this.#accounts, shareOf(this.#accounts), (id) => accounts.has(id) || this.#young.hasAccount(id));
  }
}

/** A map keeps the order of insertion: the row that changed last is the last, once there are enough rows for an eviction to come. */
function moveToEnd<Row>(rows: Map<number, Row>, id: number, row: Row): void {
  if (rows.size > bounds.cachedLedgerRowsMax / 4) rows.delete(id);
  rows.set(id, row);
}

function evictFirst(rows: Map<number, unknown>, count: number, isNeeded: (id: number) => boolean): void {
  let left = count;
  for (const id of rows.keys()) {
    if (left <= 0) return;
    if (!isNeeded(id) && rows.delete(id)) left--;
  }
}

function load<Row>(rows: Map<number, Row>, id: number, row: Row | undefined): Row | undefined {
  if (row !== undefined) rows.set(id, row);
  return row;
}

function endingIn(unwritten: Unwritten | null, requestId: string): Ending | undefined {
  return unwritten?.corrections.get(requestId) ?? unwritten?.endings.get(requestId);
}
