// The columns of the ledger's tables: their names and types, and how a row becomes their values. Both databases
// derive their statements and parameters from them.

import type { Actor, StoredAuditRecord } from '../audit/audit.ts';
import {
  type AccountRow,
  type DailyTotal,
  type Ending,
  type HoldRow,
  type IdempotencyRow,
  type KeyRow,
  type LeaseRow,
  type MonthChange,
  type NewEntry,
  NO_COMPANY,
  NO_USE,
  type OpenHold,
  type PersonRow,
  RESERVED,
  type StoredUsageRecord,
  type TotalName,
  type UnitTotal,
} from '../ledger/ledger.ts';
import { documents, readOr, type StoredDocument } from './stored-documents.ts';
import { writeHold } from './stored-hold.ts';
import { NO_DETAILS, readDetails, writeDetails } from './usage-details.ts';

export function readAccountRow(row: AccountMetersTable): AccountRow {
  const { read, unreadable } = columnReader();
  return {
    id: row.id,
    enabled: row.enabled === 1,
    company: row.company === null ? NO_COMPANY : read(documents.company, row.company, NO_COMPANY),
    creditLine: row.credit_line,
    balance: row.balance,
    debt: row.debt,
    held: row.held,
    plan: read(documents.plan, row.plan, null),
    pastWindows: read(documents.pastWindows, row.past_windows, []),
    reversals: read(documents.reversals, row.reversals, { used: 0, held: 0, periodStartMs: 0 }),
    lowBalances: read(documents.lowBalances, row.low_balances, []),
    allowance: row.allowance,
    allowancePeriod: row.allowance_period,
    spending: { used: row.allowance_used, held: row.allowance_held, periodStartMs: row.allowance_period_start_ms },
    month: { startMs: row.month_start_ms, opening: row.month_opening },
    groups: read(documents.groupRates, row.group_rates, {}),
    ...unreadable(),
  };
}

/** Reads columns with JSON. One that cannot be read has its default, and `unreadable` says why. */
function columnReader() {
  const faults: string[] = [];
  const read = <Value, Default>(document: StoredDocument<Value>, json: string | null, byDefault: Default) => {
    if (json === null) return byDefault;
    return readOr(document, json, (reason) => {
      faults.push(reason);
      return byDefault;
    });
  };
  return { read, unreadable: () => (faults.length === 0 ? {} : { unreadable: faults.join('; ') }) };
}

const NO_LIMITS = {
  requestsPerMinute: null,
  inputTokensPerMinute: null,
  outputTokensPerMinute: null,
  concurrency: null,
};
const NO_RATES = { requests: 0, inputTokens: 0, outputTokens: 0, drainedAtMs: 0, running: 0 };

export function readKeyRow(row: KeyMetersTable): KeyRow {
  const { read, unreadable } = columnReader();
  return {
    id: row.id,
    account: row.account_id,
    person: row.person_id,
    status: row.status,
    expiresAtMs: row.expires_at_ms,
    quota: row.quota,
    quotaPeriod: row.quota_period,
    spending: { used: row.quota_used, held: row.quota_held, periodStartMs: row.quota_period_start_ms },
    limits: read(documents.limits, row.limits, NO_LIMITS),
    rates: read(documents.rates, row.rates, NO_RATES),
    lastUsedAtMs: row.last_used_at_ms,
    ...unreadable(),
  };
}

export function readPersonRow(row: PersonMetersTable): PersonRow {
  const { read, unreadable } = columnReader();
  return {
    id: row.id,
    account: row.account_id,
    enabled: row.enabled === 1,
    budgets: read(documents.budgets, row.budgets, []),
    windows: read(documents.personWindows, row.windows, NO_USE),
    held: row.held,
    ...unreadable(),
  };
}

/** The part of a hold that lists show: without its checkpoint, which may be long. */
export function openHoldOf(hold: HoldRow): OpenHold {
  const { requestId, account, key, group, amount, openedAtMs, draft, owner } = hold;
  const left = hold.left && owner.node !== RESERVED.node; // a reserve has no client
  return { requestId, account, key, group, amount, openedAtMs, left, draft };
}

