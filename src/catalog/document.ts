// The schemas of what `apply` takes and of what is stored. Strict: a member that nobody knows is a
// fault, never ignored. Decimals stay texts here, in one canonical form; model.ts has them as numbers.

import { z } from 'zod';
import { formatDecimal, parseDecimal } from '../base/money.ts';
import { bounds } from '../config.ts';
import { type Fault, readPart } from './fault.ts';
import { findPrivateHost, privateNetworkFault } from './private-address.ts';

export const SANDBOX_KIND = 'sandbox'; // the one kind of provider that lives inside the service
const DEFAULT_BASE_URLS: Record<string, string> = { anthropic: 'https://api.anthropic.com' };

const RATE_FRACTION_DIGITS = 12;
const RATE_MAX = 10_000n * 10n ** 12n; // USD per million tokens, or per thousand searches
const MULTIPLIER_FRACTION_DIGITS = 6;
const MULTIPLIER_MAX = 1_000n * 10n ** 6n;
const COUNT_MAX = 1_000_000_000;
const SECONDS_MAX = 86_400;
const LIST_ENTRIES_MAX = 1_000;
const CREDENTIAL_CHARACTERS_MAX = 8_192;

/** A rate as whole units of 10^-12 USD; null when it is no decimal from 0 to 10,000 of at most 12 fraction digits. */
export function readDecimalRate(value: unknown): bigint | null {
  return readDecimal(value, RATE_FRACTION_DIGITS, RATE_MAX);
}

/** A multiplier as whole millionths; null when it is no decimal from 0 to 1,000 of at most 6 fraction digits. */
export function readMultiplier(value: unknown): bigint | null {
  return readDecimal(value, MULTIPLIER_FRACTION_DIGITS, MULTIPLIER_MAX);
}

/** Whole numbers may come without quotes; other numbers are refused, because they were floats before we saw them. */
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
      message: isFloat ? 'must be written in quotes: a number that is not whole loses exactness' : `must be ${words}`,
    });
    return z.NEVER;
  });
}

const rate = decimal(
  readDecimalRate,
  RATE_FRACTION_DIGITS,
  'a decimal in USD such as "3.75", from 0 to 10000, with at most 12 fraction digits',
);
const multiplier = decimal(
  readMultiplier,
  MULTIPLIER_FRACTION_DIGITS,
  'a decimal such as "0.8", from 0 to 1000, with at most 6 fraction digits',
);
const count = z.int().min(1).max(COUNT_MAX);
const countOrNone = count.nullable().default(null);

const MODEL_NAME_WORDS = 'must be a name without spaces and without "*"';
const modelName = z
  .string()
  .min(1)
  .max(bounds.modelNameCharactersMax)
  .regex(/^[^\s*\p{Cc}]*$/u, MODEL_NAME_WORDS);
const pattern = z
  .string()
  .min(1)
  .max(bounds.modelNameCharactersMax)
  .regex(/^[^\s\p{Cc}]*$/u, 'must be a name or a pattern with "*", without spaces');
const plainName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be a name of at most 64 letters, digits, ".", "_" and "-"');

const rateMembers = {
  input: rate,
  output: rate,
  cache_read: rate.nullable().default(null),
  cache_write_5m: rate.nullable().default(null),
  cache_write_1h: rate.nullable().default(null),
};
const priceMembers = {
  ...rateMembers,
  long_context: z
    .strictObject({ above: count, ...rateMembers })
    .nullable()
    .default(null),
  fast: z.strictObject(rateMembers).nullable().default(null),
  web_search_per_thousand: rate.nullable().default(null),
};
const PRICE_MISSING =
  'is missing: what has no price is not sold; give at least { input: "…", output: "…" } in USD per million tokens';
const price = z.strictObject(priceMembers, {
  error: (issue) => (issue.input === undefined || issue.input === null ? PRICE_MISSING : undefined),
});
const route = z.strictObject({
  provider: plainName,
  model: modelName.nullable().default(null),
  priority: z.int().min(0).max(1_000).default(0),
  weight: z.int().min(0).max(1_000).default(1),
  cost: z.strictObject(priceMembers).nullable().default(null),
});
const modelMembers = {
  aliases: z.array(modelName).max(LIST_ENTRIES_MAX).default([]),
  display_name: z.string().min(1).max(200).nullable().default(null),
  price,
  max_output_tokens: countOrNone,
  max_input_tokens: countOrNone,
  default_max_tokens: count.default(4_096),
  routes: z
    .array(route, { error: (issue) => (issue.input === undefined ? 'is missing: a model needs a route' : undefined) })
    .min(1, 'must not be empty: a model needs a route')
    .max(LIST_ENTRIES_MAX),
};
const modelInput = z.strictObject(modelMembers);

