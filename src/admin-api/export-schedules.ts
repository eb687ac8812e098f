// Exports that are sent at regular times: what they contain, where they go, and their runs. The secret access key of an
// object store is sealed and never shown.

import { z } from '@hono/zod-openapi';
import { isOwnAddress } from '../accounts/accounts.ts';
import { isPrivateAddress } from '../base/addresses.ts';
import { parseTimeMs } from '../base/checked-number.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { findUrlFault, isPrivateAllowed } from '../delivery/delivery.ts';
import { TurnpikeError } from '../errors.ts';
import {
  dimensions,
  dueOf,
  type ExportRun,
  type ExportSchedule,
  type ExportTarget,
  exportContext,
  exportFormats,
  exportKinds,
  newRun,
  periodName,
  periodOf,
} from '../exports/exports.ts';
import { accountForNew, askedAccount } from './accounts.ts';
import { findObject, invalidMember } from './admin-app.ts';
import { rememberLookups } from './apply.ts';
import { changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import { accountOf, countShared, holders, holdersWhoChange, maySeeAccount, refuseBeyond } from './dependencies.ts';
import { boundSending } from './destinations.ts';
import { encoderOf } from './encode.ts';
import { dimensionsOf, formatField, kindField, tagNameOf } from './exports.ts';
import {
  accountField,
  accountShown,
  actorShown,
  countShown,
  emailField,
  idField,
  nameField,
  timeShown,
} from './fields.ts';
import { after, answerPage } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch, post } from './route.ts';
import { tagNameField } from './usage-totals.ts';

const periodShown = z.string().openapi({ examples: ['2026-11', '2026-11-30'] });
const statusShown = z.enum(['pending', 'done', 'failed']);

export const exportRunSchema = z
  .object({
    period: periodShown.describe('The month or day, UTC.'),
    status: statusShown.describe('pending: it waits for its time, or for another attempt.'),
    tries: countShown.describe('Attempts that failed.'),
    error: z.string().nullable().describe('Why the last attempt failed.'),
    next_at: timeShown.nullable().describe('When the next attempt is due; null: none is.'),
    created_at: timeShown,
    done_at: timeShown.nullable(),
    rows: countShown,
    bytes: countShown,
    objects: z.array(z.string()).describe('The names of the complete objects in the bucket.'),
  })
  .openapi('ExportRun');

export const exportSchema = z
  .object({
    id: idField('exp'),
    account: accountShown.nullable().describe('null: the operators, for all accounts.'),
    name: z.string(),
    kind: z.enum(exportKinds),
    format: z.enum(exportFormats),
    by: z.array(z.enum(dimensions)),
    tag_name: z.string().nullable().describe('The tag of the dimension tag.'),
    below: z.boolean().describe('Whether its files have the accounts below `account`, too.'),
    every: z.enum(['day', 'month']),
    day: z.int().describe('The day of the month on which the file of the last month is sent.'),
    target: z.enum(['s3', 'mail']),
    s3_endpoint: z.string().nullable(),
    s3_region: z.string().nullable(),
    s3_bucket: z.string().nullable(),
    s3_prefix: z.string().nullable(),
    s3_access_key_id: z.string().nullable(),
    mail_to: z.array(z.string()),
    status: z.enum(['enabled', 'disabled']),
    due_at: timeShown.describe('When the next file is made, if it is enabled.'),
    made_by: actorShown,
    created_at: timeShown,
  })
  .openapi('Export');

const encodeExport = encoderOf(exportSchema);
const encodeRun = encoderOf(exportRunSchema);

function exportJson(schedule: ExportSchedule): z.infer<typeof exportSchema> {
  const { target } = schedule;
  const s3 = target.kind === 's3' ? target : null;
  return encodeExport({
    ...schedule,
    tagName: schedule.tagName ?? null,
    below: schedule.below ?? false,
    target: target.kind,
    s3Endpoint: s3?.endpoint ?? null,
    s3Region: s3?.region ?? null,
    s3Bucket: s3?.bucket ?? null,
    s3Prefix: s3?.prefix ?? null,
    s3AccessKeyId: s3?.accessKeyId ?? null,
    mailTo: target.kind === 'mail' ? target.addresses : [],
  });
}

