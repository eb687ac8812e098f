// What is sold, as plain values: models with prices and routes, groups with multipliers and
// limits, providers. A catalogue is an immutable snapshot of all of them, swapped whole.

import type { Secret } from '../secrets/secrets.ts';

/** USD per million tokens, in whole units of 10^-12 USD. */
export interface Rates {
  input: bigint;
  output: bigint;
  cacheRead: bigint;
  cacheWrite5m: bigint;
  cacheWrite1h: bigint;
}

export interface ModelPrice {
  standard: Rates;
  /** Rates of the whole request once its prompt has more than `aboveTokens` tokens. */
  longContext: { aboveTokens: number; rates: Rates } | null;
  /** Rates of `speed: "fast"`. */
  fast: Rates | null;
  /** USD per thousand web searches, in units of 10^-12 USD. */
  webSearchPerThousand: bigint | null;
}

export interface Route {
  provider: string;
  /** The model's name at the provider. */
  upstreamModel: string;
  /** Lower is tried first. */
  priority: number;
  /** The share among routes of one priority. */
  weight: number;
  /** How many messages at once it carries on one node; null: no bound. */
  concurrency: number | null;
  /** What the provider charges the operator; null when it is not known. */
  cost: ModelPrice | null;
}

export interface Model {
  name: string;
  aliases: readonly string[];
  displayName: string;
  price: ModelPrice;
  /** The day of the price list that the price was taken from, such as "2026-07-24"; null when it was stated. */
  priceListedOn: string | null;
  maxOutputTokens: number | null;
  maxInputTokens: number | null;
  defaultMaxTokens: number;
  routes: readonly Route[];
  createdAt: string;
}

/** Bounds of use a minute and at once; null is no limit. */
export interface RateLimits {
  requestsPerMinute: number | null;
  inputTokensPerMinute: number | null;
  outputTokensPerMinute: number | null;
  concurrency: number | null;
}

export interface Group {
  name: string;
  /** Patterns of model names; `*` stands for any run of characters. */
  models: readonly string[];
  /** The price's factor, in whole millionths. */
  multiplierMillionths: bigint;
  /** Apply to each account of the group. */
  limits: RateLimits;
}

/** What opens a provider. */
export interface Credential {
  /** Its name within the provider; "default" for the one under `api_key`. */
  name: string;
  secret: Secret;
  /** The number of the account that alone may use it, and the group; null: no such bound. At most one is set. */
  account: number | null;
  group: string | null;
}

export interface ProviderSettings {
  name: string;
  kind: string;
  /** Without a slash at its end; empty for a provider inside the service. */
  baseUrl: string;
  /** Empty: the provider takes none. */
  credentials: readonly Credential[];
}

/** Settings of the whole service; see docs/configuration.md. */
export interface Settings {
  vendorPrefixes: readonly string[];
  outputTrancheTokens: number;
  /** The output tokens that must be payable for a stream to begin. */
  outputFloorTokens: number;
  drainSeconds: number;
  /** How long messages are still taken once readiness says that the service stops. */
  drainNoticeSeconds: number;
  bodyBytesMax: number;
  requireBrowserHeader: boolean;
  /** How long it may take until an upstream is connected, */
  upstreamConnectSeconds: number;
  /** until the first event of a stream, */
  upstreamFirstEventSeconds: number;
  /** and the whole of one stream. */
  upstreamStreamSeconds: number;
  /** How long an upstream may be without progress between events; its keep-alives do not count. */
  upstreamSilenceSeconds: number;
  /** How long a whole answer that is not streamed may take. */
  upstreamAnswerSeconds: number;
  /** After so long no further route is tried. */
  attemptsSeconds: number;
  /** After how many failures in a row a route is tried after all others, for a while; null: never. */
  circuitFailures: number | null;
  /** How long an answer is awaited whose caller has left. */
  finishWithoutCallerSeconds: number;
  /** How many streams at once are read to their end for an exact bill though their callers have left; else they are stopped. */
  finishStreamsWithoutCallerMax: number;
  /** How long the end of a message waits for the ledger. */
  settleWaitSeconds: number;
  /** ADDRESS:PORT of the admin API; null: where messages are answered. */
  adminListen: string | null;
  /** Above which messages are refused before they are read: how late the event loop is, */
  shedLoopDelayMs: number;
  /** the bytes of all bodies that are held, */
  shedBodyBytes: number;
  /** and the messages whose answer is not at its end, streams among them. */
  shedOpenMessages: number;
  /** How long usage records are kept beside the present day; null: for ever. */
  usageRetentionDays: number | null;
  /** How many months of the journal are kept beside the present one; null: all. */
  journalRetentionMonths: number | null;
}

export interface Catalogue {
  providers: ReadonlyMap<string, ProviderSettings>;
  /** By their own names. */
  models: ReadonlyMap<string, Model>;
  /** Alias → a model's own name. */
  aliases: ReadonlyMap<string, string>;
  groups: ReadonlyMap<string, Group>;
  settings: Settings;
}
