// Sums of daily totals as a database gives them: what is added up, by what, and how a sum is read. The same for
// every database.

import { DAY_MS } from '../base/clock.ts';
import { TurnpikeError } from '../errors.ts';
import type { TopQuestion, TotalsGrouping, UsageTotal } from '../ledger/ledger.ts';

/** A row's place in the order of the table. */
export type TotalsPlace = readonly [dayMs: number, account: number, key: number, model: string];

/** By what a run is added up: by one of the groupings, or so that it can be told by all of them but the day. */
export type RunGrouping = TotalsGrouping | 'all';

/** `groupBy` says by what its runs are added up. */
export type RunsQuestion = TopQuestion & { groupBy: RunGrouping };

/** As columns. */
export const groupColumns: Readonly<Record<RunGrouping, readonly string[]>> = {
  day: ['day_ms'],
  model: ['model'],
  key: ['account_id', 'key_id'],
  account: ['account_id'],
  all: ['account_id', 'key_id', 'model'],
};

// Counts stay below 2^53, up to which floating numbers are exact; sums of amounts need not, and come as texts.
const asNumber = (name: string) => `CAST(SUM(${name}) AS double precision) AS ${name}`;
const asText = (name: string) => `CAST(SUM(${name}) AS text) AS ${name}`;

export const SUMS = [
  'CAST(COUNT(*) AS double precision) AS count',
  ...['messages', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'].map(asNumber),
  ...['costed_messages'].map(asNumber),
  ...['cost', 'written_off', 'provider_cost', 'costed_revenue'].map(asText),
].join(', ');

/** A group of a run; those of its columns are missing by which it is not grouped. */
export interface TotalsRow {
  day_ms?: number;
  account_id?: number;
  key_id?: number;
  model?: string;
  /** How many daily totals it was added up from. */
  count: number;
  messages: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  costed_messages: number;
  cost: string;
  written_off: string;
  provider_cost: string;
  costed_revenue: string;
}

/** Of a run in which nothing was asked for there is one row without sums. */
export function readTotals(rows: readonly TotalsRow[]): UsageTotal[] {
  return rows.filter(({ messages }) => messages !== null).map(readTotal);
}

function readTotal(row: TotalsRow): UsageTotal {
  return {
    dayMs: row.day_ms ?? null,
    account: row.account_id ?? null,
    key: row.key_id ?? null,
    model: row.model ?? null,
    messages: row.messages,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    costedMessages: row.costed_messages,
    cost: BigInt(row.cost),
    writtenOff: BigInt(row.written_off),
    providerCost: BigInt(row.provider_cost),
    costedRevenue: BigInt(row.costed_revenue),
  };
}

/** The place before all totals of the day of that time. */
export function beforeDay(sinceMs: number): TotalsPlace {
  return [Math.floor(sinceMs / DAY_MS) * DAY_MS - 1, 0, 0, ''];
}

export function tooMuchToAddUp(): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    'So many days of so many keys are too much to add up at once: ask for fewer (since, until), or for one account.',
  );
}
