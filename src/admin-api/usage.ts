// Usage: one record per admitted message, newest first.

import { z } from '@hono/zod-openapi';
import { beganAtMs } from '../base/ids.ts';
import { explainPrice, multipliedRates, ratesWithoutMultiplier, tierOfRates } from '../catalog/catalog.ts';
import { countsOf, type StoredUsageRecord, type UsageRecord } from '../ledger/ledger.ts';
import { marginOf, type RankingPlace, usageRankings } from '../reports/reports.ts';
import { SERVES, SERVICE_TIERS, UNITS } from '../wire/wire.ts';
import { noObject } from './admin-app.ts';
import { everyone, maySeeAccount, maySeeKey, type Principal, seesBalance, seesProviderCost } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import {
  amountShown,
  countShown,
  idField,
  isoTime,
  lastTimeField,
  periodField,
  rateShown,
  requestIdField,
  timeField,
  timeShown,
} from './fields.ts';
import { after, answerRows, cursorAfter, type PageCall, requesterOf, sortedCursor, sortedPosition } from './pages.ts';
import { type AdminRoute, type Call, get, list } from './route.ts';
import { filterOf, isEmptyFilter, outcomes, searchFilters } from './usage-filters.ts';
import { narrowTo } from './usage-totals.ts';
import { hiddenFrom, hideable, providerText } from './visibility.ts';

const spendingSchema = z
  .object({ limit: amountShown, period: periodField, before: amountShown, after: amountShown })
  .describe('Usage in the period in which the message ended; null without a limit.');

export const metersSchema = z
  .object({
    balance: z
      .object({ before: amountShown, after: amountShown })
      .nullable()
      .describe(
        'The balance of the account that paid; null for those who may not see it: members, and people of accounts below it.',
      ),
    quota: spendingSchema.nullable(),
    allowance: spendingSchema.nullable(),
  })
  .openapi('Meters');

const exactShown = z.string().openapi({ pattern: '^(0|[1-9]\\d*)(\\.\\d{1,24})?$', description: 'USD, exact.' });