function runJson({ every }: ExportSchedule, run: ExportRun): z.infer<typeof exportRunSchema> {
  return encodeRun({ ...run, period: periodName(every, run.periodMs) });
}

const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/;
const PREFIX = /^[A-Za-z0-9._=-]{1,64}(\/[A-Za-z0-9._=-]{1,64}){0,7}$/;
const KEY = /^[\x21-\x7e]{1,256}$/;
const NAMES = 'must be names of letters, digits, ".", "_", "=" and "-", with "/" between them';

const byField = z
  .array(z.enum(dimensions, { error: `must be of ${dimensions.join(', ')}` }), { error: 'must be a list' })
  .min(1, 'must not be an empty list')
  .max(2, 'must have at most 2 members')
  .refine((by) => new Set(by).size === by.length, 'must not contain duplicates')
  .openapi({ uniqueItems: true })
  .describe('The dimensions of costs, by default account and model; refused for other kinds.');

const dayField = z
  .int({ error: 'must be a whole number' })
  .min(1, 'must be at least 1')
  .max(28, 'must be at most 28')
  .describe('The day of the month on which the file of the last month is sent; at 01:00 UTC.');

const changeable = {
  name: nameField.optional(),
  format: formatField.optional(),
  day: dayField.optional(),
  s3_endpoint: z
    .string({ error: 'must be a URL' })
    .max(
      bounds.destinationAddressCharactersMax,
      `must have at most ${bounds.destinationAddressCharactersMax} characters`,
    )
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .optional()
    .openapi({ examples: ['https://s3.eu-central-1.amazonaws.com'] })
    .describe('The URL of the object store. Objects are named by path: endpoint, bucket, object.'),
  s3_region: z
    .string({ error: 'must be a region' })
    .regex(/^[a-z0-9-]{1,64}$/, 'must be a region, such as eu-central-1')
    .optional()
    .describe('By default us-east-1.'),
  s3_bucket: z
    .string({ error: 'must be the name of a bucket' })
    .regex(BUCKET, 'must be the name of a bucket')
    .optional(),
  s3_prefix: z.string({ error: NAMES }).regex(PREFIX, NAMES).optional().describe('Begins the names of all objects.'),
  s3_access_key_id: z
    .string({ error: 'must be an access key ID' })
    .regex(KEY, 'must be printable ASCII without spaces')
    .optional(),
  s3_secret_access_key: z
    .string({ error: 'must be a secret access key' })
    .regex(KEY, 'must be printable ASCII without spaces')
    .optional()
    .describe('Stored encrypted, and never shown.'),
  mail_to: z
    .array(emailField, { error: 'must be a list' })
    .min(1, 'must not be an empty list')
    .max(bounds.exportMailAddressesMax, `must have at most ${bounds.exportMailAddressesMax} members`)
    .optional()
    .describe('Who gets a mail with a link to the file; of an account, only its enabled people.'),
};

const createBody = z.strictObject({
  kind: kindField,
  by: byField.optional(),
  tag_name: tagNameField,
  below: z
    .boolean({ error: 'must be true or false' })
    .optional()
    .describe('Also the accounts that are below `account` when a file is made; by default false.'),
  every: z
    .enum(['day', 'month'], { error: 'must be day or month' })
    .describe('Each file covers a day or a month, UTC.'),
  target: z
    .enum(['s3', 'mail'], { error: 'must be s3 or mail' })
    .describe('s3: any object store that speaks S3. mail: a link to the file.'),
  account: accountField
    .optional()
    .describe('Only this account. Without it, and with an operator’s token: all accounts.'),
  ...changeable,
});

