// The SQL sums that verify the ledger's invariants, and their results. The same for both databases, which return
// integers exactly, as bigints or texts.

import { integerOf } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { earliestRequestId, formatId } from '../base/ids.ts';
import { NO_TAG_SET, OTHER_VALUE } from '../base/tag-set-numbers.ts';
import { type LedgerSums, retainedSinceNames } from '../ledger/ledger.ts';
import {
  type RolledTotals,
  type TotalsTable,
  tagValueTotals,
  totalsOfMessages,
  totalsOfUnits,
} from './rolled-totals.ts';
import type { SqlReader } from './sql-reader.ts';
import { HOLDS, type Statements } from './store-survey.ts';
import { type HoldsTable, readHold } from './stored-hold.ts';
import { HAS_UNITS } from './usage-details.ts';

export const FAULTS_MAX = 100;

type Whole = bigint | string;
type RowOf<Column extends string> = Record<Column, Whole>;

/** The rows of the statements below. */
export interface SumRows {
  unequalRolled: { day_ms: Whole }[];
  accounts: RowOf<
    | 'id'
    | 'balance'
    | 'held'
    | 'credit_line'
    | 'allowance_held'
    | 'plan_held'
    | 'entries'
    | 'holds'
    | 'paid_holds'
    | 'plan_holds'
  >[];
  keys: RowOf<'id' | 'quota_held' | 'holds'>[];
  people: RowOf<'id' | 'held' | 'holds'>[];
  counts: RowOf<'entries' | 'open_holds' | 'debt' | 'debt_entries'>[];
  unbalanced: { request_id: string }[];
  strangeEntries: { seq: Whole }[];
  carried: RowOf<'high' | 'low'>[];
  unequalTotals: {
    day_ms: Whole;
    account_id: Whole;
    key_id: Whole;
    model: string;
    provider: string;
    group_name: string;
  }[];
  unequalUnits: { day_ms: Whole; account_id: Whole; key_id: Whole; model: string; unit: string }[];
  withoutMeters: { kind: 'acct' | 'key' | 'person'; id: Whole }[];
  wrongMonths: { id: Whole; month_ms: Whole }[];
  holds: HoldsTable[];
  strangeHolds: { request_id: string }[];
  miscounted: { kind: 'acct' | 'key'; id: Whole; running: Whole; open: Whole }[];
}

/** Start of the retained usage records and journal. */
export interface RetentionTimes {
  usage: number | null;
  journal: number | null;
}

export const KEPT_TIMES = `
  SELECT name, value FROM installation WHERE name IN ('${retainedSinceNames.usage}', '${retainedSinceNames.journal}')`;

export function readRetentionTimes(rows: readonly { name: string; value: string }[]): RetentionTimes {
  const since = (name: string) => {
    const row = rows.find((one) => one.name === name);
    return row === undefined ? null : integerOf(row.value);
  };
  return { usage: since(retainedSinceNames.usage), journal: since(retainedSinceNames.journal) };
}

/** How a database writes what the statements need. */
export interface SumSyntax {
  /** The JSON document of a column; NULL where the sums cannot read it. `place` names table and column, `key` the row. */
  json(place: string, key: string, column: string): string;
  /** The accounts above of a hold's document, as rows `e` with the column `value`. */
  above(hold: string): string;
  /** The member `running` of the group `g`, whose value is a part of a document. */
  runningOfGroup: string;
  /** The beginning of the month of day number `day`, in milliseconds. */
  monthOfDay: string;
  /** The members of the text `tags` of a set of tags `s`, as rows `e` with the columns `key` and `value`. */
  tags: string;
  unitsOf: SqlReader['unitsOf'];
  /** Further columns of the hold `h` that differ from its document `h.hold`, as ` OR …`. */
  strangeHold: string;
}

