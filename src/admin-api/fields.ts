// The members that requests are made of, as schemas: amounts, times, names, limits, patterns.
// Each says in words what it takes, because the words are what the caller reads.

import { z } from '@hono/zod-openapi';
import { parseRange } from '../base/address-range.ts';
import { isExactOrigin } from '../base/exact-origin.ts';
import { formatUsd, NANO_MAX, type Nano, parseDecimal } from '../base/money.ts';
import { bounds } from '../config.ts';
import { idField } from './answers.ts';

const AMOUNT_WORDS = 'must be an amount in USD as a decimal string with at most 9 fraction digits, such as "10.00"';
const AMOUNT = /^-?(0|[1-9]\d*)(\.\d{1,9})?$/;
/** What of those can be within NANO_MAX. */
const AMOUNT_DOCUMENTED = '(0|[1-9]\\d{0,6})(\\.\\d{1,9})?$';
const TIME_WORDS = 'must be a time in ISO 8601, such as "2027-01-31T00:00:00Z"';
const TIME_SHAPE = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);
const TIME_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999); // beyond, a year has five digits

// Classes of characters, written out: what `\s` and `\p{Cc}` stand for differs between languages, and the
// document is read in many.
const WHITE = ' \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff';
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';
const CONTROL_IN_TEXT = '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f';

/** An amount in whole nanodollars, at least `least`. */
export function amountField(least: Nano) {
  return z
    .string({ error: AMOUNT_WORDS })
    .transform((text, context): Nano => {
      const units = AMOUNT.test(text) ? parseDecimal(text, 9) : null;
      const fault = units === null ? AMOUNT_WORDS : faultOfUnits(units, least);
      if (fault === null) return Number(units);
      context.addIssue({ code: 'custom', message: fault });
      return z.NEVER;
    })
    .openapi({ pattern: `^${least < 0 ? '-?' : ''}${AMOUNT_DOCUMENTED}`, examples: ['10.00'] });
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
    const written = text.toUpperCase();
    const ms = TIME_SHAPE.safeParse(written).success ? Date.parse(written) : Number.NaN;
    if (ms <= TIME_MS_MAX) return ms;
    context.addIssue({ code: 'custom', message: TIME_WORDS });
    return z.NEVER;
  })
  .openapi({ anyOf: [{ format: 'date-time' }, { format: 'date' }], examples: ['2027-01-31T00:00:00Z'] });

const DURATION_WORDS = 'must be a number with its unit, such as "24h": s, m, h or d, at most 30d';
const DURATION = /^(\d{1,7}s|\d{1,5}m|\d{1,3}h|\d{1,2}d)$/;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A length of time in milliseconds. */
export const durationField = z
  .string({ error: DURATION_WORDS })
  .transform((text, context): number => {
    const match = DURATION.exec(text);
    const ms = Number.parseInt(text, 10) * UNIT_MS[text.slice(-1) as keyof typeof UNIT_MS];
    if (match !== null && ms <= bounds.keyGraceMsMax) return ms;
    context.addIssue({ code: 'custom', message: DURATION_WORDS });
    return z.NEVER;
  })
  .openapi({ pattern: DURATION.source, examples: ['24h'] });

/** A text of at most so many characters, counted as the document's readers count them, in which each fits the pattern. */
function textField(charactersMax: number, pattern: RegExp, words: string) {
  return z
    .string({ error: 'must be a text' })
    .min(1, 'must not be empty')
    .refine((text) => [...text].length <= charactersMax, `must have at most ${charactersMax} characters`)
    .refine((text) => text.isWellFormed(), 'must be valid Unicode')
    .regex(pattern, words)
    .openapi({ maxLength: charactersMax });
}

export const nameField = textField(
  bounds.nameCharactersMax,
  new RegExp(`^[^${CONTROL}]*[^${WHITE}${CONTROL}][^${CONTROL}]*$`),
  'must not have control characters, nor be blank',
).trim();

