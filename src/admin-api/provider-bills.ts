// Bills of providers: their sources, their import by the vendor's API or as CSV, and their comparison with what was recorded.

import { z } from '@hono/zod-openapi';
import { parseDigits, parseTimeMs } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import {
  type BillSource,
  billFeatures,
  billKinds,
  billSourceContext,
  daysToFetch,
  fetchBill,
  importBill,
  type ListedBill,
  readCsvBill,
  type StoredBill,
} from '../bills/bills.ts';
import { findPrivateAddress } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { invalidMember, noObject } from './admin-app.ts';
import { rememberLookups } from './apply.ts';
import { changeNote, recordAudit } from './changes.ts';
import { installation, operator } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { actorShown, countShown, dayShown, rangeFields, searchField, timeField, timeShown } from './fields.ts';
import { afterText, answerByName, answerPage, invalidCursor } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, post } from './route.ts';

const NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
const providerName = z
  .string({ error: 'must be the name of a provider' })
  .regex(new RegExp(NAME), 'must be the name of a provider')
  .openapi({ pattern: NAME });
const kindField = z.enum(billKinds, { error: `must be ${billKinds.join(', ')}` });
const scheduleField = z.enum(['daily', 'never'], { error: 'must be daily or never' });
const credentialField = z
  .string({ error: 'must be a string' })
  .min(1, 'must not be empty')
  .max(bounds.billCellCharactersMax, `must have at most ${bounds.billCellCharactersMax} characters`)
  .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
  .openapi({ format: 'password' });
const modelText = z
  .string({ error: 'must be a name' })
  .min(1, 'must not be empty')
  .max(bounds.modelNameCharactersMax, `must have at most ${bounds.modelNameCharactersMax} characters`);

/** More digits than a nanodollar has: vendors print them. */
const exactAmount = z.string().openapi({
  pattern: '^-?(0|[1-9]\\d*)(\\.\\d{2,36})?$',
  description: 'USD, as an exact decimal string.',
  examples: ['12.3456789012'],
});

export const billSourceSchema = z
  .object({
    provider: z.string(),
    kind: z.enum(billKinds),
    base_url: z.string().nullable().describe('null: the vendor’s own address.'),
    private_network: z.boolean(),
    has_credential: z.boolean(),
    schedule: z.enum(['daily', 'never']),
    models: z.record(z.string(), z.string()).describe('Names of models on the bill, with those at the provider.'),
    created_at: timeShown,
  })
  .openapi('ProviderBillSource');

const partsSchema = z
  .object({
    rounding: exactAmount.describe('Costs are rounded up to nanodollars, and amounts of bills to their last digit.'),
    tiers: exactAmount.describe(
      'What service tiers cost more or less than the standard one, where nobody requested them.',
    ),
    cancelled: exactAmount.describe('Attempts that ended without reported usage, and usage that was estimated.'),
    beside: exactAmount.describe('Use beyond that of this service: other clients of the provider account.'),
    unknown_price: exactAmount.describe('Use by routes whose cost is not configured.'),
    unexplained: exactAmount,
  })
  .describe('What explains the difference; the parts add up to it exactly.')
  .openapi('ProviderBillParts');

const sumMembers = {
  billed: exactAmount.describe('The sum of the bill.'),
  ours: exactAmount.describe('The sum of the recorded `provider_cost`.'),
  difference: exactAmount.describe('What was billed, less what was recorded.'),
};

export const providerBillSchema = z
  .object({
    id: z
      .string()
      .describe('The provider and the day.')
      .openapi({ examples: ['anthropic:2026-11-29'] }),
    provider: z.string(),
    day: dayShown.describe('UTC.'),
    ...sumMembers,
    parts: partsSchema,
    messages: countShown.describe('Messages that the provider answered on that day.'),
    from: z.enum(['csv', 'api']),
    imported_at: timeShown,
    imported_by: actorShown,
  })
  .openapi('ProviderBill');