export function sumStatements(syntax: SumSyntax, { usage, journal }: RetentionTimes): Statements<SumRows> {
  // Ids of messages that began earlier may belong to dropped records; before all ids if none was dropped.
  const earliestId = usage === null ? '' : earliestRequestId(usage);
  return {
    accounts: [accountsText(syntax)],
    keys: [KEYS],
    people: [peopleText(syntax)],
    counts: [COUNTS],
    unbalanced: [UNBALANCED, usage ?? 0, earliestId],
    strangeEntries: [STRANGE_ENTRIES, journal ?? 0],
    carried: [CARRIED],
    unequalTotals: [UNEQUAL_TOTALS, usage ?? 0],
    unequalUnits: [unequalUnitsText(syntax), usage ?? 0],
    unequalRolled: [unequalRolledText(syntax)],
    withoutMeters: [WITHOUT_METERS],
    wrongMonths: [wrongMonthsText(syntax), journal ?? 0],
    holds: [HOLDS],
    strangeHolds: [strangeHoldsText(syntax)],
    miscounted: [miscountedText(syntax)],
  };
}

export function describeSums(rows: SumRows, kept: RetentionTimes): LedgerSums {
  const { usage, journal } = kept;
  const [counts] = rows.counts;
  const unreadable = new Map(
    rows.holds
      .map(readHold)
      .flatMap(({ requestId, unreadable: reason }) => (reason === undefined ? [] : [[requestId, reason]])),
  );
  return {
    accounts: rows.accounts.map((row) => ({
      id: formatId('acct', integerOf(row.id)),
      balance: BigInt(row.balance),
      held: BigInt(row.held),
      creditLine: BigInt(row.credit_line),
      allowanceHeld: BigInt(row.allowance_held),
      planHeld: BigInt(row.plan_held),
      entries: BigInt(row.entries),
      holds: BigInt(row.holds),
      paidHolds: BigInt(row.paid_holds),
      planHolds: BigInt(row.plan_holds),
    })),
    debt: BigInt(counts?.debt ?? 0),
    debtEntries: BigInt(counts?.debt_entries ?? 0),
    keys: rows.keys.map((row) => ({
      id: formatId('key', integerOf(row.id)),
      quotaHeld: BigInt(row.quota_held),
      holds: BigInt(row.holds),
    })),
    people: rows.people.map((row) => ({
      id: formatId('person', integerOf(row.id)),
      held: BigInt(row.held),
      holds: BigInt(row.holds),
    })),
    entries: integerOf(counts?.entries),
    openHolds: integerOf(counts?.open_holds),
    usageSinceMs: usage,
    journalSinceMs: journal,
    unbalancedRequests: rows.unbalanced.map((row) => row.request_id),
    strangeEntries: [
      ...rows.strangeEntries.map((row) => `entry ${row.seq}: its amount, kind, time or accounts are invalid`),
      ...(carriedForward(rows) === 0n ? [] : ['the carried-forward entries do not add up to zero']),
    ],
    unequalTotals: describeTotals(rows),
    strangeHolds: [
      ...[...unreadable].map(([requestId, reason]) => `${requestId}: its hold cannot be read, because ${reason}`),
      ...rows.strangeHolds
        .filter(({ request_id }) => !unreadable.has(request_id))
        .map(
          (row) =>
            `${row.request_id}: its hold has no account or key, belongs to an ended message, or contradicts itself`,
        ),
    ],
    miscountedRunning: rows.miscounted.map(
      (row) =>
        `${formatId(row.kind, integerOf(row.id))}: ${row.running} running messages are stored, but ${row.open} have open holds`,
    ),
    wrongMonths: rows.wrongMonths.map((row) => {
      const account = formatId('acct', integerOf(row.id));
      if (integerOf(row.month_ms) === 0)
        return `${account}: the opening balance of its last month is not the sum of the changes of earlier months`;
      return `${account}: the change of its balance in ${formatDay(row.month_ms).slice(0, 7)} is not the sum of its entries`;
    }),
    withoutMeters: rows.withoutMeters.map(
      (row) => `${formatId(row.kind, integerOf(row.id))}: it has no meters, or its meters have no account`,
    ),
  };
}

