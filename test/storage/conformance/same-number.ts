// The same question gives the same number: every report and file is asked for the same times, account and measure, and compared with
// the records themselves.

import { expect, test } from 'bun:test';
import { type Grouping, groupFilter, groupingLabels } from '../../../console/groupings.ts';
import {
  comparedRanges,
  rangeLabels,
  rangeOf,
  rangeOfBucket,
  rangeQuery,
  stepMs,
  type TimeRange,
} from '../../../console/range.ts';
import { formatUsd, parseUsd } from '../../../src/base/money.ts';
import { firstDocuments } from '../../../src/catalog/catalog.ts';
import { UNITS } from '../../../src/wire/wire.ts';
import { readCsv } from '../../contract/admin-api/exports/read-csv.ts';
import { type Installation, type Json, makeNode } from '../../contract/admin-api/installation.ts';
import type { OpenStores } from '../../money/ledger/workbench.ts';
import {
  customRanges,
  type EdgeRecords,
  type Figures,
  figuresOf,
  fillEdges,
  groupOf,
  isAsked,
  type MarginFigures,
  marginOf,
  REFUND,
  type Scope,
  sumOf,
  TAG,
  type UnitFigures,
  unitsIn,
} from '../../support/edge-records.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

/** On it, ranges of every length have edges of all zones, and clocks changed in two of them within 90 days. */
const NOW_MS = Date.parse('2026-11-30T17:45:12.345Z');
const RANGES_MAX = 6;
/** At their present cost. Refunds have rows of their day; of other days, they have no messages. */
function sumOfFile(text: string, refunded: bigint): Figures {
  const rows = readCsv(text).map((row) => {
    const parts = ['balance_paid', 'plan_paid', 'written_off'].map((name) =>
      BigInt(parseUsd(row[name] ?? '') ?? Number.NaN),
    );
    return { ...row, cost: formatUsd(parts.reduce((sum, part) => sum + part, 0n)) };
  });
  const sum = sumOf(rows);
  return { ...sum, cost: sum.cost - refunded };
}

interface Question {
  /** Parameters of the API. */
  query: string;
  /** With an exclusive `until`, for files. */
  file: string;
  account: string | null;
  /** Files and statements cannot be narrowed so. */
  hasNoFile: boolean;
  /** The months that the range consists of. */
  month: string | null;
  step: string;
  /** Refunds of its messages, which files have on the day of the refund. */
  refunded: bigint;
}

type Ask = (path: string) => Promise<Json>;

/** Expects that the rows of a report, or the columns of a file, have the units of the records of its question. */
type ExpectUnits = (rows: readonly Json[], ofFile?: 'file') => void;

const groupings = ['day', 'model', 'key', 'account', 'provider', 'group'];
const rowsOf = (body: Json) => body['data'] as Json[];

/** The units of a file, which has no costs of them. */
function quantitiesIn(rows: readonly Json[]): Record<string, number> {
  const sums = UNITS.map((unit) => [unit, rows.reduce((sum, row) => sum + Number(row[unit]), 0)] as const);
  return Object.fromEntries(sums.filter(([, quantity]) => quantity !== 0));
}

function quantitiesOf(units: UnitFigures): Record<string, number> {
  return Object.fromEntries(Object.entries(units).map(([unit, [quantity]]) => [unit, quantity]));
}