const changeBody = z.strictObject({
  status: z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' }).optional(),
  ...changeable,
});

const runBody = z.strictObject({
  period: z
    .string({ error: 'must be a month or a day' })
    .regex(/^\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$/, 'must be a month such as 2026-11, or a day')
    .optional()
    .openapi({ examples: ['2026-11'] })
    .describe('A month, or a day of an export with `every` day; by default the last one that is over.'),
});

type Members = Pick<z.output<typeof createBody>, keyof typeof changeable>;
const params = z.object({ id: idField('exp') });

/** The export, if the principal may see it. Throws object_not_found. */
function findExport(call: Call, id: string): Promise<ExportSchedule> {
  return findObject('exp', 'export', id, call.exports.getExport, ({ accountId }) => maySeeAccount(call, accountId));
}

export const exportScheduleRoutes: AdminRoute[] = [
  post('/exports', 'export-create', 'Create an export that is sent at regular times', holdersWhoChange, {
    body: createBody,
    isCreation: true,
    conflict: 'The account has reached the number of exports that it may have',
    answer: [exportSchema, 'The export'],
    links: ['export-show', 'export-update', 'export-run'],
    async handle(call) {
      const made = await createOnce(call, (remember) => storeNew(call, remember));
      return exportJson(await findExport(call, made.object));
    },
  }),
  list('/exports', 'export-list', 'List exports', holders, {
    query: { account: accountField.optional() },
    page: [exportSchema, 'Exports, oldest first'],
    async handle(call) {
      const accountId = accountOf(call.principal, await askedAccount(call, call.query.account));
      const page = { accountId, after: after(call), limit: call.query.limit };
      return answerPage(call, await call.exports.listExports(page), exportJson, ({ id }) => id);
    },
  }),
  get('/exports/{id}', 'export-show', 'Retrieve an export', holders, {
    params,
    answer: [exportSchema, 'The export'],
    handle: async (call) => exportJson(await findExport(call, call.params.id)),
  }),
  patch('/exports/{id}', 'export-update', 'Change an export', holdersWhoChange, {
    params,
    body: changeBody,
    answer: [exportSchema, 'The changed export'],
    handle: (call) => call.changeInTurn(() => storeChange(call, call.params.id, call.body)),
  }),
  list('/exports/{id}/runs', 'export-runs', 'List the runs of an export', holders, {
    params,
    page: [exportRunSchema, 'Runs, newest period first'],
    async handle(call) {
      const schedule = await findExport(call, call.params.id);
      const page = { exportId: schedule.id, before: after(call), limit: call.query.limit };
      const json = (run: ExportRun) => runJson(schedule, run);
      return answerPage(call, await call.exports.listExportRuns(page), json, ({ periodMs }) => periodMs);
    },
  }),
  post('/exports/{id}/run', 'export-run', 'Send the file of a period now, also again', holdersWhoChange, {
    params,
    body: runBody,
    conflict: 'The export is disabled, or this run has not ended',
    answer: [exportRunSchema, 'The run, which begins within a minute'],
    async handle(call) {
      const { status } = await findExport(call, call.params.id);
      if (status === 'disabled') throw new TurnpikeError('conflict', 'The export is disabled: enable it first.');
      await boundSending(call);
      return call.changeInTurn(() => startRun(call, call.params.id, call.body.period));
    },
  }),
];

