// The in-memory store, for tests: the same core, the same reads, nothing durable. It forgets
// everything with the process and is never used to serve.

import type { Clock } from '../../../src/base/clock.ts';
import { bounds } from '../../../src/config/config.ts';
import { nameOf } from '../../../src/ledger/daily-totals.ts';
import {
  type Bundle,
  type Changes,
  type DailyTotal,
  GroupCommit,
  type LedgerGate,
  type LedgerStore,
  type MonthChange,
  type Rows,
} from '../../../src/ledger/ledger.ts';
import { withPayers } from '../../../src/storage/co-committed.ts';
import { assembleStores, type Stores } from '../../../src/storage/stores.ts';
import { refuseWrongRow, writeCoCommitted } from './co-committed.ts';
import { creditedAmount } from './credits.ts';
import { dropReads } from './drop-rows.ts';
import { memoryReads } from './read-store.ts';
import { noScim } from './scim.ts';
import { sumMemory } from './sum-ledger.ts';
import type { MemoryTables } from './tables.ts';

export { auditRows } from '../../../src/storage/account-writes.ts';
export type { MemoryTables } from './tables.ts';
export { sumMemory };

export class MemoryLedgerStore implements LedgerStore {
  readonly tables: MemoryTables = {
    accountMeters: new Map(),
    keyMeters: new Map(),
    personMeters: new Map(),
    holds: new Map(),
    leases: new Map(),
    claims: new Map(),
    entries: [],
    endings: new Map(),
    totals: new Map(),
    unitTotals: new Map(),
    monthChanges: new Map(),
    accounts: new Map(),
    keys: new Map(),
    keySecrets: new Map(),
    tokens: new Map(),
    people: new Map(),
    directoryGroups: new Map(),
    audit: [],
    creations: new Map(),
    catalog: new Map(),
    bounds: new Map([['answersStoredBytes', bounds.answersStoredBytesMax]]),
    answers: new Map(),
    answerShares: new Map(),
    carriedCredits: new Map(),
    learned: new Map(),
    installation: new Map(),
    payments: new Map(),
    billing: new Map(),
    paymentEvents: new Map(),
    codeBatches: new Map(),
    codes: new Map(),
    agentGrants: new Map(),
    savedViews: new Map(),
    agentKeys: new Map(),
    deviceCodes: new Map(),
    events: new Map(),
    destinations: new Map(),
    deliveries: new Map(),
    exports: new Map(),
    exportRuns: new Map(),
    mails: new Map(),
    incidents: new Map(),
    files: new Map(),
    batches: new Map(),
    batchResults: new Map(),
    batchParts: new Map(),
    mailedLinks: new Map(),
    signUps: [],
    ...noScim(),
    refusals: new Map(),
    routeHours: new Map(),
    billSources: new Map(),
    bills: new Map(),
    tagSets: [],
  };
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  transact(_bundles: readonly Bundle[], decide: (rows: Rows) => Changes): void {
    const changes = decide(this.#rows());
    const { tables } = this;
    const coCommitted = withPayers(changes);
    for (const [at, row] of coCommitted.entries()) refuseWrongRow(tables, row, coCommitted.slice(0, at)); // before anything is written: all of it is, or nothing
    copy(changes.accounts, tables.accountMeters);
    copy(changes.keys, tables.keyMeters);
    copy(changes.people, tables.personMeters);
    copy(changes.leases, tables.leases);
    copy(changes.claims, tables.claims);
    for (const [requestId, hold] of changes.holds) {
      if (hold === null) tables.holds.delete(requestId);
      else tables.holds.set(requestId, hold);
    }
    tables.entries.push(...changes.entries);
    for (const ending of [...changes.endings, ...changes.corrections])
      tables.endings.set(ending.record.requestId, ending);
    for (const [name, total] of changes.totals) tables.totals.set(name, sum(tables.totals.get(name), total));
    for (const total of changes.unitTotals) {
      const name = `${nameOf(total)}\n${total.unit}`;
      const { quantity = 0, cost = 0 } = tables.unitTotals.get(name) ?? {};
      tables.unitTotals.set(name, { ...total, quantity: quantity + total.quantity, cost: cost + total.cost });
    }
    for (const more of changes.months) addMonthChange(tables, more);
    for (const row of coCommitted) writeCoCommitted(tables, row);
  }

  #rows(): Rows {
    const { tables } = this;
    return {
      nowMs: this.#clock.nowMs(),
      account: (id) => tables.accountMeters.get(id),
      key: (id) => tables.keyMeters.get(id),
      person: (id) => tables.personMeters.get(id),
      hold: (requestId) => tables.holds.get(requestId),
      ending: (requestId) => tables.endings.get(requestId),
      creditedAmount: (account, reference) => creditedAmount(tables, account, reference),
      claim: (key, name) => tables.claims.get(`${key} ${name}`),
      lease: (node) => tables.leases.get(node),
      leases: () => tables.leases.values(),
      holds: () => tables.holds.values(),
    };
  }
}

/** A new, empty store with everything that modules declare. */
export function memoryStores(
  clock: Clock,
  gateOver?: (gate: LedgerGate) => LedgerGate,
): Stores & { tables: MemoryTables } {
  const store = new MemoryLedgerStore(clock);
  const commit = new GroupCommit(store);
  const gate = gateOver === undefined ? commit : gateOver(commit);
  const reads = memoryReads(store.tables);
  return { ...assembleStores(gate, reads, reads, dropReads(store.tables)), tables: store.tables };
}

function copy<Id, Row>(from: ReadonlyMap<Id, Row>, to: Map<Id, Row>): void {
  for (const [id, row] of from) to.set(id, row);
}

function addMonthChange({ monthChanges }: MemoryTables, more: MonthChange): void {
  const name = `${more.account} ${more.startMs}`;
  monthChanges.set(name, { ...more, change: more.change + (monthChanges.get(name)?.change ?? 0) });
}

function sum(total: DailyTotal | undefined, more: DailyTotal): DailyTotal {
  if (total === undefined) return more;
  return {
    ...total,
    messages: total.messages + more.messages,
    inputTokens: total.inputTokens + more.inputTokens,
    outputTokens: total.outputTokens + more.outputTokens,
    cacheReadTokens: total.cacheReadTokens + more.cacheReadTokens,
    cacheWriteTokens: total.cacheWriteTokens + more.cacheWriteTokens,
    cost: total.cost + more.cost,
    writtenOff: total.writtenOff + more.writtenOff,
    providerCost: total.providerCost + more.providerCost,
    costedMessages: total.costedMessages + more.costedMessages,
    costedRevenue: total.costedRevenue + more.costedRevenue,
  };
}
