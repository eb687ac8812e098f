// Usage over time as the API shows it: one bucket after another, those without messages too.

import { z } from '@hono/zod-openapi';
import { timelineSteps } from '../ledger/ledger.ts';
import { amountShown, countShown, timeShown } from './answers.ts';

export const bucketSchema = z
  .object({
    at: timeShown.openapi({ description: 'When it begins.' }),
    messages: countShown,
    failed: countShown.nullable().openapi({
      description: 'Of those, the ones that were not completed. Null for a day of which that is not counted.',
    }),
    input_tokens: z.int(),
    output_tokens: z.int(),
    cache_read_input_tokens: z.int(),
    cache_creation_input_tokens: z.int(),
    cost: amountShown,
    written_off: amountShown,
    provider_cost: amountShown
      .nullable()
      .openapi({ description: 'Of the messages for which it is known; null when it is for none.' }),
    margin: amountShown
      .nullable()
      .openapi({ description: 'cost − written_off − provider_cost, of the messages whose provider_cost is known.' }),
    revenue_without_margin: amountShown
      .nullable()
      .openapi({ description: 'cost − written_off of the messages whose provider_cost is not known.' }),
    first_token_ms_p50: z.number().nullable().openapi({
      description: 'Half of a sample of its messages had their first token so soon; null where none had one.',
    }),
    first_token_ms_p95: z.number().nullable(),
  })
  .openapi('UsageBucket');

export const timelineSchema = z
  .object({
    step: z.enum(timelineSteps),
    since: timeShown.openapi({ description: 'When the first bucket begins.' }),
    until: timeShown.openapi({ description: 'When the last one ends.' }),
    counted_since: timeShown.openapi({
      description:
        'What is before it is not counted: there are too many records, or they are no longer kept. It is `since` where all is counted.',
    }),
    data: z.array(bucketSchema).openapi({ description: 'Every bucket, the earliest first.' }),
  })
  .openapi('UsageTimeline');
