// Whether what is stored keeps every invariant, and is what the model says.

import type { Database } from 'bun:sqlite';
import type { DailyTotal } from '../../../src/ledger/ledger.ts';
import type { MemoryTables } from '../../../src/storage/memory/memory.ts';
import { heldOf, runningOf } from './model.ts';
import type { Model } from './model-rows.ts';

/** What is wrong with the rows, in words. */
export function findFaults(model: Model, tables: MemoryTables): string[] {
  const faults: string[] = [];
  const expect = (what: string, is: unknown, should: unknown) => {
    if (is !== should) faults.push(`${what} is ${is}, should be ${should}`);
  };
  for (const account of model.accounts.values()) {
    const row = tables.accountMeters.get(account.id);
    const { id } = account;
    expect(`balance of ${id}`, row?.balance, account.balance);
    expect(`held of ${id}`, row?.held, heldOf(model, 'account', id));
    expect(`held of the allowance of ${id}`, row?.spending.held, heldOf(model, 'account', id));
    if (row === undefined) continue;
    if (row.balance - row.held < -row.creditLine) faults.push(`${id} is below its floor`);
    for (const [group, rates] of Object.entries(row.groups))
      expect(`running of ${id} in ${group}`, rates.running, runningOf(model, 'account', id, group));
  }
  for (const { id } of model.keys.values()) {
    const row = tables.keyMeters.get(id);
    expect(`held of the quota of ${id}`, row?.spending.held, heldOf(model, 'key', id));
    expect(`running of ${id}`, row?.rates.running, runningOf(model, 'key', id, null));
  }
  expect('the number of holds', tables.holds.size, model.holds.size);
  for (const hold of model.holds.values())
    expect(hold.requestId, tables.holds.get(hold.requestId)?.amount, hold.amount);
  expect('the number of endings', tables.endings.size, model.endings.size);
  for (const [requestId, ending] of model.endings) {
    const record = tables.endings.get(requestId)?.record;
    expect(`the cost of ${requestId}`, record?.cost, ending.cost);
    expect(`what is written off of ${requestId}`, record?.writtenOff, ending.writtenOff);
    if (tables.holds.has(requestId)) faults.push(`${requestId} has ended and holds`);
  }
  for (const [name, claim] of model.claims) {
    const row = tables.claims.get(name.replace('/', ' '));
    expect(`the message of claim ${name}`, row?.requestId, claim.requestId);
    expect(`whether claim ${name} is answered`, row?.isAnswered, claim.isAnswered);
  }
  return [...faults, ...findUnbalanced(model, tables), ...findWrongTotals(tables)];
}

/** Double entry: what one account gives another gets, and the entries of an account are its balance. */
function findUnbalanced(model: Model, { entries }: MemoryTables): string[] {
  const balances = new Map<number, number>();
  const billed = new Map<string, number>();
  const move = (account: number, amount: number) => balances.set(account, (balances.get(account) ?? 0) + amount);
  for (const { debit, credit, amount, kind, reference } of entries) {
    move(debit, -amount);
    move(credit, amount);
    if (amount < 0 || (amount === 0 && kind === 'refund')) return [`an entry of ${amount}`];
    if (reference === null || !['usage', 'write_off', 'correction', 'refund'].includes(kind)) continue;
    billed.set(reference, (billed.get(reference) ?? 0) + (credit === 3 ? amount : -amount));
  }
  const faults: string[] = [];
  let sum = 0;
  for (const balance of balances.values()) sum += balance;
  if (sum !== 0) faults.push(`all accounts together have ${sum}`);
  for (const { id, balance } of model.accounts.values())
    if ((balances.get(id) ?? 0) !== balance)
      faults.push(`the entries of ${id} are ${balances.get(id)}, not ${balance}`);
  for (const [requestId, { cost }] of model.endings)
    if ((billed.get(requestId) ?? 0) !== cost)
      faults.push(`${requestId} is billed ${billed.get(requestId)}, not ${cost}`);
  return faults;
}

