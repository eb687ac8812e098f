// Builds a node's immutable catalog snapshot from stored documents: fills in defaults and opens credentials.

import { assert } from '../base/assert.ts';
import { exactNumber, parseTimeMs } from '../base/checked-number.ts';
import { parseId } from '../base/ids.ts';
import type { Nano } from '../base/money.ts';
import { Secret } from '../secrets/secrets.ts';
import { PRICED_TIERS } from '../wire/wire.ts';
import type { Auth } from './auth.ts';
import {
  agentPolicyInput,
  DEFAULT_CREDENTIAL,
  groupInput,
  type ModelInput,
  type PriceChangeInput,
  type PriceInput,
  planInput,
  type RatesInput,
  readAmount,
  readDecimalRate,
  readMultiplier,
  storedModel,
  storedProvider,
  type TierInput,
} from './document.ts';
import { type Fault, formatFault, readPart } from './fault.ts';
import { addListed, byLiteralLength, isModelName, type ModelList, type ModelLists, sameList } from './listed-models.ts';
import {
  type AgentPolicy,
  type Catalog,
  frozenMap,
  type Group,
  type Model,
  type ModelPrice,
  type PlanSettings,
  type PlanWindowLength,
  type ProviderSettings,
  type Rates,
  type Route,
  type TierPrice,
} from './model.ts';
import { passthroughFrom } from './passthrough.ts';
import { catalogAt, nextPriceChangeMs } from './price-changes.ts';
import { defaultStorageUrl, hasBatchesByDefault } from './read-provider.ts';
import { DEFAULT_SETTINGS, settingsFrom, storedSettings } from './settings.ts';
import { type CatalogDocument, type DocumentKind, storedCredentials } from './store.ts';
import { unitRatesFrom } from './unit-price.ts';

/** A stored document that this version cannot read. Its message names the document and every fault. */
export class DocumentBroken extends Error {
  override name = 'DocumentBroken';
}

/** A credential with `auth`, and where it is sent. */
export interface AuthHolder {
  provider: string;
  credential: string;
  kind: string;
  region: string | null;
  baseUrl: string;
}

/** Makes the secrets of credentials with `auth`. */
export interface Auths {
  /** `text` is the opened `api_key`, which some types need; null without one. The same credential gives the same secret. */
  open(auth: Auth, text: string | null, holder: AuthHolder): Secret;
  /** Stops refreshing all others. */
  keepOnly(secrets: ReadonlySet<Secret>): void;
}

/** Where no credential is used. */
const NO_AUTHS: Auths = { open: () => new Secret(''), keepOnly: () => undefined };

/** Treatment of documents that cannot be read. */
export interface Broken {
  /** The snapshot before, whose object stays. Without one, the object is left out; settings are then required. */
  former: Catalog | null;
  report(broken: DocumentBroken): void;
}

/**
 * Builds the snapshot, with the first version of each price. `open` unseals a credential. Without `broken`, throws DocumentBroken for a
 * document of another version, and for a credential that cannot be decrypted.
 */
export function buildCatalog(
  documents: readonly CatalogDocument[],
  open: (sealed: string, context: string) => string,
  auths: Auths = NO_AUTHS,
  broken: Broken | null = null,
): Catalog {
  const build = <Value>(make: () => Value, former: Value | undefined): Value | undefined => {
    try {
      return make();
    } catch (fault) {
      if (broken === null || !(fault instanceof DocumentBroken)) throw fault;
      broken.report(fault);
      return former;
    }
  };
  const ofKind = <Value extends { name: string }>(
    kind: DocumentKind,
    make: (entry: CatalogDocument) => Value,
    former: ReadonlyMap<string, Value> | undefined,
  ): [string, Value][] =>
    documents.flatMap((entry) => {
      const value = entry.kind === kind ? build(() => make(entry), former?.get(entry.name)) : undefined;
      return value === undefined ? [] : [named(value)];
    });
  const former = broken?.former ?? undefined;
  const formerEntries = former === undefined ? undefined : new Map([...former.models, ...former.patterns]);
  const entries = ofKind('model', modelFrom, formerEntries);
  const models = entries.filter(([name]) => !name.includes('*'));
  const patterns = entries.filter(([name]) => name.includes('*')).sort(byLiteralLength);
  const entry = documents.find(({ kind }) => kind === 'settings');
  const readSettings = () =>
    entry === undefined ? DEFAULT_SETTINGS : settingsFrom(readDocument(storedSettings, entry));
  const settings = former === undefined ? readSettings() : (build(readSettings, former.settings) ?? former.settings);
  return Object.freeze({
    providers: frozenMap(ofKind('provider', (entry) => providerFrom(entry, open, auths), former?.providers)),
    models: frozenMap(models),
    patterns: frozenMap(patterns),
    aliases: frozenMap(
      models.flatMap(([name, { aliases }]) => aliases.map((alias): [string, string] => [alias, name])),
    ),
    groups: frozenMap(ofKind('group', groupFrom, former?.groups)),
    plans: frozenMap(ofKind('plan', planFrom, former?.plans)),
    agentPolicies: Object.freeze(
      ofKind('agent_policy', agentPolicyFrom, former && byName(former.agentPolicies))
        .map(([, policy]) => policy)
        .sort((one, other) => one.order - other.order || (one.name < other.name ? -1 : 1)),
    ),
    settings,
  });
}

