// Schemas of applied files and stored documents. Decimals stay canonical texts; model.ts has them as integers.

import { z } from 'zod';
import { parseId } from '../base/ids.ts';
import { formatDecimal, formatUsd, NANO_MAX, parseDecimal } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue, PRICED_TIERS, SERVES, type Serves } from '../wire/wire.ts';
import { authInput } from './auth.ts';
import { passthroughInput } from './passthrough.ts';
import { unitPriceInput } from './unit-price.ts';

export const SANDBOX_KIND = 'sandbox'; // the provider kind inside the service
export const MESSAGES_KIND = 'anthropic'; // the kind with the Messages protocol

const RATE_FRACTION_DIGITS = 12;
const RATE_MAX = 10_000n * 10n ** 12n; // USD per million tokens, or per thousand searches
const AMOUNT_FRACTION_DIGITS = 9;
const MULTIPLIER_FRACTION_DIGITS = 6;
const MULTIPLIER_MAX = 1_000n * 10n ** 6n;
const COUNT_MAX = 1_000_000_000;
export const LIST_ENTRIES_MAX = 1_000;
const CREDENTIAL_CHARACTERS_MAX = 8_192;

/** A rate in units of 10^-12 USD; null unless it is a decimal from 0 to 10,000 with at most 12 fraction digits. */
export function readDecimalRate(value: unknown): bigint | null {
  return readDecimal(value, RATE_FRACTION_DIGITS, RATE_MAX);
}

/** An amount in nanodollars; null unless it is a decimal from 0 to the largest balance with at most 9 fraction digits. */
export function readAmount(value: unknown): bigint | null {
  return readDecimal(value, AMOUNT_FRACTION_DIGITS, BigInt(NANO_MAX));
}

/** The decimal of an amount in units of 10^-12 USD; negative for a negative margin. */
export function formatRate(units: bigint): string {
  return formatDecimal(units, RATE_FRACTION_DIGITS);
}

/** A multiplier in millionths; null unless it is a decimal from 0 to 1,000 with at most 6 fraction digits. */
export function readMultiplier(value: unknown): bigint | null {
  return readDecimal(value, MULTIPLIER_FRACTION_DIGITS, MULTIPLIER_MAX);
}

/** Reads integers also without quotes; other numbers are refused: they were floats before this code reads them. */
function readDecimal(value: unknown, fractionDigits: number, unitsMax: bigint): bigint | null {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string') return null;
  const units = parseDecimal(text, fractionDigits);
  return units === null || units < 0n || units > unitsMax ? null : units;
}

function decimal(read: (value: unknown) => bigint | null, fractionDigits: number, words: string) {
  const error = (issue: { input?: unknown }) => (issue.input === undefined ? undefined : `must be ${words}`);
  return z.union([z.string(), z.number()], { error }).transform((value, context) => {
    const units = read(value);
    if (units !== null) return formatDecimal(units, fractionDigits);
    const isFloat = typeof value === 'number' && !Number.isInteger(value);
    context.addIssue({
      code: 'custom',
      message: isFloat ? 'must be in quotes: an unquoted fraction loses precision' : `must be ${words}`,
    });
    return z.NEVER;
  });
}

const rate = decimal(
  readDecimalRate,
  RATE_FRACTION_DIGITS,
  'a decimal in USD such as "3.75", from 0 to 10000, with at most 12 fraction digits',
);
export const multiplier = decimal(
  readMultiplier,
  MULTIPLIER_FRACTION_DIGITS,
  'a decimal such as "0.8", from 0 to 1000, with at most 6 fraction digits',
);
const amount = decimal(
  readAmount,
  AMOUNT_FRACTION_DIGITS,
  'an amount in USD such as "20.00", not negative, with at most 9 fraction digits',
).transform((text) => formatUsd(readAmount(text) ?? 0n));
const count = z.int().min(1).max(COUNT_MAX);
const countOrNone = count.nullable().default(null);