function findWrongTotals({ endings, totals }: MemoryTables): string[] {
  const sums = new Map<string, number[]>();
  const add = (name: string, sign: number, counts: number[]) => {
    const sum = sums.get(name) ?? counts.map(() => 0);
    sums.set(
      name,
      sum.map((count, index) => count + sign * (counts[index] ?? 0)),
    );
  };
  for (const { record } of endings.values()) {
    const written = record.cacheWrite5mTokens + record.cacheWrite1hTokens;
    const counts = [1, record.inputTokens, record.outputTokens, record.cacheReadTokens, written];
    const name = `${new Date(record.atMs).toISOString().slice(0, 10)} ${record.account} ${record.key} ${record.model}`;
    const costed = record.providerCost === null ? [0, 0] : [1, record.cost - record.writtenOff];
    add(name, 1, [...counts, record.cost, record.writtenOff, record.providerCost ?? 0, ...costed]);
  }
  for (const total of totals.values()) {
    const name = `${new Date(total.dayMs).toISOString().slice(0, 10)} ${total.account} ${total.key} ${total.model}`;
    add(name, -1, countsOf(total));
  }
  return [...sums].filter(([, rest]) => rest.some((count) => count !== 0)).map(([name]) => `the total of ${name}`);
}

function countsOf(total: DailyTotal): number[] {
  const { messages, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = total;
  const tokens = [messages, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens];
  const costed = [total.providerCost, total.costedMessages, total.costedRevenue];
  return [...tokens, total.cost, total.writtenOff, ...costed];
}

/** All that memory has, as the rows that SQLite would have. */
export function memoryRows(tables: MemoryTables): Record<string, unknown[]> {
  const byId = <Row>(rows: Map<number, Row>) => [...rows].sort(([one], [other]) => one - other).map(([, row]) => row);
  return {
    account_meters: byId(tables.accountMeters).map((row) => [
      row.id,
      row.balance,
      row.held,
      row.creditLine,
      row.groups,
    ]),
    account_spending: byId(tables.accountMeters).map(({ spending }) => Object.values(spending)),
    key_meters: byId(tables.keyMeters).map((row) => [
      row.id,
      row.account,
      row.status,
      row.quota,
      row.limits,
      row.rates,
    ]),
    key_spending: byId(tables.keyMeters).map(({ spending }) => Object.values(spending)),
    holds: [...tables.holds.values()].sort((one, other) => (one.requestId < other.requestId ? -1 : 1)),
    claims: [...tables.claims.values()]
      .map(({ key, name, requestId, requestHash, atMs, isAnswered }) =>
        [key, name, requestId, requestHash, atMs, Number(isAnswered)].join(),
      )
      .sort(),
    leases: [...tables.leases.values()].map(({ node, epoch, expiresAtMs }) => [node, epoch, expiresAtMs]).sort(),
    entries: tables.entries.map((entry) => [
      entry.account,
      entry.atMs,
      entry.debit,
      entry.credit,
      entry.amount,
      entry.kind,
      entry.reference,
    ]),
    usage: [...tables.endings.values()].map(({ record, endedBy }) => [
      record.requestId,
      record.atMs,
      endedBy,
      record.model,
      record.cost,
      record.writtenOff,
    ]),
    totals: [...tables.totals.values()]
      .map((total) => [total.dayMs, total.account, total.key, total.model, ...countsOf(total)])
      .map(String)
      .sort(),
  };
}

/** The same of what stands on the disk. */
export function sqliteRows(database: Database): Record<string, unknown[]> {
  const all = (text: string) => database.query(text).values();
  const parsed = (rows: unknown[][]) =>
    rows.map((row) =>
      row.map((value) => (typeof value === 'string' && value.startsWith('{') ? JSON.parse(value) : value)),
    );
  return {
    account_meters: parsed(all('SELECT id, balance, held, credit_line, group_rates FROM account_meters ORDER BY id')),
    account_spending: all(
      'SELECT allowance_used, allowance_held, allowance_period_start_ms FROM account_meters ORDER BY id',
    ),
    key_meters: parsed(all('SELECT id, account_id, status, quota, limits, rates FROM key_meters ORDER BY id')),
    key_spending: all('SELECT quota_used, quota_held, quota_period_start_ms FROM key_meters ORDER BY id'),
    holds: parsed(all('SELECT document FROM holds ORDER BY request_id')).flat(),
    claims: all('SELECT key_id, name, request_id, request_hash, at_ms, is_answered FROM claims').map(String).sort(),
    leases: all('SELECT node, epoch, expires_at_ms FROM leases ORDER BY node'),
    entries: all('SELECT account_id, at_ms, debit, credit, amount, kind, reference FROM entries ORDER BY seq'),
    usage: all('SELECT request_id, at_ms, ended_by, model, cost, written_off FROM usage_records ORDER BY seq'),
    totals: all(
      'SELECT day_ms, account_id, key_id, model, messages, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, written_off, provider_cost, costed_messages, costed_revenue FROM daily_totals',
    )
      .map(String)
      .sort(),
  };
}
