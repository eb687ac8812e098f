// The columns with JSON, and how each is read. Holds have a reader that never fails (stored-hold.ts).

import { isWholeNumber } from '../base/checked-number.ts';
import { readPlan } from './tables.ts';
import type { StoredColumn } from './unreadable-rows.ts';
import { readDetails } from './usage-details.ts';

export const storedColumns: readonly StoredColumn[] = [
  ...['accounts', 'keys', 'tokens', 'people', 'payments', 'destinations', 'mails'].map((table) => objects(table, 'id')),
  objects('billing', 'account_id'),
  objects('catalog', "kind || ' ' || name"),
  objects('learned', 'model'),
  objects('events', 'seq'),
  objects('mailed_links', 'hash'),
  objects('route_hours', "at_ms || ' ' || model || ' ' || provider || ' ' || upstream_model"),
  objects('audit_records', 'seq', 'before'),
  objects('audit_records', 'seq', 'after'),
  of('account_meters', 'id', 'group_rates', readRates),
  of('account_meters', 'id', 'plan', readPlanMeter),
  of('account_meters', 'id', 'low_balances', readList),
  of('account_meters', 'id', 'past_windows', readList),
  objects('account_meters', 'id', 'reversals'),
  objects('key_meters', 'id', 'limits'),
  of('key_meters', 'id', 'rates', readRunning),
  of('usage_records', 'request_id', 'details', readDetails),
  of('deliveries', 'seq', 'attempts', readList),
  { ...of('installation', 'name', 'value', readList), where: "name = 'former_hash_keys'" },
];

/** Those whose members the sums over the ledger take (ledger-sums.ts). */
export const summedColumns: readonly StoredColumn[] = [
  of('holds', 'request_id', 'document', readSummedHold),
  of('account_meters', 'id', 'group_rates', readRates),
  of('account_meters', 'id', 'plan', readPlanMeter),
  of('key_meters', 'id', 'rates', readRunning),
];

function of(table: string, key: string, column: string, read: StoredColumn['read']): StoredColumn {
  return { table, key, column, where: null, read };
}

function objects(table: string, key: string, column = 'document'): StoredColumn {
  return of(table, key, column, readObject);
}

function readObject(text: string): Record<string, unknown> {
  const value: unknown = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('it is not a JSON object');
  return value as Record<string, unknown>;
}

function readList(text: string): unknown[] {
  const value: unknown = parse(text);
  if (!Array.isArray(value)) throw new Error('it is not a JSON array');
  return value;
}

function readRates(text: string): void {
  for (const rates of Object.values(readObject(text))) requireRunning(rates);
}

function readRunning(text: string): void {
  requireRunning(readObject(text));
}

function readPlanMeter(text: string): void {
  const { held } = readPlan(text);
  if (!isWholeNumber(held)) throw new Error('held is missing');
}

function readSummedHold(text: string): void {
  const { account, key, amount, fromPlan = 0, left = false, owner } = readObject(text);
  const { epoch } = (owner ?? {}) as { epoch?: unknown };
  if (![account, key, amount, fromPlan, epoch].every(isWholeNumber)) throw new Error('a number is missing');
  if (typeof left !== 'boolean') throw new Error('left is neither true nor false');
}

function requireRunning(rates: unknown): void {
  const { running } = (rates ?? {}) as { running?: unknown };
  if (!isWholeNumber(running)) throw new Error('the number of running messages is missing');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}