export function readIdempotencyRow(row: ClaimsTable): IdempotencyRow {
  return {
    key: row.key_id,
    name: row.name,
    requestId: row.request_id,
    requestHash: row.request_hash,
    atMs: row.at_ms,
    isAnswered: row.is_answered === 1,
    failedAttempts: row.failed_attempts === '' ? [] : row.failed_attempts.split(' '),
  };
}

export function readLeaseRow(row: { node: string; epoch: number; expires_at_ms: number }): LeaseRow {
  return { node: row.node, epoch: row.epoch, expiresAtMs: row.expires_at_ms };
}

export function readUsageRecord(row: UsageTable): StoredUsageRecord {
  return {
    seq: row.seq,
    requestId: row.request_id,
    atMs: row.at_ms,
    account: row.account_id,
    key: row.key_id,
    group: row.group_name,
    model: row.model,
    outcome: row.outcome,
    status: row.status,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWrite5mTokens: row.cache_write_5m_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    webSearches: row.web_searches,
    cost: row.cost,
    writtenOff: row.written_off,
    providerCost: row.provider_cost,
    session: row.session,
    tagSet: row.tag_set,
    ...(row.group_in_totals === null && { totalsLackGroup: true as const }),
    ...readDetails(
      readOr(documents.usageDetails, row.details, () => NO_DETAILS),
      row.account_id,
    ),
  };
}

export type AuditTable = Omit<StoredAuditRecord, 'actor' | 'before' | 'after'> &
  Omit<Actor, 'id'> & { actor: Actor['id']; before: string | null; after: string | null };

export function readAuditRow({
  actor: id,
  role,
  address,
  requestId,
  before,
  after,
  ...record
}: AuditTable): StoredAuditRecord {
  return {
    ...record,
    actor: { id, role, address, requestId },
    before: before === null ? null : readOr(documents.auditBefore, before, whyUnreadable),
    after: after === null ? null : readOr(documents.auditAfter, after, whyUnreadable),
  };
}

function whyUnreadable(unreadable: string) {
  return { unreadable };
}

/** Entries that a message may get after its end. */
export const givenBackKinds = ['correction', 'refund'] as const;

/** Must match the index's condition literally, so that the index is used. */
export const OF_MESSAGE_LATER = "kind <> 'usage' AND kind <> 'write_off' AND (kind = 'correction' OR kind = 'refund')";

/** The balance change of the entry's account. */
export const CHANGE = changeOf('account_id');

/** The change by an entry of a bonus, which has a reference of its own; 0 for other entries. */
export const BONUS_CHANGE = `CASE WHEN kind = 'promotion' AND substr(reference, 1, 10) = 'bonus:pay_' THEN ${CHANGE} ELSE 0 END`;

/** The change of a party by an entry. `party` is its number or a column. */
export function changeOf(party: number | string): string {
  return `CASE WHEN credit = ${party} THEN amount WHEN debit = ${party} THEN -amount ELSE 0 END`;
}

/** The amount that the account's balance paid for a message when it ended. A plan's part has another debit. */
export const BALANCE_PAID = "CASE WHEN kind = 'usage' AND debit = account_id THEN amount ELSE 0 END";

export type Cell = number | string | null;

export interface Column<Row, Name extends string = string, Value extends Cell = Cell> {
  name: Name;
  type: 'bigint' | 'text';
  /** A text made by JSON.stringify: never null, and without control characters. */
  isJson?: true;
  of(row: Row): Value;
}

/** Keeps the name and the values of each column as types. */
function columnsFor<Row>() {
  return <const Columns extends readonly Column<Row>[]>(columns: Columns): Columns => columns;
}

/** A row as the database returns it. */
type TableOf<Columns extends readonly Column<never>[]> = {
  [One in Columns[number] as One['name']]: ReturnType<One['of']>;
};
export type AccountMetersTable = TableOf<typeof accountColumns>;
export type KeyMetersTable = TableOf<typeof keyColumns>;
export type PersonMetersTable = TableOf<typeof personColumns>;
export type ClaimsTable = TableOf<typeof claimColumns>;
export type UsageTable = TableOf<typeof usageColumns> & { seq: number };