const MILLION = 1_000_000n;
const BATCH_COST = '0.5'; // charged by all vendors with batches, for nearly all models (price lists, November 2026)

function providerFrom(
  entry: CatalogDocument,
  open: (sealed: string, context: string) => string,
  auths: Auths,
): ProviderSettings {
  const {
    kind,
    base_url,
    bearer = false,
    allow_storage = false,
    fetch_urls = 'off',
    region = null,
    project = null,
    workspace = null,
    residency = null,
    passthrough = null,
    batches = hasBatchesByDefault(kind, base_url),
    batch_cost = BATCH_COST,
    batch_bucket,
    batch_role = null,
    batch_storage_url = defaultStorageUrl(kind, region),
    ...stored
  } = readDocument(storedProvider, entry);
  const { name } = entry;
  const { credentials } = stored;
  const opened = storedCredentials(entry).map(({ name: credential, sealed, context }) => {
    const auth = credential === DEFAULT_CREDENTIAL ? stored.auth : credentials[credential]?.auth;
    const { account: accountId = null, group = null } = credentials[credential] ?? {};
    const account = accountId === null ? null : parseId('acct', accountId);
    // An invalid restriction must not be dropped: anyone could use the credential.
    assert(accountId === null || account !== null, 'the schema accepted an invalid account');
    try {
      const text = sealed === null ? null : open(sealed, context);
      const holder = { provider: name, credential, kind, region, baseUrl: base_url };
      const secret = auth === undefined ? new Secret(text ?? '') : auths.open(auth, text, holder);
      return Object.freeze({ name: credential, secret, authType: auth?.type ?? null, account, group });
    } catch (cause) {
      const which = credential === DEFAULT_CREDENTIAL ? 'the credential' : `the credential "${credential}"`;
      throw new DocumentBroken(`${which} of provider "${name}" cannot be decrypted`, { cause });
    }
  });
  return Object.freeze({
    name,
    kind,
    baseUrl: base_url,
    isBearer: bearer,
    allowsStorage: allow_storage,
    fetchUrls: fetch_urls,
    region,
    project,
    workspace,
    residency: residency && Object.freeze(residency),
    passthrough: passthrough && Object.freeze(passthroughFrom(passthrough)),
    batches,
    batchCostMillionths: readMultiplier(batch_cost) ?? MILLION,
    batchBucket:
      batch_bucket === undefined
        ? null
        : Object.freeze({ uri: batch_bucket, url: batch_storage_url, role: batch_role }),
    credentials: Object.freeze(opened),
  });
}

function modelFrom(entry: CatalogDocument): Model {
  const stored = readDocument(storedModel, entry);
  return Object.freeze({
    name: entry.name,
    entry: null,
    aliases: Object.freeze(stored.aliases),
    displayName: stored.display_name ?? entry.name,
    serves: stored.serves,
    price: pricesFrom(stored.price, stored.price_changes),
    priceListedOn: stored.price_source?.catalogue ?? null,
    maxOutputTokens: stored.max_output_tokens,
    maxInputTokens: stored.max_input_tokens,
    defaultMaxTokens: stored.default_max_tokens,
    prefersLatency: stored.prefer === 'latency',
    routes: Object.freeze(stored.routes.map((route) => routeFrom(entry.name, route))),
    createdAt: stored.created_at,
  });
}