function describeTotals({ unequalTotals, unequalUnits, unequalRolled: ofDays }: SumRows): string[] {
  const total = (row: SumRows['unequalTotals' | 'unequalUnits'][number], of: string) =>
    `${formatId('acct', integerOf(row.account_id))} ${formatId('key', integerOf(row.key_id))} ${row.model}: the total of ${of}${formatDay(row.day_ms)} is not the sum of its usage records`;
  return [
    ...unequalTotals.map((row) => total(row, '')),
    ...unequalUnits.map((row) => total(row, `${row.unit} of `)),
    ...ofDays.map((row) => `the coarser totals of ${formatDay(row.day_ms)} are not the sums of its daily totals`),
  ];
}

/** The sum of all carried-forward entries, in two halves so that it cannot overflow. */
function carriedForward({ carried: [row] }: SumRows): bigint {
  return row === undefined ? 0n : BigInt(row.high) * 2n ** 32n + BigInt(row.low);
}

function formatDay(dayMs: Whole): string {
  return new Date(integerOf(dayMs)).toISOString().slice(0, 10);
}

/** Each open hold once for its account and once for each account above: `id`, and the parts of the hold. */
function chainsText({ json, above }: SumSyntax): string {
  const hold = json('holds.document', 'request_id', 'document');
  return `
  of_holds AS (
    SELECT account_id, amount, ${hold} AS hold, CAST(${hold} ->> 'fromPlan' AS bigint) AS from_plan,
      COALESCE(CAST(${hold} ->> 'payer' AS bigint), account_id) AS payer, ${hold} ->> 'group' AS group_name,
      CAST(${hold} ->> 'left' AS text) IN ('false', '0') AS is_present
    FROM holds),
  chains AS (
    SELECT account_id AS id, amount, from_plan, payer, group_name, is_present FROM of_holds
    UNION ALL
    SELECT CAST(e.value AS bigint), amount, from_plan, payer, group_name, is_present
    FROM of_holds CROSS JOIN ${above('of_holds.hold')})`;
}

function accountsText(syntax: SumSyntax): string {
  const { json } = syntax;
  const planHeld = `CAST(${json('account_meters.plan', 'm.id', 'm.plan')} ->> 'held' AS bigint)`;
  return `
  WITH ${chainsText(syntax)}
  SELECT m.id, m.balance, m.held, m.credit_line, m.allowance_held, COALESCE(${planHeld}, 0) AS plan_held,
    COALESCE(e.total, 0) AS entries, COALESCE(h.total, 0) AS holds, COALESCE(h.paid, 0) AS paid_holds,
    COALESCE(h.from_plan, 0) AS plan_holds
  FROM account_meters m
  LEFT JOIN (SELECT account_id,
      SUM(CASE WHEN credit = account_id THEN amount WHEN debit = account_id THEN -amount ELSE 0 END) AS total
    FROM entries GROUP BY account_id) e ON e.account_id = m.id
  LEFT JOIN (SELECT id, SUM(amount) AS total, SUM(CASE WHEN payer = id THEN amount ELSE 0 END) AS paid,
      SUM(CASE WHEN payer = id THEN COALESCE(from_plan, 0) ELSE 0 END) AS from_plan
    FROM chains GROUP BY id) h ON h.id = m.id`;
}

const KEYS = `
  SELECT k.id, k.quota_held, COALESCE(h.total, 0) AS holds
  FROM key_meters k
  LEFT JOIN (SELECT key_id, SUM(amount) AS total FROM holds GROUP BY key_id) h ON h.key_id = k.id`;

function peopleText({ json }: SumSyntax): string {
  const person = `CAST(${json('holds.document', 'request_id', 'document')} ->> 'person' AS bigint)`;
  return `
  SELECT p.id, p.held, COALESCE(h.total, 0) AS holds
  FROM person_meters p
  LEFT JOIN (SELECT ${person} AS id, SUM(amount) AS total FROM holds GROUP BY 1) h ON h.id = p.id`;
}

// The debts of all accounts together are the eighth system account's: entries of one account may have been dropped.
const COUNTS = `
  SELECT (SELECT COUNT(*) FROM entries) AS entries, (SELECT COUNT(*) FROM holds) AS open_holds,
    (SELECT COALESCE(SUM(debt), 0) FROM account_meters) AS debt,
    (SELECT COALESCE(SUM(CASE WHEN debit = 8 THEN amount ELSE -amount END), 0) FROM entries
      WHERE kind <> 'usage' AND (kind = 'debt' OR kind = 'carried_forward') AND 8 IN (debit, credit)) AS debt_entries`;

