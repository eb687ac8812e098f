// Every column with JSON, and every column with words that only this program knows: the shape that is written, and the one reader.
// test/storage/stored-shapes keeps each version of a shape, with documents of it that the present reader must read.

import type {
  AccessToken,
  Account,
  AgentClient,
  Consent,
  DirectoryGroup,
  Identity,
  Key,
  MailedLink,
  Person,
  ScimEmail,
  ScimGroup,
  ScimName,
  ScimUser,
} from '../accounts/accounts.ts';
import type { AgentGrant, DeviceCode } from '../agents/agents.ts';
import type { Actor } from '../audit/audit.ts';
import type {
  Batch,
  BatchForm,
  BatchPart,
  BatchStatus,
  ItemCounts,
  ItemOutcome,
  SentPart,
} from '../batches/batches.ts';
import type { BillParts, BillSource, ComparedFeature, ComparedModel, ListedBill } from '../bills/bills.ts';
import type { CatalogDocument } from '../catalog/catalog.ts';
import type { Delivery, Destination, MailRequest, QueuedMail } from '../delivery/delivery.ts';
import { type LimitScope, limitScopes } from '../errors.ts';
import type { ExportRun, ExportSchedule, ExportTarget } from '../exports/exports.ts';
import type { FileStatus } from '../files/files.ts';
import type { AffectedAccount, IncidentFacts } from '../incidents/incidents.ts';
import {
  type AccountRow,
  type BudgetTerms,
  type CompanyTerms,
  type Ending,
  entryKinds,
  type KeyRow,
  type NewEntry,
  type PersonBudget,
  type PersonWindow,
  type PlanMeter,
  type PlanWindow,
} from '../ledger/ledger.ts';
import type { Billing, CodeBatch, Payment } from '../payments/payments.ts';
import type { FormerHashKey } from '../secrets/secrets.ts';
import type { RouteCounts, RouteFailure, RouteSlot } from '../traffic/traffic.ts';
import type { SampleDocument } from '../usage/usage.ts';
import {
  anything,
  DocumentUnreadable,
  flag,
  list,
  map,
  membersOf,
  nullable,
  number,
  object,
  optional,
  parseJson,
  type Shape,
  text,
  union,
  whole,
  words,
} from './document-shape.ts';
import type { MoveMark } from './move.ts';
import { holdShape, readDocument } from './stored-hold.ts';
import type { StoredColumn } from './unreadable-rows.ts';
import { convertEarly, detailsShape, outcome, period } from './usage-details.ts';

export interface StoredDocument<Value = unknown> extends StoredColumn {
  /** Throws DocumentUnreadable with the reason. */
  read(text: string): Value;
  /** The shape that is written, as a JSON schema. */
  describe(): object;
}

/** The value of a document. Throws DocumentUnreadable, with table and column in the reason. */
export function readStored<Value>({ table, column, read }: StoredDocument<Value>, json: string): Value {
  try {
    return read(json);
  } catch (failure) {
    if (!(failure instanceof DocumentUnreadable)) throw failure;
    throw new DocumentUnreadable(`${table}.${column}: ${failure.message}`);
  }
}

/** The value of a document, or what stands for one that cannot be read. */
export function readOr<Value, Default>(
  document: StoredDocument<Value>,
  json: string,
  otherwise: (reason: string) => Default,
): Value | Default {
  try {
    return readStored(document, json);
  } catch (failure) {
    if (failure instanceof DocumentUnreadable) return otherwise(failure.message);
    throw failure;
  }
}

interface Options {
  where?: string;
  /** Gives documents of earlier versions their present shape. */
  convert?(value: unknown): unknown;
}

function stored<Value>(
  [table, key, column]: readonly [table: string, key: string, column: string],
  shape: Shape<Value>,
  { where, convert = (value) => value }: Options = {},
): StoredDocument<Value> {
  const read = (json: string) => shape.read(convert(parseJson(json)), '');
  return { table, key, column, where: where ?? null, read, describe: shape.describe };
}

