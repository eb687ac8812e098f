// Invariants at the end of a run, over all rows and not only those of the last step.

import { checkLedger } from '../../../src/ledger/ledger.ts';
import { type MemoryTables, sumMemory } from '../../support/memory-store/memory-store.ts';
import { countEntry, countHold, findBrokenMeters, noSums } from './meter-sums.ts';
import type { World } from './world.ts';

const CHECKED_ENTRIES_MAX = 3_000; // the sums of the in-memory store are slow beyond

export function findFaultsAtEnd({ database, auditor, nodes }: World): string[] {
  const { tables } = database;
  const faults: string[] = [];
  const sums = noSums();
  for (const hold of tables.holds.values()) countHold(sums, hold, 1);
  let all = 0;
  for (const entry of tables.entries) countEntry(sums, entry);
  for (const balance of sums.balances.values()) all += balance;
  if (all !== 0) faults.push(`all accounts together have ${all}`);
  faults.push(
    ...findBrokenMeters(sums, { accounts: tables.accountMeters, keys: tables.keyMeters, people: tables.personMeters }),
  );
  if (tables.holds.size > 0) faults.push(`${tables.holds.size} holds are left`);
  if (tables.entries.length <= CHECKED_ENTRIES_MAX) faults.push(...checkLedger(sumMemory(tables)).faults);
  for (const requestId of auditor.endings.keys())
    if (!tables.endings.has(requestId)) faults.push(`the record of ${requestId} is gone`);
  for (const { name, run } of nodes) {
    if (run === null) continue;
    if (run.ledger.queued !== 0) faults.push(`${name} has ${run.ledger.queued} admissions that wait`);
    if (run.ledger.unfinished !== 0) faults.push(`${name} has ${run.ledger.unfinished} endings that wait`);
  }
  return faults;
}

/** A hash of all that is stored, in its order. */
export function hashRows(tables: MemoryTables): string {
  const { accountMeters, keyMeters, holds, leases, claims, entries, endings, totals } = tables;
  const rows = [accountMeters, keyMeters, holds, leases, claims, endings, totals].map((table) => [...table.values()]);
  return Bun.hash.xxHash64(JSON.stringify([rows, entries])).toString(16);
}
