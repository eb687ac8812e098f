// The journal of an account in memory: which of its entries a list asks for, and its months.

import { DAY_MS } from '../../../src/base/clock.ts';
import {
  type AccountRow,
  besideUsageKinds,
  type DailyTotal,
  type EntryPage,
  type NewEntry,
  type TotalName,
} from '../../../src/ledger/ledger.ts';
import { type AccountMonth, type MonthQuestion, makeAccountMonth } from '../../../src/reports/reports.ts';
import { partOfTotals, partOfUnits } from '../part-of-totals.ts';
import { retainedSince } from './drop-rows.ts';
import type { MemoryTables } from './tables.ts';

type Numbered = NewEntry & { seq: number };

export function isEntryAsked(entry: NewEntry, { account, kinds, message, sinceMs, untilMs }: EntryPage): boolean {
  const isOfMessage = ['usage', 'write_off', 'correction', 'refund'].includes(entry.kind);
  return (
    entry.account === account &&
    entry.atMs >= (sinceMs ?? 0) &&
    entry.atMs <= (untilMs ?? Infinity) &&
    (kinds === undefined || kinds.some((kind) => kind === entry.kind)) &&
    (message === undefined || (isOfMessage && entry.reference === message.requestId))
  );
}

export function readMonth(
  tables: MemoryTables,
  { id, balance, month }: AccountRow,
  entries: readonly Numbered[],
  question: MonthQuestion,
  valueFor: (total: Pick<DailyTotal, TotalName>) => string | null,
): Promise<AccountMonth> {
  const { sinceMs, untilMs } = question;
  const changedFrom = (startMs: number) =>
    [...tables.monthChanges.values()]
      .filter((one) => one.account === id && one.startMs >= startMs)
      .reduce((sum, { change }) => sum + BigInt(change), 0n);
  const inMonth = entries.filter(({ account, atMs }) => account === id && atMs >= sinceMs && atMs < untilMs);
  const ofKind = (kind: string) => inMonth.filter((entry) => entry.kind === kind);
  const inDays = [...tables.totals.values()].filter(
    ({ dayMs }) => dayMs >= Math.floor(sinceMs / DAY_MS) * DAY_MS && dayMs < untilMs,
  );
  const units = [...tables.unitTotals.values()].filter(({ dayMs }) => dayMs >= sinceMs && dayMs < untilMs);
  const totals = inDays.filter(({ account }) => account === id);
  const ofCompany = inDays.filter(({ account }) => account === id || question.below.includes(account));
  const ofDays = totals.map((total) => partOfTotals(total));
  const isFew = ofDays.reduce((sum, { messages }) => sum + messages, 0) <= question.messagesMax;
  const journalSinceMs = retainedSince(tables, 'journal');
  const parts = {
    journalSinceMs: Number.isFinite(journalSinceMs) ? journalSinceMs : null,
    balance,
    lastMonth: month,
    changedSince: changedFrom(sinceMs),
    changedAfter: changedFrom(untilMs),
    kinds: besideUsageKinds.map((kind) => ({
      kind,
      count: ofKind(kind).length,
      change: ofKind(kind).reduce((sum, { credit, amount }) => sum + BigInt(credit === id ? amount : -amount), 0n),
    })),
    bonus: ofKind('promotion')
      .filter(({ reference }) => reference?.startsWith('bonus:pay_'))
      .reduce((sum, { credit, amount }) => sum + BigInt(credit === id ? amount : -amount), 0n),
    entries: besideUsageKinds.flatMap(ofKind).map(({ account: _, ...entry }) => entry),
    totals: { day: ofDays, model: ofDays, key: ofDays },
    units: units.filter(({ account }) => account === id).map((total) => partOfUnits(total)),
    company: [
      ...ofCompany.map((total) => partOfTotals(total, valueFor(total))),
      ...units
        .filter(({ account }) => account === id || question.below.includes(account))
        .map((total) => partOfUnits(total, valueFor(total))),
    ],
    balancePaid: isFew ? paidByDay(id, ofKind('usage')) : null,
  };
  return makeAccountMonth(parts, question);
}

function paidByDay(account: number, entries: readonly Numbered[]) {
  const days = Map.groupBy(entries, ({ atMs }) => Math.floor(atMs / DAY_MS) * DAY_MS);
  return Array.from(days, ([dayMs, ofDay]) => ({
    dayMs,
    paid: ofDay.reduce((sum, { debit, amount }) => (debit === account ? sum + BigInt(amount) : sum), 0n),
  }));
}
