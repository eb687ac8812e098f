// The models that a caller may use, as the Messages API and OpenAI-shaped clients read them.

import { type CallerScope, type Catalogue, listOffers, type Offer, resolveModel } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import { cutPage } from './model-page.ts';

/** The JSON of GET /v1/models, newest first: the page that the query asks for. Throws invalid_request. */
export function describeModels(catalogue: Catalogue, scope: CallerScope, query: string): string {
  const offers = listOffers(catalogue, scope).sort(
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
export function describeOneModel(catalogue: Catalogue, scope: CallerScope, id: string): string {
  try {
    return JSON.stringify(describeModel(resolveModel(catalogue, scope, id)));
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
    created: Math.floor(Date.parse(model.createdAt) / 1000),
    owned_by: 'turnpike',
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