export const billDetailsSchema = providerBillSchema
  .extend({
    models: z.array(
      z.object({
        model: z.string().describe('Its name at the provider; empty for what is billed without a model.'),
        billed_as: z.array(z.string()).describe('Its names on the bill; empty if it is not there.'),
        ...sumMembers,
        parts: partsSchema,
        features: z.array(
          z.object({
            feature: z.enum(billFeatures),
            ...sumMembers,
            billed_quantity: countShown.nullable().describe('Tokens or searches; null if the bill does not say.'),
            our_quantity: countShown,
          }),
        ),
      }),
    ),
  })
  .openapi('ProviderBillDetails');

export const importSchema = z
  .object({
    data: z.array(providerBillSchema),
    events: countShown.describe('Days that differ by more than the settings allow.'),
  })
  .openapi('ProviderBillImport');

const encodeSource = encoderOf(billSourceSchema);
const encodeBill = encoderOf(providerBillSchema);
const encodeDetails = encoderOf(billDetailsSchema);

const sourceBody = z.strictObject({
  provider: providerName,
  kind: kindField.describe('The format of the bill, and the API that it is read from.'),
  credential: credentialField
    .nullable()
    .optional()
    .describe(
      'Reads the costs: an admin key of Anthropic (sk-ant-admin…) or OpenAI (sk-admin-…), or for aws JSON with accessKeyId, secretAccessKey and perhaps sessionToken. Never shown. Absent: as before; null: none, for CSV only.',
    ),
  base_url: z.string({ error: 'must be a URL' }).max(bounds.destinationAddressCharactersMax).nullable().default(null),
  private_network: z.boolean({ error: 'must be true or false' }).default(false),
  schedule: scheduleField.default('daily'),
  models: z
    .record(modelText, modelText, { error: 'must be an object of names' })
    .refine((names) => Object.keys(names).length <= bounds.billSourceModelsMax, {
      error: `must have at most ${bounds.billSourceModelsMax} members`,
    })
    .default({}),
});

const fetchBody = z.strictObject({
  since: timeField.optional().describe('The first day. Absent: the last days that the vendor reports in full.'),
  until: timeField.optional().describe('The day after the last one.'),
});

const params = z.object({ provider: providerName });
const BILL_ID = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}:\\d{4}-\\d{2}-\\d{2}$';
const billIdText = z
  .string({ error: 'must be the id of a bill' })
  .openapi({ pattern: BILL_ID, examples: ['anthropic:2026-11-29'] });
const billParams = z.object({ id: billIdText });

export const providerBillRoutes: AdminRoute[] = [
  list('/provider-bill-sources', 'provider-bill-source-list', 'List sources of provider bills', installation, {
    query: { search: searchField('the name of the provider') },
    page: [billSourceSchema, 'Sources by provider'],
    async handle(call) {
      const named = (await call.bills.listBillSources()).map((source) => ({ ...source, name: source.provider }));
      return answerByName(call, named, sourceJson);
    },
  }),
  post(
    '/provider-bill-sources',
    'provider-bill-source-set',
    'Create or replace the source of a provider’s bill',
    operator,
    {
      body: sourceBody,
      conflict: 'There are as many sources as there may be',
      notFound: 'There is no such provider',
      answer: [billSourceSchema, 'The source; its credential is never shown'],
      handle: async (call) => sourceJson(await call.changeInTurn(() => storeSource(call))),
    },
  ),
  list('/provider-bills', 'provider-bill-list', 'List bills of providers by day', installation, {
    query: { provider: providerName.optional(), ...rangeFields },
    page: [providerBillSchema, 'Bills, newest day first, with what was recorded'],
    async handle(call) {
      const { provider = null, since = null, until = null, limit } = call.query;
      const before = cursorOf(afterText(call));
      const page = { provider, sinceMs: since, untilMs: until, before, limit };
      return answerPage(call, await call.bills.listBills(page), billJson, (bill) => `${bill.dayMs} ${bill.provider}`);
    },
  }),
  get('/provider-bills/{id}', 'provider-bill-show', 'Retrieve the bill of a day', installation, {
    params: billParams,
    answer: [billDetailsSchema, 'The bill by model and feature'],
    async handle(call) {
      const { id } = call.params;
      const [, provider = '', day = ''] = /^(.+):(\d{4}-\d{2}-\d{2})$/.exec(id) ?? [];
      const dayMs = parseTimeMs(day);
      const bill = dayMs === null ? null : await call.bills.getBill(provider, dayMs);
      if (bill === null) throw noObject('bill', id);
      return encodeDetails({ ...bill, ...namesOf(bill) });
    },
  }),
  post(
    '/provider-bill-sources/{provider}/fetch',
    'provider-bill-fetch',
    'Read a bill from the vendor’s API',
    operator,
    {
      params,
      body: fetchBody,
      conflict: 'The source has no credential',
      badGateway: 'The bill could not be read from the vendor’s API',
      answer: [importSchema, 'The compared days, which replace earlier imports of the same days'],
      handle: (call) => fetchNow(call, call.params.provider),
    },
  ),
  post('/provider-bill-sources/{provider}/import', 'provider-bill-import', 'Import a bill as CSV', operator, {
    params,
    isCsv: true,
    answer: [importSchema, 'The compared days, which replace earlier imports of the same days'],
    async handle(call) {
      const source = await findSource(call, call.params.provider);
      requireCsv(call.context.req.raw.headers);
      const bill = await readCsvBill(source.kind, uploadOf(call.context.req.raw));
      return storeBill(call, source, bill, 'csv');
    },
  }),
];

