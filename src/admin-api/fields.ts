// Schemas of members. Of requests: amounts, times, names, limits, patterns, with messages that clients read. Of
// responses: ids, amounts, times, with their formats for the OpenAPI document.

import { z } from '@hono/zod-openapi';
import { isTagValue, TAG_NAME } from '../accounts/accounts.ts';
import { isExactOrigin, parseRange } from '../base/addresses.ts';
import { exactNumber, parseTimeMs, parseWholeNumber } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { formatId, type IdKind } from '../base/ids.ts';
import { formatUsd, NANO_MAX, type Nano, parseDecimal } from '../base/money.ts';
import type { Group } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { encoded } from './encode.ts';

export function idField(kind: IdKind) {
  return encoded(idText(kind), (id: number) => formatId(kind, id));
}

function idText(kind: IdKind) {
  return z.string().openapi({ pattern: `^${kind}_[0-9A-Za-z]{9}$` });
}

/** The account of an object, its `accountId`. */
export const accountShown = encoded(idText('acct'), (id: number) => formatId('acct', id), 'Id');

/** The person of an object, its `personId`. */
export const personShown = encoded(idText('person'), (id: number) => formatId('person', id), 'Id');

export const requestIdField = z.string().openapi({ pattern: '^req_[0-9A-Za-z]{25}$' });
export const amountShown = encoded(
  z.string().openapi({
    pattern: '^-?(0|[1-9]\\d*)(\\.\\d{2,9})?$',
    description: 'USD, as a decimal string.',
    examples: ['9.99'],
  }),
  (amount: Nano | bigint) => formatUsd(amount),
);
/** A rate of a price or cost, which the code has as a text, too. */
export function rateText() {
  return z.string().openapi({ pattern: '^-?(0|[1-9]\\d*)(\\.\\d{1,18})?$', examples: ['3.75'] });
}

export const rateShown = rateText();
export const countShown = z.int().min(0);

export function timeText() {
  return z.string().openapi({ format: 'date-time', description: 'UTC.' });
}

export const timeShown = encoded(timeText(), (atMs: number) => isoTime(atMs), 'Ms');
export const dayShown = z.string().openapi({ format: 'date', examples: ['2026-07-24'] });
/** The actor of a change. */
export const actorShown = z.string().openapi({
  description:
    '"tok_…", "person_…", "local" for the local operator of the machine, "start" for the service itself, "stripe" for what Stripe reported, "anyone" for a refused webhook request, "recipient" for who used the link of a mail, or "directory" for what follows from the groups of a person at an issuer.',
  examples: ['local'],
});

const AMOUNT_WORDS = 'must be an amount in USD as a decimal string with at most 9 fraction digits, such as "10.00"';
const AMOUNT = /^-?(0|[1-9]\d*)(\.\d{1,9})?$/;
/** The part of them within NANO_MAX. */
const AMOUNT_DOCUMENTED = '(0|[1-9]\\d{0,6})(\\.\\d{1,9})?$';
const TIME_WORDS = 'must be a time in ISO 8601, such as "2027-01-31T00:00:00Z"';
const TIME_SHAPE = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);
const TIME_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999); // later years have five digits

// Character classes written out, because `\s` and `\p{Cc}` differ between languages that read the document.
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
      if (units !== null && fault === null) return exactNumber(units);
      context.addIssue({ code: 'custom', message: fault ?? AMOUNT_WORDS });
      return z.NEVER;
    })
    .openapi({ pattern: `^${least < 0 ? '-?' : ''}${AMOUNT_DOCUMENTED}`, examples: ['10.00'] });
}

function faultOfUnits(units: bigint, least: Nano): string | null {
  if (units > BigInt(NANO_MAX) || units < BigInt(-NANO_MAX))
    return `must be at most ${formatUsd(NANO_MAX)}, the largest possible amount`;
  if (units < BigInt(least)) return least === 0 ? 'must not be negative' : `must be at least ${formatUsd(least)}`;
  return null;
}

/** A text that `parse` turns into a number. */
function parsedField(words: string, parse: (text: string) => number | null) {
  return z.string({ error: words }).transform((text, context): number => {
    const parsed = parse(text);
    if (parsed !== null) return parsed;
    context.addIssue({ code: 'custom', message: words });
    return z.NEVER;
  });
}

