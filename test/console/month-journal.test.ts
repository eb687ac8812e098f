// The journal of a month by day: exact running balances, and none rather than a wrong one. The days that a balance lasts.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { monthJournal } from '../../console/features/billing/month-journal.ts';
import { daysLeftText } from '../../console/features/billing/pace.ts';
import { nanoOf, usdOf } from '../../console/money.ts';
import type { EntryShape, ForecastShape, StatementShape } from '../../src/admin-api/shapes.ts';

const NOW_MS = Date.parse('2026-11-22T12:00:00Z');
const CREATED_AT = '2026-01-01T00:00:00.000Z';

type Entry = Pick<EntryShape, 'kind' | 'change'> & { day: number };

function statementOf(
  opening: string,
  entries: Entry[],
  used: [day: number, cost: string][],
  more: object = {},
): StatementShape {
  const dayOf = (day: number) => `2026-11-${String(day).padStart(2, '0')}`;
  const rows = entries.map(({ day, ...entry }, at) => ({
    ...entry,
    at: `${dayOf(day)}T0${at % 10}:00:00.000Z`,
    seq: at + 1,
  }));
  const spent = used.map(([day, cost]) => ({ day: dayOf(day), cost, written_off: '0', balance_paid: null }));
  const sum = (values: string[]) => values.reduce((all, usd) => all + nanoOf(usd), 0n);
  const closing = nanoOf(opening) + sum(entries.map(({ change }) => change)) - sum(used.map(([, cost]) => cost));
  return {
    ...{ month: '2026-11', since: '2026-11-01T00:00:00.000Z', until: '2026-12-01T00:00:00.000Z', is_over: false },
    ...{ opening_balance: opening, closing_balance: usdOf(closing), by_day: spent, has_more_entries: false },
    entries: rows.sort((one, other) => other.at.localeCompare(one.at) || other.seq - one.seq),
    ...more,
  } as unknown as StatementShape;
}

describe('the journal of a month by day', () => {
  test('has credits as rows, usage as one row a day, and the balance after each, newest first', () => {
    const statement = statementOf(
      '1',
      [{ day: 3, kind: 'payment', change: '10' }],
      [
        [3, '0.5'],
        [4, '0.25'],
      ],
    );
    const rows = monthJournal(statement, CREATED_AT, NOW_MS)?.rows.map(({ day, entry, change, balance }) => [
      day,
      entry?.kind,
      change,
      balance,
    ]);
    expect(rows).toEqual([
      ['2026-11-04', undefined, '-0.25', '10.25'],
      ['2026-11-03', undefined, '-0.5', '10.5'],
      ['2026-11-03', 'payment', '10', '11'],
    ]);
  });

  test('adds up exactly: each balance is the one before it plus the change, from the opening to the closing balance', () => {
    const usd = fc.bigInt({ min: 1n, max: 10n ** 15n }).map(usdOf);
    const day = fc.integer({ min: 1, max: 22 });
    const entry = fc.record({ day, kind: fc.constantFrom('payment' as const, 'adjustment' as const), change: usd });
    fc.assert(
      fc.property(
        usd,
        fc.array(entry),
        fc.uniqueArray(fc.tuple(day, usd), { selector: ([at]) => at }),
        (opening, entries, used) => {
          const statement = statementOf(opening, entries, used);
          const rows = monthJournal(statement, CREATED_AT, NOW_MS)?.rows.toReversed() ?? [];
          expect(rows.length).toBe(entries.length + used.length);
          let balance = nanoOf(opening);
          for (const row of rows) {
            balance += nanoOf(row.change);
            expect(nanoOf(row.balance)).toBe(balance);
          }
          expect(balance).toBe(nanoOf(statement.closing_balance));
        },
      ),
      { numRuns: 100 },
    );
  });

  test('counts a refund on the day of its request where the statement does', () => {
    // The refund of 0.2 has already reduced the cost of its day.
    const statement = statementOf('1', [{ day: 5, kind: 'refund', change: '0.2' }], [[3, '0.3']], {
      closing_balance: '0.7',
    });
    expect(monthJournal(statement, CREATED_AT, NOW_MS)).toMatchObject({
      hasEarlyRefunds: true,
      rows: [{ balance: '0.7' }],
    });
  });

  test('has what the balance paid each day where a plan paid the rest, and refunds on their own day', () => {
    const statement = statementOf('1', [{ day: 5, kind: 'refund', change: '0.2' }], [], {
      closing_balance: '0.9',
      by_day: [
        { day: '2026-11-03', cost: '0.6', written_off: '0.1', balance_paid: '0.3' },
        { day: '2026-11-04', cost: '0.5', written_off: '0', balance_paid: '0' },
      ],
    });
    const journal = monthJournal(statement, CREATED_AT, NOW_MS);
    expect(journal?.hasEarlyRefunds).toBe(false);
    expect(journal?.rows.map(({ day, change, balance }) => [day, change, balance])).toEqual([
      ['2026-11-05', '0.2', '0.9'],
      ['2026-11-03', '-0.3', '0.7'],
    ]);
  });

  test('is refused if it does not add up, or entries are missing', () => {
    expect(monthJournal(statementOf('1', [], [[3, '0.3']], { closing_balance: '0.8' }), CREATED_AT, NOW_MS)).toBeNull();
    expect(monthJournal(statementOf('1', [], [], { has_more_entries: true }), CREATED_AT, NOW_MS)).toBeNull();
  });
});

test('how long a balance lasts is said as the service forecasts it', () => {
  const of = (state: ForecastShape['state'], left: number | null = null) =>
    daysLeftText({
      ...{ account: '', state, refused_since: null, cause: null, available: '1', cost_per_day: '1', days_left: left },
      pace_since: '',
    });
  expect(of('lasts', 12.9)).toBe('About 12 days at the present pace');
  expect(of('lasts', 1.5)).toBe('About 1 day at the present pace');
  expect(of('lasts', 0.4)).toBe('About 9 hours at the present pace');
  expect(of('lasts', 400)).toBe('More than a year at the present pace');
  expect(of('not_used')).toBe('No use in the last 7 days');
  expect(of('exhausted', 0)).toBe('Nothing left');
  expect(of('plan')).toBe('The plan pays first');
  expect(of('refused', 0.4)).toBe('Requests are refused');
});