// Compares the entries of a message to revenue (3), from the account that pays or from write-offs (5), with its usage record.
const MOVED = `
  SELECT reference, account_id, SUM(CASE WHEN credit = 3 THEN amount ELSE -amount END) AS total,
    SUM(CASE WHEN debit = 5 THEN amount WHEN credit = 5 THEN -amount ELSE 0 END) AS written_off,
    MAX(CASE WHEN kind IN ('usage', 'write_off') THEN at_ms END) AS ended_at_ms
  FROM entries WHERE kind IN ('usage', 'write_off', 'correction', 'refund') GROUP BY reference, account_id`;

// Another account pays only for records with a chain (usage-details.ts). Quotes within a text of the details are escaped.
const IS_OF_PAYER = `(e.account_id = r.account_id OR r.details LIKE '%"chain":[%')`;

// Entries of a record that may have been dropped by age stay for a while, unless they show that it ended later.
const UNBALANCED = `
  SELECT r.request_id FROM usage_records r
  LEFT JOIN (${MOVED}) e ON e.reference = r.request_id AND ${IS_OF_PAYER}
  WHERE r.cost <> COALESCE(e.total, 0) OR r.written_off <> COALESCE(e.written_off, 0)
  UNION ALL
  SELECT e.reference FROM (${MOVED}) e
  LEFT JOIN usage_records r ON r.request_id = e.reference AND ${IS_OF_PAYER}
  WHERE r.request_id IS NULL AND (e.ended_at_ms >= $1 OR COALESCE(e.reference, '') >= $2)
  LIMIT ${FAULTS_MAX}`;

// An entry is about one account: its sides are that account or the system's own (1 to 8). A carried-forward entry
// is about an account or one of the system's, moves money from or to the sixth, and is older than the retained journal.
const STRANGE_ENTRIES = `
  SELECT seq FROM entries e
  WHERE amount < 0 OR debit = credit
    OR (debit <> account_id AND debit NOT BETWEEN 1 AND 8) OR (credit <> account_id AND credit NOT BETWEEN 1 AND 8)
    OR kind NOT IN ('payment', 'promotion', 'adjustment', 'debt_write_off', 'usage', 'write_off', 'correction', 'refund',
      'carried_forward', 'debt', 'plan_payment')
    OR (kind = 'debt' AND 8 NOT IN (debit, credit)) OR (kind = 'plan_payment' AND 7 NOT IN (debit, credit))
    OR (kind = 'carried_forward') <> (debit = 6 OR credit = 6)
    OR (kind = 'carried_forward' AND (account_id NOT IN (debit, credit) OR at_ms >= $1))
    OR NOT (EXISTS (SELECT 1 FROM account_meters m WHERE m.id = e.account_id)
      OR (kind = 'carried_forward' AND account_id IN (1, 2, 3, 4, 5, 7, 8)))
  LIMIT ${FAULTS_MAX}`;

const CARRIED = `
  SELECT COALESCE(SUM(amount / 4294967296 * sign), 0) AS high, COALESCE(SUM(amount % 4294967296 * sign), 0) AS low
  FROM (SELECT amount, CASE WHEN credit = 6 THEN 1 ELSE -1 END AS sign FROM entries WHERE kind = 'carried_forward') moved`;

const TOTAL_GROUP = 'day_ms, account_id, key_id, model, provider, group_name, person_id, tag_set';
const TOTAL_SUMS = [
  'messages',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cost',
  'written_off',
  'provider_cost',
  'costed_messages',
  'costed_revenue',
];
const TOTALS = `${TOTAL_GROUP}, ${TOTAL_SUMS.join(', ')}`;

/** Names of a daily total that records may lack. */
const FURTHER_NAMES = [
  ['provider', "COALESCE(provider, '')"],
  ['person_id', 'COALESCE(person_id, 0)'],
  ['tag_set', 'COALESCE(tag_set, 0)'],
  ['group_name', "CASE WHEN group_in_totals IS NULL THEN '' ELSE group_name END"],
] as const;