const MODEL_NAME_WORDS = 'must be a name without spaces and without "*"';
export const modelName = z
  .string()
  .min(1)
  .max(bounds.modelNameCharactersMax)
  .regex(/^[^\s*\p{Cc}\p{Cs}]*$/u, MODEL_NAME_WORDS);
const ONE_STAR_WORDS = 'must be a name without spaces and with at most one "*"';
const oneStarName = z
  .string()
  .min(1)
  .max(bounds.modelNameCharactersMax)
  .regex(/^[^\s*\p{Cc}\p{Cs}]*\*?[^\s*\p{Cc}\p{Cs}]*$/u, ONE_STAR_WORDS);
/** The name of a model, or one with `*` for all models of its providers' lists. */
export const modelEntryName = oneStarName;
const pattern = z
  .string()
  .min(1)
  .max(bounds.modelNameCharactersMax)
  .regex(/^[^\s\p{Cc}\p{Cs}]*$/u, 'must be a name or a pattern with "*", without spaces');
export const plainName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be a name of at most 64 letters, digits, ".", "_" and "-"');

const rateMembers = {
  input: rate,
  output: rate,
  cache_read: rate.nullable().default(null),
  cache_write_5m: rate.nullable().default(null),
  cache_write_1h: rate.nullable().default(null),
};
export const DEFAULT_MAX_TOKENS = 4_096; // of a model without `default_max_tokens`

const isoDate = z.iso.date();
const isoTime = z.iso.datetime({ offset: true });
const longContext = z.strictObject({ above: count, ...rateMembers });
const tierMembers = {
  ...rateMembers,
  long_context: longContext.exactOptional(), // absent unless set, as earlier versions do not know it
};
const tierRates = z.strictObject(tierMembers);
const priceMembers = {
  ...rateMembers,
  long_context: longContext.nullable().default(null),
  fast: tierRates.nullable().default(null),
  flex: tierRates.exactOptional(), // absent unless set, as earlier versions do not know it
  ultrafast: tierRates.exactOptional(), // as above
  web_search_per_thousand: rate.nullable().default(null),
  units: unitPriceInput(rate).exactOptional(), // absent unless set, as earlier versions do not know it
};
const FROM_WORDS = 'must be a time such as 2026-12-01T00:00:00Z, or a date, which means midnight UTC';
const from = z
  .string()
  .refine((text) => isoDate.safeParse(text).success || isoTime.safeParse(text).success, FROM_WORDS)
  .transform((text) => new Date(text).toISOString());
/** Later versions of a price, in the order in which they take effect. */
const priceChanges = z
  .array(z.strictObject({ from, ...priceMembers }))
  .max(bounds.priceChangesMax)
  .superRefine((changes, context) => {
    for (const [at, { from }] of changes.entries())
      if (at > 0 && from <= (changes[at - 1]?.from ?? ''))
        context.addIssue({
          code: 'custom',
          path: [at, 'from'],
          message: 'must be later than that of the change before it',
        });
  })
  .default([]);
const PRICE_MISSING =
  'is missing: a model without a price cannot be sold; set at least { input: "…", output: "…" } in USD per million tokens, or "catalogue: true" for a model of the price list';