async function storeNew(call: CallWith<typeof createBody>, remember: Remember): Promise<Made> {
  const { principal, body, exports, clock } = call;
  const { kind, format = 'csv', every, day = 1, name = '', account, by, below = false } = body;
  const isOfAccount = account !== undefined || principal.accountId !== null;
  const accountId = isOfAccount ? (await accountForNew(call, account, 'is required')).id : null;
  const countMax = accountId === null ? bounds.exportsOfOperatorsMax : bounds.exportsPerAccountMax;
  const { countExports } = exports;
  const count = await (accountId === null ? countExports(null) : countShared(call, accountId, countExports));
  if (accountId !== null) refuseBeyond(principal, 'exports', count, countMax);
  else if (count >= countMax) throw new TurnpikeError('conflict', `There are ${count} exports of operators already.`);
  if (below && accountId === null) throw invalidMember('below', 'needs an account');
  const dimensions = dimensionsOf(kind, by);
  const tagName = tagNameOf(dimensions, body.tag_name);
  const id = newNumber();
  const nowMs = clock.nowMs();
  const schedule: ExportSchedule = {
    ...{ id, accountId, name, kind, format, by: dimensions, tagName, below, every, day },
    ...(await targetOf(call, { id, accountId, target: body.target, secretSealed: null }, body)),
    ...timesOf({ every, day }, nowMs),
    ...{ madeBy: principal.id, createdAtMs: nowMs, status: 'enabled', version: 0 },
  };
  const object = formatId('exp', id);
  const note = changeNote('export.create', object, accountId, null, exportJson(schedule));
  await exports.createExport(schedule, recordAudit(call, [note], remember(object, null)));
  return { object, secret: null };
}

/** The first file is of the present period. */
function timesOf(times: Pick<ExportSchedule, 'every' | 'day'>, nowMs: number) {
  const { periodMs, untilMs } = periodOf(times, nowMs);
  return { periodMs, dueAtMs: dueOf(times, untilMs, bounds.exportSettleMs) };
}

async function storeChange(call: Call, id: string, body: z.output<typeof changeBody>) {
  const before = await findExport(call, id);
  const { name = before.name, format = before.format, day = before.day, status = before.status } = body;
  const changed: ExportSchedule = { ...before, name, format, day, status };
  Object.assign(changed, await targetOf(call, { ...before, target: before.target.kind, was: before.target }, body));
  const isResumed = status === 'enabled' && before.status === 'disabled';
  // Periods while it was disabled have no file, unless one is asked for.
  if (isResumed) Object.assign(changed, timesOf(changed, call.clock.nowMs()));
  else changed.dueAtMs = dueOf(changed, periodOf(changed, changed.periodMs).untilMs, bounds.exportSettleMs);
  const hasNewSecret = changed.secretSealed !== before.secretSealed;
  const [was, is] = [exportJson(before), { ...exportJson(changed), ...(hasNewSecret && { secret: 'replaced' }) }];
  await call.exports.updateExport(
    changed,
    recordAudit(call, [changeNote('export.update', id, before.accountId, was, is)]),
  );
  return exportJson(changed);
}

interface TargetPlace extends Pick<ExportSchedule, 'id' | 'accountId' | 'secretSealed'> {
  target: ExportTarget['kind'];
  /** The present target, of which members that are not given stay. */
  was?: ExportTarget;
}

/** Throws invalid_request for members that are missing, of another target, or not allowed. */
async function targetOf(
  call: Call,
  place: TargetPlace,
  members: Members,
): Promise<Pick<ExportSchedule, 'target' | 'secretSealed'>> {
  const others = Object.keys(changeable).filter((name) => name.startsWith(place.target === 's3' ? 'mail_' : 's3_'));
  for (const name of others)
    if (members[name as keyof Members] !== undefined) throw invalidMember(name, `is not for target ${place.target}`);
  if (place.target === 'mail') return { target: await mailTarget(call, place, members), secretSealed: null };
  const was = place.was?.kind === 's3' ? place.was : undefined;
  const { s3_endpoint, s3_region, s3_bucket, s3_prefix, s3_access_key_id, s3_secret_access_key: secret } = members;
  const required = <Value>(name: string, value: Value | undefined): Value => {
    if (value === undefined) throw invalidMember(name, 'is required for target s3');
    return value;
  };
  const target: ExportTarget = {
    kind: 's3',
    endpoint: required('s3_endpoint', s3_endpoint ?? was?.endpoint),
    region: s3_region ?? was?.region ?? 'us-east-1',
    bucket: required('s3_bucket', s3_bucket ?? was?.bucket),
    prefix: s3_prefix ?? was?.prefix ?? '',
    accessKeyId: required('s3_access_key_id', s3_access_key_id ?? was?.accessKeyId),
  };
  if (s3_endpoint !== undefined) await refuseEndpoint(call, place, s3_endpoint);
  // A key is not sent to another address than it was given for.
  const hasMoved = was !== undefined && new URL(target.endpoint).origin !== new URL(was.endpoint).origin;
  if (hasMoved && secret === undefined)
    throw invalidMember('s3_secret_access_key', 'is required with another s3_endpoint');
  if (secret !== undefined) return { target, secretSealed: call.vault.seal(secret, exportContext(place)) };
  return { target, secretSealed: required('s3_secret_access_key', place.secretSealed ?? undefined) };
}

