// Staged changes over the stored rows. Staged rows can be stacked, so that a bundle is tried and then absorbed or
// discarded.

import { assert } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import { DailyTotals } from './daily-totals.ts';
import { countMonth } from './month-changes.ts';
import type { UsageRecord } from './operation.ts';
import type {
  AccountRow,
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
  Rows,
} from './rows.ts';
import { RowUnreadable } from './store-failure.ts';

const NONE: readonly never[] = [];

export class StagedRows implements Rows {
  readonly #below: Rows;
  readonly #accounts = new Map<number, AccountRow>();
  readonly #keys = new Map<number, KeyRow>();
  readonly #people = new Map<number, PersonRow>();
  readonly #holds = new Map<string, HoldRow | null>();
  readonly #leases = new Map<string, LeaseRow>();
  readonly #claims = new Map<string, IdempotencyRow>();
  readonly #entries: NewEntry[] = [];
  readonly #credits = new Map<string, Nano>();
  readonly #endings = new Map<string, Ending>();
  readonly #corrections = new Map<string, Ending>();
  readonly #totals = new DailyTotals();
  readonly #months: MonthChange[] = [];
  readonly #coCommitted: unknown[] = [];

  constructor(below: Rows) {
    this.#below = below;
  }

  get nowMs(): number {
    return this.#below.nowMs;
  }

  account(id: number): AccountRow | undefined {
    return this.#accounts.get(id) ?? this.#below.account(id);
  }

  key(id: number): KeyRow | undefined {
    return this.#keys.get(id) ?? this.#below.key(id);
  }

  person(id: number): PersonRow | undefined {
    return this.#people.get(id) ?? this.#below.person(id);
  }

  hold(requestId: string): HoldRow | undefined {
    const staged = this.#holds.get(requestId);
    return staged === undefined ? this.#below.hold(requestId) : (staged ?? undefined);
  }

  ending(requestId: string): Ending | undefined {
    return this.#corrections.get(requestId) ?? this.#endings.get(requestId) ?? this.#below.ending(requestId);
  }

  creditedAmount(account: number, reference: string): Nano | null {
    return this.#credits.get(creditName(account, reference)) ?? this.#below.creditedAmount(account, reference);
  }

  claim(key: number, name: string): IdempotencyRow | undefined {
    return this.#claims.get(claimName(key, name)) ?? this.#below.claim(key, name);
  }

  lease(node: string): LeaseRow | undefined {
    return this.#leases.get(node) ?? this.#below.lease(node);
  }

