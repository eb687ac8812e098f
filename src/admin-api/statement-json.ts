// An account's month as it is shown: what it had, what came in, what messages took, what is left.

import { z } from '@hono/zod-openapi';
import { amountShown, countShown, dayShown, idField, timeShown } from './answers.ts';
import { entrySchema } from './entry-json.ts';

const used = {
  messages: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cache_read_input_tokens: z.int(),
  cache_creation_input_tokens: z.int(),
  cost: amountShown,
  written_off: amountShown,
};

const monthShown = z.string().openapi({ pattern: '^\\d{4}-(0[1-9]|1[0-2])$', examples: ['2026-11'] });

export const statementSchema = z
  .object({
    account: idField('acct'),
    month: monthShown,
    since: timeShown.openapi({ description: 'Its first moment.' }),
    until: timeShown.openapi({ description: 'The first moment of the next month.' }),
    is_over: z.boolean().openapi({ description: 'Else closing_balance is that of now.' }),
    opening_balance: amountShown,
    closing_balance: amountShown.openapi({
      description: 'opening_balance + credited − used + refunded + corrected, exactly.',
    }),
    credited: amountShown.openapi({
      description: 'Payments, promotions, adjustments and debts given up, with their signs.',
    }),
    used: amountShown.openapi({ description: 'What messages took as they ended.' }),
    refunded: amountShown.openapi({ description: 'Given back in this month, of messages of any month.' }),
    corrected: amountShown.openapi({
      description: 'What corrections of this month gave (above zero) or took, of messages of any month.',
    }),
    usage: z.object(used).openapi({
      description:
        'Of the messages that ended in this month, as they cost now: cost − written_off is `used` with what was refunded or corrected of them since.',
    }),
    by_day: z.array(z.object({ day: dayShown, ...used })).openapi({ description: 'The first day first.' }),
    by_model: z.array(z.object({ model: z.string(), ...used })).openapi({ description: 'Those that cost most.' }),
    models: countShown.openapi({ description: 'How many there are; by_model has the first of them.' }),
    by_key: z.array(z.object({ key: idField('key'), ...used })).openapi({ description: 'Those that cost most.' }),
    keys: countShown.openapi({ description: 'How many there are; by_key has the first of them.' }),
    entries: z.array(entrySchema).openapi({
      description: 'Beside what messages took as they ended: credits, refunds, corrections, the newest first.',
    }),
    has_more_entries: z.boolean().openapi({ description: 'entry-list has them all, with kind=beside_usage.' }),
  })
  .openapi('Statement');
