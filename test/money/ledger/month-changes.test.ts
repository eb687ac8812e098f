// Balance changes that are recorded at the end of a month: together with the entries they add up to the balance.

import { expect, test } from 'bun:test';
import { countMonth } from '../../../src/ledger/month-changes.ts';
import type { AccountRow } from '../../../src/ledger/rows.ts';
import { START_MS } from './workbench.ts';

const NOVEMBER = Date.UTC(2026, 10);
const OCTOBER = Date.UTC(2026, 9);
const LARGEST = Number.MAX_SAFE_INTEGER;

const account = (balance: number, month: AccountRow['month']) => ({ id: 7, balance, month }) as AccountRow;

test('an entry in the account’s latest month changes only the balance', () => {
  const month = { startMs: NOVEMBER, opening: 10 };
  expect(countMonth(account(30, month), 25, START_MS)).toEqual({ month, changes: [] });
});

test('the first entry of a month records the change of the previous one, from the month’s first millisecond', () => {
  const before = account(30, { startMs: OCTOBER, opening: 10 });
  expect(countMonth(before, 25, NOVEMBER - 1)).toEqual({ month: before.month, changes: [] });
  expect(countMonth(before, 25, NOVEMBER)).toEqual({
    month: { startMs: NOVEMBER, opening: 30 },
    changes: [{ account: 7, startMs: OCTOBER, change: 20 }],
  });
});

test('an entry that does not change the balance begins no month', () => {
  const before = account(30, { startMs: OCTOBER, opening: 10 });
  expect(countMonth(before, 30, START_MS)).toEqual({ month: before.month, changes: [] });
});

test('an entry in a past month, after the clock moved backward, counts in that month', () => {
  const before = account(30, { startMs: NOVEMBER, opening: 10 });
  expect(countMonth(before, 25, NOVEMBER - 1)).toEqual({
    month: { startMs: NOVEMBER, opening: 5 },
    changes: [{ account: 7, startMs: OCTOBER, change: -5 }],
  });
});

test('a change beyond 2^53 is recorded in exact parts', () => {
  const later = countMonth(account(LARGEST, { startMs: OCTOBER, opening: -LARGEST }), 0, START_MS);
  expect(later.changes.map(({ change }) => change)).toEqual([LARGEST, LARGEST]);
  const late = countMonth(account(0, { startMs: NOVEMBER, opening: LARGEST }), 5, NOVEMBER - 1);
  expect(late).toEqual({
    month: { startMs: NOVEMBER, opening: 5 },
    changes: [
      { account: 7, startMs: OCTOBER, change: 5 },
      { account: 7, startMs: NOVEMBER, change: -LARGEST },
    ],
  });
});