const COST_WORDS = 'must be rates such as { input: "…", output: "…" }, or "catalogue" for the rates of the price list';
const price = z.strictObject(priceMembers, {
  error: (issue) => (issue.input === undefined || issue.input === null ? PRICE_MISSING : undefined),
});
/** A price, as a model has it. */
export const priceInput = price;
/** The protocol of a model at a provider whose kind has several; without it, the model's name decides. */
export const ROUTE_PROTOCOLS = ['messages', 'converse', 'responses', 'chat-completions', 'gemini'] as const;
export type RouteProtocol = (typeof ROUTE_PROTOCOLS)[number];
/** The protocols of kinds that have several. */
export const PROTOCOLS_OF_KINDS: ReadonlyMap<string, readonly RouteProtocol[]> = new Map([
  ['bedrock', ['messages', 'converse']],
  ['vertex', ['messages', 'gemini']],
  ['foundry', ['messages', 'responses', 'chat-completions']],
]);
/** Kinds whose providers have a list of models that routes with `*` can follow. */
export const KINDS_WITH_LIST: readonly string[] = ['anthropic', 'openai', 'openai-responses', 'gemini'];
/** How a model chooses among routes of equal priority. */
export const PREFERENCES = ['weight', 'latency'] as const;
const routeMembers = z.strictObject({
  provider: plainName,
  model: oneStarName.nullable().default(null),
  protocol: z.enum(ROUTE_PROTOCOLS).exactOptional(), // absent unless set, as earlier versions do not know it
  priority: z.int().min(0).max(1_000).default(0),
  weight: z.int().min(0).max(1_000).default(1),
  concurrency: z.int().min(1).max(1_000_000).nullable().default(null),
  cost: z
    .strictObject(priceMembers, { error: (issue) => (issue.code === 'invalid_type' ? COST_WORDS : undefined) })
    .nullable()
    .default(null),
  cost_changes: priceChanges,
});
const route = routeMembers.refine(({ cost, cost_changes }) => cost !== null || cost_changes.length === 0, {
  path: ['cost_changes'],
  error: 'requires cost: the cost until the first change',
});
const modelMembers = {
  aliases: z.array(modelName).max(LIST_ENTRIES_MAX).default([]),
  display_name: z.string().min(1).max(200).nullable().default(null),
  serves: z.enum(SERVES).default('messages'),
  price,
  price_changes: priceChanges,
  max_output_tokens: countOrNone,
  max_input_tokens: countOrNone,
  default_max_tokens: count.default(DEFAULT_MAX_TOKENS),
  prefer: z.enum(PREFERENCES).exactOptional(), // absent unless set, as earlier versions do not know it
  routes: z
    .array(route, { error: (issue) => (issue.input === undefined ? 'is missing: a model needs a route' : undefined) })
    .min(1, 'must not be empty: a model needs a route')
    .max(LIST_ENTRIES_MAX),
};

/** The rates of units that a price may have, by the use of its model. */
const UNITS_OF_USES: Readonly<Record<Serves, readonly string[]>> = {
  messages: ['audio_input', 'audio_output', 'image_input', 'image_output'],
  embeddings: ['audio_input', 'image_input'],
  rerank: ['per_thousand_searches'],
  moderation: ['image_input'],
  images: ['per_image', 'image_input', 'image_output'],
  speech: ['per_million_characters', 'audio_output'],
  transcription: ['per_hour', 'audio_input'],
};

/**
 * The rates of a price that its model does not need, filled in: embeddings and moderation have no output, and what is priced by
 * other units than tokens needs no rate for them.
 */
export function fillRates(rates: JsonObject, serves: JsonValue | undefined): JsonObject {
  if (serves === undefined || serves === 'messages') return rates;
  const hasUnits = rates['units'] !== undefined;
  return {
    ...(hasUnits && { input: '0' }),
    ...((hasUnits || serves === 'embeddings' || serves === 'moderation' || serves === 'rerank') && { output: '0' }),
    ...rates,
  };
}

