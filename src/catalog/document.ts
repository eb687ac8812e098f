// Schemas of applied files and stored documents. Decimals stay canonical texts; model.ts has them as integers.

import { parseListenAddress } from '../base/addresses.ts';
import { leastDaysOf } from '../base/clock.ts';
import { parseId } from '../base/ids.ts';
import { formatDecimal, parseDecimal } from '../base/money.ts';
import { bounds } from '../config.ts';
import {
  allOptional,
  anything,
  boolean,
  byDefault,
  charactersMax,
  integer,
  list,
  misfit,
  must,
  nullable,
  object,
  optional,
  orNull,
  record,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';

export const SANDBOX_KIND = 'sandbox'; // the provider kind inside the service

const RATE_FRACTION_DIGITS = 12;
const RATE_MAX = 10_000n * 10n ** 12n; // USD per million tokens, or per thousand searches
const MULTIPLIER_FRACTION_DIGITS = 6;
const MULTIPLIER_MAX = 1_000n * 10n ** 6n;
const COUNT_MAX = 1_000_000_000;
const SECONDS_MAX = 86_400;
const LIST_ENTRIES_MAX = 1_000;
const SHED_BODY_BYTES_MAX = 2 ** 40;
const CREDENTIAL_CHARACTERS_MAX = 8_192;

/** A rate in units of 10^-12 USD; null unless it is a decimal from 0 to 10,000 with at most 12 fraction digits. */
export function readDecimalRate(value: unknown): bigint | null {
  return readDecimal(value, RATE_FRACTION_DIGITS, RATE_MAX);
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

function decimal(read: (value: unknown) => bigint | null, fractionDigits: number, words: string): Schema<string> {
  const describe = (value: unknown) => {
    if (value === undefined) return null;
    const isFloat = typeof value === 'number' && !Number.isInteger(value);
    return isFloat ? 'must be in quotes: an unquoted fraction loses precision' : `must be ${words}`;
  };
  return {
    type: 'text',
    read(value, path, faults) {
      const units = read(value);
      return units === null ? misfit('text', value, path, faults, describe) : formatDecimal(units, fractionDigits);
    },
  };
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
const count = integer(1, COUNT_MAX);
const countOrNone = orNull(count);

const isMatch = (form: RegExp, words: string) => must<string>((value) => form.test(value), words);
export const modelName = text(
  charactersMax(bounds.modelNameCharactersMax),
  isMatch(/^[^\s*\p{Cc}\p{Cs}]*$/u, 'must be a name without spaces and without "*"'),
);
const pattern = text(
  charactersMax(bounds.modelNameCharactersMax),
  isMatch(/^[^\s\p{Cc}\p{Cs}]*$/u, 'must be a name or a pattern with "*", without spaces'),
);
export const plainName = text(
  isMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be a name of at most 64 letters, digits, ".", "_" and "-"'),
);

const rateMembers = {
  input: rate,
  output: rate,
  cache_read: orNull(rate),
  cache_write_5m: orNull(rate),
  cache_write_1h: orNull(rate),
};
export const DEFAULT_MAX_TOKENS = 4_096; // of a model without `default_max_tokens`

const priceMembers = {
  ...rateMembers,
  long_context: orNull(object({ above: count, ...rateMembers })),
  fast: orNull(object(rateMembers)),
  web_search_per_thousand: orNull(rate),
};
const PRICE_MISSING =
  'is missing: a model without a price cannot be sold; set at least { input: "…", output: "…" } in USD per million tokens, or "catalogue: true" for a model of the price list';
const COST_WORDS = 'must be rates such as { input: "…", output: "…" }, or "catalogue" for the rates of the price list';
const price = object(priceMembers, {
  describe: (value) => (value === undefined || value === null ? PRICE_MISSING : null),
});
const route = object({
  provider: plainName,
  model: orNull(modelName),
  priority: byDefault(integer(0, 1_000), 0),
  weight: byDefault(integer(0, 1_000), 1),
  concurrency: orNull(integer(1, 1_000_000)),
  cost: orNull(object(priceMembers, { describe: () => COST_WORDS })),
});
const aliases = byDefault(list(modelName, { most: LIST_ENTRIES_MAX }), []);
const displayName = text(charactersMax(200));
const modelMembers = {
  aliases,
  display_name: orNull(displayName),
  price,
  max_output_tokens: countOrNone,
  max_input_tokens: countOrNone,
  default_max_tokens: byDefault(count, DEFAULT_MAX_TOKENS),
  routes: list(route, {
    most: LIST_ENTRIES_MAX,
    empty: 'must not be empty: a model needs a route',
    describe: (value) => (value === undefined ? 'is missing: a model needs a route' : null),
  }),
};
export const modelInput = object(modelMembers);

export const listedModel = object({
  aliases,
  display_name: displayName,
  price,
  max_output_tokens: countOrNone,
  max_input_tokens: countOrNone,
  retires_on: orNull(text(isMatch(/^\d{4}-\d\d-\d\d$/, 'must be a date'))),
});

export const groupInput = object({
  models: list(pattern, { most: LIST_ENTRIES_MAX, empty: 'must not be empty: a group needs a pattern such as "*"' }),
  multiplier: byDefault(multiplier, '1'),
  rpm: countOrNone,
  input_tpm: countOrNone,
  output_tpm: countOrNone,
  concurrency: countOrNone,
});

const PREFIX_WORDS = 'must have at most 32 characters of a-z, 0-9 and "-", and start with a letter';
export const vendorPrefixes = list(text(isMatch(/^[a-z][a-z0-9-]{0,31}$/, PREFIX_WORDS)), {
  most: 16,
  empty: 'must not be empty',
  checks: [must((prefixes) => new Set(prefixes).size === prefixes.length, 'must not contain a prefix twice')],
});
const seconds = integer(1, SECONDS_MAX);
const settingsMembers = {
  output_tranche_tokens: integer(16, 1_000_000),
  output_floor_tokens: integer(1, 1_000_000),
  drain_seconds: integer(0, SECONDS_MAX),
  drain_notice_seconds: integer(0, 600),
  body_bytes_max: integer(1_024, bounds.bodyBytesMax),
  require_browser_header: boolean,
  upstream_connect_seconds: integer(1, 600),
  upstream_first_event_seconds: seconds,
  upstream_stream_seconds: seconds,
  upstream_silence_seconds: seconds,
  upstream_answer_seconds: seconds,
  attempts_seconds: seconds,
  circuit_failures: nullable(integer(1, 1_000_000)),
  finish_without_caller_seconds: seconds,
  finish_streams_without_caller_max: integer(0, 100_000),
  settle_wait_seconds: integer(1, 600),
  admin_listen: nullable(
    text(must((address) => parseListenAddress(address) !== null, 'must be ADDRESS:PORT such as "127.0.0.1:8081"')),
  ),
  shed_loop_delay_ms: integer(20, 60_000),
  shed_body_bytes: integer(1_024, SHED_BODY_BYTES_MAX),
  shed_open_messages: integer(1, 1_000_000),
  usage_retention_days: nullable(integer(2, 36_500)),
  journal_retention_months: nullable(integer(2, 1_200)),
};
export const settingsInput = object(allOptional(settingsMembers), { checks: [isBodyShed, isJournalKeptWithUsage] });

type FileSettings = Omit<SettingsInput, 'vendor_prefixes'>;

function isBodyShed({ shed_body_bytes = SHED_BODY_BYTES_MAX, body_bytes_max = bounds.bodyBytesMax }: FileSettings) {
  if (shed_body_bytes >= body_bytes_max) return null;
  const message = `must be at least body_bytes_max, ${body_bytes_max}: a body of that size would always be shed`;
  return { path: ['shed_body_bytes'], message };
}

function isJournalKeptWithUsage({ usage_retention_days: days, journal_retention_months: months }: FileSettings) {
  if (months == null || (days != null && leastDaysOf(months) >= days)) return null;
  const why = 'a month whose usage records are kept cannot be dropped';
  const message =
    days == null ? `requires usage_retention_days: ${why}` : `is too low for usage_retention_days, ${days}: ${why}`;
  return { path: ['journal_retention_months'], message };
}

const NOT_EXPANDED = 'contains a variable that was not expanded: the process that reads the file must expand it';
const credential = text(
  must((value) => value !== '', 'must not be empty: omit it if there is none'),
  must(
    (value) => value.length <= CREDENTIAL_CHARACTERS_MAX,
    `must not have more than ${CREDENTIAL_CHARACTERS_MAX} characters`,
  ),
  must((value) => !/\$\{[^}]*\}/.test(value), NOT_EXPANDED),
  must(
    (value) => /^[\x21-\x7e]*$/.test(value.replaceAll(/\$\{[^}]*\}/g, '')),
    'must be printable characters without spaces',
  ),
);

export function providerMembers(kinds: readonly string[]) {
  return object({
    kind: text(must((kind) => kinds.includes(kind), `must be one of ${kinds.join(', ')}`)),
    base_url: optional(text()),
    api_key: optional(credential),
    credentials: optional(anything), // read one by one, each with its own faults
    private_network: byDefault(boolean, false),
  });
}

export const DEFAULT_CREDENTIAL = 'default'; // the name of the credential under `api_key`

const accountId = text(
  must((value) => parseId('acct', value) !== null, 'must be the id of an account such as acct_000000001'),
);

export const credentialInput = object(
  { api_key: optional(credential), account: orNull(accountId), group: orNull(plainName) },
  {
    checks: [
      ({ account, group }) =>
        account === null || group === null
          ? null
          : { path: ['group'], message: 'cannot be combined with account: a credential is for one of the two' },
    ],
  },
);

/** A provider in a file, without its further credentials; `base_url` is empty for one inside the service. */
export type ProviderInput = Omit<ValueOf<ReturnType<typeof providerMembers>>, 'base_url' | 'credentials'> & {
  base_url: string;
};
/** A model in a file; `price_source` has the list's day if the price comes from the price list. */
export interface ModelInput extends ValueOf<typeof modelInput> {
  price_source?: { catalogue: string };
}
export type CredentialInput = ValueOf<typeof credentialInput>;
export type GroupInput = ValueOf<typeof groupInput>;
export type PriceInput = ValueOf<typeof price>;
export type RatesInput = Pick<PriceInput, 'input' | 'output' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h'>;
export type SettingsInput = ValueOf<typeof storedSettings>;

/** A stored credential, sealed for its provider and name; an account is given by its id. */
const storedCredential = object({ api_key_sealed: text(), account: nullable(accountId), group: nullable(plainName) });
/** A stored provider: the credential of `api_key` and further, named ones. */
export const storedProvider = object({
  kind: text(must((kind) => kind !== '', 'must not be empty')),
  base_url: text(),
  private_network: boolean,
  api_key_sealed: nullable(text()),
  credentials: byDefault(record(plainName, storedCredential), {}),
});
export const storedModel = object({
  ...modelMembers,
  price_source: optional(object({ catalogue: text() })),
  created_at: text(),
});
export const storedSettings = object(allOptional({ vendor_prefixes: vendorPrefixes, ...settingsMembers }));
export const storedSchemas = {
  provider: storedProvider,
  model: storedModel,
  group: groupInput,
  settings: storedSettings,
};
