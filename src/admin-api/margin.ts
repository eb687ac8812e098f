// The margin of a period and of the one before it, by what the traffic is grouped by, and why it changed. For the installation only.

import { z } from '@hono/zod-openapi';
import { nearestNumber } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { parseDecimal } from '../base/money.ts';
import type { Catalog, ModelPrice } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  averageMultiplier,
  type Comparison,
  type ComparisonQuestion,
  explainMargin,
  type MarginCell,
  type MultiplierHistory,
  marginEffects,
  marginOfTotal,
  type Rating,
  totalsGroupings,
  type UsageTotal,
  type UsageTotals,
} from '../reports/reports.ts';
import { invalidMember } from './admin-app.ts';
import { installation } from './dependencies.ts';
import { encoderOf, type ValueOf } from './encode.ts';
import { amountShown, countShown, idField, lastTimeField, timeField, timeShown } from './fields.ts';
import { pageQuery, requesterOf } from './pages.ts';
import { type AdminRoute, type Call, get } from './route.ts';
import { groupFilter, tagFilter, usageFilters } from './usage-filters.ts';
import { narrowTo, tagNameField, tagNameFor, unitsShown, unitsUsed } from './usage-totals.ts';

const marginGroupings = totalsGroupings.filter((grouping) => grouping !== 'day');

const figures = {
  messages: countShown.describe('Messages whose provider_cost is known.'),
  revenue: amountShown.describe('cost − written_off of these messages.'),
  provider_cost: amountShown,
  margin: amountShown.describe('revenue − provider_cost.'),
  margin_percent: z.number().nullable().describe('The margin as a percentage of the revenue; null without revenue.'),
  revenue_without_margin: amountShown.describe('cost − written_off of the messages whose provider_cost is unknown.'),
  units: unitsShown.describe('As in totals: of all messages, also of those whose provider_cost is unknown.'),
};
const figuresSchema = z.object(figures).openapi('MarginFigures');
type Figures = ValueOf<typeof figuresSchema>;

const names = {
  account: idField('acct').nullable(),
  key: idField('key').nullable(),
  model: z.string().nullable(),
  provider: z.string().nullable(),
  group: z.string().nullable().describe('null also for what was counted before version 26 of the database.'),
  person: idField('person').nullable(),
  tag: z.string().nullable(),
};

export const changeSchema = z
  .object({
    effect: z.enum(marginEffects).describe('See docs/admin-api.md#margin.'),
    amount: amountShown,
    parts: z
      .array(z.object({ model: names.model, group: names.group, provider: names.provider, amount: amountShown }))
      .describe(`The largest parts of the effect, at most ${bounds.marginPartsMax}.`),
  })
  .openapi('MarginChange');

export const marginGroupSchema = z.object({ ...names, ...figures, previous: figuresSchema }).openapi('MarginGroup');

export const marginSchema = z
  .object({
    since: timeShown,
    until: timeShown.describe('The last time that is included.'),
    previous_since: timeShown,
    previous_until: timeShown,
    is_previous_complete: z
      .boolean()
      .describe('Whether what is asked for existed all through the period before, and all of it is counted.'),
    counted_since: timeShown.nullable().describe('Earlier messages are not counted; null if all are.'),
    total: figuresSchema,
    previous: figuresSchema,
    changes: z
      .array(changeSchema)
      .describe('Why the margin of all groups changed, effect by effect. The amounts add up to the change.'),
    data: z.array(marginGroupSchema).describe('The groups of both periods, highest revenue first.'),
    groups: countShown.describe('Total number of groups; `data` has at most `limit` of them.'),
  })
  .openapi('Margin');
const encodeMargin = encoderOf(marginSchema);

interface Span {
  sinceMs: number;
  untilMs: number;
}

