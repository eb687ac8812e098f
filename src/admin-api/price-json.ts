// How the cost of a message came about, line by line: each count at its rate, the multiplier, rounding up once, and
// what was given back since.

import { z } from '@hono/zod-openapi';
import { formatUsd } from '../base/money.ts';
import { explainPrice } from '../catalog/catalog.ts';
import type { UsageRecord } from '../ledger/ledger.ts';
import { amountShown, countShown, rateShown } from './answers.ts';

const exactShown = z
  .string()
  .openapi({ pattern: '^(0|[1-9]\\d*)(\\.\\d{1,24})?$', description: 'USD, to the last digit.' });

export const priceSchema = z
  .object({
    parts: z.array(
      z.object({
        part: z.enum(['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'web_search']),
        count: countShown.openapi({ description: 'Tokens; of web_search searches.' }),
        rate: rateShown.openapi({ description: 'USD per million tokens; of web_search per thousand searches.' }),
        amount: exactShown.openapi({ description: 'count × rate, before the multiplier.' }),
      }),
    ),
    multiplier: rateShown,
    before_rounding: exactShown.openapi({ description: 'The sum of the parts × multiplier.' }),
    after_rounding: amountShown.openapi({ description: 'Rounded up to 9 fraction digits, once.' }),
    given_back: amountShown.openapi({
      description: 'By refunds since, or as it was asked again under its idempotency key: after_rounding − cost.',
    }),
  })
  .openapi('Price');

/** Null where nothing was priced, and where the rates of the record do not make up its cost. */
export function priceJson(record: UsageRecord): z.infer<typeof priceSchema> | null {
  const price = explainPrice(record.rates, {
    input: record.inputTokens,
    output: record.outputTokens,
    cacheRead: record.cacheReadTokens,
    cacheWrite5m: record.cacheWrite5mTokens,
    cacheWrite1h: record.cacheWrite1hTokens,
    webSearches: record.webSearches,
  });
  if (price === null || price.afterRounding < record.cost) return null;
  return {
    parts: price.parts,
    multiplier: price.multiplier,
    before_rounding: price.beforeRounding,
    after_rounding: formatUsd(price.afterRounding),
    given_back: formatUsd(price.afterRounding - record.cost),
  };
}