export const accountColumns = columnsFor<AccountRow>()([
  whole('id', (row) => row.id),
  whole('enabled', (row) => (row.enabled ? 1 : 0)),
  whole('credit_line', (row) => row.creditLine),
  whole('balance', (row) => row.balance),
  whole('held', (row) => row.held),
  whole('allowance', (row) => row.allowance),
  text('allowance_period', (row) => row.allowancePeriod),
  whole('allowance_used', (row) => row.spending.used),
  whole('allowance_held', (row) => row.spending.held),
  whole('allowance_period_start_ms', (row) => row.spending.periodStartMs),
  json('group_rates', (row) => JSON.stringify(row.groups)),
  whole('month_start_ms', (row) => row.month.startMs),
  whole('month_opening', (row) => row.month.opening),
  whole('debt', (row) => row.debt),
  text('plan', (row) => (row.plan === null ? null : JSON.stringify(row.plan))),
  text('low_balances', (row) => (row.lowBalances.length === 0 ? null : JSON.stringify(row.lowBalances))),
  text('past_windows', (row) => (row.pastWindows.length === 0 ? null : JSON.stringify(row.pastWindows))),
  text('reversals', (row) => (row.reversals.used === 0 ? null : JSON.stringify(row.reversals))),
  text('company', (row) => (row.company === NO_COMPANY ? null : JSON.stringify(row.company))),
]);

export const keyColumns = columnsFor<KeyRow>()([
  whole('id', (row) => row.id),
  whole('account_id', (row) => row.account),
  text('status', (row) => row.status),
  whole('expires_at_ms', (row) => row.expiresAtMs),
  whole('quota', (row) => row.quota),
  text('quota_period', (row) => row.quotaPeriod),
  whole('quota_used', (row) => row.spending.used),
  whole('quota_held', (row) => row.spending.held),
  whole('quota_period_start_ms', (row) => row.spending.periodStartMs),
  json('limits', (row) => JSON.stringify(row.limits)),
  json('rates', (row) => JSON.stringify(row.rates)),
  whole('last_used_at_ms', (row) => row.lastUsedAtMs),
  whole('person_id', (row) => row.person),
]);

export const personColumns = columnsFor<PersonRow>()([
  whole('id', (row) => row.id),
  whole('account_id', (row) => row.account),
  whole('enabled', (row) => (row.enabled ? 1 : 0)),
  whole('held', (row) => row.held),
  json('windows', (row) => JSON.stringify(row.windows)),
  text('budgets', (row) => (row.budgets.length === 0 ? null : JSON.stringify(row.budgets))),
]);

export const holdColumns: readonly Column<HoldRow>[] = [
  text('request_id', (row) => row.requestId),
  whole('account_id', (row) => row.account),
  whole('key_id', (row) => row.key),
  whole('amount', (row) => row.amount),
  text('document', writeHold),
];

export const leaseColumns: readonly Column<LeaseRow>[] = [
  text('node', (row) => row.node),
  whole('epoch', (row) => row.epoch),
  whole('expires_at_ms', (row) => row.expiresAtMs),
];

export const claimColumns = columnsFor<IdempotencyRow>()([
  whole('key_id', (row) => row.key),
  text('name', (row) => row.name),
  text('request_id', (row) => row.requestId),
  text('request_hash', (row) => row.requestHash),
  whole('at_ms', (row) => row.atMs),
  whole('is_answered', (row) => (row.isAnswered ? 1 : 0)),
  text('failed_attempts', (row) => row.failedAttempts.join(' ')),
]);

export const entryColumns: readonly Column<NewEntry>[] = [
  whole('account_id', (row) => row.account),
  whole('at_ms', (row) => row.atMs),
  whole('debit', (row) => row.debit),
  whole('credit', (row) => row.credit),
  whole('amount', (row) => row.amount),
  text('kind', (row) => row.kind),
  text('reference', (row) => row.reference),
  text('note', (row) => row.note),
];

