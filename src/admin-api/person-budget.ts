// Budgets of people as members of bodies and answers: the most that a person may use in each window, and whether it stops them.

import { z } from '@hono/zod-openapi';
import type { PersonBudgetTerms } from '../accounts/accounts.ts';
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
