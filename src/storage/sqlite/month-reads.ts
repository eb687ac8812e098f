// The statement of an account's month, read in one transaction.

import type { Database, Statement } from 'bun:sqlite';
import { integerOf } from '../../base/checked-number.ts';
import { DAY_MS } from '../../base/clock.ts';
import { bounds } from '../../config/config.ts';
import { besideUsageKinds, retainedSinceNames } from '../../ledger/ledger.ts';
import {
  type BalancePaid,
  hasCompany,
  type MonthParts,
  type MonthQuestion,
  type MonthStore,
  makeAccountMonth,
} from '../../reports/reports.ts';
import { type EntryTable, entryColumnsOn, readEntry } from '../page-reads.ts';
import { BALANCE_PAID, BONUS_CHANGE, CHANGE } from '../tables.ts';
import { groupColumns } from '../totals-reads.ts';
import { readByTag, readTotal, TAGS, TOTAL_SUMS, type TotalsRow, UNIT_SUMS } from '../totals-rows.ts';
import { tooManyTotals } from '../totals-runs.ts';
import { prepareText } from './statements.ts';

const ENTRY_COLUMNS = entryColumnsOn({ number: (expression) => expression });

export function monthReads(
  database: Database,
  { rowsMax, companyRowsMax } = {
    rowsMax: bounds.statementRowsMax as number,
    companyRowsMax: bounds.totalsRowsMax as number,
  },
): MonthStore {
  let prepared: Statements | null = null; // at the first use: each start would otherwise wait for it
  const readParts = database.transaction((question: MonthQuestion): MonthParts | null => {
    prepared ??= prepareMonth(database);
    const statements = prepared;
    const meters = statements.meters.get(question.account) as MetersRow | null;
    if (meters === null) return null;
    const totals = readGroups(statements.totals, question, rowsMax);
    const units = readUnits(statements.units, question, rowsMax);
    const kept = statements.kept.get(retainedSinceNames.journal) as { value: string } | null;
    return {
      journalSinceMs: kept === null ? null : integerOf(kept.value),
      balance: meters.balance,
      lastMonth: { startMs: meters.month_start_ms, opening: meters.month_opening },
      changedSince: changedFrom(statements.changed, question.account, question.sinceMs),
      changedAfter: changedFrom(statements.changed, question.account, question.untilMs),
      ...readSeldom(statements, question, rowsMax),
      totals,
      units,
      company: hasCompany(question) ? readCompany(statements.company, question, companyRowsMax) : [],
      balancePaid: readPaid(statements.paid, question, totals.day, rowsMax),
    };
  });
  return {
    async readMonth(question) {
      const parts = readParts(question);
      return parts === null ? null : makeAccountMonth(parts, question);
    },
  };
}

interface MetersRow {
  balance: number;
  month_start_ms: number;
  month_opening: number;
}

interface KindRow {
  count: number;
  change: string;
  bonus: string;
}

type Statements = ReturnType<typeof prepareMonth>;

function prepareMonth(database: Database) {
  const seldom = `FROM entries r INDEXED BY entries_of_kind
    WHERE account_id = $1 AND kind = $2 AND kind <> 'usage' AND at_ms >= $3 AND at_ms < $4`;
  // In table order, where the totals of one account and day are adjacent.
  const ofDay = 'SELECT * FROM daily_totals NOT INDEXED WHERE day_ms = $1 AND account_id = $2 LIMIT $3';
  const sums = (groupBy: 'model' | 'key') => {
    const columns = groupColumns[groupBy].join(', ');
    return prepareText(database, `SELECT ${columns}, ${TOTAL_SUMS.sums} FROM (${ofDay}) GROUP BY ${columns}`);
  };
  const company = (table: string, sums: string, further: string) =>
    prepareText(
      database,
      `SELECT g.*, CASE WHEN $4 = 1 THEN (${TAGS}) END AS tags FROM (
         SELECT account_id, CASE WHEN $4 = 1 THEN tag_set ELSE 0 END AS tag_set, ${sums} FROM (
           SELECT * FROM ${table} NOT INDEXED
           WHERE day_ms = $1 AND account_id IN (SELECT e.value FROM json_each($2) e) LIMIT $3)
         GROUP BY 1, 2${further}) g`,
    );
  return {
    meters: prepareText(database, 'SELECT balance, month_start_ms, month_opening FROM account_meters WHERE id = $1'),
    kept: prepareText(database, 'SELECT value FROM installation WHERE name = $1 LIMIT 1'),
    changed: prepareText(
      database,
      `SELECT CAST(COALESCE(SUM(change), 0) AS text) AS change
       FROM (SELECT change FROM month_changes WHERE account_id = $1 AND month_ms >= $2 LIMIT $3)`,
    ),
    kind: prepareText(
      database,
      `SELECT COUNT(*) AS count, CAST(COALESCE(SUM(change), 0) AS text) AS change, CAST(COALESCE(SUM(bonus), 0) AS text) AS bonus
       FROM (SELECT ${CHANGE} AS change, ${BONUS_CHANGE} AS bonus ${seldom} LIMIT $5)`,
    ),
    newest: prepareText(database, `SELECT ${ENTRY_COLUMNS} ${seldom} ORDER BY r.at_ms DESC, r.seq DESC LIMIT $5`),
    totals: { model: sums('model'), key: sums('key') },
    units: prepareText(
      database,
      `SELECT day_ms, account_id, key_id, model, unit, ${UNIT_SUMS.sums} FROM (
         SELECT * FROM unit_totals INDEXED BY unit_totals_of_account WHERE account_id = $1 AND day_ms >= $2 AND day_ms < $3 LIMIT $4)
       GROUP BY day_ms, account_id, key_id, model, unit`,
    ),
    company: [
      company('daily_totals', TOTAL_SUMS.sums, ''),
      company('unit_totals', `unit, ${UNIT_SUMS.sums}`, ', unit'),
    ],
    paid: prepareText(
      database,
      `SELECT COUNT(*) AS count, CAST(COALESCE(SUM(paid), 0) AS text) AS paid
       FROM (SELECT ${BALANCE_PAID} AS paid FROM entries r INDEXED BY entries_of_account
         WHERE account_id = $1 AND at_ms >= $2 AND at_ms < $3 LIMIT $4)`,
    ),
  };
}