const EMAIL_WORDS = 'must be an e-mail address, such as "ada@example.com"';
/** Each part is bounded, or of characters that what comes next is not of: it is looked at once. */
const EMAIL = /^[A-Za-z0-9_'+-]+(\.[A-Za-z0-9_'+-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;

/** In lower case: by it people are known. */
export const emailField = z
  .string({ error: EMAIL_WORDS })
  .max(bounds.emailCharactersMax, `must have at most ${bounds.emailCharactersMax} characters`)
  .regex(EMAIL, EMAIL_WORDS)
  .transform((text) => text.toLowerCase())
  .openapi({ pattern: EMAIL.source, maxLength: bounds.emailCharactersMax, examples: ['ada@example.com'] });

/** The id of an account. Whether there is one is found out where it is used. */
export const accountField = idField('acct');

/** A remark or a reference: kept as it is given. */
export const noteField = textField(
  bounds.noteCharactersMax,
  new RegExp(`^[^${CONTROL_IN_TEXT}]+$`),
  'must not have control characters',
);

export const periodField = z.enum(['total', 'day', 'week', 'month'], {
  error: 'must be total, day, week or month',
});

/** A limit a minute or at once; null is no limit. */
export const limitField = z
  .int({ error: 'must be a whole number, or null for no limit' })
  .min(1, 'must be at least 1; null is no limit')
  .max(bounds.rateLimitMax, `must be at most ${bounds.rateLimitMax}`)
  .nullable();

export const groupsField = listField(
  z.string({ error: 'must be the name of a group' }).openapi({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }),
);

/** Patterns of model names: `*` stands for any run of characters, nothing else is special. */
export const patternsField = listField(
  textField(
    bounds.modelNameCharactersMax,
    new RegExp(`^[^${WHITE}${CONTROL}?\\[\\]{}|^$\\\\,]+$`),
    'must be a model name in which only * stands for other characters',
  ),
);

/** Ids of one kind, at most as many as a page usually has. */
export function idsFilter(kind: 'acct' | 'key') {
  const id = `${kind}_[0-9A-Za-z]{9}`;
  const pattern = new RegExp(`^${id}(,${id}){0,${bounds.idsMax - 1}}$`);
  return z
    .string()
    .regex(pattern, `must be at most ${bounds.idsMax} ids, such as "${kind}_000000000,${kind}_000000001"`)
    .transform((text) => [...new Set(text.split(','))])
    .openapi({
      type: 'string',
      pattern: pattern.source,
      description: 'Those alone, as far as the caller sees them, in one page whatever `limit` is; not with `cursor`.',
    });
}

/** The exact name of a model, by which usage is narrowed. Whether there is one is not asked: it may have been sold once. */
export const modelFilter = z
  .string({ error: 'must be the name of a model' })
  .min(1, 'must not be empty')
  .max(bounds.modelNameCharactersMax, `must have at most ${bounds.modelNameCharactersMax} characters`);

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/;
const ORIGIN_WORDS =
  'must be an exact origin as a browser sends it, such as "https://app.example.com" or "http://localhost:3000"';
export const originsField = listField(
  z
    .string({ error: 'must be an origin' })
    .max(bounds.originCharactersMax, `must have at most ${bounds.originCharactersMax} characters`)
    .refine((text) => ORIGIN.test(text) && isExactOrigin(text), ORIGIN_WORDS)
    .openapi({ pattern: ORIGIN.source, examples: ['https://app.example.com'] }),
);

const V4 = '\\d{1,3}(\\.\\d{1,3}){3}(/\\d{1,2})?';
const V6 = '[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(/\\d{1,3})?';
export const addressesField = listField(
  z
    .string({ error: 'must be an address range' })
    .refine(
      (text) => parseRange(text) !== null,
      'must be an address or a CIDR range, such as "203.0.113.0/24" or "2001:db8::/32"',
    )
    .openapi({ pattern: `^(${V4}|${V6})$`, examples: ['203.0.113.0/24'] }),
);

/** A list of different texts, at least one. */
function listField(member: z.ZodType<string, string>) {
  return z
    .array(member, { error: 'must be a list' })
    .min(1, 'must not be an empty list')
    .max(bounds.listMembersMax, `must have at most ${bounds.listMembersMax} members`)
    .refine((members) => new Set(members).size === members.length, 'must not name the same twice')
    .openapi({ uniqueItems: true });
}