function sourceJson(source: BillSource) {
  const { isPrivate, sealed } = source;
  return encodeSource({ ...source, privateNetwork: isPrivate, hasCredential: sealed !== null });
}

function dayOf({ dayMs }: Pick<ListedBill, 'dayMs'>): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}

function namesOf(bill: ListedBill) {
  const day = dayOf(bill);
  return { id: `${bill.provider}:${day}`, day };
}

function billJson(bill: ListedBill) {
  return encodeBill({ ...bill, ...namesOf(bill) });
}

function cursorOf(position: string | null): { dayMs: number; provider: string } | null {
  if (position === null) return null;
  const [, digits, provider] = /^(\d{1,15}) (.+)$/.exec(position) ?? [];
  if (digits === undefined || provider === undefined) throw invalidCursor();
  return { dayMs: parseDigits(digits), provider };
}

async function findSource({ bills }: Call, provider: string): Promise<BillSource> {
  const source = await bills.getBillSource(provider);
  if (source === null) throw noObject('source of bills for the provider', provider);
  return source;
}

async function storeSource(call: CallWith<typeof sourceBody>): Promise<BillSource> {
  const { body, bills, catalog, clock, vault } = call;
  const { provider, kind, credential, schedule, models } = body;
  if (!catalog.current().providers.has(provider)) throw noObject('provider', provider);
  const before = await bills.getBillSource(provider);
  if (before === null && (await bills.listBillSources()).length >= bounds.billSourcesMax)
    throw new TurnpikeError('conflict', `There are ${bounds.billSourcesMax} sources of bills already.`);
  await refuseAddress(call);
  // A credential is for one vendor and one address: it is not sent to another.
  const isMoved = before !== null && (before.kind !== kind || before.baseUrl !== body.base_url);
  if (credential === undefined && isMoved && before.sealed !== null)
    throw invalidMember('credential', 'is required where the kind or the address changes');
  const context = billSourceContext({ provider });
  const sealed = credential === undefined ? (before?.sealed ?? null) : credential && vault.seal(credential, context);
  const place = { baseUrl: body.base_url, isPrivate: body.private_network };
  const source: BillSource = {
    ...{ provider, kind, ...place, sealed, schedule, models },
    createdAtMs: before?.createdAtMs ?? clock.nowMs(),
  };
  const note = changeNote(
    before === null ? 'provider_bill_source.create' : 'provider_bill_source.update',
    `provider_bill_source ${provider}`,
    null,
    before && { ...sourceJson(before), ...(credential != null && { credential: 'earlier' }) },
    { ...sourceJson(source), ...(credential != null && before !== null && { credential: 'replaced' }) },
  );
  await bills.putBillSource(source, recordAudit(call, [note]));
  return source;
}

