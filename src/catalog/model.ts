// The catalog as an immutable snapshot of plain values: models, groups, providers, settings.

import { BrokenInvariant } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import type { Secret } from '../secrets/secrets.ts';
import type { JsonObject, PricedTier, Serves } from '../wire/wire.ts';
import type { AuthType } from './auth.ts';
import type { RouteProtocol } from './document.ts';
import type { Passthrough } from './passthrough.ts';
import type { Settings } from './settings.ts';
import type { UnitRates } from './unit-price.ts';

/** USD per million tokens, in units of 10^-12 USD. */
export interface Rates {
  input: bigint;
  output: bigint;
  cacheRead: bigint;
  cacheWrite5m: bigint;
  cacheWrite1h: bigint;
}

/** The rates of one service tier. */
export interface TierPrice {
  standard: Rates;
  /** Rates of the whole request if its prompt exceeds `aboveTokens`. */
  longContext: { aboveTokens: number; rates: Rates } | null;
}

/** The rates of the standard tier, and those of the others that are sold. */
export interface ModelPrice extends TierPrice {
  /** When it takes effect, in milliseconds since 1970; 0: from the beginning. */
  fromMs: number;
  /** The version that replaces it, with a later time. */
  next: ModelPrice | null;
  tiers: Readonly<Partial<Record<PricedTier, TierPrice>>>;
  /** USD per thousand web searches, in units of 10^-12 USD. */
  webSearchPerThousand: bigint | null;
  /** Absent or null: only tokens of text and searches have prices. */
  units?: UnitRates | null;
}

export interface Route {
  provider: string;
  upstreamModel: string;
  /** The model's protocol at a provider whose kind has several; null: chosen by the model's name. */
  protocol: RouteProtocol | null;
  /** Lower is tried first. */
  priority: number;
  /** The share among routes of the same priority. */
  weight: number;
  /** Concurrency limit on one node; null: no limit. */
  concurrency: number | null;
  /** The provider's charge to the operator, in the version in force; null if unknown. */
  cost: ModelPrice | null;
}

export interface Model {
  name: string;
  /** The entry with `*` that it comes from; null: its own. */
  entry: string | null;
  aliases: readonly string[];
  displayName: string;
  serves: Serves;
  /** The version in force. */
  price: ModelPrice;
  /** The date of the row of the price list that the price was taken from, such as "2026-07-24"; null for a stated price. */
  priceListedOn: string | null;
  maxOutputTokens: number | null;
  maxInputTokens: number | null;
  defaultMaxTokens: number;
  /** Uses the faster of two routes that the weights draw, by first-token time. */
  prefersLatency: boolean;
  routes: readonly Route[];
  createdAt: string;
}

/** Rate and concurrency limits; null: no limit. */
export interface RateLimits {
  requestsPerMinute: number | null;
  inputTokensPerMinute: number | null;
  outputTokensPerMinute: number | null;
  concurrency: number | null;
}

export interface Group {
  name: string;
  /** Patterns of model names; `*` matches any run of characters. */
  models: readonly string[];
  /** The price multiplier, in millionths. */
  multiplierMillionths: bigint;
  /** Apply to each account of the group separately. */
  limits: RateLimits;
  /** Where data of its messages may be processed; null: anywhere. */
  residency: readonly string[] | null;
  /** The tiers that its messages may request besides the standard one; null: all with a price. */
  tiers: readonly PricedTier[] | null;
}

/** A plan that accounts can have. */
export interface PlanSettings {
  name: string;
  title: string;
  /** Per month. */
  price: Nano;
  /** At least one, each length once, shortest first. */
  windows: readonly { length: PlanWindowLength; limit: Nano }[];
  /** Added to the account's groups. The plan pays for messages of these; empty: of all groups of the account. */
  groups: readonly string[];
  /** Replace those of the groups that the plan pays for; null: as in the group. */
  limits: RateLimits;
  /** The id of its price at Stripe; null: it cannot be bought. */
  stripePrice: string | null;
  /** Holders see it, and can buy it. */
  isOffered: boolean;
}

export type PlanWindowLength = '5h' | 'day' | 'week' | 'month';

export interface Credential {
  /** Its name within the provider; "default" for the one under `api_key`. */
  name: string;
  secret: Secret;
  /** The type of its `auth`; null or absent: its text was given. */
  authType?: AuthType | null;
  /** The account or group that alone may use it; null: unrestricted. At most one is set. */
  account: number | null;
  group: string | null;
}

export interface BatchBucket {
  /** With its scheme and prefix, without a trailing slash: "s3://bucket/prefix". */
  uri: string;
  /** The address of the store, without a trailing slash. */
  url: string;
  /** The role as which Bedrock reads and writes it; null at other clouds. */
  role: string | null;
}

export interface ProviderSettings {
  name: string;
  kind: string;
  /** Without a trailing slash; empty for a provider inside the service. */
  baseUrl: string;
  /** Credentials are sent as `authorization: Bearer` instead of the kind's own header. */
  isBearer: boolean;
  /** The provider may store requests, as its account is set. */
  allowsStorage: boolean;
  /** Images and documents at web addresses are fetched for it: from the internet, or also from private networks. */
  fetchUrls: 'off' | 'public' | 'any';
  /** Region and project at a cloud; null for other kinds. */
  region: string | null;
  project: string | null;
  /** The workspace at the vendor that requests name; null: none. */
  workspace: string | null;
  /** Where it processes data, by the operator's word; null: not stated. */
  residency: readonly string[] | null;
  /** Fields beyond the protocols that it gets; null: none. */
  passthrough: Passthrough | null;
  /** Requests of batches are sent as batches of the provider. */
  batches: boolean;
  /** The provider's charge for those, in millionths of its usual charge. */
  batchCostMillionths: bigint;
  /** Where batches at a cloud keep requests and results; null: the provider keeps them itself, or has no batches. */
  batchBucket: BatchBucket | null;
  /** Empty: the provider needs none. */
  credentials: readonly Credential[];
}

/** Rules for coding agents. Without accounts and groups, it is a base for all others. */
export interface AgentPolicy {
  name: string;
  order: number;
  /** Numbers of accounts. */
  accounts: readonly number[];
  /** Names of directory groups. */
  groups: readonly string[];
  /** Patterns of models; null: all. */
  models: readonly string[] | null;
  /** The contact for higher limits, named in refusals; null: none. */
  contact: string | null;
  /** Managed settings of Claude Code. */
  settings: JsonObject;
}

export interface Catalog {
  providers: ReadonlyMap<string, ProviderSettings>;
  /** Also the models that providers' lists have for entries with `*`. */
  models: ReadonlyMap<string, Model>;
  /** Entries with `*`, by name; those with more literal characters come first. */
  patterns: ReadonlyMap<string, Model>;
  /** Alias → model name. */
  aliases: ReadonlyMap<string, string>;
  groups: ReadonlyMap<string, Group>;
  plans: ReadonlyMap<string, PlanSettings>;
  /** In their order. */
  agentPolicies: readonly AgentPolicy[];
  settings: Settings;
}

/** Freezing a map does not freeze its entries, so its mutators are removed. */
export function frozenMap<Value>(entries: Iterable<[string, Value]>): ReadonlyMap<string, Value> {
  const refuse = () => {
    throw new BrokenInvariant('a catalog is never changed, only replaced');
  };
  return Object.freeze(Object.assign(new Map(entries), { set: refuse, delete: refuse, clear: refuse }));
}