function routeFrom(modelName: string, given: ModelInput['routes'][number]): Route {
  const { model, protocol = null, cost, cost_changes, ...route } = given;
  const upstreamModel = model ?? modelName;
  return Object.freeze({
    ...route,
    upstreamModel,
    protocol,
    cost: cost === null ? null : pricesFrom(cost, cost_changes),
  });
}

/** The first version of a price, with the later ones. */
export function pricesFrom(price: PriceInput, changes: readonly PriceChangeInput[]): ModelPrice {
  const next = changes.reduceRight<ModelPrice | null>(
    (later, change) => priceFrom(change, parseTimeMs(change.from) ?? 0, later),
    null,
  );
  return priceFrom(price, 0, next);
}

function priceFrom(price: PriceInput, fromMs: number, next: ModelPrice | null): ModelPrice {
  const search = price.web_search_per_thousand;
  const tiers = PRICED_TIERS.flatMap((tier) => {
    const stated = price[tier] ?? null;
    return stated === null ? [] : [[tier, Object.freeze(tierFrom(stated))] as const];
  });
  return Object.freeze({
    fromMs,
    next,
    ...tierFrom(price),
    tiers: Object.freeze(Object.fromEntries(tiers)),
    webSearchPerThousand: search === null ? null : rateFrom(search),
    ...(price.units !== undefined && { units: unitRatesFrom(price.units, rateFrom) }),
  });
}

function tierFrom(given: PriceInput | TierInput): TierPrice {
  const long = given.long_context ?? null;
  return {
    standard: ratesFrom(given),
    longContext: long === null ? null : Object.freeze({ aboveTokens: long.above, rates: ratesFrom(long) }),
  };
}

/** Cache rates that a tier omits equal its input rate. */
function ratesFrom(rates: RatesInput): Rates {
  return Object.freeze({
    input: rateFrom(rates.input),
    output: rateFrom(rates.output),
    cacheRead: rateFrom(rates.cache_read ?? rates.input),
    cacheWrite5m: rateFrom(rates.cache_write_5m ?? rates.input),
    cacheWrite1h: rateFrom(rates.cache_write_1h ?? rates.input),
  });
}

function groupFrom(entry: CatalogDocument): Group {
  const group = readDocument(groupInput, entry);
  const multiplierMillionths = readMultiplier(group.multiplier);
  assert(multiplierMillionths !== null, 'the schema accepted an invalid multiplier');
  return Object.freeze({
    name: entry.name,
    models: Object.freeze(group.models),
    multiplierMillionths,
    limits: Object.freeze({
      requestsPerMinute: group.rpm,
      inputTokensPerMinute: group.input_tpm,
      outputTokensPerMinute: group.output_tpm,
      concurrency: group.concurrency,
    }),
    residency: group.residency === undefined ? null : Object.freeze(group.residency),
    tiers: group.tiers === undefined ? null : Object.freeze(group.tiers),
  });
}

function planFrom(entry: CatalogDocument): PlanSettings {
  const plan = readDocument(planInput, entry);
  const { rpm, input_tpm, output_tpm, concurrency } = plan.limits;
  return Object.freeze({
    name: entry.name,
    title: plan.title,
    price: amountFrom(plan.price),
    windows: Object.freeze(
      WINDOW_LENGTHS.flatMap((length) => {
        const limit = plan.windows[length];
        return limit === null ? [] : [Object.freeze({ length, limit: amountFrom(limit) })];
      }),
    ),
    groups: Object.freeze(plan.groups),
    limits: Object.freeze({
      requestsPerMinute: rpm,
      inputTokensPerMinute: input_tpm,
      outputTokensPerMinute: output_tpm,
      concurrency,
    }),
    stripePrice: plan.stripe_price,
    isOffered: plan.is_offered,
  });
}

function byName<Value extends { name: string }>(values: readonly Value[]): ReadonlyMap<string, Value> {
  return new Map(values.map((value) => [value.name, value]));
}