/** The first column identifies the record. */
export const usageColumns = columnsFor<Ending>()([
  text('request_id', ({ record }) => record.requestId),
  whole('at_ms', ({ record }) => record.atMs),
  whole('account_id', ({ record }) => record.account),
  whole('key_id', ({ record }) => record.key),
  text('ended_by', ({ endedBy }) => endedBy),
  text('group_name', ({ record }) => record.group),
  text('model', ({ record }) => record.model),
  text('outcome', ({ record }) => record.outcome),
  whole('status', ({ record }) => record.status),
  whole('input_tokens', ({ record }) => record.inputTokens),
  whole('output_tokens', ({ record }) => record.outputTokens),
  whole('cache_read_tokens', ({ record }) => record.cacheReadTokens),
  whole('cache_write_5m_tokens', ({ record }) => record.cacheWrite5mTokens),
  whole('cache_write_1h_tokens', ({ record }) => record.cacheWrite1hTokens),
  whole('web_searches', ({ record }) => record.webSearches),
  whole('cost', ({ record }) => record.cost),
  whole('written_off', ({ record }) => record.writtenOff),
  whole('provider_cost', ({ record }) => record.providerCost),
  json('details', ({ record }) => writeDetails(record)),
  whole('person_id', ({ record }) => (record.tagSet === null ? null : record.person)),
  text('session', ({ record }) => record.session),
  whole('tag_set', ({ record }) => record.tagSet),
  /** Under which the daily totals count it. */
  text('provider', ({ record }) => (record.tagSet === null ? null : record.provider)),
  whole('group_in_totals', ({ record }) => (record.totalsLackGroup ? null : 1)),
]);

/** The columns that identify a daily total. */
export const TOTAL_NAMES = 8;

function totalNames<Row extends Pick<DailyTotal, TotalName>>(): Column<Row>[] {
  return [
    whole('day_ms', (row) => row.dayMs),
    whole('account_id', (row) => row.account),
    whole('key_id', (row) => row.key),
    text('model', (row) => row.model),
    text('provider', (row) => row.provider),
    text('group_name', (row) => row.group),
    whole('person_id', (row) => row.person),
    whole('tag_set', (row) => row.tagSet),
  ];
}

/** The first ones identify the total; the others are added to the stored values. */
export const totalColumns: readonly Column<DailyTotal>[] = [
  ...totalNames<DailyTotal>(),
  whole('messages', (row) => row.messages),
  whole('input_tokens', (row) => row.inputTokens),
  whole('output_tokens', (row) => row.outputTokens),
  whole('cache_read_tokens', (row) => row.cacheReadTokens),
  whole('cache_write_tokens', (row) => row.cacheWriteTokens),
  whole('cost', (row) => row.cost),
  whole('written_off', (row) => row.writtenOff),
  whole('provider_cost', (row) => row.providerCost),
  whole('costed_messages', (row) => row.costedMessages),
  whole('costed_revenue', (row) => row.costedRevenue),
];

/** The columns that identify the units of a daily total. */
export const UNIT_NAMES = TOTAL_NAMES + 1;

export const unitColumns: readonly Column<UnitTotal>[] = [
  ...totalNames<UnitTotal>(),
  text('unit', (row) => row.unit),
  whole('quantity', (row) => row.quantity),
  whole('cost', (row) => row.cost),
];

/** The first two columns identify the row; the change is added to the stored value. */
export const monthColumns: readonly Column<MonthChange>[] = [
  whole('account_id', (row) => row.account),
  whole('month_ms', (row) => row.startMs),
  whole('change', (row) => row.change),
];

/** A list of column names. */
export function namesOf<Row>(columns: readonly Column<Row>[]): string {
  return columns.map(({ name }) => name).join(', ');
}

/** Columns to read from the table or alias `of`. `number` writes an integer so that the driver returns it as a number. */
export function readText<Row>(
  of: string,
  columns: readonly Pick<Column<Row>, 'name' | 'type'>[],
  number: (expression: string) => string,
): string {
  return columns
    .map(({ name, type }) => (type === 'text' ? `${of}.${name}` : `${number(`${of}.${name}`)} AS ${name}`))
    .join(', ');
}

export function whole<Row, Name extends string, Value extends number | null>(
  name: Name,
  of: (row: Row) => Value,
): Column<Row, Name, Value> {
  return { name, type: 'bigint', of };
}

export function text<Row, Name extends string, Value extends string | null>(
  name: Name,
  of: (row: Row) => Value,
): Column<Row, Name, Value> {
  return { name, type: 'text', of };
}

export function json<Row, Name extends string>(name: Name, of: (row: Row) => string): Column<Row, Name, string> {
  return { name, type: 'text', isJson: true, of };
}