// Totals are kept longer than records. Each group appears once per side; a group on one side only is a difference. A
// correction to another model leaves a total of zero messages. A group may have two rows: while nodes of the release before version 20
// run, also theirs. Records without a tag set are of before version 20; totals know
// the groups of records since version 26.
const UNEQUAL_TOTALS = `
  WITH records AS (
    SELECT at_ms / 86400000 * 86400000 AS day_ms, account_id, key_id, model,
      ${FURTHER_NAMES.map(([name, value]) => `${value} AS ${name}`).join(', ')}, COUNT(*) AS messages,
      SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
      SUM(cache_read_tokens) AS cache_read_tokens,
      SUM(cache_write_5m_tokens + cache_write_1h_tokens) AS cache_write_tokens, SUM(cost) AS cost,
      SUM(written_off) AS written_off, SUM(COALESCE(provider_cost, 0)) AS provider_cost,
      COUNT(provider_cost) AS costed_messages,
      SUM(CASE WHEN provider_cost IS NULL THEN 0 ELSE cost - written_off END) AS costed_revenue
    FROM usage_records WHERE at_ms >= $1
    GROUP BY 1, account_id, key_id, model, ${FURTHER_NAMES.map(([, value]) => value).join(', ')}),
  totals AS (SELECT ${TOTAL_GROUP}, ${TOTAL_SUMS.map((name) => `SUM(${name}) AS ${name}`).join(', ')}
    FROM daily_totals WHERE day_ms >= $1 GROUP BY ${TOTAL_GROUP} HAVING SUM(messages) <> 0 OR SUM(cost) <> 0)
  SELECT DISTINCT day_ms, account_id, key_id, model, provider, group_name FROM (
    SELECT * FROM (SELECT ${TOTALS} FROM records EXCEPT SELECT ${TOTALS} FROM totals) recorded
    UNION ALL
    SELECT * FROM (SELECT ${TOTALS} FROM totals EXCEPT SELECT ${TOTALS} FROM records) added_up) unequal
  LIMIT ${FAULTS_MAX}`;

/** The units of records, against those of daily totals. */
function unequalUnitsText({ json, unitsOf }: SumSyntax): string {
  const group = `${TOTAL_GROUP}, unit`;
  const details = json('usage_records.details', 'r.request_id', 'r.details');
  const { from, quantity, cost } = unitsOf(details);
  const names = FURTHER_NAMES.map(([name, value]) => `${value} AS ${name}`).join(', ');
  const summed = `SELECT ${group}, SUM(quantity) AS quantity, SUM(cost) AS cost`;
  const records = `${summed} FROM (
    SELECT at_ms / 86400000 * 86400000 AS day_ms, account_id, key_id, model, ${names}, e.key AS unit, ${quantity} AS quantity,
      ${cost} AS cost FROM (SELECT * FROM usage_records r WHERE at_ms >= $1 AND ${HAS_UNITS}) r CROSS JOIN ${from}) u GROUP BY ${group}`;
  const totals = `${summed} FROM unit_totals WHERE day_ms >= $1 GROUP BY ${group} HAVING SUM(quantity) <> 0 OR SUM(cost) <> 0`;
  return `
  WITH records AS (${records}), totals AS (${totals})
  SELECT DISTINCT day_ms, account_id, key_id, model, unit FROM (
    SELECT * FROM (SELECT * FROM records EXCEPT SELECT * FROM totals) recorded
    UNION ALL
    SELECT * FROM (SELECT * FROM totals EXCEPT SELECT * FROM records) added_up) unequal
  LIMIT ${FAULTS_MAX}`;
}

const UNIT_SUMS = ['quantity', 'cost'];
const summed = (sums: readonly string[]) => sums.map((sum) => `SUM(${sum}) AS ${sum}`).join(', ');
const SUMMED = summed(TOTAL_SUMS);

/** The days of which rows of a table are not the sums. */
const unequal = (
  sums: string,
  stored: string,
) => `SELECT day_ms FROM (SELECT * FROM (${sums}) a EXCEPT ${stored}) missing
    UNION ALL SELECT day_ms FROM (${stored} EXCEPT SELECT * FROM (${sums}) b) surplus`;

