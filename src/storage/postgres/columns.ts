// Rows as columns: a batch writes each table from arrays, one parameter a column, however many rows there are.

import type {
  AccountRow,
  ClaimRow,
  DailyTotal,
  Ending,
  HoldRow,
  KeyRow,
  LeaseRow,
  MonthChange,
  NewEntry,
} from '../../ledger/ledger.ts';
import { writeDetails } from '../row-codec.ts';
import { suitDocument } from './suit-text.ts';
import { monthOf } from './usage-months.ts';

type Cell = number | string | null;

export interface Column<Row> {
  name: string;
  type: 'bigint' | 'text';
  of(row: Row): Cell;
}

export const accountColumns: readonly Column<AccountRow>[] = [
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
  text('group_rates', (row) => JSON.stringify(row.groups)),
  whole('month_start_ms', (row) => row.month.startMs),
  whole('month_opening', (row) => row.month.opening),
];

export const keyColumns: readonly Column<KeyRow>[] = [
  whole('id', (row) => row.id),
  whole('account_id', (row) => row.account),
  text('status', (row) => row.status),
  whole('expires_at_ms', (row) => row.expiresAtMs),
  whole('quota', (row) => row.quota),
  text('quota_period', (row) => row.quotaPeriod),
  whole('quota_used', (row) => row.spending.used),
  whole('quota_held', (row) => row.spending.held),
  whole('quota_period_start_ms', (row) => row.spending.periodStartMs),
  text('limits', (row) => JSON.stringify(row.limits)),
  text('rates', (row) => JSON.stringify(row.rates)),
  whole('last_used_at_ms', (row) => row.lastUsedAtMs),
];

export const holdColumns: readonly Column<HoldRow>[] = [
  text('request_id', (row) => row.requestId),
  whole('account_id', (row) => row.account),
  whole('key_id', (row) => row.key),
  text('node', (row) => row.owner.node),
  whole('epoch', (row) => row.owner.epoch),
  text('claim', (row) => row.claim),
  whole('amount', (row) => row.amount),
  text('document', (row) => suitDocument(JSON.stringify(row))), // it is read in the database when all is summed up
];

export const leaseColumns: readonly Column<LeaseRow>[] = [
  text('node', (row) => row.node),
  whole('epoch', (row) => row.epoch),
  whole('expires_at_ms', (row) => row.expiresAtMs),
];

export const claimColumns: readonly Column<ClaimRow>[] = [
  whole('key_id', (row) => row.key),
  text('name', (row) => row.name),
  text('request_id', (row) => row.requestId),
  text('request_hash', (row) => row.requestHash),
  whole('at_ms', (row) => row.atMs),
  whole('is_answered', (row) => (row.isAnswered ? 1 : 0)),
];

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

/** The first two say which record it is. */
export const usageColumns: readonly Column<Ending>[] = [
  text('request_id', ({ record }) => record.requestId),
  whole('month', ({ record }) => monthOf(record.atMs)),
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
  text('details', ({ record }) => writeDetails(record)),
];

/** The first four say which total it is; the others are added to what stands. */
export const totalColumns: readonly Column<DailyTotal>[] = [
  whole('day_ms', (row) => row.dayMs),
  whole('account_id', (row) => row.account),
  whole('key_id', (row) => row.key),
  text('model', (row) => row.model),
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

/** The first two say which it is; the change is added to what stands. */
export const monthColumns: readonly Column<MonthChange>[] = [
  whole('account_id', (row) => row.account),
  whole('month_ms', (row) => row.startMs),
  whole('change', (row) => row.change),
];

/** An array for each column. */
export function columnsOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  return columns.map(({ of }) => arrayOf(rows.map(of)));
}

/** An array as PostgreSQL writes them: one text, for a parameter that is cast to its type. */
export function arrayOf(cells: readonly Cell[]): string {
  return `{${cells.map(printCell).join(',')}}`;
}

function printCell(cell: Cell): string {
  if (cell === null) return 'NULL';
  return typeof cell === 'number' ? String(cell) : `"${/["\\]/.test(cell) ? cell.replace(/["\\]/g, '\\$&') : cell}"`;
}

function whole<Row>(name: string, of: (row: Row) => number | null): Column<Row> {
  return { name, type: 'bigint', of };
}

function text<Row>(name: string, of: (row: Row) => string | null): Column<Row> {
  return { name, type: 'text', of };
}
