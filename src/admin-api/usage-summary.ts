// The sums of a list of usage records: in total, over time and by model, key, account or day.

import { z } from '@hono/zod-openapi';
import { DAY_MS } from '../base/clock.ts';
import { recordGroupings, type UsageFilter } from '../reports/reports.ts';
import { everyone } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { amountShown, countShown, lastTimeField, timeField, timeShown } from './fields.ts';
import { pageQuery, requesterOf } from './pages.ts';
import { type AdminRoute, type Call, get } from './route.ts';
import { filterOf, isEmptyFilter, searchFilters } from './usage-filters.ts';
import { narrowTo, tagNameField, tagNameFor, totalOf, totalSchema } from './usage-totals.ts';

export const summarySchema = z
  .object({
    is_of_days: z
      .boolean()
      .describe(
        'Whether the figures come from the daily totals, which do not count the messages that were not completed.',
      ),
    counted_since: timeShown
      .nullable()
      .describe(
        'Earlier records are not counted, because there are too many, or they are no longer stored; null if all that match are counted.',
      ),
    known_since: timeShown.describe(
      'All messages since this time are known: the creation of the account or the key, or the first day with messages if it is earlier. Without an account and a key, the creation of the first account.',
    ),
    total: totalSchema,
    failed: countShown
      .nullable()
      .describe('Number of the messages that were not completed; null if it is not counted.'),
    step_seconds: countShown.describe('Length of a bucket.'),
    buckets: z
      .array(z.object({ at: timeShown, messages: countShown, failed: countShown.nullable(), cost: amountShown }))
      .describe(
        'All buckets since `since` or `counted_since`, oldest first; without `since`, from the first bucket with messages to the last. Their sum is `total`. Empty without messages, and if `is_of_days` and grouped by anything but the day.',
      ),
    data: z
      .array(totalSchema)
      .describe('The latest days, or the other groups with the highest cost; empty without `group_by`.'),
    groups: countShown.describe('Total number of groups; `data` has at most `limit` of them.'),
  })
  .openapi('UsageSummary');

const encodeSummary = encoderOf(summarySchema);

/** Shorter periods are counted from records: to the millisecond, and with the failed messages. */
const EXACT_MS = 2 * DAY_MS;

export const summaryRoutes: AdminRoute[] = [
  get('/usage/summary', 'usage-summarize', 'Retrieve the sums of usage records', everyone, {
    query: {
      ...searchFilters,
      limit: pageQuery.limit,
      since: timeField.optional(),
      until: lastTimeField.optional().describe('The last time to include; a date includes its whole day, UTC.'),
      group_by: z
        .enum(recordGroupings, { error: `must be ${recordGroupings.join(' or ')}` })
        .optional()
        .describe('By session and by agent, records are counted, and no daily totals.'),
      tag_name: tagNameField,
    },
    answer: [summarySchema, 'The sums of the records that match'],
    async handle(call) {
      const { principal, query } = call;
      const { limit, account, key, below, since: sinceMs = 0, until: untilMs = call.clock.nowMs() } = query;
      const groupBy = query.group_by ?? null;
      const filter = filterOf(query);
      const isOfRecords = groupBy === 'session' || groupBy === 'agent' || untilMs - sinceMs <= EXACT_MS;
      const isOfDays = !isOfRecords && filter.outcome === null && hasDailyTotals(filter);
      const narrowed = await narrowTo(call, account, key, below);
      const tagName = tagNameFor(query.tag_name, groupBy === null ? [] : [groupBy]);
      const nowMs = call.clock.nowMs();
      // Nothing is later than now: the totals of the whole day are those until now.
      const lastMs = Math.min(untilMs, nowMs);
      const lastDayMs = lastMs < nowMs ? lastMs : nowMs - (nowMs % DAY_MS) + DAY_MS - 1;
      const times = { sinceMs, untilMs: isOfDays ? lastDayMs : lastMs };
      const question = { ...narrowed, ...filter, ...times, groupBy, tagName, isOfDays, limit };
      const summary = await call.usage.summarizeUsage(question, requesterOf(call));
      return encodeSummary({
        ...summary,
        isOfDays,
        countedSinceMs: summary.countedSinceMs === 0 ? null : summary.countedSinceMs,
        knownSinceMs: Math.min(await createdAt(call, narrowed), summary.firstDayMs ?? nowMs),
        total: totalOf(summary.whole, principal),
        stepSeconds: summary.stepMs / 1000,
        data: summary.rows.map((row) => totalOf(row, principal)),
      });
    },
  }),
];

/** When the key, the account or the first of all accounts was created. */
async function createdAt(
  call: Call,
  { account, key }: { account: number | null; key: number | null },
): Promise<number> {
  const found = key === null ? null : await call.accounts.getKey(key);
  const owner = account ?? FIRST_ACCOUNT;
  return found?.createdAtMs ?? (await call.accounts.getAccount(owner))?.createdAtMs ?? call.clock.nowMs();
}

const FIRST_ACCOUNT = 1;

function hasDailyTotals(filter: UsageFilter): boolean {
  return isEmptyFilter({ ...filter, model: null });
}