/** A column whose whole text is one of these words. */
function storedWords<Word extends string>(
  [table, key, column]: readonly [table: string, key: string, column: string],
  shape: Shape<Word>,
): StoredDocument<Word> {
  return { table, key, column, where: null, read: (word) => shape.read(word, ''), describe: shape.describe };
}

const texts = list(text);
const tags = map(text);
const keyStatus = words('enabled', 'disabled', 'revoked');
const onOff = words('enabled', 'disabled');
const role = words('operator', 'viewer', 'owner', 'member');

const windowLength = words('5h', 'day', 'week', 'month');

const budget = object<BudgetTerms>({
  limits: list(object<BudgetTerms['limits'][number]>({ length: windowLength, limit: whole })),
  stops: flag,
});

const company = object<CompanyTerms>({
  parent: nullable(whole),
  paysFrom: words('own', 'parent'),
  personBudget: nullable(budget),
  warnsAt: list(whole),
});

const budgets = list(object<PersonBudget>({ account: whole, terms: nullable(budget) }));
const personWindows = list(object<PersonWindow>({ length: windowLength, used: whole, startMs: whole }));

const account = object<Account>({
  id: whole,
  name: text,
  groups: texts,
  status: onOff,
  parentId: optional(nullable(whole)),
  paysFrom: optional(words('own', 'parent')),
  autoRecharge: optional(
    nullable(
      object<NonNullable<Account['autoRecharge']>>({
        threshold: whole,
        amount: whole,
        perDayMax: whole,
        sinceMs: whole,
      }),
    ),
  ),
  tags: optional(tags),
  tagRules: optional(object<NonNullable<Account['tagRules']>>({ required: texts, pinned: texts })),
  createdAtMs: whole,
});

const keyLimit = words(
  ...(['groups', 'models', 'quota', 'rpm', 'input_tpm', 'output_tpm', 'concurrency'] as const),
  ...(['expires_at', 'origins', 'addresses', 'status'] as const),
);
const key = object<Key>({
  id: whole,
  accountId: whole,
  name: text,
  prefix: text,
  groups: nullable(texts),
  models: nullable(texts),
  status: keyStatus,
  expiresAtMs: nullable(whole),
  origins: nullable(texts),
  addresses: nullable(texts),
  madeBy: nullable(text),
  personId: optional(nullable(whole)),
  tags: optional(tags),
  locked: optional(list(keyLimit)),
  createdAtMs: whole,
});

const token = object<AccessToken>({
  id: whole,
  accountId: nullable(whole),
  role: words('operator', 'viewer', 'owner', 'member', 'scim'),
  name: text,
  prefix: text,
  status: words('enabled', 'revoked'),
  expiresAtMs: nullable(whole),
  personId: optional(nullable(whole)),
  madeBy: text,
  createdAtMs: whole,
});

const person = object<Person>({
  id: whole,
  accountId: nullable(whole),
  role,
  email: nullable(text),
  name: text,
  status: words('invited', 'enabled', 'disabled'),
  linkExpiresAtMs: nullable(whole),
  managedBy: optional(nullable(words('directory'))),
  directorySource: optional(nullable(text)),
  identity: optional(nullable(object<Identity>({ issuer: text, subject: text }))),
  claimedGroups: optional(nullable(list(text))),
  disabledBy: optional(nullable(words('directory', 'account', 'installation'))),
  madeBy: text,
  tags: optional(tags),
  consents: optional(list(object<Consent>({ version: text, atMs: whole, address: text }))),
  createdAtMs: whole,
});

const directoryGroup = object<DirectoryGroup>({
  id: whole,
  name: text,
  source: nullable(text),
  accountId: nullable(whole),
  role,
  priority: whole,
  status: onOff,
  madeBy: text,
  createdAtMs: whole,
});

