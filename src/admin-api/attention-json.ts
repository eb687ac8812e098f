// What needs somebody, in figures: the words are the client's.

import { z } from '@hono/zod-openapi';
import { amountShown, countShown, idField, timeShown } from './answers.ts';

export const attentionKinds = [
  'balance_low',
  'provider_failing',
  'written_off',
  'key_quota_low',
  'account_disabled',
] as const;

export const attentionSchema = z
  .object({
    kind: z.enum(attentionKinds).openapi({
      description:
        'balance_low: an account that will be without money soon, or is. provider_failing: its last attempts failed, or routes to it are not asked. written_off: what an account used and had no money for. key_quota_low: a key that has used most of its quota. account_disabled: one that used something of late.',
    }),
    severity: z.enum(['warning', 'critical']),
    account: idField('acct').nullable(),
    account_name: z.string().nullable(),
    key: idField('key').nullable(),
    key_name: z.string().nullable(),
    provider: z.string().nullable(),
    balance: amountShown.nullable(),
    available: amountShown.nullable().openapi({ description: 'With the credit line, less what is held.' }),
    cost: amountShown.nullable().openapi({ description: 'Since `since`.' }),
    cost_per_day: amountShown.nullable(),
    days_left: z.number().min(0).nullable().openapi({ description: 'At that pace.' }),
    written_off: amountShown.nullable().openapi({ description: 'Since `since`.' }),
    quota: amountShown.nullable(),
    quota_used: amountShown.nullable(),
    failures: countShown.nullable().openapi({ description: 'The most in a row of one of its routes.' }),
    share: z.number().min(0).max(1).nullable().openapi({
      description: 'Of the quota, what is used; of a provider, its routes that are not asked at present.',
    }),
  })
  .openapi('Attention');

export const attentionListSchema = z.object({
  since: timeShown.openapi({ description: 'From this day on usage was looked at.' }),
  data: z.array(attentionSchema).openapi({ description: 'What is critical first.' }),
});

export type AttentionJson = z.infer<typeof attentionSchema>;

/** One of them; what is not known of it, or is no figure of its kind, is null. */
export function attention(
  kind: AttentionJson['kind'],
  severity: AttentionJson['severity'],
  known: Partial<AttentionJson>,
): AttentionJson {
  return {
    account: null,
    account_name: null,
    key: null,
    key_name: null,
    provider: null,
    balance: null,
    available: null,
    cost: null,
    cost_per_day: null,
    days_left: null,
    written_off: null,
    quota: null,
    quota_used: null,
    failures: null,
    share: null,
    ...known,
    kind,
    severity,
  };
}
