// The second round trip of a batch: its writes, one statement per table with one array per column.

import type { Changes, DailyTotal, HoldRow, Operation } from '../../ledger/ledger.ts';
import {
  accountColumns,
  type Column,
  claimColumns,
  entryColumns,
  keyColumns,
  leaseColumns,
  monthColumns,
  personColumns,
  totalColumns,
  unitColumns,
} from '../tables.ts';
import {
  accountMeterColumns,
  arrayOf,
  columnsOf,
  keyMeterColumns,
  partitionedUsageColumns,
  personMeterColumns,
  sharedHoldColumns,
  suitText,
} from './columns.ts';
import type { Statement } from './connection.ts';
import type { LoadedRows } from './load-rows.ts';
import * as statements from './statements.ts';

/** The statements that write the ledger's own changes. `told`: the operations that may change terms. */
export function writeChanges(changes: Changes, loaded: LoadedRows, told: readonly Operation[]): Statement[] {
  const asked: Statement[] = [];
  const meters = changes.accounts.size + changes.keys.size + changes.people.size;
  if (meters + changes.holds.size + changes.leases.size === 0) return asked;
  const write = <Row>(text: string, columns: readonly Column<Row>[], rows: readonly Row[]) => {
    if (rows.length > 0) asked.push({ text, values: columnsOf(columns, rows) });
  };
  const parts = partsOf(changes, loaded);
  const { accounts, keys, people, leases, begun, ended, totals } = parts;
  if (isOrdinary(changes, parts, told)) {
    asked.push(writeMessages(changes, parts));
    write(statements.ADD_UNITS, unitColumns, changes.unitTotals);
    return asked;
  }
  write(statements.INSERT_ACCOUNTS, accountColumns, accounts.made);
  write(statements.UPDATE_ACCOUNTS, accountColumns, accounts.changed);
  write(statements.INSERT_KEYS, keyColumns, keys.made);
  write(statements.UPDATE_KEYS, keyColumns, keys.changed);
  write(statements.INSERT_PEOPLE, personColumns, people.made);
  write(statements.UPDATE_PEOPLE, personColumns, people.changed);
  if (ended.length > 0) asked.push({ text: statements.DELETE_HOLDS, values: [arrayOf(ended)] });
  write(statements.WRITE_HOLDS, sharedHoldColumns, begun);
  write(statements.WRITE_CLAIMS, claimColumns, [...changes.claims.values()]);
  write(statements.INSERT_ENTRIES, entryColumns, changes.entries);
  write(statements.INSERT_USAGE, partitionedUsageColumns, changes.endings);
  write(statements.REPLACE_USAGE, partitionedUsageColumns, changes.corrections);
  for (const distinct of totals) write(statements.ADD_TOTALS, totalColumns, distinct);
  write(statements.ADD_UNITS, unitColumns, changes.unitTotals);
  write(statements.ADD_MONTHS, monthColumns, changes.months);
  write(statements.INSERT_LEASES, leaseColumns, leases.made);
  write(statements.UPDATE_LEASES, leaseColumns, leases.changed);
  return asked;
}

interface Parts {
  accounts: Divided<Changes['accounts']>;
  keys: Divided<Changes['keys']>;
  people: Divided<Changes['people']>;
  leases: Divided<Changes['leases']>;
  begun: HoldRow[];
  ended: string[];
  /** Lists without repeated totals. */
  totals: DailyTotal[][];
}

interface Divided<Rows extends ReadonlyMap<unknown, unknown>> {
  made: (Rows extends ReadonlyMap<unknown, infer Row> ? Row : never)[];
  changed: (Rows extends ReadonlyMap<unknown, infer Row> ? Row : never)[];
}

function partsOf(changes: Changes, loaded: LoadedRows): Parts {
  const begun: HoldRow[] = [];
  const ended: string[] = [];
  for (const [requestId, hold] of changes.holds) {
    if (hold === null) ended.push(requestId);
    else begun.push(hold);
  }
  return {
    accounts: divide(changes.accounts, loaded.accounts),
    keys: divide(changes.keys, loaded.keys),
    people: divide(changes.people, loaded.people),
    leases: divide(changes.leases, loaded.leases),
    begun,
    ended,
    totals: distinctTotals(changes.totals.values()),
  };
}

/** New rows are plain inserts. If another node inserted one meanwhile, the insert fails and the batch is retried. */
function divide<Id, Row>(rows: ReadonlyMap<Id, Row>, stored: ReadonlyMap<Id, Row>): { made: Row[]; changed: Row[] } {
  const made: Row[] = [];
  const changed: Row[] = [];
  for (const [id, row] of rows) (stored.has(id) ? changed : made).push(row);
  return { made, changed };
}

/** Whether the batch writes only what messages without an idempotency key write: no terms of accounts or keys. */
function isOrdinary(changes: Changes, { accounts, keys, people, totals }: Parts, told: readonly Operation[]): boolean {
  return (
    told.length === 0 &&
    accounts.made.length === 0 &&
    keys.made.length === 0 &&
    people.made.length === 0 &&
    changes.leases.size === 0 &&
    changes.claims.size === 0 &&
    changes.corrections.length === 0 &&
    changes.months.length === 0 &&
    totals.length <= 1
  );
}

function writeMessages(changes: Changes, { accounts, keys, people, begun, ended, totals }: Parts): Statement {
  return {
    text: statements.WRITE_MESSAGES,
    values: [
      ...columnsOf(accountMeterColumns, accounts.changed),
      ...columnsOf(keyMeterColumns, keys.changed),
      ...columnsOf(personMeterColumns, people.changed),
      arrayOf(ended),
      ...columnsOf(sharedHoldColumns, begun),
      ...columnsOf(entryColumns, changes.entries),
      ...columnsOf(partitionedUsageColumns, changes.endings),
      ...columnsOf(totalColumns, totals[0] ?? []),
    ],
  };
}

/** One statement may not update a total twice, so sums that were split because of their size go in separate statements. */
function distinctTotals(totals: Iterable<DailyTotal>): DailyTotal[][] {
  const rounds: Map<string, DailyTotal>[] = [];
  for (const total of totals) {
    const { dayMs, account, key, person, tagSet } = total;
    const [provider, group, model] = [total.provider, total.group, total.model].map(suitText);
    const name = `${dayMs} ${account} ${key} ${person} ${tagSet} ${provider}\n${group}\n${model}`;
    let round = rounds.find((one) => !one.has(name));
    if (round === undefined) {
      round = new Map();
      rounds.push(round);
    }
    round.set(name, total);
  }
  return rounds.map((round) => [...round.values()]);
}