const ROLLED = 'day_ms IN (SELECT day_ms FROM rolled_days)';

/** The sums of daily totals of days that are rolled up, against a table of coarser ones. */
const unequalRolled =
  ({ daily }: RolledTotals, sums: readonly string[]) =>
  ({ name, columns }: TotalsTable) => {
    const group = columns.join(', ');
    return unequal(
      `SELECT ${group}, ${summed(sums)} FROM ${daily.name} WHERE ${ROLLED} GROUP BY ${group}`,
      `SELECT ${group}, ${sums.join(', ')} FROM ${name} WHERE ${ROLLED}`,
    );
  };
/** The sums of the days of spans that are rolled up, against their totals. */
const unequalSpans =
  ({ daily }: RolledTotals, sums: readonly string[]) =>
  ({ name, columns, days }: RolledTotals['spans'][number]) => {
    const group = columns.filter((column) => column !== 'day_ms').join(', ');
    const start = `day_ms - day_ms % ${days * DAY_MS}`;
    const ofSpans = `(SELECT s.day_ms FROM rolled_spans s WHERE s.days = ${days})`;
    return unequal(
      `SELECT ${start} AS day_ms, ${group}, ${summed(sums)} FROM ${daily.name} WHERE ${start} IN ${ofSpans} GROUP BY ${start}, ${group}`,
      `SELECT ${columns.join(', ')}, ${sums.join(', ')} FROM ${name} WHERE day_ms IN ${ofSpans}`,
    );
  };
const unequalOf = (totals: RolledTotals, sums: readonly string[]) => [
  ...totals.coarser.map(unequalRolled(totals, sums)),
  ...totals.spans.map(unequalSpans(totals, sums)),
];
/** The sums of sets of tags, by the values of their tags, against those of values. */
const unequalValues = ({ tags }: SumSyntax) => {
  const { name, columns } = tagValueTotals;
  const ofSet = 's.account_id = t.account_id AND s.id = t.tag_set';
  return unequal(
    `SELECT t.day_ms, t.account_id, e.key AS tag_name, e.value AS tag, ${SUMMED} FROM tag_totals t, tag_sets s, ${tags}
      WHERE ${ROLLED} AND ${ofSet} AND s.month_ms =
        (SELECT MIN(m.month_ms) FROM tag_sets m WHERE m.account_id = s.account_id AND m.id = s.id)
      GROUP BY t.day_ms, t.account_id, e.key, e.value
    UNION ALL SELECT t.day_ms, t.account_id, '', '${OTHER_VALUE}', ${SUMMED} FROM tag_totals t
      WHERE ${ROLLED} AND t.tag_set <> ${NO_TAG_SET} AND NOT EXISTS (SELECT 1 FROM tag_sets s WHERE ${ofSet})
      GROUP BY t.day_ms, t.account_id`,
    `SELECT ${columns.join(', ')}, ${TOTAL_SUMS.join(', ')} FROM ${name} WHERE ${ROLLED}`,
  );
};
function unequalRolledText(syntax: SumSyntax): string {
  const all = [
    ...unequalOf(totalsOfMessages, TOTAL_SUMS),
    ...unequalOf(totalsOfUnits, UNIT_SUMS),
    unequalValues(syntax),
  ];
  return `SELECT DISTINCT day_ms FROM (${all.join(' UNION ALL ')}) days LIMIT ${FAULTS_MAX}`;
}

/** Compares each retained month with its entries, and the sum of everything with the balance (month 0). */
function wrongMonthsText({ monthOfDay }: SumSyntax): string {
  return `
  WITH days AS (
    SELECT account_id, at_ms / 86400000 AS day,
      SUM(CASE WHEN credit = account_id THEN amount WHEN debit = account_id THEN -amount ELSE 0 END) AS change
    FROM entries WHERE at_ms >= $1 GROUP BY account_id, at_ms / 86400000),
  changes AS (
    SELECT account_id, ${monthOfDay} AS month_ms, change FROM days
    UNION ALL SELECT account_id, month_ms, -change FROM month_changes WHERE month_ms >= $1
    UNION ALL SELECT id, month_start_ms, month_opening - balance FROM account_meters WHERE month_start_ms >= $1)
  SELECT account_id AS id, month_ms FROM changes GROUP BY account_id, month_ms HAVING SUM(change) <> 0
  UNION ALL
  SELECT m.id, 0 FROM account_meters m
  LEFT JOIN (SELECT account_id, SUM(change) AS total FROM month_changes GROUP BY account_id) c ON c.account_id = m.id
  WHERE m.month_opening <> COALESCE(c.total, 0)
  LIMIT ${FAULTS_MAX}`;
}