const scimUser = object<ScimUser>({
  id: whole,
  userName: text,
  externalId: nullable(text),
  active: flag,
  displayName: nullable(text),
  name: nullable(
    object<ScimName>({ formatted: nullable(text), familyName: nullable(text), givenName: nullable(text) }),
  ),
  emails: list(object<ScimEmail>({ value: text, type: nullable(text), primary: nullable(flag) })),
  email: text,
  personId: nullable(whole),
  createdAtMs: whole,
  updatedAtMs: whole,
});

const scimGroup = object<ScimGroup>({
  id: whole,
  displayName: text,
  externalId: nullable(text),
  createdAtMs: whole,
  updatedAtMs: whole,
});

const limits = object<KeyRow['limits']>({
  requestsPerMinute: nullable(whole),
  inputTokensPerMinute: nullable(whole),
  outputTokensPerMinute: nullable(whole),
  concurrency: nullable(whole),
});
const rateMembers = { requests: whole, inputTokens: whole, outputTokens: whole, drainedAtMs: whole, running: whole };
const rates = object<KeyRow['rates']>(rateMembers);
const groupRates = map(object<AccountRow['groups'][string]>({ ...rateMembers, limits }));

const windowMembers = { length: windowLength, used: whole, startMs: whole, anchorMs: whole, sinceMs: whole };
const plan = object<PlanMeter>({
  name: text,
  windows: list(object<PlanWindow>({ ...windowMembers, limit: whole })),
  groups: nullable(texts),
  anchorMs: whole,
  paidUntilMs: nullable(whole),
  endsAtMs: nullable(whole),
  overflow: flag,
  held: whole,
});
const pastWindows = list(object<AccountRow['pastWindows'][number]>({ ...windowMembers, untilMs: whole }));
const reversals = object<AccountRow['reversals']>({ used: whole, held: whole, periodStartMs: whole });

/** Windows of early versions follow the plan's own start, and their lengths were never left out. */
function fillWindows(value: unknown): unknown {
  const { windows, anchorMs, ...others } = membersOf(value) as Partial<PlanMeter>;
  if (!Array.isArray(windows)) return value;
  return { ...others, anchorMs, windows: windows.map((window) => ({ anchorMs, sinceMs: 0, ...window })) };
}

export type DestinationDocument = Pick<
  Destination,
  'kind' | 'name' | 'address' | 'types' | 'secrets' | 'unsubscribedAtMs' | 'madeBy'
>;
const destination = object<DestinationDocument>({
  kind: words('webhook', 'slack', 'mail'),
  name: text,
  address: text,
  types: texts,
  secrets: list(object<Destination['secrets'][number]>({ sealed: text, endsAtMs: nullable(whole) })),
  unsubscribedAtMs: nullable(whole),
  madeBy: text,
});

const deliveryAttempts = list(
  object<Delivery['attempts'][number]>({
    atMs: whole,
    ms: number,
    status: nullable(whole),
    error: nullable(text),
    excerpt: nullable(text),
  }),
);

type MailOf<Kind extends MailRequest['kind']> = Extract<MailRequest, { kind: Kind }>;
const mail = object<Pick<QueuedMail, 'to' | 'request'>>({
  to: text,
  request: union<MailRequest>({
    invitation: object<MailOf<'invitation'>>({
      kind: words('invitation'),
      role: text,
      account: nullable(text),
      expiresAtMs: whole,
    }),
    recovery: object<MailOf<'recovery'>>({ kind: words('recovery'), expiresAtMs: whole }),
    'sign-up': object<MailOf<'sign-up'>>({ kind: words('sign-up'), name: text, accountName: text }),
    'password-reset': object<MailOf<'password-reset'>>({ kind: words('password-reset') }),
    'password-changed': object<MailOf<'password-changed'>>({
      kind: words('password-changed'),
      atMs: whole,
      address: text,
    }),
    export: object<MailOf<'export'>>({
      kind: words('export'),
      export: whole,
      account: nullable(whole),
      name: text,
      period: text,
      query: text,
    }),
  }),
});

