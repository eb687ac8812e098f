// The caller's models in a form that Messages and OpenAI clients both read.

import { parseTimeMs, parseWholeNumber } from '../base/checked-number.ts';
import {
  type CallerScope,
  type Catalog,
  findListed,
  includedPriceList,
  listOffers,
  type Model,
  notFound,
  type Offer,
  type Route,
  resolveModel,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type Abilities, type Provider, THINKING_TYPES } from '../providers/providers.ts';
import type { OtherUse } from '../wire/wire.ts';

/** One page, and whether more models follow in the direction of paging. */
interface ModelPage<Model> {
  models: Model[];
  hasMore: boolean;
}

/**
 * The page requested by the query (`limit`, `after_id`, `before_id`). Without a limit the page has the maximum size,
 * because OpenAI clients do not paginate. Throws invalid_request for an invalid limit or an unknown id.
 */
export function cutPage<Model extends { id: string }>(all: Model[], query: string): ModelPage<Model> {
  const admissionRequest = new URLSearchParams(query);
  const limit = readLimit(admissionRequest.get('limit'));
  const afterId = admissionRequest.get('after_id');
  const beforeId = admissionRequest.get('before_id');
  if (afterId !== null && beforeId !== null) throw wrong('before_id', 'cannot be combined with after_id');
  if (beforeId !== null) {
    const before = all.slice(0, placeOf(all, 'before_id', beforeId));
    return { models: before.slice(-limit), hasMore: before.length > limit };
  }
  const after = afterId === null ? all : all.slice(placeOf(all, 'after_id', afterId) + 1);
  return { models: after.slice(0, limit), hasMore: after.length > limit };
}

function readLimit(text: string | null): number {
  if (text === null) return bounds.pageItemsMax;
  const limit = parseWholeNumber(text) ?? 0;
  if (limit < 1 || limit > bounds.pageItemsMax)
    throw wrong('limit', `Input should be an integer from 1 to ${bounds.pageItemsMax}`);
  return limit;
}

function placeOf(all: readonly { id: string }[], name: string, id: string): number {
  const place = all.findIndex((model) => model.id === id);
  if (place < 0) throw wrong(name, 'the model does not exist, or this key does not have access to it');
  return place;
}

