// The filters of usage records.

import { z } from '@hono/zod-openapi';
import { isTagValue, TAG_NAME } from '../accounts/accounts.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { parseId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { NO_FILTER, type UsageFilter, type UsagePage, type UsageSearch } from '../reports/reports.ts';
import { SERVES } from '../wire/wire.ts';
import { accountField, amountField, asciiLower, idField, modelFilter } from './fields.ts';

export const outcomes = ['completed', 'client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed'] as const;

/** Whether accounts below the account are included. */
export const belowFilter = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .default('false')
  .describe('Whether to include the accounts below the account, by their present places. Not for members.');

/** Filters of every report. Daily totals know them, but the endpoint: with it, records are read. */
export const usageFilters = {
  account: accountField.optional(),
  below: belowFilter,
  key: idField('key').optional(),
  model: modelFilter.optional(),
  endpoint: z
    .enum(SERVES, { error: `must be ${SERVES.join(', ')}` })
    .optional()
    .describe('What the request asked for.'),
};

const STATUS_WORDS = 'must be an HTTP status or a class of them, such as 529 or 5xx';

/** The first and the last status. */
const statusFilter = z
  .string({ error: STATUS_WORDS })
  .regex(/^[1-5](xx|\d\d)$/, STATUS_WORDS)
  .transform((text) => ({
    least: parseWholeNumber(text.replace('xx', '00')) ?? 0,
    most: parseWholeNumber(text.replace('xx', '99')) ?? 0,
  }))
  .openapi({
    type: 'string',
    pattern: '^[1-5](xx|\\d\\d)$',
    examples: ['529', '5xx'],
    description: 'The HTTP status, or a class of them, such as 529 or 5xx.',
  });

const NAME_WORDS = `must have 1 to ${bounds.modelNameCharactersMax} characters`;
const nameFilter = z.string({ error: NAME_WORDS }).min(1, NAME_WORDS).max(bounds.modelNameCharactersMax, NAME_WORDS);

const TAG_WORDS = 'must be a tag such as team:search';
/** A name and a value. */
export const tagFilter = z
  .string({ error: TAG_WORDS })
  .transform((text, context) => {
    const at = text.indexOf(':');
    const [name, value] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
    if (TAG_NAME.test(name) && (isTagValue(value) || isNamedText(value))) return { name, value };
    context.addIssue({ code: 'custom', message: TAG_WORDS });
    return z.NEVER;
  })
  .openapi({
    type: 'string',
    pattern: '^[a-z][a-z0-9_-]{0,31}:[^\\x00-\\x1f]{1,128}$',
    examples: ['team:search'],
    description: 'Only messages with this tag: its name, ":" and its value.',
  });

const NAMED_WORDS = `must have 1 to ${bounds.sessionCharactersMax} characters`;
/** A session, an agent or an end user. */
export const namedFilter = z.string({ error: NAMED_WORDS }).refine(isNamedText, NAMED_WORDS).openapi({
  minLength: 1,
  maxLength: bounds.sessionCharactersMax,
});

function isNamedText(text: string): boolean {
  return text.length > 0 && text.length <= bounds.sessionCharactersMax && !/\p{Cc}/u.test(text) && text.isWellFormed();
}

const PERSON_WORDS = 'must be the id of a person, such as "person_000000000"';
const personFilter = z.string({ error: PERSON_WORDS }).regex(/^person_[0-9A-Za-z]{9}$/, PERSON_WORDS);

export const groupFilter = nameFilter.describe('Only messages that this group sold.');

export const searchFilters = {
  ...usageFilters,
  model_search: nameFilter.optional().describe('A part of the name of the model, in upper or lower case.'),
  outcome: z
    .enum([...outcomes, 'not_completed'], {
      error: 'must be completed, not_completed, client_gone, upstream_cut, quota_cut, service_cut or failed',
    })
    .optional(),
  status: statusFilter.optional(),
  error: nameFilter.optional().describe('The code of the error that the client got; see docs/errors.md.'),
  provider: nameFilter.optional(),
  group: groupFilter.optional(),
  stream: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .optional()
    .describe('Whether the answer was streamed.'),
  cost_min: amountField(0).optional().describe('The lowest cost in USD.'),
  tag: tagFilter.optional(),
  session: namedFilter.optional().describe('Only messages of this session of a client.'),
  agent: namedFilter.optional().describe('Only messages of this agent.'),
  person: personFilter.optional().describe('Only messages with keys of this person.'),
};

type Asked = z.output<z.ZodObject<typeof searchFilters>>;

export function filterOf(asked: Asked): UsageFilter & Pick<UsagePage, 'outcome'> {
  const { outcome, stream } = asked;
  return {
    model: asked.model ?? null,
    modelPart: asked.model_search === undefined ? null : asciiLower(asked.model_search),
    ...outcomeOf(outcome),
    status: asked.status ?? null,
    errorCode: asked.error ?? null,
    provider: asked.provider ?? null,
    group: asked.group ?? null,
    isStream: stream === undefined ? null : stream === 'true',
    endpoint: asked.endpoint ?? null,
    costMin: asked.cost_min ?? null,
    tag: asked.tag ?? null,
    session: asked.session ?? null,
    agent: asked.agent ?? null,
    person: asked.person === undefined ? null : (parseId('person', asked.person) ?? NOBODY),
  };
}

/** A number that no person has. */
const NOBODY = -1;

function outcomeOf(asked: Asked['outcome']): Pick<UsageSearch, 'outcome' | 'isCompleted'> {
  if (asked === undefined) return { outcome: null, isCompleted: null };
  if (asked === 'completed' || asked === 'not_completed') return { outcome: null, isCompleted: asked === 'completed' };
  return { outcome: asked, isCompleted: null };
}

/** Whether an index finds the records that match: there is nothing but an outcome. */
export function isEmptyFilter(filter: UsageFilter): boolean {
  return Object.entries(NO_FILTER).every(([name, value]) => filter[name as keyof UsageFilter] === value);
}