const groupInput = z.strictObject({
  models: z.array(pattern).min(1, 'must not be empty: a group needs a pattern such as "*"').max(LIST_ENTRIES_MAX),
  multiplier: multiplier.default('1'),
  rpm: countOrNone,
  input_tpm: countOrNone,
  output_tpm: countOrNone,
  concurrency: countOrNone,
});

const vendorPrefixes = z
  .array(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be at most 32 of a-z, 0-9 and "-", a letter first'))
  .min(1)
  .max(16)
  .refine((prefixes) => new Set(prefixes).size === prefixes.length, 'must not name a prefix twice');
const seconds = z.int().min(1).max(SECONDS_MAX);
const settingsMembers = {
  output_tranche_tokens: z.int().min(16).max(1_000_000),
  drain_seconds: z.int().min(0).max(SECONDS_MAX),
  body_bytes_max: z.int().min(1_024).max(bounds.bodyBytesMax),
  require_browser_header: z.boolean(),
  upstream_silence_seconds: seconds,
  upstream_answer_seconds: seconds,
  finish_without_caller_seconds: seconds,
  settle_wait_seconds: z.int().min(1).max(600),
};
const settingsInput = z.strictObject(settingsMembers).partial();

const credential = z
  .string()
  .min(1, 'must not be empty: leave it out where there is none')
  .max(CREDENTIAL_CHARACTERS_MAX)
  .refine(
    (text) => !/\$\{[^}]*\}/.test(text),
    'has a variable that was not expanded: the process that reads the file does that',
  )
  .refine(
    (text) => /^[\x21-\x7e]*$/.test(text.replaceAll(/\$\{[^}]*\}/g, '')),
    'must be printable characters, no spaces',
  );

function providerMembers(kinds: readonly string[]) {
  return z.strictObject({
    kind: z.string().refine((kind) => kinds.includes(kind), `must be one of ${kinds.join(', ')}`),
    base_url: z.string().optional(),
    api_key: credential.optional(),
    private_network: z.boolean().default(false),
  });
}

/** What a file says of a provider; `base_url` is empty for one inside the service. */
export interface ProviderInput {
  kind: string;
  base_url: string;
  api_key?: string | undefined;
  private_network: boolean;
}
export type ModelInput = z.output<typeof modelInput>;
export type GroupInput = z.output<typeof groupInput>;
export type PriceInput = z.output<typeof price>;
export type RatesInput = Pick<PriceInput, 'input' | 'output' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h'>;
export type SettingsInput = z.output<typeof storedSettings>;

/** What is stored of a provider: the credential is sealed with the context "provider:<name>". */
export const storedProvider = z.strictObject({
  kind: z.string().min(1),
  base_url: z.string(),
  private_network: z.boolean(),
  api_key_sealed: z.string().nullable(),
});
export const storedModel = z.strictObject({ ...modelMembers, created_at: z.string() });
export const storedGroup = groupInput;
export const storedSettings = z.strictObject({ vendor_prefixes: vendorPrefixes, ...settingsMembers }).partial();

/** A file as it was read. A name whose object has a fault stands with null, so that references to it are no faults too. */
export interface CatalogFile {
  providers: Map<string, ProviderInput | null>;
  models: Map<string, ModelInput | null>;
  /** What each model leads to and is called, also of one that has a fault. */
  references: Map<string, ModelReferences>;
  groups: Map<string, GroupInput | null>;
  /** What the file says under `vendor_prefixes`: empty for a key without a value, null without the key. */
  vendorPrefixes: Pick<SettingsInput, 'vendor_prefixes'> | null;
  /** The members that the file has under `settings`; null without the key. */
  settings: Omit<SettingsInput, 'vendor_prefixes'> | null;
}

/** Names by their positions in the file; null for what cannot be one, which is a fault already. */
export interface ModelReferences {
  providers: (string | null)[];
  aliases: (string | null)[];
}

const SECTIONS = ['vendor_prefixes', 'providers', 'models', 'groups', 'settings'];