function wrong(name: string, sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${name}: ${sentence}`);
}

/** The models of a caller, and the provider of each kind. */
interface Shown {
  catalog: Catalog;
  scope: CallerScope;
  providers: ReadonlyMap<string, Provider>;
  /** Absent: all. */
  isShown?(name: string): boolean;
}

/** The JSON of GET /v1/models, newest first. Throws invalid_request. */
export function describeModels({ catalog, scope, providers, isShown = () => true }: Shown, query: string): string {
  const lifecycles = readLifecycles(query);
  const all = listOffers(catalog, scope, 'messages')
    .filter((offer) => isShown(offer.model.name) && lifecycles.includes(lifecycleOf(offer)))
    .sort(
      (one, other) => compare(other.model.createdAt, one.model.createdAt) || compare(one.model.name, other.model.name),
    )
    .map((offer) => ({ id: offer.model.name, offer }));
  const page = cutPage(all, query);
  const models = page.models.map(({ offer }) => describeModel(offer, catalog, providers));
  return JSON.stringify({
    object: 'list',
    data: models,
    has_more: page.hasMore,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  });
}

const LIFECYCLES: readonly string[] = ['active', 'deprecated', 'retired'];

/** `lifecycle`, repeated, in brackets or with commas; all without one. Throws invalid_request. */
function readLifecycles(query: string): readonly string[] {
  const parameters = new URLSearchParams(query);
  const given = ['lifecycle', 'lifecycle[]']
    .flatMap((name) => parameters.getAll(name))
    .flatMap((text) => text.split(','));
  if (given.some((lifecycle) => !LIFECYCLES.includes(lifecycle)))
    throw wrong('lifecycle', "Input should be 'active', 'deprecated' or 'retired'");
  return given.length === 0 ? LIFECYCLES : given;
}

/** The JSON of GET /v1/models/{id}. Throws model_not_found with status 404. */
export function describeOneModel({ catalog, scope, providers, isShown = () => true }: Shown, id: string): string {
  try {
    const offer = resolveModel(catalog, scope, id);
    if (!isShown(offer.model.name)) throw notFound(id);
    return JSON.stringify(describeModel(offer, catalog, providers));
  } catch (failure) {
    if (failure instanceof TurnpikeError && failure.code === 'model_not_found') {
      throw new TurnpikeError('model_not_found', failure.message, { ...failure.details, status: 404 });
    }
    throw failure;
  }
}

/** The day on which its vendor retires it; null if the list of this version names none. */
function retiresOnOf({ model, routes }: Offer): string | null {
  const listed = findListed(includedPriceList(), [model.name, ...routes.map(({ upstreamModel }) => upstreamModel)]);
  return listed?.retiresOn ?? null;
}

/** A model that its vendor will retire is deprecated, and sold until the operator removes it. */
function lifecycleOf(offer: Offer): 'active' | 'deprecated' {
  return retiresOnOf(offer) === null ? 'active' : 'deprecated';
}

function describeModel(offer: Offer, catalog: Catalog, providers: Shown['providers']) {
  const { model } = offer;
  const retiresOn = retiresOnOf(offer);
  return {
    type: 'model',
    id: model.name,
    display_name: model.displayName,
    created_at: model.createdAt,
    lifecycle: lifecycleOf(offer),
    deprecated_at: null,
    retires_at: retiresOn === null ? null : `${retiresOn}T00:00:00Z`,
    line: /claude-(?:.*-)?(haiku|sonnet|opus|fable|mythos)\b/.exec(model.name)?.[1] ?? null,
    max_input_tokens: model.maxInputTokens,
    max_tokens: model.maxOutputTokens,
    capabilities: describeCapabilities(offer, catalog, providers),
    object: 'model',
    created: Math.floor((parseTimeMs(model.createdAt) ?? 0) / 1000),
    owned_by: 'turnpike',
  };
}

/** Uses of models other than messages, as capabilities. */
const OTHER_USES = {
  embeddings: 'embeddings',
  rerank: 'rerank',
  moderation: 'moderation',
  images: 'image_generation',
  speech: 'speech',
  transcription: 'transcription',
} as const satisfies Record<OtherUse, string>;
const OTHER_CAPABILITIES = Object.values(OTHER_USES);

/** In the admin API, in the order of its console. */
export const CAPABILITIES = [
  'images',
  'documents',
  'thinking',
  'structured_outputs',
  'citations',
  'web_search',
  'prompt_caching',
  ...OTHER_CAPABILITIES,
] as const;
type Capability = (typeof CAPABILITIES)[number];

/**
 * Capabilities that every route is known to have, or that have a price; empty if nothing is known. Cached input counts
 * if its price is lower.
 */
export function capabilitiesOf(model: Model, catalog: Catalog, providers: Shown['providers']): Capability[] {
  if (model.serves !== 'messages') return [OTHER_USES[model.serves]];
  const abilities = abilitiesOf(model.routes, catalog, providers) ?? [];
  const { standard, webSearchPerThousand } = model.price;
  const all = (has: (one: Abilities) => boolean) => abilities.length > 0 && abilities.every(has);
  const found: Partial<Record<Capability, boolean>> = {
    images: all((one) => one.images),
    documents: all((one) => one.documents),
    thinking: all((one) => one.thinks),
    structured_outputs: all((one) => one.structuredOutputs),
    citations: all((one) => one.citations),
    web_search: webSearchPerThousand !== null && all((one) => one.webSearch),
    prompt_caching: standard.cacheRead < standard.input,
  };
  return CAPABILITIES.filter((name) => found[name] === true);
}

/** Abilities of each route; null if one of them does not tell. */
function abilitiesOf(
  routes: readonly Route[],
  catalog: Catalog,
  providers: Shown['providers'],
): readonly Abilities[] | null {
  const found: Abilities[] = [];
  for (const { provider, upstreamModel } of routes) {
    const settings = catalog.providers.get(provider);
    const abilities = settings && providers.get(settings.kind)?.abilities?.(upstreamModel, settings.baseUrl);
    if (!abilities) return null;
    found.push(abilities);
  }
  return found;
}

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Capabilities that every route of the model has; null if one of them does not tell. */
function describeCapabilities({ model, routes }: Offer, catalog: Catalog, providers: Shown['providers']) {
  const found = abilitiesOf(routes, catalog, providers);
  if (found === null) return null;
  const shared = (has: (abilities: Abilities) => boolean) => ({ supported: found.every(has) });
  const contextEdits = shared((one) => one.contextEdits);
  const compaction = shared((one) => one.compaction);
  const webSearch = { supported: model.price.webSearchPerThousand !== null && found.every((one) => one.webSearch) };
  return {
    batch: { supported: false },
    citations: shared((one) => one.citations),
    code_execution: { supported: false },
    context_management: {
      ...contextEdits,
      clear_tool_uses_20250919: contextEdits,
      clear_thinking_20251015: contextEdits,
      compact_20260112: compaction,
    },
    effort: {
      ...shared(({ efforts }) => efforts.length > 0),
      ...Object.fromEntries(EFFORTS.map((name) => [name, shared(({ efforts }) => efforts.includes(name))])),
    },
    image_input: shared((one) => one.images),
    pdf_input: shared((one) => one.documents),
    server_tools: { ...webSearch, web_search: webSearch, code_execution: { supported: false } },
    structured_outputs: shared((one) => one.structuredOutputs),
    thinking: {
      ...shared((one) => one.thinks),
      types: Object.fromEntries(
        THINKING_TYPES.map((name) => [name, shared(({ thinkingTypes }) => thinkingTypes.includes(name))]),
      ),
    },
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
