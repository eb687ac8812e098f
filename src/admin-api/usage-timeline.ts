// Usage over time: what is asked for, and by whom it is seen. What providers charged is the installation's own to see.

import { z } from '@hono/zod-openapi';
import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config.ts';
import { stepMs, type TimelineStep, timelineSteps, type UsageBucket } from '../ledger/ledger.ts';
import { accountNumber } from './account-json.ts';
import { type AdminApp, invalidRequest } from './admin-app.ts';
import { idField, jsonAnswer } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { accountField, modelFilter, timeField } from './fields.ts';
import { findKey } from './key-json.ts';
import { accountOf, everyone, makerOf, type Principal } from './principal.ts';
import { type bucketSchema, timelineSchema } from './timeline-json.ts';
import { totalFigures } from './usage-totals.ts';

/** How long a timeline is of which that is not said. */
const USUAL_MS: Readonly<Record<TimelineStep, number>> = {
  minute: 3_600_000,
  five_minutes: DAY_MS,
  hour: 2 * DAY_MS,
  day: 30 * DAY_MS,
};

/** Of the last day that ends in a year of four digits; there is nothing after it, nor before 1970. */
const LAST_MS = Date.UTC(9999, 11, 30);

const showTimeline = defineRoute({
  operationId: 'usage-timeline',
  summary: 'Show usage over time',
  roles: everyone,
  method: 'get',
  path: '/api/v1/usage/timeline',
  request: {
    query: z.strictObject({
      step: z
        .enum(timelineSteps, { error: `must be ${timelineSteps.join(' or ')}` })
        .default('hour')
        .openapi({ description: `How long a bucket is; there are at most ${bounds.timelineBucketsMax} of them.` }),
      account: accountField.optional(),
      key: idField('key').optional(),
      model: modelFilter.optional(),
      since: timeField.optional().openapi({ description: 'From the bucket of that time on.' }),
      until: timeField.optional().openapi({ description: 'Up to the bucket of that time, with it; the present one.' }),
    }),
  },
  responses: { 200: jsonAnswer(timelineSchema, 'Usage over time') },
});

export function addUsageTimeline(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(showTimeline, async (context) => {
    const principal = context.get('principal');
    const { step, account, key, model, since, until } = context.req.valid('query');
    const span = spanOf(step, since, until ?? dependencies.clock.nowMs());
    const asked = account === undefined ? null : await accountNumber(dependencies, principal, account);
    const question = {
      step,
      account: accountOf(principal, asked),
      key: key === undefined ? null : (await findKey(dependencies, principal, key)).key.id,
      madeBy: makerOf(principal),
      model: model ?? null,
      ...span,
    };
    const { countedSinceMs, buckets } = await dependencies.usage.readTimeline(question, askingOf(context));
    const answer = {
      step,
      since: isoTime(span.sinceMs),
      until: isoTime(span.untilMs),
      counted_since: isoTime(countedSinceMs),
      data: buckets.map((bucket) => bucketJson(bucket, principal)),
    };
    return context.json(answer, 200);
  });
}

/** Whole buckets, from that of one time to that of the other. Throws invalid_request where they are too many, or none. */
function spanOf(step: TimelineStep, since: number | undefined, until: number): { sinceMs: number; untilMs: number } {
  const startOf = (atMs: number) => Math.floor(Math.min(LAST_MS, Math.max(0, atMs)) / stepMs[step]) * stepMs[step];
  const untilMs = startOf(until) + stepMs[step];
  const sinceMs = startOf(since ?? untilMs - USUAL_MS[step]);
  if (sinceMs >= untilMs) throw invalidRequest([{ path: ['since'], message: 'must not be after until' }]);
  const buckets = (untilMs - sinceMs) / stepMs[step];
  if (buckets <= bounds.timelineBucketsMax) return { sinceMs, untilMs };
  const message = `makes ${buckets} buckets of that time; there are at most ${bounds.timelineBucketsMax}`;
  throw invalidRequest([{ path: ['step'], message }]);
}

function bucketJson(bucket: UsageBucket, principal: Principal): z.infer<typeof bucketSchema> {
  return {
    at: isoTime(bucket.atMs),
    failed: bucket.failed,
    ...totalFigures(bucket.total, principal),
    first_token_ms_p50: bucket.firstTokens?.p50 ?? null,
    first_token_ms_p95: bucket.firstTokens?.p95 ?? null,
  };
}

function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
