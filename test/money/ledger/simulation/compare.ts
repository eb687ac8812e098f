// Checks that the stored rows keep every invariant and equal the model.

import { type DailyTotal, rolledPerson } from '../../../../src/ledger/ledger.ts';
import type { MemoryTables } from '../../../support/memory-store/memory-store.ts';
import { runningOf } from './model.ts';
import { planHeldOf } from './model-plans.ts';
import { heldOf, heldOfKey, heldOfPerson, paidHeldOf, useOf } from './model-rooms.ts';
import type { Model } from './model-rows.ts';

/** System accounts. */
const PLANS = 7;
const DEBTS = 8;

/** Describes each fault of the rows. */
export function findFaults(model: Model, tables: MemoryTables): string[] {
  const faults: string[] = [];
  const expect = (what: string, is: unknown, should: unknown) => {
    if (is !== should) faults.push(`${what} is ${is}, should be ${should}`);
  };
  for (const account of model.accounts.values()) {
    const row = tables.accountMeters.get(account.id);
    const { id } = account;
    expect(`balance of ${id}`, row?.balance, account.balance);
    expect(`debt of ${id}`, row?.debt, account.debt);
    expect(`held of ${id}`, row?.held, paidHeldOf(model, id) - planHeldOf(model, id));
    expect(`held of the plan of ${id}`, row?.plan?.held ?? 0, planHeldOf(model, id));
    expect(`held of the allowance of ${id}`, row?.spending.held, heldOf(model, id));
    if (row === undefined) continue;
    if (row.balance - row.held < -row.creditLine) faults.push(`${id} is below its floor`);
    for (const [group, rates] of Object.entries(row.groups))
      expect(`running of ${id} in ${group}`, rates.running, runningOf(model, 'account', id, group));
  }
  for (const { id } of model.keys.values()) {
    const row = tables.keyMeters.get(id);
    expect(`held of the quota of ${id}`, row?.spending.held, heldOfKey(model, id));
    expect(`running of ${id}`, row?.rates.running, runningOf(model, 'key', id, null));
  }
  for (const person of model.people.values()) {
    const { id } = person;
    const row = tables.personMeters.get(id);
    expect(`held of the person ${id}`, row?.held, heldOfPerson(model, id));
    const now = row && rolledPerson(row, model.nowMs);
    for (const { length, used } of now?.windows ?? [])
      expect(`what ${id} used in ${length}`, used, useOf(model, person, length));
  }
  expect('the number of holds', tables.holds.size, model.holds.size);
  for (const hold of model.holds.values())
    expect(hold.requestId, tables.holds.get(hold.requestId)?.amount, hold.amount);
  for (const hold of model.holds.values())
    expect(`the plan's part of ${hold.requestId}`, tables.holds.get(hold.requestId)?.fromPlan, hold.fromPlan);
  expect('the number of endings', tables.endings.size, model.endings.size);
  for (const [requestId, ending] of model.endings) {
    const record = tables.endings.get(requestId)?.record;
    expect(`the cost of ${requestId}`, record?.cost, ending.cost);
    expect(`what is written off of ${requestId}`, record?.writtenOff, ending.writtenOff);
    expect(`what the plan paid of ${requestId}`, record?.planPaid, ending.planPaid);
    if (tables.holds.has(requestId)) faults.push(`${requestId} has ended and holds`);
  }
  for (const [name, claim] of model.claims) {
    const row = tables.claims.get(name.replace('/', ' '));
    expect(`the message of claim ${name}`, row?.requestId, claim.requestId);
    expect(`whether claim ${name} is answered`, row?.isAnswered, claim.isAnswered);
    expect(`the failed attempts of claim ${name}`, row?.failedAttempts.join(' '), claim.failed.join(' '));
  }
  return [
    ...faults,
    ...findUnbalanced(model, tables),
    ...findWrongMeters(tables),
    ...findWrongTotals(tables),
    ...findWrongUnits(tables),
  ];
}

/** Double entry: each entry has a counterpart, and the entries of an account add up to its balance. */
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
  let owed = 0;
  for (const { debt } of model.accounts.values()) owed += debt;
  if ((balances.get(DEBTS) ?? 0) !== -owed) faults.push(`all debts are ${owed}, their entries ${balances.get(DEBTS)}`);
  let left = model.planPayments;
  for (const { planPaid } of model.endings.values()) left -= planPaid;
  if ((balances.get(PLANS) ?? 0) !== left) faults.push(`plans have ${balances.get(PLANS)} left, not ${left}`);
  for (const { id, balance } of model.accounts.values())
    if ((balances.get(id) ?? 0) !== balance)
      faults.push(`the entries of ${id} are ${balances.get(id)}, not ${balance}`);
  for (const [requestId, { cost }] of model.endings)
    if ((billed.get(requestId) ?? 0) !== cost)
      faults.push(`${requestId} is billed ${billed.get(requestId)}, not ${cost}`);
  return faults;
}

