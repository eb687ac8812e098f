// Budgets of people as members of bodies and answers: the most that a person may use in each window, and whether it stops them.

import { z } from '@hono/zod-openapi';
import type { PersonBudgetTerms } from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import { amountField, amountShown } from './fields.ts';

const lengths = ['5h', 'day', 'week', 'month'] as const;
const windowField = z.enum(lengths, { error: 'must be 5h, day, week or month' });

export const budgetShown = z.object({
  limits: z.array(z.object({ window: windowField, limit: amountShown })),
  stops: z.boolean().describe('Whether a message beyond a limit is refused; otherwise only events tell of it.'),
});

export const budgetField = z.strictObject({
  limits: z
    .array(z.strictObject({ window: windowField, limit: amountField(0) }), { error: 'must be a list' })
    .min(1, 'must have a limit; null means no budget')
    .max(lengths.length, `must have at most ${lengths.length} limits`)
    .refine(
      (limits) => new Set(limits.map(({ window }) => window)).size === limits.length,
      'must have each window once',
    ),
  stops: z.boolean({ error: 'must be true or false' }).default(true),
});

/** The terms of a budget in a body. */
export function budgetTerms({ limits, stops }: z.output<typeof budgetField>): PersonBudgetTerms {
  return { limits: limits.map(({ window, limit }) => ({ length: window, limit })), stops };
}

/** Values for `budgetShown`. */
export function budgetOf({ limits, stops }: PersonBudgetTerms) {
  return { limits: limits.map(({ length, limit }) => ({ window: length, limit })), stops };
}

export const warnsAtField = z
  .array(z.int({ error: 'must be a whole number' }).min(1, 'must be at least 1').max(100, 'must be at most 100'), {
    error: 'must be a list',
  })
  .max(bounds.warnsAtMax, `must have at most ${bounds.warnsAtMax} thresholds`)
  .refine((list) => list.every((one, at) => at === 0 || one > (list[at - 1] as number)), 'must be ascending');
