// Computing daily balances from a statement.

import { expect, test } from 'bun:test';
import { dailyBalances, monthsSince } from '../../console/features/billing/daily-balance.ts';

const NOON_MS = Date.UTC(2026, 10, 3, 12);
const CREATED_AT = '2026-01-01T00:00:00.000Z';
const figures = {
  messages: 1,
  input_tokens: 1,
  output_tokens: 1,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  units: {},
};
const entry = (day: string, change: string) => ({
  seq: 1,
  at: `${day}T10:00:00.000Z`,
  kind: 'payment' as const,
  debit: 'payments',
  credit: 'acct_000000001',
  amount: change,
  change,
  reference: null,
  note: null,
});
const statement: Parameters<typeof dailyBalances>[0] = {
  since: '2026-11-01T00:00:00.000Z',
  until: '2026-12-01T00:00:00.000Z',
  is_over: false,
  opening_balance: '10',
  closing_balance: '14.999999999',
  by_day: [
    { day: '2026-11-01', ...figures, cost: '0.000000001', written_off: '0', balance_paid: null },
    { day: '2026-11-03', ...figures, cost: '3.00', written_off: '1.00', balance_paid: null },
  ],
  entries: [entry('2026-11-02', '7.00')],
  has_more_entries: false,
};

test('each daily balance adds the credits and subtracts the usage of its day, exactly', () => {
  expect(dailyBalances(statement, CREATED_AT, NOON_MS)?.days).toEqual([
    { day: '2026-11-01', balance: '9.999999999' },
    { day: '2026-11-02', balance: '16.999999999' },
    { day: '2026-11-03', balance: '14.999999999' },
  ]);
});

test('a closed month has all of its days', () => {
  const days = dailyBalances({ ...statement, is_over: true }, CREATED_AT, NOON_MS)?.days;
  expect(days).toHaveLength(30);
  expect(days?.at(-1)).toEqual({ day: '2026-11-30', balance: '14.999999999' });
});

test('the balances begin on the day on which the account was created', () => {
  const later = { ...statement, opening_balance: '0', closing_balance: '4.00', by_day: statement.by_day.slice(1) };
  const created = { ...later, entries: [entry('2026-11-02', '6.00')] };
  expect(dailyBalances(created, '2026-11-02T09:59:00.000Z', NOON_MS)?.days).toEqual([
    { day: '2026-11-02', balance: '6' },
    { day: '2026-11-03', balance: '4' },
  ]);
});

test('a refund counts on the day of its message, and the result says so', () => {
  const refund = { ...entry('2026-11-02', '0.50'), kind: 'refund' as const };
  const refunded = { ...statement, entries: [...statement.entries, refund] };
  expect(dailyBalances(refunded, CREATED_AT, NOON_MS)).toEqual({
    days: dailyBalances(statement, CREATED_AT, NOON_MS)?.days ?? [],
    hasEarlyRefunds: true,
  });
  // A refund of an earlier month counts on its own day.
  const before = dailyBalances({ ...refunded, closing_balance: '15.499999999' }, CREATED_AT, NOON_MS);
  expect(before?.hasEarlyRefunds).toBe(false);
  expect(before?.days[1]?.balance).toBe('17.499999999');
});

test('what the balance paid each day counts, not what a plan paid or refunds left of the cost', () => {
  const refund = { ...entry('2026-11-03', '0.50'), kind: 'refund' as const };
  const paid = {
    ...statement,
    closing_balance: '16.75',
    by_day: statement.by_day.map((row, at) => ({ ...row, balance_paid: ['0.00', '0.75'][at] ?? null })),
    entries: [refund, ...statement.entries],
  };
  expect(dailyBalances(paid, CREATED_AT, NOON_MS)).toEqual({
    days: [
      { day: '2026-11-01', balance: '10' },
      { day: '2026-11-02', balance: '17' },
      { day: '2026-11-03', balance: '16.75' },
    ],
    hasEarlyRefunds: false,
  });
});

test('an inexact result is null', () => {
  expect(dailyBalances({ ...statement, has_more_entries: true }, CREATED_AT, NOON_MS)).toBeNull();
  expect(dailyBalances({ ...statement, closing_balance: '15' }, CREATED_AT, NOON_MS)).toBeNull();
});

test('the months of an account start with the month of its creation', () => {
  expect(monthsSince('2026-09-30T23:59:59.000Z', NOON_MS, 36)).toEqual(['2026-11', '2026-10', '2026-09']);
  expect(monthsSince('2020-01-01T00:00:00.000Z', NOON_MS, 3)).toEqual(['2026-11', '2026-10', '2026-09']);
  expect(monthsSince('2027-01-01T00:00:00.000Z', NOON_MS, 3)).toEqual(['2026-11']); // clocks may differ
});
