// The sums that the ledger's invariants are checked by, over the in-memory tables.

import { DAY_MS } from '../../../src/base/clock.ts';
import { formatId } from '../../../src/base/ids.ts';
import { type HoldRow, type LedgerSums, type NewEntry, systemAccounts } from '../../../src/ledger/ledger.ts';
import { retainedSince } from './drop-rows.ts';
import type { MemoryTables } from './tables.ts';

export function sumMemory(tables: MemoryTables): LedgerSums {
  const { entries, holds, endings } = tables;
  const moved = (requestId: string) =>
    total(
      entries.filter(
        (entry) => entry.reference === requestId && ['usage', 'write_off', 'correction', 'refund'].includes(entry.kind),
      ),
      (entry) => (entry.credit === systemAccounts.revenue ? entry.amount : -entry.amount),
    );
  return {
    accounts: [...tables.accountMeters.values()].map((account) => ({
      id: formatId('acct', account.id),
      balance: BigInt(account.balance),
      held: BigInt(account.held),
      creditLine: BigInt(account.creditLine),
      allowanceHeld: BigInt(account.spending.held),
      planHeld: BigInt(account.plan?.held ?? 0),
      planHolds: total(holds.values(), (hold) => (hold.payer === account.id ? hold.fromPlan : 0)),
      paidHolds: total(holds.values(), (hold) => (hold.payer === account.id ? hold.amount : 0)),
      entries: total(entries, (entry) =>
        entry.credit === account.id ? entry.amount : entry.debit === account.id ? -entry.amount : 0,
      ),
      holds: total(holds.values(), (hold) => (isOf(hold, account.id) ? hold.amount : 0)),
    })),
    keys: [...tables.keyMeters.values()].map((key) => ({
      id: formatId('key', key.id),
      quotaHeld: BigInt(key.spending.held),
      holds: total(holds.values(), (hold) => (hold.key === key.id ? hold.amount : 0)),
    })),
    people: [...tables.personMeters.values()].map((person) => ({
      id: formatId('person', person.id),
      held: BigInt(person.held),
      holds: total(holds.values(), (hold) => (hold.person === person.id ? hold.amount : 0)),
    })),
    debt: total(tables.accountMeters.values(), ({ debt }) => debt),
    debtEntries: total(entries, (entry) =>
      entry.debit === systemAccounts.debts ? entry.amount : entry.credit === systemAccounts.debts ? -entry.amount : 0,
    ),
    entries: entries.length,
    openHolds: holds.size,
    usageSinceMs: orNull(retainedSince(tables, 'usage')),
    journalSinceMs: orNull(retainedSince(tables, 'journal')),
    unbalancedRequests: [...endings.values()]
      .filter(({ record }) => moved(record.requestId) !== BigInt(record.cost))
      .map(({ record }) => record.requestId),
    strangeEntries: entries
      .filter((entry) => entry.debit === entry.credit || entry.amount < 0 || isWronglyCarried(tables, entry))
      .map((entry) => `entry at ${entry.atMs}: its amount, kind, time or accounts are invalid`),
    unequalTotals: findUnequalTotals(tables),
    strangeHolds: [...holds.keys()].filter((requestId) => endings.has(requestId)),
    miscountedRunning: findMiscounted(tables),
    wrongMonths: findWrongMonths(tables),
    withoutMeters: [],
  };
}

function isOf({ account, above }: HoldRow, id: number): boolean {
  return account === id || above.includes(id);
}

function orNull(sinceMs: number): number | null {
  return Number.isFinite(sinceMs) ? sinceMs : null;
}

function isWronglyCarried(tables: MemoryTables, { kind, debit, credit, atMs }: NewEntry): boolean {
  const isOfCarrying = debit === systemAccounts.carriedForward || credit === systemAccounts.carriedForward;
  if (kind !== 'carried_forward') return isOfCarrying;
  return !isOfCarrying || atMs >= retainedSince(tables, 'journal');
}

function findWrongMonths(tables: MemoryTables): string[] {
  const sinceMs = Math.max(0, retainedSince(tables, 'journal'));
  const changes = new Map<string, number>();
  const add = (account: number, startMs: number, change: number) => {
    const name = `${account} ${new Date(startMs).toISOString().slice(0, 7)}`;
    if (startMs >= sinceMs) changes.set(name, (changes.get(name) ?? 0) + change);
  };
  for (const { account, debit, credit, amount, atMs } of tables.entries)
    add(account, atMs, credit === account ? amount : debit === account ? -amount : 0);
  for (const { account, startMs, change } of tables.monthChanges.values()) add(account, startMs, -change);
  for (const { id, balance, month } of tables.accountMeters.values()) add(id, month.startMs, month.opening - balance);
  return [...changes].filter(([, change]) => change !== 0).map(([name]) => name);
}

function findUnequalTotals(tables: MemoryTables): string[] {
  const { endings, totals } = tables;
  const sinceMs = retainedSince(tables, 'usage');
  const costs = new Map<string, number>();
  for (const { record } of endings.values()) {
    if (record.atMs < sinceMs) continue;
    const name = `${Math.floor(record.atMs / DAY_MS) * DAY_MS} ${record.account} ${record.key} ${record.model}`;
    costs.set(name, (costs.get(name) ?? 0) + record.cost);
  }
  const kept = [...totals].filter(([, { dayMs }]) => dayMs >= sinceMs).map(([name]) => name);
  const names = new Set([...costs.keys(), ...kept]);
  return [...names].filter((name) => costs.get(name) !== totals.get(name)?.cost);
}

function findMiscounted({ accountMeters, keyMeters, holds }: MemoryTables): string[] {
  const present = [...holds.values()].filter((hold) => !hold.left);
  const inGroups = [...accountMeters.values()].flatMap(({ id, groups }) =>
    Object.entries(groups).map(([group, rates]) => ({
      name: `${formatId('acct', id)} ${group}`,
      running: rates.running,
      open: present.filter((hold) => isOf(hold, id) && hold.group === group).length,
    })),
  );
  const ofKeys = [...keyMeters.values()].map(({ id, rates }) => ({
    name: formatId('key', id),
    running: rates.running,
    open: present.filter((hold) => hold.key === id).length,
  }));
  return [...inGroups, ...ofKeys].filter(({ running, open }) => running !== open).map(({ name }) => name);
}

function total<Row>(rows: Iterable<Row>, amount: (row: Row) => number): bigint {
  let sum = 0n;
  for (const row of rows) sum += BigInt(amount(row));
  return sum;
}