/** Every place that answers the question, and its figures by part. */
const places: Record<string, (ask: Ask, question: Question, expectUnits: ExpectUnits) => Promise<Figures[]>> = {
  async list(ask, { query }) {
    const rows: Json[] = [];
    for (let cursor = ''; ; ) {
      const page = await ask(`usage?limit=200&${query}${cursor}`);
      rows.push(...rowsOf(page));
      if (page['next_cursor'] === null) return [sumOf(rows)];
      cursor = `&cursor=${page['next_cursor']}`;
    }
  },
  async summary(ask, { query }, expectUnits) {
    const figures: Figures[] = [];
    for (const by of groupings) {
      const answer = await ask(`usage/summary?limit=200&group_by=${by}&${query}`);
      expect(answer['counted_since']).toBeNull();
      for (const rows of [[answer['total'] as Json], rowsOf(answer)]) expectUnits(rows);
      figures.push(figuresOf(answer['total'] as Json), sumOf(rowsOf(answer)));
    }
    return figures;
  },
  async 'a summary of records'(ask, { query }, expectUnits) {
    const answer = await ask(`usage/summary?cost_min=0&group_by=model&${query}`);
    for (const rows of [[answer['total'] as Json], rowsOf(answer)]) expectUnits(rows);
    return [figuresOf(answer['total'] as Json), sumOf(rowsOf(answer))];
  },
  async totals(ask, { query }, expectUnits) {
    const figures: Figures[] = [];
    for (const by of groupings)
      for (const then of ['', '&then_by=model']) {
        const answer = await ask(`usage/totals?limit=1000&group_by=${by}${then}&${query}`);
        expect(answer['counted_since']).toBeNull();
        for (const rows of [[answer['total'] as Json], rowsOf(answer)]) expectUnits(rows);
        figures.push(figuresOf(answer['total'] as Json), sumOf(rowsOf(answer)));
      }
    return figures;
  },
  async top(ask, { query }, expectUnits) {
    const answer = await ask(`usage/top?limit=200&${query}`);
    expectUnits([answer['total'] as Json]);
    for (const name of ['models', 'keys', 'accounts']) expectUnits(rowsOf(answer[name] as Json));
    const lists = ['models', 'keys', 'accounts'].map((name) => sumOf(rowsOf(answer[name] as Json)));
    return [figuresOf(answer['total'] as Json), ...lists];
  },
  async timeline(ask, { query, step }, expectUnits) {
    const figures: Figures[] = [];
    for (const one of new Set([step, 'day'])) {
      const rows = rowsOf(await ask(`usage/timeline?step=${one}&${query}`));
      expectUnits(rows);
      figures.push(sumOf(rows));
    }
    return figures;
  },
  async file(ask, { file, hasNoFile, refunded }, expectUnits) {
    if (hasNoFile) return [];
    const figures: Figures[] = [];
    for (const by of ['account,model', 'key', 'day,provider']) {
      const text = (await ask(`exports/file?kind=costs&by=${by}&${file}`)) as unknown as string;
      expectUnits(readCsv(text), 'file');
      figures.push(sumOfFile(text, refunded));
    }
    return figures;
  },
  async statement(ask, { account, hasNoFile, month, refunded }, expectUnits) {
    if (account === null || hasNoFile || month === null) return [];
    const statement = await ask(`accounts/${account}/statement?month=${month}`);
    const named = ['by_day', 'by_model', 'by_key'].map((name) => statement[name] as Json[]);
    for (const rows of [[statement['usage'] as Json], ...named]) expectUnits(rows);
    const lists = named.map(sumOf);
    const file = (await ask(`exports/file?kind=costs&account=${account}&month=${month}`)) as unknown as string;
    return [figuresOf(statement['usage'] as Json), ...lists, sumOfFile(file, refunded)];
  },
};

/** The groupings of the summary, the totals and the margin. */
const groupingsOf = (() => {
  const { session: _, agent: __, ...ofTotals } = groupingLabels;
  const { day: ___, ...ofMargin } = ofTotals;
  return {
    summary: Object.keys(groupingLabels),
    totals: Object.keys(ofTotals),
    margin: Object.keys(ofMargin),
  } as Record<string, Grouping[]>;
})();

/** A group has the number of its records, and so has the list to which its row leads. */
async function expectGroups(ask: Ask, { query }: Question, range: TimeRange, scope: Scope, records: Json[]) {
  for (const report of ['summary', 'totals'])
    for (const by of groupingsOf[report] ?? []) {
      const answer = await ask(`usage/${report}?limit=1000&group_by=${by}&tag_name=${TAG}&${query}`);
      const rows = rowsOf(answer);
      const figures = (own: Json[]) => ({ ...sumOf(own), units: unitsIn(own) });
      const shown = rows.map((row) => [row[by] as string | null, figures([row])] as const);
      const right = [...Map.groupBy(records, (record) => groupOf(record, by))].map(
        ([name, own]) => [name, figures(own)] as const,
      );
      expect({ report, by, scope, groups: new Map(shown) }).toEqual({ report, by, scope, groups: new Map(right) });
      for (const row of report === 'summary' && by !== 'account' ? rows.filter((one) => one[by] !== null) : []) {
        const times = by === 'day' ? rangeOf(rangeOfBucket(range, String(row['day']), stepMs.day), NOW_MS) : range;
        const filter = by === 'day' ? {} : groupFilter(row, by, { tag_name: TAG });
        const linked = new URLSearchParams({ ...rangeQuery(times), ...scope, ...filter });
        const { total } = await ask(`usage/summary?${linked}`);
        expect({ by, row: row[by], ...figuresOf(total as Json) }).toEqual({ by, row: row[by], ...figuresOf(row) });
      }
    }
}

type MarginWithUnits = MarginFigures & { units: UnitFigures };

const marginOfRecords = (records: readonly Json[]): MarginWithUnits => ({
  ...marginOf(records),
  units: unitsIn(records),
});

const marginFiguresOf = (row: Json): MarginWithUnits => {
  const nano = (name: string) => BigInt(parseUsd(String(row[name])) ?? Number.NaN);
  const [revenue, providerCost, unknown] = [nano('revenue'), nano('provider_cost'), nano('revenue_without_margin')];
  expect(nano('margin')).toBe(revenue - providerCost);
  return { messages: Number(row['messages']), revenue, providerCost, unknown, units: unitsIn([row]) };
};