  *leases(): Iterable<LeaseRow> {
    for (const lease of this.#below.leases()) yield this.#leases.get(lease.node) ?? lease;
    for (const lease of this.#leases.values()) if (this.#below.lease(lease.node) === undefined) yield lease;
  }

  *holds(): Iterable<HoldRow> {
    for (const hold of this.#below.holds()) {
      const now = this.hold(hold.requestId);
      if (now !== undefined) yield now;
    }
    for (const hold of this.#holds.values()) {
      if (hold !== null && this.#below.hold(hold.requestId) === undefined) yield hold;
    }
  }

  /** Stages the changes of one operation: all of them, or none if they violate an invariant. */
  put(effect: Effect): void {
    checkEffect(effect, this.#endings);
    const { key, hold, reserve, endedHold, claim, ending } = effect;
    for (const account of effect.accounts ?? NONE) this.#putAccount(account);
    if (key !== undefined) this.#keys.set(key.id, key);
    for (const person of effect.people ?? NONE) this.#people.set(person.id, person);
    if (hold !== undefined) this.#holds.set(hold.requestId, hold);
    if (reserve !== undefined) this.#holds.set(reserve.requestId, reserve);
    if (endedHold !== undefined) this.#endHold(endedHold);
    for (const lease of effect.leases ?? NONE) this.#leases.set(lease.node, lease);
    if (claim !== undefined) this.#claims.set(claimName(claim.key, claim.name), claim);
    for (const entry of effect.entries ?? NONE) this.#putEntry(entry);
    if (ending !== undefined) this.#putEnding(ending);
    for (const { ending: after, before } of effect.corrections ?? NONE) this.#putCorrection(after, before);
    for (const event of effect.events ?? NONE) this.#coCommitted.push({ table: 'events', event } satisfies EventRow);
  }

  putCoCommitted(rows: readonly unknown[]): void {
    this.#coCommitted.push(...rows);
  }

  /** Takes over everything staged in `tried`. */
  absorb(tried: StagedRows): void {
    for (const [id, account] of tried.#accounts) this.#accounts.set(id, account);
    for (const [id, key] of tried.#keys) this.#keys.set(id, key);
    for (const [id, person] of tried.#people) this.#people.set(id, person);
    for (const [requestId, hold] of tried.#holds) this.#holds.set(requestId, hold);
    for (const [node, lease] of tried.#leases) this.#leases.set(node, lease);
    for (const [name, claim] of tried.#claims) this.#claims.set(name, claim);
    for (const entry of tried.#entries) this.#putEntry(entry);
    for (const [requestId, ending] of tried.#endings) this.#endings.set(requestId, ending);
    for (const [requestId, ending] of tried.#corrections) this.#corrections.set(requestId, ending);
    for (const [name, total] of tried.#totals.byName) this.#totals.add(name, total);
    this.#totals.units.push(...tried.#totals.units);
    this.#months.push(...tried.#months);
    this.putCoCommitted(tried.#coCommitted);
  }

  changes(): Changes {
    return {
      accounts: this.#accounts,
      keys: this.#keys,
      people: this.#people,
      holds: this.#holds,
      leases: this.#leases,
      claims: this.#claims,
      entries: this.#entries,
      endings: [...this.#endings.values()],
      corrections: [...this.#corrections.values()],
      totals: this.#totals.byName,
      unitTotals: this.#totals.units,
      months: this.#months,
      coCommitted: this.#coCommitted,
      isEmpty:
        this.#accounts.size === 0 &&
        this.#keys.size === 0 &&
        this.#people.size === 0 &&
        this.#holds.size === 0 &&
        this.#leases.size === 0 &&
        this.#coCommitted.length === 0,
    };
  }

  #putAccount(account: AccountRow): void {
    const { month, changes } = countMonth(this.account(account.id) ?? account, account.balance, this.nowMs);
    this.#months.push(...changes);
    this.#accounts.set(account.id, month === account.month ? account : { ...account, month });
  }

  #endHold(hold: HoldRow): void {
    // A hold that began in this batch was never stored, so there is nothing to delete.
    if (this.#below.hold(hold.requestId) === undefined) this.#holds.delete(hold.requestId);
    else this.#holds.set(hold.requestId, null);
  }

  #putEntry(entry: NewEntry): void {
    this.#entries.push(entry);
    if (entry.reference !== null && isCredit(entry)) {
      const amount = entry.credit === entry.account ? entry.amount : -entry.amount;
      this.#credits.set(creditName(entry.account, entry.reference), amount);
    }
  }

  #putEnding(ending: Ending): void {
    this.#endings.set(ending.record.requestId, ending);
    this.#totals.count(ending.record, 1);
  }

  #putCorrection(ending: Ending, before: UsageRecord): void {
    this.#corrections.set(ending.record.requestId, ending);
    this.#totals.count(before, -1);
    this.#totals.count(ending.record, 1);
  }
}

/** Throws BrokenInvariant if no operation may have this effect after the endings so far. */
export function checkEffect(effect: Effect, ended: ReadonlyMap<string, Ending>): void {
  const { accounts, key, people, entries, ending } = effect;
  for (const account of accounts ?? NONE) checkAccount(account);
  if (key?.unreadable !== undefined) throw new RowUnreadable('key', key.id, key.unreadable);
  for (const person of people ?? NONE) {
    if (person.unreadable !== undefined) throw new RowUnreadable('person', person.id, person.unreadable);
    assert(person.held >= 0, 'the holds of a person are never negative');
  }
  for (const { amount } of entries ?? NONE) assert(amount >= 0, 'the amount of an entry is never negative');
  if (ending !== undefined) assert(!ended.has(ending.record.requestId), 'a request id is billed at most once');
}

function checkAccount({ id, unreadable, balance, creditLine, held, debt, plan, spending }: AccountRow): void {
  if (unreadable !== undefined) throw new RowUnreadable('acct', id, unreadable);
  assert(balance + creditLine >= held && held >= 0, 'a balance minus its holds is never below its floor');
  assert(Number.isSafeInteger(balance), 'a balance is an exact whole number of nanodollars');
  assert(debt >= 0 && (plan === null || plan.held >= 0), 'debts and holds of plans are never negative');
  assert(spending.held >= 0, 'the held part of an allowance is never negative');
}

function isCredit(entry: NewEntry): boolean {
  return (
    entry.kind === 'payment' ||
    entry.kind === 'promotion' ||
    entry.kind === 'adjustment' ||
    entry.kind === 'debt_write_off'
  );
}

export function claimName(key: number, name: string): string {
  return `${key} ${name}`;
}

function creditName(account: number, reference: string): string {
  return `${account} ${reference}`;
}
