// The arithmetic of plans: where windows begin, and which windows a charge and a return change.

import { expect, test } from 'bun:test';
import { chargedWindows, monthsLater, rolledPlan, windowEndMs } from '../../../src/ledger/plan.ts';
import type { AccountRow, PastWindow, PlanMeter, PlanWindow } from '../../../src/ledger/rows.ts';

const MONTH: PlanWindow = {
  length: 'month',
  limit: 10,
  used: 4,
  startMs: Date.UTC(2027, 0, 31, 6),
  anchorMs: Date.UTC(2027, 0, 31, 6),
  sinceMs: 0,
};
const PLAN: PlanMeter = {
  name: 'plan',
  windows: [MONTH],
  groups: null,
  anchorMs: MONTH.anchorMs,
  paidUntilMs: null,
  endsAtMs: null,
  overflow: true,
  held: 0,
};

test('a window of a month begins on the day of its anchor, in a shorter month on its last day', () => {
  const starts = [1, 2, 3, 13].map((months) =>
    new Date(monthsLater(MONTH.anchorMs, months)).toISOString().slice(0, 13),
  );
  expect(starts).toEqual(['2027-02-28T06', '2027-03-31T06', '2027-04-30T06', '2028-02-29T06']);
  expect(windowEndMs(PLAN, MONTH)).toBe(Date.UTC(2027, 1, 28, 6));
  const usedAt = (atMs: number) => rolledPlan(PLAN, atMs).windows.map(({ used, startMs }) => [used, startMs]);
  expect(usedAt(Date.UTC(2027, 1, 28, 6) - 1)).toEqual([[4, MONTH.startMs]]);
  expect(usedAt(Date.UTC(2027, 1, 28, 6))).toEqual([[0, Date.UTC(2027, 1, 28, 6)]]);
  expect(usedAt(Date.UTC(2027, 2, 31, 6) - 1)).toEqual([[0, Date.UTC(2027, 1, 28, 6)]]);
  expect(usedAt(Date.UTC(2027, 2, 31, 6))).toEqual([[0, Date.UTC(2027, 2, 31, 6)]]);
});

test('a past window is charged for what it held, and gets back only what it was charged', () => {
  const past: PastWindow = { length: 'week', used: 6, startMs: 100, anchorMs: 100, sinceMs: 100, untilMs: 200 };
  const account = { plan: null, pastWindows: [past] } as unknown as AccountRow;
  const usedAfter = (planPaid: number, fromPlan: number, ofMs: number) =>
    chargedWindows(account, { planPaid, fromPlan, ofMs }, 300).pastWindows.map(({ used }) => used);
  expect([200, 201].map((ofMs) => usedAfter(3, 2, ofMs))).toEqual([[8], [6]]);
  expect(usedAfter(1, 2, 150)).toEqual([7]);
  expect([100, 101, 199, 200].map((ofMs) => usedAfter(-2, 0, ofMs))).toEqual([[6], [4], [4], [6]]);
});
