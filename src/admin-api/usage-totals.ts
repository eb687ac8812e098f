// Usage totals by day, account, key, person, group, provider, model or tag, from the daily totals, and usage over time. Provider cost is known only
// for some messages; margins cover only those and say what they exclude.

import { z } from '@hono/zod-openapi';
import { TAG_NAME } from '../accounts/accounts.ts';
import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import {
  marginOfTotal,
  type RecordGrouping,
  stepMs,
  type TimelineQuestion,
  type TimelineStep,
  type TopGroups,
  type TopQuestion,
  timelineSteps,
  totalsGroupings,
  type UnitUses,
  type UsageBucket,
  type UsageTotal,
} from '../reports/reports.ts';
import { UNITS } from '../wire/wire.ts';
import { askedAccount } from './accounts.ts';
import { invalidMember } from './admin-app.ts';
import { accountOf, everyone, makerOf, type Principal, seesProviderCost } from './dependencies.ts';
import { encoderOf, type ValueOf } from './encode.ts';
import { amountShown, countShown, dayShown, idField, isoDay, lastTimeField, timeField, timeShown } from './fields.ts';
import { findKey } from './keys.ts';
import { pageQuery, requesterOf } from './pages.ts';
import { type AdminRoute, type Call, get } from './route.ts';
import { groupFilter, tagFilter, usageFilters } from './usage-filters.ts';
import { hideable } from './visibility.ts';

const counted = {
  input_tokens: z.int(),
  output_tokens: z.int(),
  cache_read_input_tokens: z.int(),
  cache_creation_input_tokens: z.int(),
  cost: amountShown,
  written_off: amountShown,
};

const unitUseSchema = z.object({ quantity: z.int(), cost: amountShown.describe('Their part of `cost`.') });

export const unitsShown = z
  .partialRecord(z.enum(UNITS), unitUseSchema)
  .nullable()
  .describe(
    'Units besides tokens of text; empty without any. Messages from before version 39 of the database are not counted. null if there are too many totals of units to add up.',
  );

export const used = { messages: z.int(), ...counted, units: unitsShown };

const marginShown = {
  provider_cost: amountShown
    .nullable()
    .describe('The sum over the messages whose provider_cost is known; null if there are none.'),
  margin: amountShown
    .nullable()
    .describe('cost − written_off − provider_cost of the messages whose provider_cost is known.'),
  revenue_without_margin: amountShown
    .nullable()
    .describe('cost − written_off of the messages whose provider_cost is unknown.'),
};

export const totalSchema = z
  .object({
    day: dayShown.nullable().describe('The day in UTC; null unless grouped by day.'),
    account: idField('acct').nullable(),
    key: idField('key').nullable(),
    model: z.string().nullable(),
    provider: hideable('provider', z.string().nullable()).describe(
      'null unless grouped by provider, and for what was counted before version 20 of the database.',
    ),
    group: hideable('group', z.string().nullable()).describe(
      'null unless grouped by group, and for what was counted before version 26 of the database.',
    ),
    person: idField('person').nullable(),
    tag: z.string().nullable().describe('The value of the tag; null unless grouped by it, and without the tag.'),
    session: z.string().nullable(),
    agent: z.string().nullable(),
    ...used,
    ...marginShown,
  })
  .openapi('UsageTotal');

export const bucketSchema = z
  .object({
    at: timeShown.describe('Start of the bucket.'),
    failed: countShown
      .nullable()
      .describe('Number of these messages that were not completed; null for a day where this is not counted.'),
    refused: countShown
      .nullable()
      .describe(
        'Number of requests that were refused before admission, which are not among `messages`; null where it is not counted: with `model` or `endpoint`, and more than 30 days ago.',
      ),
    messages: countShown,
    ...counted,
    units: unitsShown,
    ...marginShown,
    first_token_ms_p50: z
      .number()
      .nullable()
      .describe('Median time to the first token in a sample of the messages; null if none had a token.'),
    first_token_ms_p95: z.number().nullable(),
  })
  .openapi('UsageBucket');

export const timelineSchema = z
  .object({
    step: z.enum(timelineSteps),
    since: timeShown.describe('Start of the first bucket.'),
    until: timeShown.describe('End of the last bucket.'),
    counted_since: timeShown.describe(
      'Messages before this time are not counted, because there are too many records or they are no longer kept. Equal to `since` if everything is counted.',
    ),
    data: z.array(bucketSchema).describe('All buckets, oldest first.'),
  })
  .openapi('UsageTimeline');

/** Default length of a timeline. */
const USUAL_MS: Readonly<Record<TimelineStep, number>> = {
  minute: 3_600_000,
  five_minutes: DAY_MS,
  hour: 2 * DAY_MS,
  day: 30 * DAY_MS,
};

/** The last day that ends in a four-digit year. */
const LAST_MS = Date.UTC(9999, 11, 30);

/** Filters of totals, whatever their grouping. */
const totalsNarrowing = {
  limit: pageQuery.limit,
  ...usageFilters,
  since: timeField.optional().describe('The first time to include.'),
  until: lastTimeField.optional().describe('The last time to include; a date includes its whole day, UTC.'),
};