/** The margin of a range, of each group and of the period before is that of its records. */
async function expectMargins(ask: Ask, question: Question, range: TimeRange, scope: Scope, all: Json[]) {
  const before = comparedRanges(range, NOW_MS)?.before;
  const compared = before && rangeQuery(before);
  const recordsOf = (times: Pick<TimeRange, 'sinceMs' | 'untilMs'>) =>
    all.filter(isAsked({ ...range, ...times }, scope, NOW_MS));
  const [now, earlier] = [recordsOf(range), before === undefined ? null : recordsOf(before)];
  for (const by of groupingsOf['margin'] ?? []) {
    const previous = compared === undefined ? '' : `&previous_since=${compared.since}&previous_until=${compared.until}`;
    const answer = await ask(`usage/margin?limit=1000&group_by=${by}&tag_name=${TAG}&${question.query}${previous}`);
    expect({ by, ...marginFiguresOf(answer['total'] as Json) }).toEqual({ by, ...marginOfRecords(now) });
    if (earlier === null) continue;
    expect({ by, ...marginFiguresOf(answer['previous'] as Json) }).toEqual({ by, ...marginOfRecords(earlier) });
    for (const row of rowsOf(answer)) {
      const ofGroup = (records: Json[]) => marginOfRecords(records.filter((record) => groupOf(record, by) === row[by]));
      const shown = [marginFiguresOf(row), marginFiguresOf(row['previous'] as Json)];
      expect({ by, name: row[by], shown }).toEqual({ by, name: row[by], shown: [ofGroup(now), ofGroup(earlier)] });
    }
    const changes = (answer['changes'] as Json[]).map(({ amount }) => BigInt(parseUsd(String(amount)) ?? Number.NaN));
    const change = marginOf(now).revenue - marginOf(now).providerCost;
    const changeBefore = marginOf(earlier).revenue - marginOf(earlier).providerCost;
    expect(changes.reduce((sum, one) => sum + one, 0n)).toBe(change - changeBefore);
  }
}

function questionOf(text: string, scope: Scope, refunded: bigint): Question {
  const range = rangeOf(text, NOW_MS);
  const { account = null, key, model, endpoint } = scope;
  const iso = (ms: number) => new Date(ms).toISOString();
  const until = range.untilMs === null ? {} : { until: iso(range.untilMs) };
  const isOfMonth = text === 'month' || text === 'last_month';
  return {
    query: new URLSearchParams({ ...rangeQuery(range), ...scope }).toString(),
    file: new URLSearchParams({ since: iso(range.sinceMs), ...until, ...scope }).toString(),
    account,
    hasNoFile: key !== undefined || model !== undefined || endpoint !== undefined,
    month: isOfMonth ? iso(range.sinceMs).slice(0, 7) : null,
    step: range.step,
    refunded,
  };
}

async function readAll(ask: Ask): Promise<Json[]> {
  const records = rowsOf(await ask('usage?limit=1000'));
  expect(records.length).toBeGreaterThan(40);
  return records;
}

export function sameNumberConformance(open: OpenStores): void {
  test('every report and file gives the number of the records for each time range, account and key', async () => {
    const clock = manualClock(0);
    const opened = await open(clock);
    await opened.stores.catalog.saveCatalog(firstDocuments(['sandbox-echo'], {}), [], noAuditContext);
    const installation = (await makeNode(clock, opened.stores)) as unknown as Installation;
    const filled: EdgeRecords = await fillEdges(installation, NOW_MS);
    const ask: Ask = async (path) => {
      const { status, body } = await installation.ask('GET', `/api/v1/${path}`);
      expect([path, status]).toEqual([path, 200]);
      return body;
    };
    const records = await readAll(ask);
    const texts = [...Object.keys(rangeLabels), ...customRanges(filled.edges, RANGES_MAX)];
    const { north, poor } = filled.accounts;
    const scopes: Scope[] = [{}, { account: north }, { account: poor }, { key: filled.key }, { model: 'small' }];
    scopes.push({ endpoint: 'images' }, { endpoint: 'messages', account: north });
    for (const text of texts)
      for (const scope of scopes) {
        const ofRange = records.filter(isAsked(rangeOf(text, NOW_MS), scope, NOW_MS));
        const right = sumOf(ofRange);
        const refunds = ofRange.filter((record) => filled.refunded.includes(String(record['request_id'])));
        const question = questionOf(text, scope, BigInt(refunds.length * REFUND));
        const units = unitsIn(ofRange);
        for (const [place, read] of Object.entries(places)) {
          const expectUnits: ExpectUnits = (rows, ofFile) => {
            const [shown, right] = ofFile ? [quantitiesIn(rows), quantitiesOf(units)] : [unitsIn(rows), units];
            expect({ text, scope, place, units: shown }).toEqual({ text, scope, place, units: right });
          };
          for (const [part, figures] of (await read(ask, question, expectUnits)).entries())
            expect({ text, scope, place, part, ...figures }).toEqual({ text, scope, place, part, ...right });
        }
        await expectGroups(ask, question, rangeOf(text, NOW_MS), scope, ofRange);
        await expectMargins(ask, question, rangeOf(text, NOW_MS), scope, records);
      }
    await opened.close();
  });
}