function fillAllRates(given: unknown): unknown {
  const model = given as JsonValue;
  if (!isJsonObject(model)) return model;
  const fill = (rates: JsonValue): JsonValue => (isJsonObject(rates) ? fillRates(rates, model['serves']) : rates);
  const fillMembers = (holder: JsonObject): JsonObject => {
    const filled = PRICED_MEMBERS.filter((name) => name in holder).map((name) => {
      const value = holder[name] as JsonValue;
      return [name, Array.isArray(value) ? value.map(fill) : fill(value)] as const;
    });
    return { ...holder, ...Object.fromEntries(filled) };
  };
  const { routes } = model;
  const fillRoute = (one: JsonValue) => (isJsonObject(one) ? fillMembers(one) : one);
  return { ...fillMembers(model), ...(Array.isArray(routes) && { routes: routes.map(fillRoute) }) };
}
const PRICED_MEMBERS = ['price', 'price_changes', 'cost', 'cost_changes'];
/** A price of units that a model of this use is not billed by would never be charged. */
function requireOwnUnits(model: PricedModel, context: z.RefinementCtx<PricedModel>): void {
  const allowed = UNITS_OF_USES[model.serves];
  const check = (path: (string | number)[], price: { units?: object } | null) => {
    for (const name of Object.keys(price?.units ?? {}))
      if (!allowed.includes(name))
        context.addIssue({
          code: 'custom',
          path: [...path, 'units', name],
          message: `is no rate of a model that serves ${model.serves}${allowed.length === 0 ? '' : `: it may have ${allowed.join(', ')}`}`,
        });
  };
  const checkAll = (path: (string | number)[], prices: readonly { units?: object }[]) => {
    for (const [at, price] of prices.entries()) check([...path, at], price);
  };
  check(['price'], model.price);
  checkAll(['price_changes'], model.price_changes);
  for (const [at, { cost, cost_changes }] of (model.routes ?? []).entries()) {
    check(['routes', at, 'cost'], cost);
    checkAll(['routes', at, 'cost_changes'], cost_changes);
  }
}
interface PricedModel {
  serves: Serves;
  price: { units?: object };
  price_changes: readonly { units?: object }[];
  routes?: readonly { cost: { units?: object } | null; cost_changes: readonly { units?: object }[] }[];
}
export const modelInput = z.preprocess(fillAllRates, z.strictObject(modelMembers).superRefine(requireOwnUnits));

const LISTED_SOURCE_CHARACTERS_MAX = 500;
export const listedModel = z.preprocess(
  fillAllRates,
  z.strictObject({
    aliases: modelMembers.aliases,
    display_name: z.string().min(1).max(200),
    serves: modelMembers.serves,
    price,
    price_changes: priceChanges,
    max_output_tokens: countOrNone,
    max_input_tokens: countOrNone,
    retires_on: z.iso.date().nullable().default(null),
    source: z.string().min(1).max(LISTED_SOURCE_CHARACTERS_MAX),
    as_of: z.iso.date(),
  }),
);

/** Names of places where data is processed. In lower case only, so that "EU" is not another place than "eu". */
const residency = z
  .array(
    z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be a name such as "eu", of at most 32 characters of a-z, 0-9 and "-"'),
  )
  .min(1, 'must not be empty: omit it if there is none')
  .max(bounds.residenciesMax)
  .refine((places) => new Set(places).size === places.length, 'must not contain a name twice');

export const groupInput = z.strictObject({
  models: z.array(pattern).min(1, 'must not be empty: a group needs a pattern such as "*"').max(LIST_ENTRIES_MAX),
  multiplier: multiplier.default('1'),
  rpm: countOrNone,
  input_tpm: countOrNone,
  output_tpm: countOrNone,
  concurrency: countOrNone,
  residency: residency.exactOptional(), // absent unless set, as earlier versions do not know it
  tiers: z
    .array(z.enum(PRICED_TIERS, `must be ${PRICED_TIERS.map((tier) => `"${tier}"`).join(', ')}`))
    .refine((tiers) => new Set(tiers).size === tiers.length, 'must not contain a tier twice')
    .exactOptional(), // absent unless set, as earlier versions do not know it
});

const windowAmount = amount
  .refine((text) => readAmount(text) !== 0n, 'must be greater than zero; null means no window of this length')
  .nullable()
  .default(null);
export const planInput = z.strictObject({
  title: z.string().min(1).max(bounds.nameCharactersMax),
  price: amount.default('0'),
  interval: z.literal('month', 'must be month').default('month'),
  windows: z
    .strictObject({ '5h': windowAmount, day: windowAmount, week: windowAmount, month: windowAmount })
    .refine(
      (windows) => Object.values(windows).some((limit) => limit !== null),
      'must have a window: 5h, day, week or month',
    ),
  groups: z.array(plainName).max(LIST_ENTRIES_MAX).default([]),
  limits: z
    .strictObject({ rpm: countOrNone, input_tpm: countOrNone, output_tpm: countOrNone, concurrency: countOrNone })
    .prefault({}),
  stripe_price: z
    .string()
    .regex(/^price_[A-Za-z0-9_]{1,240}$/, 'must be the id of a price at Stripe, such as "price_1A2b3C"')
    .nullable()
    .default(null),
  is_offered: z.boolean().default(false),
});