/** The members of an export that no other column has. */
export type ExportDocument = Omit<
  ExportSchedule,
  'id' | 'accountId' | 'createdAtMs' | 'status' | 'dueAtMs' | 'version'
>;
/** The members of a batch that no other column has. */
export type BatchDocument = Omit<
  Batch,
  'id' | 'accountId' | 'companyId' | 'keyId' | 'form' | 'status' | 'createdAtMs' | 'dueAtMs'
>;
const batch = object<BatchDocument>({
  endpoint: text,
  groups: list(text),
  models: optional(list(text)),
  headers: map(text),
  metadata: nullable(map(text)),
  inputFileId: whole,
  outputFileId: nullable(whole),
  errorFileId: nullable(whole),
  requests: whole,
  counts: object<ItemCounts>({ succeeded: whole, errored: whole, canceled: whole, expired: whole }),
  cost: optional(whole),
  atProviders: optional(list(object<SentPart>({ provider: text, requests: whole }))),
  expiresAtMs: whole,
  cancelAtMs: nullable(whole),
  endedAtMs: nullable(whole),
});

/** The members of a part of a batch that no other column has. */
export type PartDocument = Omit<BatchPart, 'part' | 'status'>;
const batchPart = object<PartDocument>({
  provider: text,
  upstreamModel: text,
  credential: nullable(text),
  url: text,
  betas: nullable(text),
  ref: nullable(text),
  places: text,
  requests: whole,
  createdAtMs: whole,
  requestsFileId: whole,
  isGuessed: optional(flag),
});

type TargetOf<Kind extends ExportTarget['kind']> = Extract<ExportTarget, { kind: Kind }>;
const exportSchedule = object<ExportDocument>({
  name: text,
  kind: words('records', 'costs', 'focus'),
  format: words('csv', 'parquet'),
  by: list(words('account', 'payer', 'key', 'person', 'model', 'provider', 'tag', 'day')),
  tagName: optional(nullable(text)),
  below: optional(flag),
  every: words('day', 'month'),
  day: whole,
  target: union<ExportTarget>({
    s3: object<TargetOf<'s3'>>({
      kind: words('s3'),
      endpoint: text,
      region: text,
      bucket: text,
      prefix: text,
      accessKeyId: text,
    }),
    mail: object<TargetOf<'mail'>>({ kind: words('mail'), addresses: texts }),
  }),
  secretSealed: nullable(text),
  madeBy: text,
  periodMs: whole,
});

export type ExportRunDocument = Omit<ExportRun, 'exportId' | 'periodMs' | 'status' | 'nextAtMs' | 'version'>;
const exportRun = object<ExportRunDocument>({
  untilMs: whole,
  tries: whole,
  error: nullable(text),
  createdAtMs: whole,
  doneAtMs: nullable(whole),
  rows: whole,
  bytes: whole,
  objects: texts,
  place: nullable(
    object<NonNullable<ExportRun['place']>>({ account: whole, untilMs: whole, recordsSinceMs: optional(whole) }),
  ),
  isRead: flag,
  upload: nullable(object<NonNullable<ExportRun['upload']>>({ object: text, id: text })),
});

const failure = object<NonNullable<Payment['failure']>>({ code: text, message: text });
const paymentKind = words('checkout', 'auto_recharge', 'subscription');
const paymentStatus = words('pending', 'failed', 'canceled', 'paid', 'partially_refunded', 'refunded', 'disputed');
const payment = object<Payment>({
  id: whole,
  accountId: whole,
  kind: paymentKind,
  status: paymentStatus,
  version: whole,
  provider: words('stripe'),
  source: nullable(text),
  customer: text,
  subscription: nullable(text),
  amount: whole,
  credited: whole,
  group: optional(object<NonNullable<Payment['group']>>({ name: text, addedAtMs: nullable(whole) })),
  bonus: optional(whole),
  bonusCredited: optional(whole),
  total: whole,
  tax: whole,
  refunded: whole,
  disputed: whole,
  fee: nullable(whole),
  receiptUrl: nullable(text),
  actionUrl: nullable(text),
  failure: nullable(failure),
  mismatch: nullable(text),
  createdAtMs: whole,
  updatedAtMs: whole,
  checkAtMs: nullable(whole),
});