/** The rules of providers: https, unless the operator allows a private network. It is checked again before each request. */
async function refuseAddress(call: CallWith<typeof sourceBody>): Promise<void> {
  const { base_url: baseUrl, private_network: isPrivate } = call.body;
  if (baseUrl === null) return;
  const url = URL.parse(baseUrl);
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw invalidMember('base_url', 'must be an http or https URL without user, query and fragment');
  if (isPrivate) return;
  if (url.protocol !== 'https:') throw invalidMember('base_url', 'must begin with https://');
  const address = await findPrivateAddress(baseUrl, rememberLookups(call.lookup));
  if (address !== null)
    throw invalidMember(
      'base_url',
      `resolves to ${address} in a private network: set "private_network": true to allow it`,
    );
}

async function fetchNow(call: CallWith<typeof fetchBody>, provider: string) {
  const source = await findSource(call, provider);
  const { sealed } = source;
  if (sealed === null)
    throw new TurnpikeError('conflict', 'The source has no credential: set one, or import the bill as CSV.');
  const usual = daysToFetch(source, call.clock.nowMs());
  const untilMs = call.body.until ?? usual.untilMs;
  const sinceMs = call.body.since ?? Math.min(usual.sinceMs, untilMs - DAY_MS);
  for (const [member, ms] of [
    ['since', sinceMs],
    ['until', untilMs],
  ] as const)
    if (ms % DAY_MS !== 0) throw invalidMember(member, 'must be a day: midnight, UTC');
  if (untilMs <= sinceMs) throw invalidMember('until', 'must be later than since');
  if (untilMs - sinceMs > bounds.billDaysFetchedMax * DAY_MS)
    throw invalidMember('since', `must be at most ${bounds.billDaysFetchedMax} days before until`);
  const signal = AbortSignal.any([call.context.req.raw.signal, AbortSignal.timeout(bounds.billFetchMsMax)]);
  const bill = await fetchBill(call, { ...source, sealed }, { sinceMs, untilMs, signal });
  return storeBill(call, source, bill, 'api');
}

type Bill = Parameters<typeof importBill>[2];

async function storeBill(call: Call, source: BillSource, bill: Bill, from: StoredBill['from']) {
  const { bills, usage, clock, catalog, principal } = call;
  const parts = { bills, usage, clock, catalog: () => catalog.current() };
  const audit = (days: readonly StoredBill[]) => {
    const shown = { from, days: days.map(dayOf).join(' ') };
    const note = changeNote('provider_bill.import', `provider_bill ${source.provider}`, null, null, shown);
    return { ...recordAudit(call, [note]), since: null };
  };
  const { stored, events } = await importBill(parts, source, bill, { from, by: principal.id, audit });
  return { data: stored.map(billJson), events };
}

function requireCsv(headers: Headers): void {
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity')
    throw new TurnpikeError('content_type_unsupported', 'content-encoding: send the file uncompressed.');
  if (!/^text\/csv\s*(;\s*charset="?utf-8"?\s*)?$/i.test(headers.get('content-type') ?? ''))
    throw new TurnpikeError('content_type_unsupported', 'content-type: must be text/csv.');
}

/** The body as it arrives. Throws request_timeout when nothing arrives for too long, or the client disconnects. */
async function* uploadOf({ body }: Request): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await nextChunk(reader);
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function nextChunk(reader: ReadableStreamDefaultReader<Uint8Array>) {
  const stalled = Promise.withResolvers<never>();
  const fault = (cause?: unknown) =>
    new TurnpikeError('request_timeout', 'The file did not arrive: the upload stalled or was cut.', { cause });
  const timer = setTimeout(() => stalled.reject(fault()), bounds.billStallMsMax);
  try {
    return await Promise.race([reader.read(), stalled.promise]);
  } catch (thrown) {
    throw thrown instanceof TurnpikeError ? thrown : fault(thrown);
  } finally {
    clearTimeout(timer);
  }
}
