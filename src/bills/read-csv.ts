// Reads the CSV exports of Anthropic, OpenAI and AWS. The columns that are read must be there once, by their names.

import { parseTimeMs, parseWholeNumber } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import { readAmazonUsage, tokensInUnit } from './amazon-usage.ts';
import {
  BillCollector,
  type BillFeature,
  type BillKind,
  type BillRow,
  type CollectedBill,
  STANDARD,
  unreadableBill,
} from './bill-line.ts';
import { readLineItem } from './openai.ts';
import { parseCsv } from './parse-csv.ts';
import { tierOnBill } from './tiers.ts';

type Cell = (name: string) => string;

interface CsvFormat {
  /** Each of them, or one of several. */
  required: readonly (string | readonly string[])[];
  optional: readonly string[];
  /** null: the row is of something else. */
  read(cell: Cell, at: string): BillRow | null;
}

/**
 * Export of the page Cost of the Claude Console.
 * https://support.anthropic.com/en/articles/9534590-cost-and-usage-reporting-in-console, 2026-11-29
 */
const anthropic: CsvFormat = {
  required: ['usage_date_utc', 'model', 'token_type', 'cost_usd'],
  optional: ['usage_type', 'cost_type', 'speed'],
  read(cell, at) {
    const isBatch = cell('usage_type').toLowerCase().startsWith('batch');
    const ofTokens = ANTHROPIC_TOKENS.get(cell('token_type').toLowerCase()) ?? 'other';
    const feature = /web.?search/i.test(cell('cost_type')) ? 'web_search' : isBatch ? 'batch' : ofTokens;
    return {
      dayMs: readDay(cell('usage_date_utc'), at),
      model: cell('model'),
      feature,
      tier: isBatch ? 'batch' : tierOnBill(cell('speed')),
      amount: { text: cell('cost_usd'), currency: 'USD' },
      at,
    };
  },
};

const ANTHROPIC_TOKENS: ReadonlyMap<string, BillFeature> = new Map([
  ['input_no_cache', 'input'],
  ['input_cache_read', 'cache_read'],
  ['input_cache_write_5m', 'cache_write'],
  ['input_cache_write_1h', 'cache_write'],
  ['output', 'output'],
]);

/** Export of the costs of an organization, whose columns are the members of the Costs API: openai.ts has its source. */
const openai: CsvFormat = {
  required: ['amount_value', 'amount_currency', ['start_time_iso', 'start_time']],
  optional: ['line_item', 'quantity'],
  read(cell, at) {
    const item = readLineItem(cell('line_item'));
    return {
      dayMs: readDay(cell('start_time_iso') || cell('start_time'), at),
      ...item,
      amount: { text: cell('amount_value'), currency: cell('amount_currency') },
      ...(item.isOfTokens && cell('quantity') !== '' && { quantity: { text: cell('quantity'), times: 1 } }),
      at,
    };
  },
};

/**
 * Cost and Usage Report 2.0 (Data Exports), and the names of the report before it: "lineItem/UsageStartDate". Rows of
 * other services are passed over.
 * https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2.html, 2026-11-29
 */
const aws: CsvFormat = {
  required: [
    'line_item_usage_start_date',
    'line_item_product_code',
    'line_item_usage_type',
    'line_item_usage_amount',
    'line_item_unblended_cost',
    'line_item_currency_code',
  ],
  optional: [
    'line_item_line_item_type',
    'line_item_line_item_description',
    'product_product_name',
    'product_servicename',
    'pricing_unit',
  ],
  read(cell, at) {
    const names = ['line_item_product_code', 'line_item_usage_type', 'line_item_line_item_description'].map(cell);
    const service = cell('product_product_name') || cell('product_servicename');
    if (![service, ...names].some((name) => /bedrock/i.test(name))) return null;
    const type = cell('line_item_line_item_type');
    const isUsage = type === '' || /usage$/i.test(type);
    const times = tokensInUnit(cell('pricing_unit'));
    const used = readAmazonUsage(cell('line_item_usage_type'), service);
    return {
      dayMs: readDay(cell('line_item_usage_start_date'), at),
      ...(isUsage ? used : { ...used, feature: 'other' as const, tier: STANDARD }),
      amount: {
        text: cell('line_item_unblended_cost'),
        currency: cell('line_item_currency_code'),
        mayBeNegative: !isUsage, // credits, refunds, discounts
      },
      ...(isUsage && times !== null && { quantity: { text: cell('line_item_usage_amount'), times } }),
      at,
    };
  },
};

const formats: Readonly<Record<BillKind, CsvFormat>> = { anthropic, openai, aws };

/** The bill in a CSV file. Throws invalid_request with the row, body_too_large, and what the body throws. */
export async function readCsvBill(kind: BillKind, body: AsyncIterable<Uint8Array>): Promise<CollectedBill> {
  const format = formats[kind];
  const collector = new BillCollector();
  let places: ReadonlyMap<string, number> | null = null;
  let columns = 0;
  for await (const { cells, number } of parseCsv(body)) {
    if (places === null) {
      places = placesOf(cells, format);
      columns = cells.length;
      continue;
    }
    const at = `row ${number}`;
    if (cells.length !== columns)
      throw unreadableBill(`${at}: it has ${cells.length} columns, the first row ${columns}`);
    const found = places;
    const row = format.read((name) => (cells[found.get(name) ?? -1] ?? '').trim(), at);
    if (row !== null) collector.add(row);
  }
  if (places === null) throw unreadableBill('it is empty');
  return collector.collected();
}

/** The columns that are read. A name that is there twice could mean either. */
function placesOf(header: readonly string[], { required, optional }: CsvFormat): ReadonlyMap<string, number> {
  const names = header.map(columnName);
  const places = new Map<string, number>();
  for (const name of [...required.flat(), ...optional]) {
    const at = names.indexOf(name);
    if (at !== names.lastIndexOf(name)) throw unreadableBill(`the column ${name} is there twice`);
    if (at >= 0) places.set(name, at);
  }
  for (const one of required)
    if (![one].flat().some((name) => places.has(name)))
      throw unreadableBill(`the column ${[one].flat().join(' or ')} is missing`);
  return places;
}

/** "lineItem/UsageStartDate" and "Line_Item_Usage_Start_Date" are `line_item_usage_start_date`. */
function columnName(text: string): string {
  return text
    .trim()
    .slice(0, bounds.nameCharactersMax)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('/', '_')
    .toLowerCase();
}

const LEAST_DAY_MS = Date.UTC(2020, 0, 1);
const LAST_DAY_MS = Date.UTC(2100, 0, 1);

/** The day of an ISO date or time, or of seconds since 1970. A time without a zone is UTC. */
export function readDay(text: string, at: string): number {
  const seconds = parseWholeNumber(text);
  const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/.exec(text);
  const ms = seconds !== null ? seconds * 1_000 : iso === null ? null : isoMs(iso);
  if (ms === null || ms < LEAST_DAY_MS || ms >= LAST_DAY_MS)
    throw unreadableBill(`${at}: ${JSON.stringify(text.slice(0, 60))} is not a day`);
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

function isoMs([, day, time = '00:00', zone = 'Z']: RegExpExecArray): number | null {
  return parseTimeMs(`${day}T${time}${zone}`);
}