const credential = z
  .string()
  .min(1, 'must not be empty: omit it if there is none')
  .max(CREDENTIAL_CHARACTERS_MAX)
  .refine(
    (text) => !/\$\{[^}]*\}/.test(text),
    'contains a variable that was not expanded: the process that reads the file must expand it',
  )
  .refine(
    (text) => text.startsWith('{') || /^[\x21-\x7e]*$/.test(text.replaceAll(/\$\{[^}]*\}/g, '')),
    'must be printable characters without spaces',
  );

const region = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be the name of a region, such as us-east-1, europe-west1 or global');
const workspace = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be the id of a workspace, such as wrkspc_01AbCd');
const project = z.string().regex(/^[a-z0-9][a-z0-9:.-]{1,127}$/, 'must be the id of a project');
const batchBucket = z
  .string()
  .max(bounds.bucketCharactersMax)
  .regex(
    /^(?:s3|gs):\/\/[a-z0-9][a-z0-9._-]+[a-z0-9](?:\/[\w-][\w.-]*)*$/,
    'must be a bucket, with or without a prefix, such as s3://bucket/prefix or gs://bucket/prefix',
  );
const batchRole = z
  .string()
  .max(bounds.authCharactersMax)
  .regex(/^arn:[\w-]+:iam::\d{12}:role\/[\w+=,.@/-]+$/, 'must be the ARN of a role');

/** `kind` is one of the known kinds, which the reader checks. */
export const providerMembers = z.strictObject({
  kind: z.string(),
  base_url: z.string().optional(),
  api_key: credential.optional(),
  credentials: z.unknown().optional(), // read one by one, each with its own faults
  private_network: z.boolean().default(false),
  bearer: z.boolean().default(false),
  allow_storage: z.boolean().default(false),
  fetch_urls: z.enum(['off', 'public', 'any']).default('off'),
  auth: authInput.exactOptional(),
  region: region.exactOptional(),
  project: project.exactOptional(),
  workspace: workspace.exactOptional(),
  residency: residency.exactOptional(),
  passthrough: passthroughInput.exactOptional(),
  batches: z.boolean().exactOptional(),
  batch_cost: multiplier.exactOptional(),
  batch_bucket: batchBucket.exactOptional(),
  batch_role: batchRole.exactOptional(),
  batch_storage_url: z.string().exactOptional(), // the reader checks it, as it does base_url
});

export const DEFAULT_CREDENTIAL = 'default'; // the name of the credential under `api_key`

const accountId = z
  .string()
  .refine((text) => parseId('acct', text) !== null, 'must be the id of an account such as acct_000000001');

export const credentialInput = z
  .strictObject({
    api_key: credential.optional(),
    auth: authInput.exactOptional(),
    account: accountId.nullable().default(null),
    group: plainName.nullable().default(null),
  })
  .refine(({ account, group }) => account === null || group === null, {
    path: ['group'],
    error: 'cannot be combined with account: a credential is for one of the two',
  });

const AGENT_SETTINGS_CHARACTERS_MAX = 32 * 1024;
/** Settings that this service makes itself, and those that a client takes only from a file of its machine. */
const REFUSED_AGENT_SETTINGS: Readonly<Record<string, string>> = {
  modelPricing: 'is made from the prices of the catalog',
  availableModels: 'is made from the models of the policy',
  enforceAvailableModels: 'is made from the models of the policy',
  mcpServers: 'is not taken from a gateway by Claude Code',
  forceLoginMethod: 'is only read from a file of the machine',
  forceLoginGatewayUrl: 'is only read from a file of the machine',
};