export const groupingField = z.enum(totalsGroupings, { error: `must be ${totalsGroupings.join(' or ')}` });
const TAG_NAME_WORDS = 'must be the name of a tag';
export const tagNameField = z
  .string({ error: TAG_NAME_WORDS })
  .regex(new RegExp(TAG_NAME.source, 'i'), TAG_NAME_WORDS)
  .transform((name) => name.toLowerCase())
  .openapi({ type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,31}$' })
  .optional()
  .describe('The name of the tag to group by.');

/** The name of the tag that one of the groupings needs. Throws invalid_request. */
export function tagNameFor(name: string | undefined, groupings: readonly RecordGrouping[]): string | null {
  if (!groupings.includes('tag')) return null;
  if (name === undefined) throw invalidMember('tag_name', 'is required to group by tag');
  return name;
}

const groupsSchema = z.object({
  data: z.array(totalSchema).describe('At most `limit` groups, highest cost first.'),
  groups: countShown.describe('Total number of groups.'),
});
const COUNTED_SINCE =
  'Earlier messages are not counted: the period starts or ends within a day, or `endpoint` is given, and there are too many records, or they are no longer stored. null if all are counted.';
export const topSchema = z
  .object({
    models: groupsSchema,
    keys: groupsSchema,
    accounts: groupsSchema,
    total: totalSchema.describe('The total of all groups, including those not listed.'),
    counted_since: timeShown.nullable().describe(COUNTED_SINCE),
  })
  .openapi('UsageTop');

const totalsSchema = z.object({
  data: z.array(totalSchema).describe('The latest days, or the other groups with the highest cost.'),
  groups: countShown.describe('Total number of groups; `data` has at most `limit` of them.'),
  total: totalSchema.describe('The total of all groups, including those not listed.'),
  counted_since: timeShown.nullable().describe(COUNTED_SINCE),
});

const encodeTimeline = encoderOf(timelineSchema);
const encodeTop = encoderOf(topSchema);
const encodeTotals = encoderOf(totalsSchema);

export const totalRoutes: AdminRoute[] = [
  get('/usage/timeline', 'usage-timeline', 'Retrieve usage over time', everyone, {
    query: {
      step: z
        .enum(timelineSteps, { error: `must be ${timelineSteps.join(' or ')}` })
        .default('hour')
        .describe(`Length of a bucket; at most ${bounds.timelineBucketsMax} buckets.`),
      ...usageFilters,
      since: timeField.optional().describe('The first time to count. The first bucket is the one that includes it.'),
      until: lastTimeField
        .optional()
        .describe(
          'The last time to count; a date includes its whole day, UTC. The last bucket is the one that includes it; by default the current one.',
        ),
    },
    answer: [timelineSchema, 'Usage over time'],
    async handle(call) {
      const { principal, query } = call;
      const { step, account, key, below, model = null, endpoint = null, since, until } = query;
      const nowMs = call.clock.nowMs();
      const span = spanOf(step, since, until ?? nowMs);
      const counted = {
        ...(since !== undefined && since > span.sinceMs && { firstMs: since }),
        ...(until !== undefined && until < Math.min(nowMs, span.untilMs) && { lastMs: until }),
      };
      const narrowed = await narrowTo(call, account, key, below);
      const question = { step, ...narrowed, model, endpoint, ...span, ...counted };
      const { countedSinceMs, buckets } = await call.usage.readTimeline(question, requesterOf(call));
      const refusedAt = await countRefused(call, question);
      return encodeTimeline({
        step,
        ...span,
        countedSinceMs,
        data: buckets.map((bucket) => ({ ...bucketOf(bucket, principal), refused: refusedAt(bucket.atMs) })),
      });
    },
  }),
  get('/usage/top', 'usage-top', 'List the models, keys and accounts with the highest cost', everyone, {
    query: totalsNarrowing,
    answer: [topSchema, 'The models, keys and accounts with the highest cost'],
    async handle(call) {
      const { principal, usage, query } = call;
      const question = await narrowTotals(call, query);
      const { models, keys, accounts, whole, countedSinceMs } = await usage.topUsage(question, requesterOf(call));
      const shown = ({ rows, groups }: TopGroups) => ({ data: rows.map((row) => totalOf(row, principal)), groups });
      const lists = { models: shown(models), keys: shown(keys), accounts: shown(accounts) };
      return encodeTop({ ...lists, total: totalOf(whole, principal), countedSinceMs: countedSinceMs || null });
    },
  }),
  get('/usage/totals', 'usage-total', 'Retrieve usage totals', everyone, {
    query: {
      ...totalsNarrowing,
      group_by: groupingField.default('day'),
      then_by: groupingField.optional().describe('Divides each group.'),
      tag_name: tagNameField,
      tag: tagFilter.optional(),
      group: groupFilter.optional(),
    },
    answer: [totalsSchema, 'Usage totals'],
    async handle(call) {
      const { principal, usage, query } = call;
      const { group_by: groupBy, then_by, tag = null, group = null } = query;
      const thenBy = then_by === undefined ? [] : [then_by];
      const tagName = tagNameFor(query.tag_name, [groupBy, ...thenBy]);
      const question = { ...(await narrowTotals(call, query)), groupBy, thenBy, tagName, tag, group };
      const { rows, groups, whole, countedSinceMs } = await usage.totalUsage(question, requesterOf(call));
      const data = rows.map((row) => totalOf(row, principal));
      return encodeTotals({ data, groups, total: totalOf(whole, principal), countedSinceMs: countedSinceMs || null });
    },
  }),
];

/** Restricts a query to an account, a key and what the principal may see. Throws object_not_found. */
export async function narrowTo(
  call: Call,
  account: string | undefined,
  key: string | undefined,
  below: 'true' | 'false' = 'false',
) {
  const found = key === undefined ? null : (await findKey(call, key)).key;
  const asked = (await askedAccount(call, account)) ?? found?.accountId ?? null;
  return {
    account: accountOf(call.principal, asked),
    below: below === 'true' && call.principal.role !== 'member',
    key: found?.id ?? null,
    madeBy: makerOf(call.principal),
  };
}

type TotalsQuery = z.output<z.ZodObject<typeof totalsNarrowing>>;

async function narrowTotals(call: Call, query: TotalsQuery): Promise<TopQuestion> {
  const { limit, account, key, below, model = null, endpoint = null, since = null, until = null } = query;
  // Nothing is later than now: the totals of the whole day are those until now.
  const untilMs = until === null || until >= call.clock.nowMs() ? null : until;
  const narrowed = await narrowTo(call, account, key, below);
  return { ...narrowed, model, endpoint, sinceMs: since, untilMs, isExact: true, limit };
}

/** The number of refused requests of each bucket; null before they are kept, and where it is not counted. */
async function countRefused(
  call: Call,
  { step, model, endpoint = null, sinceMs, untilMs, ...narrowed }: TimelineQuestion,
): Promise<(atMs: number) => number | null> {
  if (model !== null || endpoint !== null) return () => null;
  const keptSinceMs = call.clock.nowMs() - bounds.refusalsKeptMs;
  const question = { ...narrowed, code: null, sinceMs, untilMs: untilMs - 1, groupBy: step };
  const limit = bounds.timelineBucketsMax + 1;
  const { rows } = await call.traffic.totalRefusals({ ...question, limit }, requesterOf(call));
  const counts = new Map(rows.map(({ atMs, count }) => [atMs, count]));
  return (atMs) => (atMs < keptSinceMs ? null : (counts.get(atMs) ?? 0));
}

/** Whole buckets between two times. Throws invalid_request if there are too many, or none. */
function spanOf(step: TimelineStep, since: number | undefined, until: number): { sinceMs: number; untilMs: number } {
  const startOf = (atMs: number) => Math.floor(Math.min(LAST_MS, Math.max(0, atMs)) / stepMs[step]) * stepMs[step];
  const untilMs = startOf(until) + stepMs[step];
  const sinceMs = startOf(since ?? untilMs - USUAL_MS[step]);
  if (sinceMs >= untilMs) throw invalidMember('since', 'must not be after until');
  const buckets = (untilMs - sinceMs) / stepMs[step];
  if (buckets <= bounds.timelineBucketsMax) return { sinceMs, untilMs };
  const message = `divides the period into ${buckets} buckets; at most ${bounds.timelineBucketsMax} are allowed`;
  throw invalidMember('step', message);
}

function bucketOf(
  { total, firstTokens, ...bucket }: UsageBucket,
  principal: Principal,
): Omit<ValueOf<typeof bucketSchema>, 'refused'> {
  const { p50: firstTokenMsP50 = null, p95: firstTokenMsP95 = null } = firstTokens ?? {};
  return { ...figuresOf(total, principal), ...bucket, firstTokenMsP50, firstTokenMsP95 };
}

/** Values for `totalSchema`. */
export function totalOf(total: UsageTotal, principal: Principal): ValueOf<typeof totalSchema> {
  return { ...figuresOf(total, principal), day: total.dayMs === null ? null : isoDay(total.dayMs) };
}

/** Values for `used`. */
export function usedOf(total: UsageTotal) {
  const { cacheReadTokens: cacheReadInputTokens, cacheWriteTokens: cacheCreationInputTokens, units } = total;
  return { ...total, cacheReadInputTokens, cacheCreationInputTokens, units: unitsUsed(units) };
}

/** A correction to another model leaves a total of zero. */
export function unitsUsed(units: UnitUses) {
  if (units === null) return null;
  const used = UNITS.flatMap((unit) => {
    const { [unit]: use } = units;
    return use === undefined || (use.quantity === 0 && use.cost === 0n) ? [] : [[unit, use] as const];
  });
  return Object.fromEntries(used);
}

/** The figures of a total, with the margin for those who see provider costs. */
function figuresOf(total: UsageTotal, principal: Principal) {
  const isShown = seesProviderCost(principal);
  const margin = isShown ? marginOfTotal(total) : null;
  return {
    ...usedOf(total),
    providerCost: margin === null ? null : total.providerCost,
    margin,
    revenueWithoutMargin: isShown ? total.cost - total.writtenOff - total.costedRevenue : null,
  };
}