const billing = object<Billing>({
  accountId: whole,
  version: whole,
  customer: text,
  method: nullable(
    object<NonNullable<Billing['method']>>({
      id: text,
      kind: text,
      brand: nullable(text),
      last4: nullable(text),
      expiresYear: nullable(whole),
      expiresMonth: nullable(whole),
    }),
  ),
  rechargeFailure: nullable(object<NonNullable<Billing['rechargeFailure']>>({ atMs: whole, payment: whole, failure })),
  subscription: nullable(text),
  cancelsAtMs: optional(nullable(whole)),
  nextPlan: optional(nullable(text)),
  refusedSubscription: optional(text),
});

const numbers = list(number);
const samples = object<SampleDocument>({
  version: words(2),
  accounts: list(
    object<SampleDocument['accounts'][number]>({
      account: whole,
      samples: whole,
      matrix: numbers,
      vector: numbers,
      coefficients: numbers,
      kinds: list(object<SampleDocument['accounts'][number]['kinds'][number]>({ shares: numbers, ratios: numbers })),
      speeds: numbers,
    }),
  ),
});

/** Samples of the first version, which had no number at first, cannot be used: they are collected again. */
function forgetEarlySamples(value: unknown): unknown {
  const members = membersOf(value);
  return members === value && (members['version'] ?? 1) === 1 ? { version: 2, accounts: [] } : value;
}

const billKind = words('anthropic', 'openai', 'aws');

const billParts = object<BillParts>({
  rounding: text,
  tiers: text,
  cancelled: text,
  beside: text,
  unknownPrice: text,
  unexplained: text,
});

const billSource = object<BillSource>({
  provider: text,
  kind: billKind,
  baseUrl: nullable(text),
  isPrivate: flag,
  sealed: nullable(text),
  schedule: words('daily', 'never'),
  models: map(text),
  createdAtMs: whole,
});

const providerBill = object<ListedBill>({
  provider: text,
  dayMs: whole,
  from: words('csv', 'api'),
  importedAtMs: whole,
  importedBy: text,
  billed: text,
  ours: text,
  difference: text,
  parts: billParts,
  messages: whole,
});

const billedModel = object<ComparedModel>({
  model: text,
  billedAs: texts,
  billed: text,
  ours: text,
  difference: text,
  parts: billParts,
  features: list(
    object<ComparedFeature>({
      feature: words('input', 'output', 'cache_read', 'cache_write', 'web_search', 'batch', 'other'),
      billed: text,
      ours: text,
      difference: text,
      billedQuantity: nullable(whole),
      ourQuantity: whole,
    }),
  ),
});

const members = map(anything);
const agentClient = words('claude-code', 'codex');

