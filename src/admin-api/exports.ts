// Files of usage and costs: made while they are sent, with at most a page of rows in memory.

import { z } from '@hono/zod-openapi';
import { DAY_MS, monthStartMs } from '../base/clock.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { installationOf } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { overloaded } from '../errors.ts';
import {
  contentTypes,
  type Dimension,
  dimensions,
  type ExportQuestion,
  exportFormats,
  exportKinds,
  makeFile,
} from '../exports/exports.ts';
import { askedAccount } from './accounts.ts';
import { invalidMember } from './admin-app.ts';
import { accountOf, holders, seesProviderCost, sharesBoundsOf } from './dependencies.ts';
import { monthField, nameOfMonth, type Span, spanOfMonth } from './entries.ts';
import { accountField, timeField } from './fields.ts';
import { requesterOf } from './pages.ts';
import { type AdminRoute, type Call, get } from './route.ts';
import { streamFile } from './stream-file.ts';
import { belowFilter } from './usage-filters.ts';
import { tagNameField, tagNameFor } from './usage-totals.ts';

const BY_WORDS = `must be one or two of ${dimensions.join(', ')}, such as "account,model"`;
const BY = new RegExp(`^(${dimensions.join('|')})(,(${dimensions.join('|')}))?$`);

export const kindField = z
  .enum(exportKinds, { error: `must be ${exportKinds.join(' or ')}` })
  .describe('records: a row for each message. costs: sums by `by`. focus: sums by day with the columns of FOCUS 1.2.');

export const formatField = z.enum(exportFormats, { error: `must be ${exportFormats.join(' or ')}` });

/** One or two dimensions, each once. */
export const byField = z
  .string({ error: BY_WORDS })
  .regex(BY, BY_WORDS)
  .transform((text) => text.split(',') as Dimension[])
  .refine((by) => new Set(by).size === by.length, 'must not contain duplicates')
  .openapi({ type: 'string', pattern: BY.source, examples: ['account,model'] })
  .describe('The dimensions of costs, by default account,model; refused for other kinds.');

const BY_DEFAULT: readonly Dimension[] = ['account', 'model'];

const query = {
  kind: kindField.default('costs'),
  format: formatField.default('csv'),
  by: byField.optional(),
  account: accountField.optional().describe('Only this account; by default all that the token may see.'),
  below: belowFilter,
  tag_name: tagNameField,
  month: monthField.optional().describe('The month in UTC; by default the current one. Not with `since` and `until`.'),
  since: timeField.optional().describe('From this time; by default from the start of the month that `until` ends in.'),
  until: timeField
    .optional()
    .describe(`Until before this time; by default now. At most ${bounds.exportDaysMax} days after \`since\`.`),
};

type FileQuery = z.output<z.ZodObject<typeof query>>;

/** A few files at a time, and one of each company or operator: each reads the store for minutes. */
export function exportRoutes(): AdminRoute[] {
  const { exportsRunningMax, exportsRunningPerCompanyMax } = bounds;
  const files = new FairQueue<string>(
    {
      running: exportsRunningMax,
      runningPerOwner: exportsRunningPerCompanyMax,
      tasks: exportsRunningMax,
      tasksPerOwner: exportsRunningPerCompanyMax,
    },
    () => overloaded('Too many files are being made. Try again when one is complete.'),
  );
  return [
    get('/exports/file', 'export-download', 'Download usage or costs as a file', holders, {
      query,
      answer: [z.string(), 'The file, sent while it is made'],
      fileTypes: Object.values(contentTypes),
      async handle(call) {
        const question = await questionOf(call, call.query);
        const turn = await files.enter(String(sharesBoundsOf(call.principal) ?? call.principal.id));
        const { settings } = call.catalog.current();
        const names = { installation: installationOf(settings).name, hidden: settings.hiddenFromAccounts };
        const reading = { sources: call.exportSources, names, requester: requesterOf(call) };
        return (await streamFile(makeFile(reading, question), turn, {
          'content-type': contentTypes[question.format],
          'content-disposition': `attachment; filename="${fileNameOf(question)}"`,
        })) as never;
      },
    }),
  ];
}

/** Throws invalid_request, object_not_found. */
async function questionOf(call: Call, asked: FileQuery): Promise<ExportQuestion> {
  const { kind, format } = asked;
  const by = dimensionsOf(kind, asked.by);
  const tagName = tagNameOf(by, asked.tag_name);
  const span = spanOfQuery(asked, call.clock.nowMs());
  return {
    kind,
    format,
    by,
    tagName,
    account: accountOf(call.principal, await askedAccount(call, asked.account)),
    below: asked.below === 'true',
    reader: call.principal.accountId,
    sinceMs: span.sinceMs,
    untilMs: span.untilMs - 1,
    hasProviderCost: seesProviderCost(call.principal),
  };
}

/** Throws invalid_request if a kind without dimensions is given some. */
export function dimensionsOf(kind: ExportQuestion['kind'], by: readonly Dimension[] | undefined): readonly Dimension[] {
  if (kind !== 'costs' && by !== undefined) throw invalidMember('by', 'is only for kind costs');
  return kind === 'costs' ? (by ?? BY_DEFAULT) : [];
}

/** Throws invalid_request for a tag without its dimension, and the dimension without a tag. */
export function tagNameOf(by: readonly Dimension[], name: string | undefined): string | null {
  if (by.includes('tag')) return tagNameFor(name, ['tag']);
  if (name !== undefined) throw invalidMember('tag_name', 'is only for the dimension tag');
  return null;
}

function spanOfQuery({ month, since, until }: FileQuery, nowMs: number): Span {
  if (month !== undefined && (since ?? until) !== undefined)
    throw invalidMember('month', 'cannot be combined with since and until');
  if (since === undefined && until === undefined) {
    const name = month ?? nameOfMonth(nowMs);
    if (name > nameOfMonth(nowMs)) throw invalidMember('month', 'has not begun');
    return spanOfMonth(name);
  }
  const untilMs = until ?? nowMs + 1;
  const sinceMs = since ?? monthStartMs(untilMs - 1, 0);
  if (untilMs <= sinceMs) throw invalidMember('until', 'must be after since');
  if (untilMs - sinceMs > bounds.exportDaysMax * DAY_MS)
    throw invalidMember('until', `must be at most ${bounds.exportDaysMax} days after since`);
  return { sinceMs, untilMs };
}

/** "costs-account-model-2026-11.csv" for a month, else with both days. */
function fileNameOf({ kind, by, format, sinceMs, untilMs }: ExportQuestion): string {
  const month = nameOfMonth(sinceMs);
  const span = spanOfMonth(month);
  const isMonth = span.sinceMs === sinceMs && span.untilMs - 1 === untilMs;
  const dayOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);
  const time = isMonth ? month : `${dayOf(sinceMs)}-to-${dayOf(untilMs)}`;
  return `${[kind, ...by, time].join('-')}.${format}`;
}