function agentPolicyFrom(entry: CatalogDocument): AgentPolicy {
  const { accounts, ...policy } = readDocument(agentPolicyInput, entry);
  const numbers = accounts.flatMap((id) => parseId('acct', id) ?? []);
  return Object.freeze({ name: entry.name, ...policy, accounts: Object.freeze(numbers) });
}

const WINDOW_LENGTHS: readonly PlanWindowLength[] = ['5h', 'day', 'week', 'month'];

function amountFrom(text: string): Nano {
  const units = readAmount(text);
  assert(units !== null, 'the schema accepted an invalid amount');
  return exactNumber(units);
}

function rateFrom(text: string): bigint {
  const units = readDecimalRate(text);
  assert(units !== null, 'the schema accepted an invalid rate');
  return units;
}

function readDocument<Schema extends Parameters<typeof readPart>[0]>(schema: Schema, entry: CatalogDocument) {
  const faults: Fault[] = [];
  const value = readPart(schema, entry.document, [], faults);
  if (value !== null) return value;
  const words = faults.map(formatFault).join('; ');
  throw new DocumentBroken(`the stored ${entry.kind} "${entry.name}" cannot be read by this version: ${words}`);
}

function named<Value extends { name: string }>(value: Value): [string, Value] {
  return [value.name, value];
}

/** The snapshot in force, with the prices in force, and the models of providers' lists: a price change replaces it at its time. */
export class CatalogHolder {
  readonly #open: (sealed: string, context: string) => string;
  readonly #auths: Auths;
  readonly #nowMs: () => number;
  readonly #report: ((broken: DocumentBroken) => void) | null;
  /** Without the models of lists. */
  #written: Catalog;
  #lists: ModelLists = new Map();
  #current: Catalog;
  #nextChangeMs: number;

  /**
   * `open` unseals credentials; `nowMs` never goes backward. `report` is called for documents that cannot be read, which stop no
   * other; without it, they throw DocumentBroken, as do settings.
   */
  constructor(
    documents: readonly CatalogDocument[],
    open: (sealed: string, context: string) => string,
    nowMs: () => number = Date.now,
    auths: Auths = NO_AUTHS,
    report: ((broken: DocumentBroken) => void) | null = null,
  ) {
    this.#report = report;
    this.#open = open;
    this.#auths = auths;
    this.#nowMs = nowMs;
    this.#written = catalogAt(this.#build(documents, null), nowMs());
    this.#current = this.#written;
    this.#nextChangeMs = nextPriceChangeMs(this.#written);
  }

  get current(): Catalog {
    if (this.#nextChangeMs !== Number.POSITIVE_INFINITY && this.#nextChangeMs <= this.#nowMs())
      this.#replace(this.#written);
    return this.#current;
  }

  /** Replaces the current snapshot. Objects whose documents cannot be read stay as they are, if they are reported. */
  swap(documents: readonly CatalogDocument[]): void {
    try {
      this.#replace(this.#build(documents, this.#written));
    } finally {
      const credentials = [...this.#current.providers.values()].flatMap((provider) => provider.credentials);
      this.#auths.keepOnly(new Set(credentials.map(({ secret }) => secret)));
    }
  }

  /** The models that the provider lists now. The snapshot is replaced only if they differ from those before. */
  setList(provider: string, { names, ...source }: ModelList): void {
    const list = { ...source, names: names.filter(isModelName) };
    if (sameList(this.#lists.get(provider), list)) return;
    const patterned = [...this.#written.patterns.values()].flatMap(({ routes }) => routes);
    const used = [...this.#lists].filter(([name]) => patterned.some((route) => route.provider === name));
    this.#lists = new Map([...used, [provider, list]]);
    this.#current = addListed(this.#written, this.#lists);
  }

  #build(documents: readonly CatalogDocument[], former: Catalog | null): Catalog {
    const broken = this.#report === null ? null : { former, report: this.#report };
    return buildCatalog(documents, this.#open, this.#auths, broken);
  }

  #replace(catalog: Catalog): void {
    this.#written = catalogAt(catalog, this.#nowMs());
    this.#current = addListed(this.#written, this.#lists);
    this.#nextChangeMs = nextPriceChangeMs(this.#written);
  }
}