async function mailTarget(
  { mailer, people }: Call,
  { accountId, was }: TargetPlace,
  { mail_to }: Members,
): Promise<ExportTarget> {
  if (mailer === null) throw invalidMember('target', 'must be s3: mail is not set up on this installation');
  if (mail_to === undefined) {
    if (was !== undefined) return was;
    throw invalidMember('mail_to', 'is required for target mail');
  }
  const addresses = [...new Set(mail_to)];
  for (const address of addresses)
    if (accountId !== null && !(await isOwnAddress(people, accountId, address)))
      throw invalidMember('mail_to', 'must be email addresses of enabled people of the account');
  return { kind: 'mail', addresses };
}

/** Checked again before each file is sent. */
async function refuseEndpoint(call: Call, { accountId }: TargetPlace, endpoint: string): Promise<void> {
  const isAllowed = isPrivateAllowed(call.catalog.current().settings.webhookPrivateNetwork, accountId);
  const fault = findUrlFault(endpoint, isAllowed);
  if (fault !== null) throw invalidMember('s3_endpoint', fault);
  const { hostname, search, pathname } = new URL(endpoint);
  if (search !== '' || pathname !== '/') throw invalidMember('s3_endpoint', 'must have no path and no query');
  if (isAllowed) return;
  const found = await rememberLookups(call.lookup)(hostname).catch(() => []);
  if (found.some(isPrivateAddress))
    throw invalidMember(
      's3_endpoint',
      'must be reachable from the internet: its host has a private address (setting webhook_private_network)',
    );
}

async function startRun(call: Call, id: string, asked: string | undefined): Promise<z.infer<typeof exportRunSchema>> {
  const schedule = await findExport(call, id);
  const nowMs = call.clock.nowMs();
  const period = askedPeriod(schedule, asked, nowMs);
  const before = await call.exports.getExportRun(schedule.id, period.periodMs);
  if (before?.status === 'pending') throw new TurnpikeError('conflict', 'This run has not ended.');
  const run = { ...newRun(schedule.id, period, nowMs), version: before?.version ?? 0 };
  const after = { period: periodName(schedule.every, period.periodMs) };
  const note = changeNote('export.run', id, schedule.accountId, null, after);
  await call.exports.startExportRun(run, recordAudit(call, [note]));
  return runJson(schedule, run);
}

/** Throws invalid_request for a period of another length, or one that is not over. */
function askedPeriod(schedule: ExportSchedule, asked: string | undefined, nowMs: number) {
  const present = periodOf(schedule, nowMs);
  if (asked === undefined) return periodOf(schedule, present.periodMs - 1);
  const periodMs = parseTimeMs(`${asked.padEnd(10, '-01')}T00:00:00Z`);
  if (periodMs === null || periodName(schedule.every, periodMs) !== asked)
    throw invalidMember('period', `must be a ${schedule.every}`);
  if (periodMs >= present.periodMs) throw invalidMember('period', 'must be over');
  return periodOf(schedule, periodMs);
}