function changedFrom(statement: Statement, account: number, startMs: number): bigint {
  const { change } = statement.get(account, startMs, MONTHS_MAX) as { change: string };
  return BigInt(change);
}

const MONTHS_MAX = 120_000; // ten thousand years

function readSeldom(
  statements: Statements,
  { account, sinceMs, untilMs, entriesMax }: MonthQuestion,
  rowsMax: number,
): Pick<MonthParts, 'kinds' | 'bonus' | 'entries'> {
  let bonus = 0n;
  const kinds = besideUsageKinds.map((kind) => {
    const row = statements.kind.get(account, kind, sinceMs, untilMs, rowsMax + 1) as KindRow;
    if (row.count > rowsMax) throw tooManyTotals();
    bonus += BigInt(row.bonus);
    return { kind, count: row.count, change: BigInt(row.change) };
  });
  const entries = besideUsageKinds.flatMap((kind) =>
    (statements.newest.all(account, kind, sinceMs, untilMs, entriesMax + 1) as EntryTable[]).map(readEntry),
  );
  return { kinds, bonus, entries };
}

function readGroups(
  statements: Statements['totals'],
  { account, sinceMs, untilMs }: MonthQuestion,
  rowsMax: number,
): MonthParts['totals'] {
  let rowsLeft = rowsMax;
  const totals: MonthParts['totals'] = { day: [], model: [], key: [] };
  for (let dayMs = sinceMs; dayMs < untilMs; dayMs += DAY_MS) {
    const read = (groupBy: 'model' | 'key') => statements[groupBy].all(dayMs, account, rowsLeft + 1) as TotalsRow[];
    const models = read('model');
    const keys = read('key');
    rowsLeft -= models.reduce((sum, { count }) => sum + count, 0);
    if (rowsLeft < 0) throw tooManyTotals();
    const ofModels = models.map(readTotal);
    totals.model.push(...ofModels);
    totals.day.push(...ofModels.map((total) => ({ ...total, dayMs, model: null })));
    totals.key.push(...keys.map(readTotal));
  }
  return totals;
}

function readUnits(
  statement: Statement,
  { account, sinceMs, untilMs }: MonthQuestion,
  rowsMax: number,
): MonthParts['units'] {
  const rows = statement.all(account, sinceMs, untilMs, rowsMax + 1) as TotalsRow[];
  if (rows.reduce((sum, { count }) => sum + count, 0) > rowsMax) throw tooManyTotals();
  return rows.map(readTotal);
}

function readCompany(
  statements: readonly Statement[],
  { account, below, tagName, sinceMs, untilMs }: MonthQuestion,
  rowsMax: number,
): MonthParts['company'] {
  const accounts = JSON.stringify([account, ...below]);
  const found: TotalsRow[] = [];
  let rowsLeft = rowsMax;
  for (let dayMs = sinceMs; dayMs < untilMs; dayMs += DAY_MS) {
    const rows = statements.flatMap(
      (statement) => statement.all(dayMs, accounts, rowsLeft + 1, tagName === null ? 0 : 1) as TotalsRow[],
    );
    rowsLeft -= rows.reduce((sum, { count }) => sum + count, 0);
    if (rowsLeft < 0) throw tooManyTotals();
    found.push(...rows);
  }
  return readByTag(found, tagName);
}

function readPaid(
  statement: Statement,
  { account, sinceMs, untilMs, messagesMax }: MonthQuestion,
  ofDays: MonthParts['totals']['day'],
  rowsMax: number,
): BalancePaid {
  if (ofDays.reduce((sum, { messages }) => sum + messages, 0) > messagesMax) return null;
  let rowsLeft = rowsMax;
  const paid: { dayMs: number; paid: bigint }[] = [];
  for (let dayMs = sinceMs; dayMs < untilMs; dayMs += DAY_MS) {
    const row = statement.get(account, dayMs, dayMs + DAY_MS, rowsLeft + 1) as { count: number; paid: string };
    rowsLeft -= row.count;
    if (rowsLeft < 0) return null;
    if (row.count > 0) paid.push({ dayMs, paid: BigInt(row.paid) });
  }
  return paid;
}