export const marginRoutes: AdminRoute[] = [
  get('/usage/margin', 'usage-margin', 'Retrieve the margin and why it changed', installation, {
    query: {
      limit: pageQuery.limit,
      ...usageFilters,
      group: groupFilter.optional(),
      tag: tagFilter.optional(),
      since: timeField.optional().describe('The first time to include; by default 30 days before the last.'),
      until: lastTimeField.optional().describe('The last time to include; a date includes its whole day, UTC.'),
      previous_since: timeField
        .optional()
        .describe('The first time of the period to compare with; by default it is as long.'),
      previous_until: lastTimeField.optional().describe('Its last time; by default the one before `since`.'),
      group_by: z.enum(marginGroupings, { error: `must be ${marginGroupings.join(' or ')}` }).default('model'),
      tag_name: tagNameField,
    },
    answer: [marginSchema, 'The margin of the period and of the one before'],
    async handle(call) {
      const { limit, account, key, below, group_by: groupBy } = call.query;
      const { model = null, endpoint = null, group = null, tag = null } = call.query;
      const tagName = tagNameFor(call.query.tag_name, [groupBy]);
      const { now, before, isUntilNow } = spansOf(call);
      const narrowed = await narrowTo(call, account, key, below);
      const {
        rows,
        groups,
        now: later,
        before: earlier,
      } = await readMargin(call, {
        ...{ ...narrowed, model, endpoint, group, tag, groupBy, tagName, limit, previous: before },
        sinceMs: now.sinceMs,
        // Nothing is later than now: the totals of the whole day are those until now.
        untilMs: isUntilNow ? null : now.untilMs,
      });
      const multipliers = await multipliersOf(call, [...later.rows, ...earlier.rows], before.sinceMs);
      const cellsOf = ({ rows }: UsageTotals, span: Span) =>
        rows
          .filter(({ costedMessages }) => costedMessages !== 0)
          .map((total) => cellOf(total, multipliers(total.group, span)));
      const changes = explainMargin(cellsOf(earlier, before), cellsOf(later, now), ratingOf(call.catalog.current()));
      return encodeMargin({
        ...now,
        previousSinceMs: before.sinceMs,
        previousUntilMs: before.untilMs,
        isPreviousComplete: earlier.countedSinceMs === 0 && (await existsSince(call, narrowed)) <= before.sinceMs,
        countedSinceMs: later.countedSinceMs || null,
        total: figuresOf(later.whole),
        previous: figuresOf(earlier.whole),
        changes: changes.map(({ parts, ...change }) => ({ ...change, parts: parts.slice(0, bounds.marginPartsMax) })),
        data: rows.map(({ total, previous }) => ({
          ...groupNames(total),
          ...figuresOf(total),
          previous: figuresOf(previous),
        })),
        groups,
      });
    },
  }),
];

type Times = 'since' | 'until' | 'previous_since' | 'previous_until';

/** Throws invalid_request. */
function spansOf({
  query,
  clock,
}: Call<unknown, { [Name in Times]?: number | undefined }>): Record<'now' | 'before', Span> & { isUntilNow: boolean } {
  const nowMs = clock.nowMs();
  const untilMs = Math.min(query.until ?? nowMs, nowMs);
  const sinceMs = query.since ?? untilMs + 1 - USUAL_MS;
  if (sinceMs >= untilMs) throw invalidMember('since', 'must be before until, and not in the future');
  const beforeEndMs = query.previous_until ?? sinceMs - 1;
  const beforeMs = query.previous_since ?? beforeEndMs - (untilMs - sinceMs);
  if (beforeEndMs >= sinceMs) throw invalidMember('previous_until', 'must be before since');
  if (beforeMs >= beforeEndMs) throw invalidMember('previous_since', 'must be before previous_until');
  const before = { sinceMs: Math.max(0, beforeMs), untilMs: Math.max(0, beforeEndMs) };
  return { now: { sinceMs, untilMs }, before, isUntilNow: untilMs === nowMs };
}

const USUAL_MS = 30 * DAY_MS;

/** Throws invalid_request if there are too many models, groups and providers. */
async function readMargin(call: Call, question: ComparisonQuestion): Promise<Comparison> {
  const found = await call.usage.compareUsage(question, requesterOf(call));
  if (Math.max(found.now.groups, found.before.groups) <= bounds.marginGroupsMax) return found;
  throw new TurnpikeError(
    'invalid_request',
    `The period has more than ${bounds.marginGroupsMax} groups: request less (since, until), one account or one model.`,
  );
}

