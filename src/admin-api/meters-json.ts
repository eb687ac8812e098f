// What a message took from the meters of money as it ended: each before and after. Who sees no account
// sees only what was taken from the quota of the key.

import { z } from '@hono/zod-openapi';
import { formatUsd } from '../base/money.ts';
import type { SpendingReading, UsageMeters } from '../ledger/ledger.ts';
import { amountShown } from './answers.ts';
import { periodField } from './fields.ts';
import { type Principal, seesBalance } from './principal.ts';

const spendingSchema = z
  .object({ limit: amountShown, period: periodField, before: amountShown, after: amountShown })
  .openapi({ description: 'Used in the period in which the message ended; null where there was no limit.' });

export const metersSchema = z
  .object({
    balance: z
      .object({ before: amountShown, after: amountShown })
      .nullable()
      .openapi({ description: "The account's; null for a member, who does not see it." }),
    quota: spendingSchema.nullable(),
    allowance: spendingSchema.nullable(),
  })
  .openapi('Meters');

export function metersJson(meters: UsageMeters, principal: Principal): z.infer<typeof metersSchema> {
  const isShown = seesBalance(principal);
  const { before, after } = meters.balance;
  return {
    balance: isShown ? { before: formatUsd(before), after: formatUsd(after) } : null,
    quota: spendingJson(meters.quota),
    allowance: isShown ? spendingJson(meters.allowance) : null,
  };
}

function spendingJson(reading: SpendingReading | null): z.infer<typeof spendingSchema> | null {
  if (reading === null) return null;
  const { limit, period, before, after } = reading;
  return { limit: formatUsd(limit), period, before: formatUsd(before), after: formatUsd(after) };
}