// Meters without an account or key do not affect money; an account or key without meters does.
const WITHOUT_METERS = `
  SELECT 'acct' AS kind, id FROM accounts WHERE id NOT IN (SELECT id FROM account_meters)
  UNION ALL
  SELECT 'key', id FROM keys k
  WHERE NOT EXISTS (SELECT 1 FROM key_meters m WHERE m.id = k.id AND m.account_id = k.account_id)
  UNION ALL
  SELECT 'key', id FROM key_meters WHERE account_id NOT IN (SELECT id FROM account_meters)
  UNION ALL
  SELECT 'key', id FROM key_meters WHERE person_id IS NOT NULL AND person_id NOT IN (SELECT id FROM person_meters)
  UNION ALL
  SELECT 'person', id FROM people WHERE account_id IS NOT NULL AND id NOT IN (SELECT id FROM person_meters)
  LIMIT ${FAULTS_MAX}`;

/** Columns that duplicate members of the document must equal them. */
function strangeHoldsText({ json, strangeHold }: SumSyntax): string {
  return `
  SELECT h.request_id FROM (SELECT *, ${json('holds.document', 'request_id', 'document')} AS hold FROM holds) h
  LEFT JOIN account_meters m ON m.id = h.account_id
  LEFT JOIN key_meters k ON k.id = h.key_id AND k.account_id = h.account_id
  LEFT JOIN usage_records r ON r.request_id = h.request_id
  LEFT JOIN person_meters p ON p.id = CAST(h.hold ->> 'person' AS bigint)
  WHERE m.id IS NULL OR k.id IS NULL OR ((h.hold ->> 'person') IS NOT NULL AND p.id IS NULL)
    OR r.request_id IS NOT NULL
    OR (h.hold ->> 'requestId') IS DISTINCT FROM h.request_id
    OR CAST(h.hold ->> 'account' AS numeric) IS DISTINCT FROM h.account_id
    OR CAST(h.hold ->> 'key' AS numeric) IS DISTINCT FROM h.key_id
    OR CAST(h.hold ->> 'amount' AS numeric) IS DISTINCT FROM h.amount${strangeHold}
  LIMIT ${FAULTS_MAX}`;
}

/** SQLite returns false of a document as 0. */
function miscountedText(syntax: SumSyntax): string {
  const { json, runningOfGroup } = syntax;
  const running = `CAST(${json('key_meters.rates', 'k.id', 'k.rates')} ->> 'running' AS bigint)`;
  const isPresent = `CAST(${json('holds.document', 'request_id', 'document')} ->> 'left' AS text) IN ('false', '0')`;
  return `
  WITH ${chainsText(syntax)},
  in_groups AS (
    SELECT m.id, g.key AS group_name, CAST(${runningOfGroup} AS bigint) AS running
    FROM account_meters m CROSS JOIN json_each(${json('account_meters.group_rates', 'm.id', 'm.group_rates')}) g)
  SELECT 'acct' AS kind, g.id, g.running, COUNT(c.id) AS open FROM in_groups g
  LEFT JOIN chains c ON c.id = g.id AND c.group_name = g.group_name AND c.is_present
  GROUP BY g.id, g.group_name, g.running HAVING g.running IS DISTINCT FROM COUNT(c.id)
  UNION ALL
  SELECT 'key', k.id, ${running}, COUNT(p.key_id) FROM key_meters k
  LEFT JOIN (SELECT key_id FROM holds WHERE ${isPresent}) p ON p.key_id = k.id
  GROUP BY k.id HAVING ${running} IS DISTINCT FROM COUNT(p.key_id)
  LIMIT ${FAULTS_MAX}`;
}