/** Managed settings of Claude Code, as they are given to it (https://code.claude.com/docs/en/settings, 2026-08-22). */
const agentSettings = z.record(z.string(), z.json()).superRefine((settings, context) => {
  for (const name of Object.keys(settings)) {
    const why = Object.hasOwn(REFUSED_AGENT_SETTINGS, name) ? REFUSED_AGENT_SETTINGS[name] : undefined;
    if (why !== undefined) context.addIssue({ code: 'custom', path: [name], message: `cannot be set: it ${why}` });
  }
  if (JSON.stringify(settings).length > AGENT_SETTINGS_CHARACTERS_MAX)
    context.addIssue({
      code: 'custom',
      message: `must have at most ${AGENT_SETTINGS_CHARACTERS_MAX} characters as JSON`,
    });
});
const directoryGroup = z.string().min(1).max(bounds.nameCharactersMax);

/** Rules for coding agents of people in these accounts or directory groups; without either, for everybody. */
export const agentPolicyInput = z.strictObject({
  order: z.int().min(0).max(1_000_000).default(100),
  accounts: z.array(accountId).max(LIST_ENTRIES_MAX).default([]),
  groups: z.array(directoryGroup).max(LIST_ENTRIES_MAX).default([]),
  models: z.array(pattern).min(1, 'must not be empty: null allows all').max(LIST_ENTRIES_MAX).nullable().default(null),
  contact: z.string().min(1).max(200).nullable().default(null),
  settings: agentSettings.default({}),
});

/** A provider in a file, without its further credentials; `base_url` is empty for one inside the service. */
export type ProviderInput = Omit<z.output<typeof providerMembers>, 'base_url' | 'credentials'> & {
  base_url: string;
};
/** A model in a file; `price_source` has the list's day if the price comes from the price list. */
export interface ModelInput extends z.output<typeof modelInput> {
  price_source?: { catalogue: string };
}
export type CredentialInput = z.output<typeof credentialInput>;
export type GroupInput = z.output<typeof groupInput>;
export type PlanInput = z.output<typeof planInput>;
export type AgentPolicyInput = z.output<typeof agentPolicyInput>;
export type PriceInput = z.output<typeof price>;
export type PriceChangeInput = z.output<typeof priceChanges>[number];
export type TierInput = z.output<typeof tierRates>;
export type RatesInput = Pick<PriceInput, 'input' | 'output' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h'>;

/** A stored credential, sealed for its provider and name; an account is given by its id. */
const storedCredential = z.strictObject({
  api_key_sealed: z.string().nullable(),
  auth: authInput.exactOptional(),
  account: accountId.nullable(),
  group: plainName.nullable(),
});
/** A stored provider: the credential of `api_key` and further, named ones. */
export const storedProvider = z.strictObject({
  kind: z.string().min(1),
  base_url: z.string(),
  private_network: z.boolean(),
  bearer: z.literal(true).exactOptional(), // absent unless set, as earlier versions do not know it
  allow_storage: z.literal(true).exactOptional(), // absent unless set, as earlier versions do not know it
  fetch_urls: z.enum(['public', 'any']).exactOptional(), // absent unless set, as earlier versions do not know it
  api_key_sealed: z.string().nullable(),
  auth: authInput.exactOptional(),
  region: region.exactOptional(),
  project: project.exactOptional(),
  workspace: workspace.exactOptional(), // earlier versions do not know it
  residency: residency.exactOptional(),
  passthrough: z.array(z.string()).exactOptional(),
  batches: z.boolean().exactOptional(), // earlier versions do not know it
  batch_cost: multiplier.exactOptional(), // earlier versions do not know it
  batch_bucket: batchBucket.exactOptional(), // earlier versions do not know it
  batch_role: batchRole.exactOptional(), // earlier versions do not know it
  batch_storage_url: z.string().exactOptional(), // earlier versions do not know it
  credentials: z.record(plainName, storedCredential).default({}),
});
export const storedModel = z.strictObject({
  ...modelMembers,
  price_source: z.strictObject({ catalogue: z.string() }).exactOptional(),
  created_at: z.string(),
});
