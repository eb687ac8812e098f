// All rows of the ledger as they stand in a store, in the form that the core has them, so that stores can be compared.

import type { Database } from 'bun:sqlite';
import type {
  AccountRow,
  DailyTotal,
  Ending,
  HoldRow,
  IdempotencyRow,
  KeyRow,
  LeaseRow,
  MonthChange,
  NewEntry,
  PersonRow,
  UnitTotal,
} from '../../../src/ledger/ledger.ts';
import { type HoldsTable, readHold } from '../../../src/storage/stored-hold.ts';
import * as codec from '../../../src/storage/tables.ts';
import type { MemoryTables } from '../../support/memory-store/memory-store.ts';

export interface StoredRows {
  accounts: AccountRow[];
  keys: KeyRow[];
  people: PersonRow[];
  holds: HoldRow[];
  leases: LeaseRow[];
  claims: IdempotencyRow[];
  /** In the order in which they came, as endings are. */
  entries: NewEntry[];
  endings: Ending[];
  totals: DailyTotal[];
  units: UnitTotal[];
  months: MonthChange[];
}

interface EntryTable {
  account_id: number;
  at_ms: number;
  debit: number;
  credit: number;
  amount: number;
  kind: NewEntry['kind'];
  reference: string | null;
  note: string | null;
}

interface TotalTable {
  day_ms: number;
  account_id: number;
  key_id: number;
  model: string;
  provider: string;
  group_name: string;
  person_id: number;
  tag_set: number;
  messages: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  cost: number;
  written_off: number;
  provider_cost: number;
  costed_messages: number;
  costed_revenue: number;
}

type UnitTable = Pick<
  TotalTable,
  'day_ms' | 'account_id' | 'key_id' | 'model' | 'provider' | 'group_name' | 'person_id' | 'tag_set' | 'cost'
> & { unit: UnitTotal['unit']; quantity: number };

interface Tables {
  accounts: codec.AccountMetersTable[];
  keys: codec.KeyMetersTable[];
  people: codec.PersonMetersTable[];
  holds: HoldsTable[];
  leases: Parameters<typeof codec.readLeaseRow>[0][];
  claims: codec.ClaimsTable[];
  entries: EntryTable[];
  endings: codec.UsageTable[];
  totals: TotalTable[];
  units: UnitTable[];
  months: { account_id: number; month_ms: number; change: number }[];
}

/** A table and its order, in both databases. */
const PLACES: Readonly<Record<keyof Tables, readonly [table: string, order: string]>> = {
  accounts: ['account_meters', 'id'],
  keys: ['key_meters', 'id'],
  people: ['person_meters', 'id'],
  holds: ['holds', 'request_id'],
  leases: ['leases', 'node'],
  claims: ['claims', 'key_id, name'],
  entries: ['entries', 'seq'],
  endings: ['usage_records', 'seq'],
  totals: ['daily_totals', 'day_ms, account_id, key_id, model, person_id, tag_set, provider, group_name'],
  units: ['unit_totals', 'day_ms, account_id, key_id, model, person_id, tag_set, provider, group_name, unit'],
  months: ['month_changes', 'account_id, month_ms'],
};

const places = Object.entries(PLACES) as [keyof Tables, readonly [string, string]][];

export function memoryRows(tables: MemoryTables): StoredRows {
  const sorted = <Row>(rows: Iterable<Row>, nameOf: (row: Row) => string) =>
    [...rows].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const digits = (id: number) => String(id).padStart(16, '0');
  const nameOfTotal = ({ dayMs, account, key, model, person, tagSet, provider, group }: DailyTotal | UnitTotal) =>
    `${[dayMs, account, key].map(digits).join(' ')} ${model} ${digits(person)} ${digits(tagSet)} ${provider} ${group}`;
  return {
    accounts: sorted(tables.accountMeters.values(), ({ id }) => digits(id)),
    keys: sorted(tables.keyMeters.values(), ({ id }) => digits(id)),
    people: sorted(tables.personMeters.values(), ({ id }) => digits(id)),
    holds: sorted(tables.holds.values(), ({ requestId }) => requestId),
    leases: sorted(tables.leases.values(), ({ node }) => node),
    claims: sorted(tables.claims.values(), ({ key, name }) => `${digits(key)} ${name}`),
    entries: tables.entries,
    endings: [...tables.endings.values()],
    totals: sorted(tables.totals.values(), nameOfTotal),
    units: sorted(tables.unitTotals.values(), (total) => `${nameOfTotal(total)} ${total.unit}`),
    months: sorted(tables.monthChanges.values(), ({ account, startMs }) => `${digits(account)} ${digits(startMs)}`),
  };
}

export function sqliteRows(database: Database): StoredRows {
  const read = ([name, [table, order]]: (typeof places)[number]) => [
    name,
    database.query(`SELECT * FROM ${table} ORDER BY ${order}`).all(),
  ];
  return readTables(Object.fromEntries(places.map(read)));
}

/** One statement that gives all of it as one text, `rows`. */
export const POSTGRES_ROWS = `SELECT json_build_object(${places
  .map(([name, [table, order]]) => `'${name}', (SELECT coalesce(json_agg(t ORDER BY ${order}), '[]') FROM ${table} t)`)
  .join(', ')})::text AS rows`;

/** The result of that statement. */
export function readPostgresRows(text: string): StoredRows {
  return readTables(JSON.parse(text));
}

function readTables(tables: Tables): StoredRows {
  return {
    accounts: tables.accounts.map(codec.readAccountRow),
    keys: tables.keys.map(codec.readKeyRow),
    people: tables.people.map(codec.readPersonRow),
    holds: tables.holds.map(readHold),
    leases: tables.leases.map(codec.readLeaseRow),
    claims: tables.claims.map(codec.readIdempotencyRow),
    entries: tables.entries.map((row) => ({
      account: row.account_id,
      atMs: row.at_ms,
      debit: row.debit,
      credit: row.credit,
      amount: row.amount,
      kind: row.kind,
      reference: row.reference,
      note: row.note,
    })),
    endings: tables.endings.map((row) => {
      const { seq: _, ...record } = codec.readUsageRecord(row);
      return { record, endedBy: row.ended_by };
    }),
    totals: tables.totals.map(readTotal),
    units: tables.units.map((row) => ({ ...namesOf(row), unit: row.unit, quantity: row.quantity, cost: row.cost })),
    months: tables.months.map((row) => ({ account: row.account_id, startMs: row.month_ms, change: row.change })),
  };
}

function namesOf(row: UnitTable | TotalTable) {
  return {
    dayMs: row.day_ms,
    account: row.account_id,
    key: row.key_id,
    model: row.model,
    provider: row.provider,
    group: row.group_name,
    person: row.person_id,
    tagSet: row.tag_set,
  };
}

function readTotal(row: TotalTable): DailyTotal {
  return {
    ...namesOf(row),
    messages: row.messages,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    cost: row.cost,
    writtenOff: row.written_off,
    providerCost: row.provider_cost,
    costedMessages: row.costed_messages,
    costedRevenue: row.costed_revenue,
  };
}
