// The members that requests are made of, as schemas: amounts, times, names, limits, patterns.
// Each says in words what it takes, because the words are what the caller reads.

import { z } from '@hono/zod-openapi';
import { parseRange } from '../base/address-range.ts';
import { isExactOrigin } from '../base/exact-origin.ts';
import { formatUsd, NANO_MAX, type Nano, parseDecimal } from '../base/money.ts';
import { bounds } from '../config.ts';

const AMOUNT_WORDS = 'must be an amount in USD as a decimal string with at most 9 fraction digits, such as "10.00"';
const TIME_WORDS = 'must be a time in ISO 8601, such as "2027-01-31T00:00:00Z"';
const TIME_SHAPE = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

/** An amount in whole nanodollars, at least `least`. */
export function amountField(least: Nano) {
  return z
    .string({ error: AMOUNT_WORDS })
    .transform((text, context): Nano => {
      const units = parseDecimal(text, 9);
      const fault = units === null ? AMOUNT_WORDS : faultOfUnits(units, least);
      if (fault === null) return Number(units);
      context.addIssue({ code: 'custom', message: fault });
      return z.NEVER;
    })
    .openapi({ example: '10.00' });
}

function faultOfUnits(units: bigint, least: Nano): string | null {
  if (units > BigInt(NANO_MAX) || units < BigInt(-NANO_MAX))
    return `must not be beyond ${formatUsd(NANO_MAX)}, the most that an account can hold`;
  if (units < BigInt(least)) return least === 0 ? 'must not be negative' : `must be at least ${formatUsd(least)}`;
  return null;
}

/** A point in time in milliseconds. A date alone is its midnight, UTC. */
export const timeField = z
  .string({ error: TIME_WORDS })
  .transform((text, context): number => {
    if (TIME_SHAPE.safeParse(text).success) return Date.parse(text);
    context.addIssue({ code: 'custom', message: TIME_WORDS });
    return z.NEVER;
  })
  .openapi({ format: 'date-time' });

const DURATION_WORDS = 'must be a number with its unit, such as "24h": s, m, h or d, at most 30d';
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A length of time in milliseconds. */
export const durationField = z
  .string({ error: DURATION_WORDS })
  .transform((text, context): number => {
    const match = /^(\d{1,9})([smhd])$/.exec(text);
    const ms = Number(match?.[1]) * UNIT_MS[(match?.[2] ?? 's') as keyof typeof UNIT_MS];
    if (match !== null && ms <= bounds.keyGraceMsMax) return ms;
    context.addIssue({ code: 'custom', message: DURATION_WORDS });
    return z.NEVER;
  })
  .openapi({ example: '24h' });

export const nameField = z
  .string({ error: 'must be a text' })
  .trim()
  .min(1, 'must not be empty')
  .max(bounds.nameCharactersMax, `must have at most ${bounds.nameCharactersMax} characters`)
  .refine((text) => !/\p{Cc}/u.test(text), 'must not have control characters');

/** The id of an account. Whether there is one is found out where it is used. */
export const accountField = z.string({ error: 'must be the id of an account, "acct_…"' });

/** A remark or a reference: kept as it is given. */
export const noteField = z
  .string({ error: 'must be a text' })
  .min(1, 'must not be empty')
  .max(bounds.noteCharactersMax, `must have at most ${bounds.noteCharactersMax} characters`);

export const periodField = z.enum(['total', 'day', 'week', 'month'], {
  error: 'must be total, day, week or month',
});

/** A limit a minute or at once; null is no limit. */
export const limitField = z
  .int({ error: 'must be a whole number, or null for no limit' })
  .min(1, 'must be at least 1; null is no limit')
  .max(bounds.rateLimitMax, `must be at most ${bounds.rateLimitMax}`)
  .nullable();

export const groupsField = listField(z.string({ error: 'must be the name of a group' }));

/** Patterns of model names: `*` stands for any run of characters, nothing else is special. */
export const patternsField = listField(
  z
    .string({ error: 'must be a pattern of model names' })
    .max(bounds.modelNameCharactersMax, `must have at most ${bounds.modelNameCharactersMax} characters`)
    .regex(/^[^\s?[\]{}|^$\\,]+$/, 'must be a model name in which only * stands for other characters'),
);

export const originsField = listField(
  z
    .string({ error: 'must be an origin' })
    .refine(
      isExactOrigin,
      'must be an exact origin as a browser sends it, such as "https://app.example.com" or "http://localhost:3000"',
    ),
);

export const addressesField = listField(
  z
    .string({ error: 'must be an address range' })
    .refine(
      (text) => parseRange(text) !== null,
      'must be an address or a CIDR range, such as "203.0.113.0/24" or "2001:db8::/32"',
    ),
);

/** A list of different texts, at least one. */
function listField(member: z.ZodType<string, string>) {
  return z
    .array(member, { error: 'must be a list' })
    .min(1, 'must not be an empty list')
    .max(bounds.listMembersMax, `must have at most ${bounds.listMembersMax} members`)
    .refine((members) => new Set(members).size === members.length, 'must not name the same twice');
}
