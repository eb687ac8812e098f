// From stored documents to the snapshot that a node works with: decimals become whole numbers,
// defaults are filled in, credentials are opened. The result never changes; it is swapped whole.

import { assert, BrokenInvariant } from '../base/assert.ts';
import { parseId } from '../base/ids.ts';
import { bounds } from '../config.ts';
import { Secret } from '../secrets/secrets.ts';
import {
  DEFAULT_CREDENTIAL,
  type GroupInput,
  type ModelInput,
  type PriceInput,
  type RatesInput,
  readDecimalRate,
  readMultiplier,
  type SettingsInput,
  storedGroup,
  storedModel,
  storedProvider,
  storedSettings,
} from './document.ts';
import { type Fault, formatFault, readPart } from './fault.ts';
import type {
  Catalogue,
  Credential,
  Group,
  Model,
  ModelPrice,
  ProviderSettings,
  Rates,
  Route,
  Settings,
} from './model.ts';
import { type SealedCredential, sealedCredentials } from './reseal-document.ts';
import type { CatalogDocument, DocumentKind } from './store.ts';

/** A stored document that this version cannot read. Its message names the document and every fault. */
export class DocumentBroken extends Error {
  override name = 'DocumentBroken';
}

export const DEFAULT_SETTINGS: Readonly<Settings> = Object.freeze({
  vendorPrefixes: Object.freeze(['vendor', 'anthropic']),
  outputTrancheTokens: 2_048,
  outputFloorTokens: 256,
  drainSeconds: 600,
  drainNoticeSeconds: 0,
  bodyBytesMax: bounds.bodyBytesMax,
  requireBrowserHeader: false,
  upstreamConnectSeconds: 10,
  upstreamFirstEventSeconds: 300,
  upstreamStreamSeconds: 3_600,
  upstreamSilenceSeconds: 300,
  upstreamAnswerSeconds: 600,
  attemptsSeconds: 600,
  circuitFailures: 5,
  finishWithoutCallerSeconds: 600,
  finishStreamsWithoutCallerMax: 0,
  settleWaitSeconds: 30,
  adminListen: null,
  shedLoopDelayMs: 500,
  shedBodyBytes: 256 * 1024 * 1024,
  shedOpenMessages: 20_000,
  usageRetentionDays: null,
  journalRetentionMonths: null,
});

/**
 * Builds the snapshot. `open` unseals a credential. Throws DocumentBroken for a document of another
 * version, and for a credential that does not open.
 */
export function buildCatalogue(
  documents: readonly CatalogDocument[],
  open: (sealed: string, context: string) => string,
): Catalogue {
  const ofKind = (kind: DocumentKind) => documents.filter((entry) => entry.kind === kind);
  const models = ofKind('model').map(modelFrom);
  const settings = ofKind('settings')[0];
  return Object.freeze({
    providers: frozenMap(ofKind('provider').map((entry) => named(providerFrom(entry, open)))),
    models: frozenMap(models.map(named)),
    aliases: frozenMap(models.flatMap((model) => model.aliases.map((alias): [string, string] => [alias, model.name]))),
    groups: frozenMap(ofKind('group').map((entry) => named(groupFrom(entry)))),
    settings: settings === undefined ? DEFAULT_SETTINGS : settingsFrom(readDocument(storedSettings, settings)),
  });
}

function providerFrom(entry: CatalogDocument, open: (sealed: string, context: string) => string): ProviderSettings {
  const { kind, base_url, credentials } = readDocument(storedProvider, entry);
  const { name } = entry;
  const opened = sealedCredentials(entry).map((sealed): Credential => {
    const { account = null, group = null } = credentials[sealed.name] ?? {};
    return Object.freeze({
      name: sealed.name,
      secret: openCredential(name, sealed, open),
      account: account === null ? null : accountFrom(account),
      group,
    });
  });
  return Object.freeze({ name, kind, baseUrl: base_url, credentials: Object.freeze(opened) });
}

/** A bound that cannot be read must not be none: the credential would be everybody's. */
function accountFrom(id: string): number {
  const account = parseId('acct', id);
  assert(account !== null, 'the schema let a wrong account pass');
  return account;
}

function openCredential(
  provider: string,
  { name, sealed, context }: SealedCredential,
  open: (sealed: string, context: string) => string,
): Secret {
  try {
    return new Secret(open(sealed, context));
  } catch (cause) {
    const which = name === DEFAULT_CREDENTIAL ? 'the credential' : `the credential "${name}"`;
    throw new DocumentBroken(`${which} of provider "${provider}" cannot be opened`, { cause });
  }
}