const timeShape = { anyOf: [{ format: 'date-time' }, { format: 'date' }], examples: ['2027-01-31T00:00:00Z'] };

/** A time in milliseconds. A date alone is its midnight, UTC. */
export const timeField = parsedField(TIME_WORDS, readTime).openapi(timeShape);
/** The range of a list. */
export const rangeFields = {
  since: timeField.optional().describe('Only from this time.'),
  until: timeField.optional().describe('Only up to this time.'),
};

/** The last time to include, in milliseconds. A date alone is the end of that day, UTC. */
export const lastTimeField = parsedField(TIME_WORDS, (text) => {
  const ms = readTime(text);
  return ms === null || !z.iso.date().safeParse(text).success ? ms : ms + DAY_MS - 1;
}).openapi(timeShape);

function readTime(text: string): number | null {
  const written = text.toUpperCase();
  const ms = TIME_SHAPE.safeParse(written).success ? parseTimeMs(written) : null;
  return ms !== null && ms <= TIME_MS_MAX ? ms : null;
}

const DURATION_WORDS = 'must be a number with its unit, such as "24h": s, m, h or d, at most 30d';
const DURATION = /^(\d{1,7}s|\d{1,5}m|\d{1,3}h|\d{1,2}d)$/;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration in milliseconds. */
export const durationField = parsedField(DURATION_WORDS, (text) => {
  const count = DURATION.test(text) ? parseWholeNumber(text.slice(0, -1)) : null;
  const ms = (count ?? 0) * UNIT_MS[text.slice(-1) as keyof typeof UNIT_MS];
  return count !== null && ms <= bounds.keyGraceMsMax ? ms : null;
}).openapi({ pattern: DURATION.source, examples: ['24h'] });

/** A text with a maximum length in code points, in which each matches the pattern. */
function textField(charactersMax: number, pattern: RegExp, words: string) {
  return z
    .string({ error: 'must be a string' })
    .min(1, 'must not be empty')
    .refine((text) => [...text].length <= charactersMax, `must have at most ${charactersMax} characters`)
    .refine((text) => text.isWellFormed(), 'must be valid Unicode')
    .regex(pattern, words)
    .openapi({ maxLength: charactersMax });
}

export const nameField = textField(
  bounds.nameCharactersMax,
  new RegExp(`^[^${CONTROL}]*[^${WHITE}${CONTROL}][^${CONTROL}]*$`),
  'must not be blank or contain control characters',
).trim();

/** A search of a list. */
export function searchField(of: string) {
  return nameField.optional().describe(`A part of ${of}; case-insensitive.`);
}

/** A search of a list whose rows have no order to continue in. */
export function searchInOnePage(of: string) {
  return nameField.optional().describe(`A part of ${of}; case-insensitive. One page is returned, of the newest.`);
}

const EMAIL_WORDS = 'must be an email address, such as "ada@example.com"';
/** Each part is bounded or cannot overlap with the next, so that matching is linear. */
const EMAIL = /^[A-Za-z0-9_'+-]+(\.[A-Za-z0-9_'+-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;

/** In lower case: identifies a person. */
export const emailField = z
  .string({ error: EMAIL_WORDS })
  .max(bounds.emailCharactersMax, `must have at most ${bounds.emailCharactersMax} characters`)
  .regex(EMAIL, EMAIL_WORDS)
  .transform((text) => text.toLowerCase())
  .openapi({ pattern: EMAIL.source, maxLength: bounds.emailCharactersMax, examples: ['ada@example.com'] });

/** The id of an account. Its existence is checked where it is used. */
export const accountField = idField('acct');

/** A note or reference, stored as given. */
export const noteField = textField(
  bounds.noteCharactersMax,
  new RegExp(`^[^${CONTROL_IN_TEXT}]+$`),
  'must not contain control characters',
);

export const periodField = z.enum(['total', 'day', 'week', 'month'], {
  error: 'must be total, day, week or month',
});

/** A rate or concurrency limit; null: no limit. */
export const limitField = z
  .int({ error: 'must be a whole number, or null for no limit' })
  .min(1, 'must be at least 1; null means no limit')
  .max(bounds.rateLimitMax, `must be at most ${bounds.rateLimitMax}`)
  .nullable();

export const groupsField = listField(
  z.string({ error: 'must be the name of a group' }).openapi({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }),
);

/** Patterns of model names: `*` matches any run of characters. */
export const patternsField = listField(
  textField(
    bounds.modelNameCharactersMax,
    new RegExp(`^[^${WHITE}${CONTROL}?\\[\\]{}|^$\\\\,]+$`),
    'must be a model name; * matches any characters',
  ),
);

/** Ids of one kind, at most a default page of them. */
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
      description:
        'Only the objects with these IDs that the token may see, in one page regardless of `limit`. Cannot be combined with `cursor`.',
    });
}