export const documents = {
  account: stored(['accounts', 'id', 'document'], account),
  key: stored(['keys', 'id', 'document'], key),
  token: stored(['tokens', 'id', 'document'], token),
  person: stored(['people', 'id', 'document'], person),
  directoryGroup: stored(['directory_groups', 'id', 'document'], directoryGroup),
  scimUser: stored(['scim_users', 'id', 'document'], scimUser),
  scimGroup: stored(['scim_groups', 'id', 'document'], scimGroup),
  groupRates: stored(['account_meters', 'id', 'group_rates'], groupRates),
  plan: stored(['account_meters', 'id', 'plan'], plan, { convert: fillWindows }),
  lowBalances: stored(['account_meters', 'id', 'low_balances'], list(whole)),
  pastWindows: stored(['account_meters', 'id', 'past_windows'], pastWindows),
  reversals: stored(['account_meters', 'id', 'reversals'], reversals),
  company: stored(['account_meters', 'id', 'company'], company),
  personWindows: stored(['person_meters', 'id', 'windows'], personWindows),
  budgets: stored(['person_meters', 'id', 'budgets'], budgets),
  limits: stored(['key_meters', 'id', 'limits'], limits),
  rates: stored(['key_meters', 'id', 'rates'], rates),
  tagSet: stored(['tag_sets', "account_id || ' ' || id || ' ' || month_ms", 'tags'], tags),
  hold: { ...stored(['holds', 'request_id', 'document'], holdShape), read: readDocument },
  usageDetails: stored(['usage_records', 'request_id', 'details'], detailsShape, { convert: convertEarly }),
  auditBefore: stored(['audit_records', 'seq', 'before'], members),
  auditAfter: stored(['audit_records', 'seq', 'after'], members),
  /** The catalog reads their members (src/catalog/document.ts). */
  catalog: stored(['catalog', "kind || ' ' || name", 'document'], members),
  samples: stored(['learned', 'model', 'document'], samples, { convert: forgetEarlySamples }),
  /** The types of events define their members (src/events/event-types.ts). */
  event: stored(['events', 'seq', 'document'], members),
  destination: stored(['destinations', 'id', 'document'], destination),
  deliveryAttempts: stored(['deliveries', 'seq', 'attempts'], deliveryAttempts),
  mail: stored(['mails', 'id', 'document'], mail),
  mailedLink: stored(
    ['mailed_links', 'hash', 'document'],
    object<Pick<MailedLink, 'name' | 'accountName'>>({ name: text, accountName: text }),
  ),
  batch: stored(['batches', 'id', 'document'], batch),
  batchPart: stored(['batch_parts', "batch_id || ' ' || part", 'document'], batchPart),
  export: stored(['exports', 'id', 'document'], exportSchedule),
  exportRun: stored(['export_runs', "export_id || ' ' || period_ms", 'document'], exportRun),
  payment: stored(['payments', 'id', 'document'], payment),
  billing: stored(['billing', 'account_id', 'document'], billing),
  routeCounts: stored(
    ['route_hours', "at_ms || ' ' || model || ' ' || provider || ' ' || upstream_model || ' ' || source", 'document'],
    object<RouteCounts>({
      answered: whole,
      faults: map(whole),
      times: map(whole),
      slots: optional(map(object<RouteSlot>({ answered: whole, failed: whole, firstFailedAtMs: whole }))),
      last: optional(
        object<RouteFailure>({
          atMs: whole,
          fault: text,
          provider: nullable(text),
          credential: nullable(text),
          status: nullable(whole),
          reason: nullable(text),
        }),
      ),
    }),
  ),
  incident: stored(
    ['incidents', 'seq', 'document'],
    object<IncidentFacts>({
      kind: words(
        'model_failing',
        'provider_failing',
        'route_failing',
        'account_refused',
        'key_refused',
        'requests_rejected',
        'credential_unreadable',
        'destination_failing',
        'mail_failing',
        'recharge_failing',
        'export_failing',
        'backup_failing',
        'task_failing',
        'telemetry_failing',
        'negative_margin',
        'prices_outdated',
      ),
      severity: words('warning', 'critical'),
      model: nullable(text),
      provider: nullable(text),
      upstreamModel: nullable(text),
      key: nullable(whole),
      subject: nullable(text),
      subjectId: nullable(whole),
      cause: nullable(text),
      said: nullable(text),
      saidAtMs: nullable(whole),
      models: list(text),
      requests: nullable(whole),
      ofRequests: nullable(whole),
      accounts: nullable(whole),
      mostAffected: list(object<AffectedAccount>({ account: whole, requests: whole })),
      loss: nullable(whole),
    }),
  ),
  billSource: stored(['provider_bill_sources', 'provider', 'document'], billSource),
  providerBill: stored(['provider_bills', "provider || ' ' || day_ms", 'document'], providerBill),
  billedModels: stored(['provider_bills', "provider || ' ' || day_ms", 'models'], list(billedModel)),
  formerHashKeys: stored(
    ['installation', 'name', 'value'],
    list(object<FormerHashKey>({ id: text, keyBase64: text })),
    { where: "name = 'former_hash_keys'" },
  ),
  moveMark: stored(
    ['installation', 'name', 'value'],
    object<MoveMark>({ id: text, atMs: whole, to: text, isDone: flag }),
    { where: "name = 'moved_to'" },
  ),
};