function modelFrom(entry: CatalogDocument): Model {
  const stored = readDocument(storedModel, entry);
  return Object.freeze({
    name: entry.name,
    aliases: Object.freeze(stored.aliases),
    displayName: stored.display_name ?? entry.name,
    price: priceFrom(stored.price),
    priceListedOn: stored.price_source?.catalogue ?? null,
    maxOutputTokens: stored.max_output_tokens,
    maxInputTokens: stored.max_input_tokens,
    defaultMaxTokens: stored.default_max_tokens,
    routes: Object.freeze(stored.routes.map((route) => routeFrom(entry.name, route))),
    createdAt: stored.created_at,
  });
}

function routeFrom(modelName: string, route: ModelInput['routes'][number]): Route {
  return Object.freeze({
    provider: route.provider,
    upstreamModel: route.model ?? modelName,
    priority: route.priority,
    weight: route.weight,
    concurrency: route.concurrency,
    cost: route.cost === null ? null : priceFrom(route.cost),
  });
}

function priceFrom(price: PriceInput): ModelPrice {
  const long = price.long_context;
  const search = price.web_search_per_thousand;
  return Object.freeze({
    standard: ratesFrom(price),
    longContext: long === null ? null : Object.freeze({ aboveTokens: long.above, rates: ratesFrom(long) }),
    fast: price.fast === null ? null : ratesFrom(price.fast),
    webSearchPerThousand: search === null ? null : rateFrom(search),
  });
}

/** What a tier does not say of the cache costs as much as its input. */
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
  const group: GroupInput = readDocument(storedGroup, entry);
  const multiplierMillionths = readMultiplier(group.multiplier);
  assert(multiplierMillionths !== null, 'the schema let a wrong multiplier pass');
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
  });
}

/** The settings in force where this is what somebody says of them. */
export function settingsFrom(stored: SettingsInput): Settings {
  const defaults = DEFAULT_SETTINGS;
  return Object.freeze({
    vendorPrefixes: Object.freeze(stored.vendor_prefixes ?? defaults.vendorPrefixes),
    outputTrancheTokens: stored.output_tranche_tokens ?? defaults.outputTrancheTokens,
    outputFloorTokens: stored.output_floor_tokens ?? defaults.outputFloorTokens,
    drainSeconds: stored.drain_seconds ?? defaults.drainSeconds,
    drainNoticeSeconds: stored.drain_notice_seconds ?? defaults.drainNoticeSeconds,
    bodyBytesMax: stored.body_bytes_max ?? defaults.bodyBytesMax,
    requireBrowserHeader: stored.require_browser_header ?? defaults.requireBrowserHeader,
    upstreamConnectSeconds: stored.upstream_connect_seconds ?? defaults.upstreamConnectSeconds,
    // Who bounds silence and says nothing of the first event means that as well.
    upstreamFirstEventSeconds:
      stored.upstream_first_event_seconds ?? stored.upstream_silence_seconds ?? defaults.upstreamFirstEventSeconds,
    upstreamStreamSeconds: stored.upstream_stream_seconds ?? defaults.upstreamStreamSeconds,
    upstreamSilenceSeconds: stored.upstream_silence_seconds ?? defaults.upstreamSilenceSeconds,
    upstreamAnswerSeconds: stored.upstream_answer_seconds ?? defaults.upstreamAnswerSeconds,
    attemptsSeconds: stored.attempts_seconds ?? defaults.attemptsSeconds,
    circuitFailures: stored.circuit_failures === undefined ? defaults.circuitFailures : stored.circuit_failures,
    finishWithoutCallerSeconds: stored.finish_without_caller_seconds ?? defaults.finishWithoutCallerSeconds,
    finishStreamsWithoutCallerMax: stored.finish_streams_without_caller_max ?? defaults.finishStreamsWithoutCallerMax,
    settleWaitSeconds: stored.settle_wait_seconds ?? defaults.settleWaitSeconds,
    adminListen: stored.admin_listen ?? defaults.adminListen,
    shedLoopDelayMs: stored.shed_loop_delay_ms ?? defaults.shedLoopDelayMs,
    shedBodyBytes: stored.shed_body_bytes ?? defaults.shedBodyBytes,
    shedOpenMessages: stored.shed_open_messages ?? defaults.shedOpenMessages,
    usageRetentionDays: stored.usage_retention_days ?? defaults.usageRetentionDays,
    journalRetentionMonths: stored.journal_retention_months ?? defaults.journalRetentionMonths,
  });
}

function rateFrom(text: string): bigint {
  const units = readDecimalRate(text);
  assert(units !== null, 'the schema let a wrong rate pass');
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

/** Freezing a map does not freeze its entries, so its writers are taken away. */
function frozenMap<Value>(entries: Iterable<[string, Value]>): ReadonlyMap<string, Value> {
  const refuse = () => {
    throw new BrokenInvariant('a catalogue is never changed, only swapped');
  };
  return Object.freeze(Object.assign(new Map(entries), { set: refuse, delete: refuse, clear: refuse }));
}