/** Reads a file (contract.md, "The file that apply takes"), adding every fault of its members. */
export function readCatalogFile(value: unknown, kinds: readonly string[], faults: Fault[]): CatalogFile {
  const sections = membersOf(value ?? {}, [], faults);
  for (const name of sections.keys())
    if (!SECTIONS.includes(name))
      faults.push({ path: [name], message: `there is no such member (known: ${SECTIONS.join(', ')})` });
  const readSection = <T>(
    section: string,
    nameSchema: z.ZodType,
    read: (object: unknown, path: [section: string, name: string]) => T | null,
  ) => {
    const objects = new Map<string, T | null>();
    for (const [name, object] of membersOf(sections.get(section) ?? {}, [section], faults)) {
      readPart(nameSchema, name, [section, name], faults);
      objects.set(name, read(object, [section, name]));
    }
    return objects;
  };
  return {
    providers: readSection('providers', plainName, (object, path) => readProvider(object, kinds, path, faults)),
    models: readSection('models', modelName, (object, path) => readPart(modelInput, object, path, faults)),
    references: readReferences(sections.get('models')),
    groups: readSection('groups', plainName, (object, path) => readPart(groupInput, object, path, faults)),
    vendorPrefixes: sections.has('vendor_prefixes') ? readPrefixes(sections.get('vendor_prefixes'), faults) : null,
    settings: sections.has('settings')
      ? readPart(settingsInput, sections.get('settings') ?? {}, ['settings'], faults)
      : null,
  };
}

/** Its members, and then whether they fit its kind: asked also beside other faults, so that all are named. */
function readProvider(
  object: unknown,
  kinds: readonly string[],
  path: [section: string, name: string],
  faults: Fault[],
): ProviderInput | null {
  const members = readPart(providerMembers(kinds), object, path, faults);
  const misfits = findMisfits(membersOf(object, [], []), kinds, path);
  faults.push(...misfits);
  if (members === null || misfits.length > 0) return null;
  const base_url = members.base_url ?? DEFAULT_BASE_URLS[members.kind] ?? '';
  return { ...members, base_url: base_url.replace(/\/+$/, '') };
}

function findMisfits(
  members: ReadonlyMap<string, unknown>,
  kinds: readonly string[],
  path: [section: string, name: string],
): Fault[] {
  const faultOf = (member: string, message: string): Fault => ({ path: [...path, member], message });
  const kind = members.get('kind');
  const baseUrl = members.get('base_url');
  if (typeof kind !== 'string') return [];
  if (kind === SANDBOX_KIND)
    return ['base_url', 'api_key']
      .filter((name) => members.has(name))
      .map((name) => faultOf(name, 'is for providers outside of the service only'));
  if (baseUrl === undefined && (DEFAULT_BASE_URLS[kind] !== undefined || !kinds.includes(kind))) return [];
  if (baseUrl === undefined || baseUrl === '')
    return [faultOf('base_url', `is missing: the kind ${kind} has no address of its own`)];
  if (typeof baseUrl !== 'string') return [];
  if (!isBaseUrl(baseUrl))
    return [faultOf('base_url', 'must be an http or https address without user, query and fragment')];
  const privateHost = members.get('private_network') === true ? null : findPrivateHost(baseUrl);
  return privateHost === null ? [] : [privateNetworkFault(path[1], privateHost)];
}

function readReferences(models: unknown): CatalogFile['references'] {
  const listOf = (value: unknown) => (Array.isArray(value) ? value : []);
  const nameIn = (schema: z.ZodType<string>, value: unknown) => schema.safeParse(value).data ?? null;
  const referencesOf = (model: unknown): ModelReferences => {
    const members = membersOf(model, [], []);
    return {
      providers: listOf(members.get('routes')).map((one) => nameIn(plainName, membersOf(one, [], []).get('provider'))),
      aliases: listOf(members.get('aliases')).map((alias) => nameIn(modelName, alias)),
    };
  };
  const named = [...membersOf(models, [], [])].map(([name, model]): [string, ModelReferences] => [
    name,
    referencesOf(model),
  ]);
  return new Map(named);
}

function readPrefixes(value: unknown, faults: Fault[]): CatalogFile['vendorPrefixes'] {
  if (value === null) return {};
  const prefixes = readPart(vendorPrefixes, value, ['vendor_prefixes'], faults);
  return prefixes === null ? null : { vendor_prefixes: prefixes };
}

/** The members of an object as a map, so that no name ("__proto__") means anything. */
function membersOf(value: unknown, path: (string | number)[], faults: Fault[]): Map<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return new Map(Object.entries(value));
  faults.push({ path, message: 'must be an object with members' });
  return new Map();
}

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false;
  return url.username === '' && url.password === '' && !/[?#\s]/.test(text);
}