export const refusalScope = storedWords<LimitScope>(['refusals', 'seq', 'scope'], words(...limitScopes));

const storedTexts = [
  storedWords(['account_meters', 'id', 'allowance_period'], period),
  storedWords(['key_meters', 'id', 'status'], keyStatus),
  storedWords(['key_meters', 'id', 'quota_period'], period),
  storedWords<NewEntry['kind']>(['entries', 'seq', 'kind'], words(...entryKinds)),
  storedWords<Ending['endedBy']>(
    ['usage_records', 'request_id', 'ended_by'],
    words('settled', 'released', 'expired', 'corrected', 'forgiven'),
  ),
  storedWords(['usage_records', 'request_id', 'outcome'], outcome),
  storedWords<Actor['role']>(
    ['audit_records', 'seq', 'role'],
    words('operator', 'viewer', 'owner', 'member', 'scim', 'service'),
  ),
  storedWords<CatalogDocument['kind']>(
    ['catalog', "kind || ' ' || name", 'kind'],
    words('provider', 'model', 'group', 'plan', 'agent_policy', 'settings', 'price_list'),
  ),
  storedWords<CatalogDocument['origin']>(['catalog', "kind || ' ' || name", 'origin'], words('start', 'file', 'api')),
  storedWords<CodeBatch['kind']>(['code_batches', 'id', 'kind'], words('payment', 'promotion')),
  storedWords<CodeBatch['status']>(['code_batches', 'id', 'status'], onOff),
  refusalScope,
  storedWords<AgentClient>(['agent_grants', 'id', 'client'], agentClient),
  storedWords<AgentGrant['status']>(['agent_grants', 'id', 'status'], words('enabled', 'revoked')),
  storedWords<AgentClient>(['agent_keys', "person_id || ' ' || client", 'client'], agentClient),
  storedWords<AgentClient>(['device_codes', 'hash', 'client'], agentClient),
  storedWords<DeviceCode['status']>(['device_codes', 'hash', 'status'], words('pending', 'approved', 'denied')),
  storedWords<Destination['status']>(['destinations', 'id', 'status'], onOff),
  storedWords<ExportSchedule['status']>(['exports', 'id', 'status'], onOff),
  storedWords<ExportRun['status']>(
    ['export_runs', "export_id || ' ' || period_ms", 'status'],
    words('pending', 'done', 'failed'),
  ),
  storedWords<FileStatus>(['files', 'id', 'status'], words('pending', 'stored', 'deleted')),
  storedWords<BatchForm>(['batches', 'id', 'form'], words('messages', 'openai')),
  storedWords<BatchStatus>(['batches', 'id', 'status'], words('running', 'canceling', 'ended')),
  storedWords<ItemOutcome>(
    ['batch_results', "batch_id || ' ' || place", 'outcome'],
    words('succeeded', 'errored', 'canceled', 'expired'),
  ),
  storedWords<Delivery['status']>(['deliveries', 'seq', 'status'], words('pending', 'delivered', 'failed')),
  storedWords<MailedLink['purpose']>(['mailed_links', 'hash', 'purpose'], words('sign-up', 'password-reset')),
] as const;

export type CatalogTable = Omit<CatalogDocument, 'document'> & { document: string };

/** One that cannot be read has a member that no schema allows: the catalog refuses it, and says why. */
export function readCatalogRow(row: CatalogTable): CatalogDocument {
  const document = readOr(documents.catalog, row.document, (unreadable) => ({ unreadable }));
  return { ...row, document: document as CatalogDocument['document'] };
}

export const storedDocuments: readonly StoredDocument[] = [...Object.values(documents), ...storedTexts];
