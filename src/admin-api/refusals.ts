// Requests that were refused before admission: counts by key, code and minute, newest first, and their totals.

import { z } from '@hono/zod-openapi';
import { type ErrorCode, errorTable } from '../errors.ts';
import { type RefusalFilter, refusalGroupings } from '../traffic/traffic.ts';
import { everyone } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { accountField, countShown, idField, lastTimeField, timeField, timeShown } from './fields.ts';
import { after, answerPage, pageQuery, requesterOf } from './pages.ts';
import { type AdminRoute, type Call, get, list } from './route.ts';
import { narrowTo } from './usage-totals.ts';
import { providerText } from './visibility.ts';

const MINUTE_MS = 60_000;

const codes = Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]];

const known = {
  account: idField('acct').nullable().describe('null: the key is unknown.'),
  key: idField('key')
    .nullable()
    .describe(
      'null: the key is unknown, or the account or the installation had too many different refusals in that minute.',
    ),
};

export const refusalSchema = z
  .object({
    at: timeShown.describe('Start of the minute.'),
    ...known,
    code: z.string().describe('The error code; see docs/errors.md.'),
    status: z.int().describe('HTTP status of the last of them.'),
    count: countShown,
    last_at: timeShown,
    message: providerText(z.string()).describe('The beginning of the message of the last of them.'),
  })
  .openapi('Refusal');

export const refusalTotalSchema = z
  .object({
    at: timeShown.nullable().describe('Start of the minute or hour; null unless grouped by one.'),
    ...known,
    code: z.string().nullable(),
    count: countShown,
    last_at: timeShown.nullable().describe('null without a refusal.'),
  })
  .openapi('RefusalTotal');

const encodeRefusal = encoderOf(refusalSchema);
const encodeTotal = encoderOf(refusalTotalSchema);

export const refusalTotalsSchema = z.object({
  data: z.array(refusalTotalSchema).describe('The latest minutes or hours, or the other groups with most refusals.'),
  groups: countShown.describe('Total number of groups; `data` has at most `limit` of them.'),
  total: refusalTotalSchema.describe('The total of all groups, including those not listed.'),
});

const filters = {
  account: accountField.optional(),
  key: idField('key').optional(),
  code: z.enum(codes, { error: 'must be a code of docs/errors.md' }).optional(),
  since: timeField.optional().describe('The first minute is the one that includes this time.'),
  until: lastTimeField
    .optional()
    .describe('The last minute is the one that includes this time; a date includes its whole day, UTC.'),
};

export const refusalRoutes: AdminRoute[] = [
  list('/refusals', 'refusal-list', 'List refused requests', everyone, {
    query: filters,
    page: [refusalSchema, 'Refused requests by key, code and minute, newest first'],
    async handle(call) {
      const page = { ...(await narrow(call, call.query)), before: after(call), limit: call.query.limit };
      return answerPage(
        call,
        await call.traffic.listRefusals(page, requesterOf(call)),
        encodeRefusal,
        ({ seq }) => seq,
      );
    },
  }),
  get('/refusals/totals', 'refusal-total', 'Retrieve totals of refused requests', everyone, {
    query: {
      limit: pageQuery.limit,
      ...filters,
      group_by: z.enum(refusalGroupings, { error: `must be ${refusalGroupings.join(' or ')}` }).default('code'),
    },
    answer: [refusalTotalsSchema, 'Totals of refused requests'],
    async handle(call) {
      const { limit, group_by: groupBy } = call.query;
      const question = { ...(await narrow(call, call.query)), groupBy, limit };
      const { rows, groups, whole } = await call.traffic.totalRefusals(question, requesterOf(call));
      return { data: rows.map(encodeTotal), groups, total: encodeTotal(whole) };
    },
  }),
];

type Filters = z.output<z.ZodObject<typeof filters>>;

/** Throws object_not_found for an account or key that the principal may not see. */
async function narrow(call: Call, { account, key, code, since, until }: Filters): Promise<RefusalFilter> {
  return {
    ...(await narrowTo(call, account, key)),
    code: code ?? null,
    sinceMs: since === undefined ? null : Math.floor(since / MINUTE_MS) * MINUTE_MS,
    untilMs: until ?? null,
  };
}