/** When what is asked for began to exist: a key, an account, or the first account of all. */
async function existsSince(
  { accounts }: Call,
  { account, key }: { account: number | null; key: number | null },
): Promise<number> {
  if (key !== null) return (await accounts.getKey(key))?.createdAtMs ?? 0;
  const [first] =
    account === null
      ? await accounts.sortAccounts({ by: 'created', order: 'asc', after: null, limit: 1, name: null, group: null })
      : [];
  const id = account ?? first?.id;
  return id === undefined ? 0 : ((await accounts.getAccount(id))?.createdAtMs ?? 0);
}

type MultiplierIn = (group: string | null, span: Span) => number | null;

/** The multipliers of groups over time, by their changes in the audit log. */
async function multipliersOf(call: Call, totals: readonly UsageTotal[], sinceMs: number): Promise<MultiplierIn> {
  const names = [...new Set(totals.map(({ group }) => group))].filter((group) => group !== null);
  const { groups } = call.catalog.current();
  const histories = new Map<string, MultiplierHistory>();
  for (const name of names.slice(0, bounds.marginGroupHistoriesMax)) {
    const page = {
      account: null,
      actor: null,
      sinceMs,
      untilMs: null,
      before: null,
      limit: bounds.marginGroupChangesMax,
    };
    const records = await call.audit.listAudit({ ...page, object: `group ${name}` }, requesterOf(call));
    const changes = records.flatMap(({ atMs, before }) => {
      const multiplier = readMultiplier(before?.['multiplier']);
      return multiplier === null ? [] : [{ untilMs: atMs, multiplier }];
    });
    const current = groups.get(name)?.multiplierMillionths;
    histories.set(name, { changes, current: current === undefined ? null : nearestNumber(current) / MILLION });
  }
  return (group, span) => {
    const history = group === null ? undefined : histories.get(group);
    return history === undefined ? null : averageMultiplier(history, span);
  };
}

const MILLION = 1_000_000;

function readMultiplier(value: unknown): number | null {
  const millionths = typeof value === 'string' ? parseDecimal(value, 6) : null;
  return millionths === null || millionths <= 0n ? null : nearestNumber(millionths) / MILLION;
}

/** A part of the traffic of a period. Of messages whose provider cost is not known, it has none. */
function cellOf(total: UsageTotal, multiplier: number | null): MarginCell {
  const { messages, costedMessages, costedRevenue, cost, writtenOff } = total;
  const share = messages === 0 ? 0 : costedMessages / messages;
  const whole = (amount: number) => BigInt(Math.round(amount));
  const costed = share === 1 ? cost : costedRevenue + whole(nearestNumber(writtenOff) * share);
  return {
    model: total.model ?? '',
    group: total.group ?? '',
    provider: total.provider ?? '',
    messages: costedMessages,
    tokens: {
      input: total.inputTokens * share,
      cacheRead: total.cacheReadTokens * share,
      cacheWrite: total.cacheWriteTokens * share,
      output: total.outputTokens * share,
    },
    listed: multiplier === null ? null : whole(nearestNumber(costed) / multiplier),
    cost: costed,
    revenue: costedRevenue,
    providerCost: total.providerCost,
  };
}

function ratingOf({ models }: Catalog): Rating {
  const ratesOf = ({ standard: { input, cacheRead, cacheWrite5m, output } }: ModelPrice) => ({
    input: nearestNumber(input),
    cacheRead: nearestNumber(cacheRead),
    cacheWrite: nearestNumber(cacheWrite5m),
    output: nearestNumber(output),
  });
  return {
    priceOf(model) {
      const price = models.get(model)?.price;
      return price === undefined ? null : ratesOf(price);
    },
    costOf(model, provider) {
      const cost = models.get(model)?.routes.find((route) => route.provider === provider)?.cost ?? null;
      return cost === null ? null : ratesOf(cost);
    },
  };
}

function figuresOf(total: UsageTotal): Figures {
  const margin = marginOfTotal(total) ?? 0n;
  const { costedMessages: messages, costedRevenue: revenue, providerCost } = total;
  return {
    messages,
    revenue,
    providerCost,
    margin,
    marginPercent: revenue === 0n ? null : Math.round((nearestNumber(margin) / nearestNumber(revenue)) * 10_000) / 100,
    revenueWithoutMargin: total.cost - total.writtenOff - revenue,
    units: unitsUsed(total.units),
  };
}

function groupNames({ account, key, model, provider, group, person, tag }: UsageTotal) {
  return { account, key, model, provider, group, person, tag };
}