/** Compares the meters in a message's record with the entries before it and with its charge. */
function findWrongMeters({ entries, endings }: MemoryTables): string[] {
  const balances = new Map<number, number>();
  const taken = new Map<string, { all: number; ofWallet: number }>();
  const faults: string[] = [];
  for (const { account, debit, credit, amount, kind, reference } of entries) {
    const before = balances.get(account) ?? 0;
    balances.set(account, before + (credit === account ? amount : debit === account ? -amount : 0));
    if (kind !== 'usage') continue;
    const sums = taken.get(String(reference)) ?? { all: 0, ofWallet: 0 };
    const ofWallet = debit === account ? sums.ofWallet + amount : sums.ofWallet;
    taken.set(String(reference), { all: sums.all + amount, ofWallet });
    const stated = endings.get(String(reference))?.record.meters?.balance.before;
    if (stated !== before) faults.push(`${reference} ended at a balance of ${before}, and says ${stated}`);
  }
  for (const [requestId, { record }] of endings) {
    const { all, ofWallet } = taken.get(requestId) ?? { all: 0, ofWallet: 0 };
    const { balance, quota, allowance } = record.meters ?? {};
    const used = [quota, allowance].filter((reading) => reading != null).map(({ before, after }) => after - before);
    const ofBalance = balance === undefined ? null : balance.before - balance.after;
    if (ofBalance !== ofWallet || used.some((amount) => amount !== all))
      faults.push(`${requestId} took ${all}, of the wallet ${ofWallet}, and says ${used} and ${ofBalance}`);
  }
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
    const { atMs, account, key, model, provider, person, tagSet } = record;
    const ofDay = `${new Date(atMs).toISOString().slice(0, 10)} ${account} ${key} ${model}`;
    const name = `${ofDay} ${tagSet === null ? '' : (provider ?? '')} ${tagSet === null ? 0 : (person ?? 0)} ${tagSet ?? 0}`;
    const costed = record.providerCost === null ? [0, 0] : [1, record.cost - record.writtenOff];
    add(name, 1, [...counts, record.cost, record.writtenOff, record.providerCost ?? 0, ...costed]);
  }
  for (const total of totals.values()) {
    const { dayMs, account, key, model, provider, person, tagSet } = total;
    const ofDay = `${new Date(dayMs).toISOString().slice(0, 10)} ${account} ${key} ${model}`;
    const name = `${ofDay} ${provider} ${person} ${tagSet}`;
    add(name, -1, countsOf(total));
  }
  return [...sums].filter(([, rest]) => rest.some((count) => count !== 0)).map(([name]) => `the total of ${name}`);
}

/** Quantities and costs of units, which a refund or reversal changes with the cost of its record. */
function findWrongUnits({ endings, unitTotals }: MemoryTables): string[] {
  const sums: Record<string, [quantity: number, cost: number]> = {};
  const add = (unit: string, quantity: number, cost: number) => {
    const sum = sums[unit] ?? [0, 0];
    sums[unit] = [sum[0] + quantity, sum[1] + cost];
  };
  const faults: string[] = [];
  for (const { record } of endings.values()) {
    const { units, unitCosts = {}, requestId, cost } = record;
    for (const [unit, part] of Object.entries(unitCosts)) add(unit, units?.counts[unit as 'images'] ?? 0, part);
    const parts = Object.values(unitCosts).reduce((sum, part) => sum + part, 0);
    if (parts > cost) faults.push(`the units of ${requestId} cost ${parts}, and all of it ${cost}`);
  }
  for (const { unit, quantity, cost } of unitTotals.values()) add(unit, -quantity, -cost);
  const wrong = Object.entries(sums).filter(([, rest]) => rest.some((count) => count !== 0));
  return [...faults, ...wrong.map(([unit, rest]) => `the totals of ${unit} lack ${rest}`)];
}

function countsOf(total: DailyTotal): number[] {
  const { messages, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = total;
  const tokens = [messages, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens];
  const costed = [total.providerCost, total.costedMessages, total.costedRevenue];
  return [...tokens, total.cost, total.writtenOff, ...costed];
}