/** The exact name of a model as a usage filter. Need not exist: it may have been removed. */
export const modelFilter = z
  .string({ error: 'must be the name of a model' })
  .min(1, 'must not be empty')
  .max(bounds.modelNameCharactersMax, `must have at most ${bounds.modelNameCharactersMax} characters`);

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/;
const ORIGIN_WORDS =
  'must be an origin in the form that browsers send, such as "https://app.example.com" or "http://localhost:3000"';
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

export const tagsShown = z.record(z.string(), z.string()).describe('Tags, see docs/attribution.md.');

const TAG_NAME_WORDS = 'must be the name of a tag: a-z, then a-z, 0-9, "_" and "-"';
const tagName = z.string({ error: TAG_NAME_WORDS }).regex(TAG_NAME, TAG_NAME_WORDS);
const TAG_VALUE_WORDS = `must have 1 to ${bounds.tagValueCharactersMax} characters, without commas and control characters`;

/** Fixed tags. They replace all of before. */
export const tagsField = z
  .record(
    tagName,
    z
      .string({ error: TAG_VALUE_WORDS })
      .refine(isTagValue, TAG_VALUE_WORDS)
      .openapi({
        pattern: `^[^${WHITE}${CONTROL},]([^${CONTROL},]{0,${bounds.tagValueCharactersMax - 2}}[^${WHITE}${CONTROL},])?$`,
      }),
    { error: 'must be an object with names and values of tags' },
  )
  .refine((tags) => Object.keys(tags).length <= bounds.tagsFixedMax, `must have at most ${bounds.tagsFixedMax} tags`)
  .openapi({ maxProperties: bounds.tagsFixedMax, examples: [{ cost_centre: '4711' }] });

/** Names of tags; may be empty. */
export const tagNamesField = z
  .array(tagName, { error: 'must be a list' })
  .max(bounds.tagNamesMax, `must have at most ${bounds.tagNamesMax} members`)
  .refine((members) => new Set(members).size === members.length, 'must not contain duplicates')
  .openapi({ uniqueItems: true });

/** A list of distinct texts, at least one. */
function listField(member: z.ZodType<string, string>) {
  return z
    .array(member, { error: 'must be a list' })
    .min(1, 'must not be an empty list')
    .max(bounds.listMembersMax, `must have at most ${bounds.listMembersMax} members`)
    .refine((members) => new Set(members).size === members.length, 'must not contain duplicates')
    .openapi({ uniqueItems: true });
}

/** In lower case as the stores compare texts: A to Z only. */
export function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

export function isoTime<At extends number | null>(atMs: At) {
  return (atMs === null ? null : new Date(atMs).toISOString()) as At extends null ? null : string;
}

/** Limits with the names that the API has for them. */
export function limitsOf(limits: Group['limits']) {
  const {
    requestsPerMinute: rpm,
    inputTokensPerMinute: inputTpm,
    outputTokensPerMinute: outputTpm,
    concurrency,
  } = limits;
  return { rpm, inputTpm, outputTpm, concurrency };
}

/** `expired` for what is enabled and has ended. */
export function statusAt<Status extends string>(
  { status, expiresAtMs }: { status: Status; expiresAtMs: number | null },
  nowMs: number,
): Status | 'expired' {
  return status === 'enabled' && expiresAtMs !== null && expiresAtMs <= nowMs ? 'expired' : status;
}

/** The day of a time in UTC, such as "2026-07-24". */
export function isoDay(atMs: number): string {
  return isoTime(atMs).slice(0, 10);
}
