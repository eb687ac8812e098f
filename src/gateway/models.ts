// The caller's models in a form that Messages and OpenAI clients both read.

import { parseTimeMs, parseWholeNumber } from '../base/checked-number.ts';
import { type CallerScope, type Catalog, listOffers, type Offer, resolveModel } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';

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

/** The JSON of GET /v1/models, newest first. Throws invalid_request. */
export function describeModels(catalog: Catalog, scope: CallerScope, query: string): string {
  const offers = listOffers(catalog, scope, 'messages').sort(
    (one, other) => compare(other.model.createdAt, one.model.createdAt) || compare(one.model.name, other.model.name),
  );
  const { models, hasMore } = cutPage(offers.map(describeModel), query);
  return JSON.stringify({
    object: 'list',
    data: models,
    has_more: hasMore,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  });
}

/** The JSON of GET /v1/models/{id}. Throws model_not_found with status 404. */
export function describeOneModel(catalog: Catalog, scope: CallerScope, id: string): string {
  try {
    return JSON.stringify(describeModel(resolveModel(catalog, scope, id)));
  } catch (failure) {
    if (failure instanceof TurnpikeError && failure.code === 'model_not_found') {
      throw new TurnpikeError('model_not_found', failure.message, { status: 404 });
    }
    throw failure;
  }
}

function describeModel({ model }: Offer) {
  return {
    type: 'model',
    id: model.name,
    display_name: model.displayName,
    created_at: model.createdAt,
    max_input_tokens: model.maxInputTokens,
    max_tokens: model.maxOutputTokens,
    capabilities: null,
    object: 'model',
    created: Math.floor((parseTimeMs(model.createdAt) ?? 0) / 1000),
    owned_by: 'turnpike',
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