const priceSchema = z
  .object({
    parts: z.array(
      z.object({
        part: z.enum(['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'web_search', ...UNITS]),
        count: countShown.describe('Tokens; searches for web_search; for a unit, that unit.'),
        rate: rateShown.describe(
          'USD per million tokens, or per thousand searches for web_search; for a unit, as its rate says.',
        ),
        amount: exactShown.describe('count × rate, before the multiplier.'),
      }),
    ),
    multiplier: hideable('multiplier', rateShown).describe(
      'null if it is hidden: then the rates are those after the multiplier.',
    ),
    before_rounding: exactShown.describe('Sum of the parts × multiplier.'),
    after_rounding: amountShown.describe('before_rounding, rounded up once to 9 fraction digits.'),
    given_back: amountShown.describe(
      'after_rounding − cost: refunded since, or reversed by a later attempt under the same idempotency key.',
    ),
  })
  .openapi('Price');

const encodePrice = encoderOf(priceSchema);

/** null if nothing was priced, or the record's rates do not add up to its cost. */
function priceJson(record: UsageRecord, hidesMultiplier: boolean): z.infer<typeof priceSchema> | null {
  const price = explainPrice(hidesMultiplier ? multipliedRates(record.rates) : record.rates, countsOf(record));
  if (price === null || price.afterRounding < record.cost) return null;
  return encodePrice({ ...price, givenBack: price.afterRounding - record.cost });
}

function sinceReceived(description: string) {
  return z.number().describe(`Milliseconds since received_at. ${description}`);
}

export const usageSchema = z
  .object({
    request_id: requestIdField,
    at: timeShown,
    account: idField('acct'),
    key: idField('key'),
    person: idField('person').nullable().describe('The person whose key it is; null: nobody’s, and in older records.'),
    tags: z.record(z.string(), z.string()).describe('See docs/attribution.md.'),
    session: z.string().nullable().describe('The session that the client names.'),
    agent: z.string().nullable().describe('The agent in it that the client names.'),
    group: hideable('group', z.string()),
    model: z.string(),
    provider: hideable('provider', z.string().nullable()),
    upstream_model: hideable('upstream_model', z.string().nullable()),
    stream: z.boolean(),
    outcome: z.enum(outcomes),
    status: z.int(),
    error: z
      .object({ code: z.string(), message: providerText(z.string()) })
      .nullable()
      .describe(
        'The error that the client got, its message cut after 200 characters; null without one, and in older records.',
      ),
    input_tokens: countShown,
    output_tokens: countShown,
    cache_read_input_tokens: countShown,
    cache_creation_input_tokens: countShown,
    cache_creation: z.object({ ephemeral_5m_input_tokens: countShown, ephemeral_1h_input_tokens: countShown }),
    web_searches: countShown,
    endpoint: z.enum(SERVES).describe('What the request asked for.'),
    units: z
      .partialRecord(z.enum(UNITS), countShown)
      .describe('Units that it used besides tokens of text; empty for most messages.'),
    unit_costs: z
      .partialRecord(z.enum(UNITS), amountShown)
      .describe(
        'The parts of `cost` that the units have. Empty for messages from before version 39 of the database, whose units no total counts.',
      ),
    image: z.string().nullable().describe('Size and quality of the images; null: not stated, or none.'),
    usage_source: z.enum(['reported', 'estimated', 'none']),
    service_tier: z.enum(SERVICE_TIERS).nullable().describe('The tier that was billed; null if nothing was.'),
    cost: amountShown,
    written_off: amountShown,
    plan_paid: amountShown.describe('The part of the cost that the plan of the account paid.'),
    provider_cost: amountShown.nullable(),
    margin: amountShown.nullable().describe('cost − written_off − provider_cost; null if provider_cost is unknown.'),
    rates: z
      .record(z.string(), z.string())
      .describe('Without `multiplier` if it is hidden: then the rates are those after it.'),
    attempts: z.array(
      z.object({
        provider: hideable('provider', z.string()),
        model: hideable('upstream_model', z.string()),
        credential: z.string().nullable(),
        result: z.string(),
        status: z.int().nullable(),
        reason: z
          .string()
          .nullable()
          .describe(
            'The reason of the failure; null if the attempt succeeded, and for tokens that may not see provider details.',
          ),
        started_ms: sinceReceived('Start of the attempt; null in older records.').nullable(),
        ms: z.number().describe('Milliseconds until the first content, the whole answer or the failure.'),
      }),
    ),
    received_at: timeShown.nullable().describe('The time from which all milliseconds of this record are measured.'),
    admitted_ms: sinceReceived(
      'Time of the admission; null in older records, and for messages that were ended after a crash.',
    ).nullable(),
    latency_ms: sinceReceived('End of the answer.'),
    first_token_ms: sinceReceived('Time to the first content; null if the message was not streamed.').nullable(),
    meters: metersSchema.nullable().describe('Balances and limits before and after the charge; null in older records.'),
  })
  .openapi('UsageRecord');

export const receiptSchema = usageSchema
  .extend({ price: priceSchema.nullable().describe('null if the message was not priced.') })
  .openapi('UsageReceipt');

export const usageRoutes: AdminRoute[] = [
  list('/usage', 'usage-list', 'List usage records', everyone, {
    query: {
      ...searchFilters,
      since: timeField.optional().describe('Only from this time.'),
      until: lastTimeField.optional().describe('Only up to this time; a date includes its whole day, UTC.'),
      sort: z
        .enum(['at', ...usageRankings], { error: 'must be at, cost, tokens or latency' })
        .default('at')
        .describe(
          'The column to sort by. By anything but `at`, only a bounded number of the newest records is compared: see `searched_since`.',
        ),
      order: z.enum(['desc', 'asc'], { error: 'must be desc or asc' }).default('desc').describe('desc: highest first.'),
    },
    page: [usageSchema, 'Usage records, newest first by default'],
    more: {
      searched_since: timeShown
        .nullable()
        .describe('Earlier records were not compared; null if all were, and for records in the order of time.'),
    },
    async handle(call) {
      const { limit, account, key, below, since = null, until = null, sort, order } = call.query;
      const filter = filterOf(call.query);
      const asked = {
        ...(await narrowTo(call, account, key, below)),
        ...filter,
        sinceMs: since,
        untilMs: until,
        limit,
      };
      const json = (row: StoredUsageRecord) => usageJson(row, call);
      const answer = (rows: readonly StoredUsageRecord[], nextCursor: string | null, searchedSinceMs: number | null) =>
        answerRows(rows, json, nextCursor, {
          searched_since: isoTime(searchedSinceMs),
        });
      if (sort !== 'at') {
        const direction = order === 'desc' ? 'highest' : 'lowest';
        const ranking = { ...asked, by: sort, order: direction, after: rankingPlaceOf(call, sort) } as const;
        const { rows, next, searchedSinceMs } = await call.usage.rankUsage(ranking, requesterOf(call));
        return answer(rows, next && rankingCursor(call, sort, next), searchedSinceMs);
      }
      const page = { ...asked, before: after(call) };
      if (order === 'desc' && isEmptyFilter(filter)) {
        const rows = await call.usage.listUsage(page, requesterOf(call));
        const last = rows.length < limit ? undefined : rows.at(-1);
        return answer(rows, last === undefined ? null : cursorAfter(call, last.seq), null);
      }
      const search = { ...page, order: order === 'desc' ? 'newest' : 'oldest' } as const;
      const { rows, next } = await call.usage.searchUsage(search, requesterOf(call));
      return answer(rows, next === null ? null : cursorAfter(call, next), null); // with a cursor even if the page is not full
    },
  }),
  get('/usage/{request_id}', 'usage-show', 'Retrieve a usage record', everyone, {
    params: z.object({ request_id: requestIdField }),
    answer: [receiptSchema, 'The record of one message with the breakdown of its cost'],
    async handle(call) {
      const { request_id: requestId } = call.params;
      const record = await call.usage.getUsage(requestId);
      if (record === null || !(await maySeeRecord(call, record))) throw noObject('usage record of', requestId);
      return { ...usageJson(record, call), price: priceJson(record, hidesMultiplier(call)) };
    },
  }),
];

type Place = [RankingPlace['start'], RankingPlace['end'], number, number];

function rankingCursor(call: PageCall, by: string, { start, end, value, seq }: RankingPlace): string {
  return sortedCursor(call, by, [start, end, value, seq] satisfies Place);
}

function rankingPlaceOf(call: PageCall, by: string): RankingPlace | null {
  const position = sortedPosition<Place>(call, by);
  if (position === null) return null;
  const [start, end, value, seq] = position;
  return { start, end, value, seq };
}

async function maySeeRecord(call: Call, record: StoredUsageRecord): Promise<boolean> {
  if (call.principal.role !== 'member') return maySeeAccount(call, record.account);
  const key = await call.accounts.getKey(record.key);
  return key !== null && (await maySeeKey(call, key));
}

const encodeUsage = encoderOf(usageSchema);

/** Provider costs, credentials and messages of providers are visible only to operators. */
function usageJson(record: StoredUsageRecord, call: Call): z.infer<typeof usageSchema> {
  const { principal } = call;
  const isShown = seesProviderCost(principal);
  const providerCost = isShown ? record.providerCost : null;
  const { cacheWrite5mTokens, cacheWrite1hTokens, attempts, meters } = record;
  return encodeUsage({
    ...record,
    endpoint: record.endpoint ?? 'messages',
    units: record.units?.counts ?? {},
    unitCosts: record.unitCosts ?? {},
    image: record.units?.image ?? null,
    rates: hidesMultiplier(call) ? ratesWithoutMultiplier(record.rates) : record.rates,
    cacheReadInputTokens: record.cacheReadTokens,
    cacheCreationInputTokens: cacheWrite5mTokens + cacheWrite1hTokens,
    cacheCreation: {
      ephemeral5mInputTokens: cacheWrite5mTokens,
      ephemeral1hInputTokens: cacheWrite1hTokens,
    },
    serviceTier: tierOfRates(record.rates),
    providerCost,
    margin: marginOf({ ...record, providerCost }),
    attempts: attempts.map(({ credential = null, reason = null, startedMs = null, ...attempt }) => ({
      ...attempt,
      startedMs,
      credential: isShown ? credential : null,
      reason: isShown ? reason : null,
    })),
    receivedAtMs: beganAtMs(record.requestId),
    meters: meters && metersSeen(meters, record, principal),
  });
}

function hidesMultiplier(call: Call): boolean {
  return hiddenFrom(call, call.principal).things.has('multiplier');
}

/** Members see no money of the account; people and tokens below the account that paid do not see its balance. */
function metersSeen(
  meters: NonNullable<StoredUsageRecord['meters']>,
  { account, payer, above }: StoredUsageRecord,
  principal: Principal,
) {
  if (!seesBalance(principal)) return { ...meters, balance: null, allowance: null };
  if (payer === account || principal.accountId === null) return meters;
  const isAbovePayer = above.indexOf(principal.accountId) >= above.indexOf(payer);
  return isAbovePayer ? meters : { ...meters, balance: null };
}
