// Which part of the list of models a query asks for, as the official clients turn its pages.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';

/** What is on the page, and whether there is more of the list in the direction that it was turned. */
export interface ModelPage<Model> {
  models: Model[];
  hasMore: boolean;
}

/**
 * Cuts out of all models the page that a query (`limit`, `after_id`, `before_id`) asks for: as many as a page may have
 * where it names no limit, since clients of OpenAI turn no pages. Throws invalid_request for a limit that is none, and for an id that is not in the list.
 */
export function cutPage<Model extends { id: string }>(all: Model[], query: string): ModelPage<Model> {
  const asked = new URLSearchParams(query);
  const limit = readLimit(asked.get('limit'));
  const afterId = asked.get('after_id');
  const beforeId = asked.get('before_id');
  if (afterId !== null && beforeId !== null) throw wrong('before_id', 'Input should not stand beside after_id');
  if (beforeId !== null) {
    const before = all.slice(0, placeOf(all, 'before_id', beforeId));
    return { models: before.slice(-limit), hasMore: before.length > limit };
  }
  const after = afterId === null ? all : all.slice(placeOf(all, 'after_id', afterId) + 1);
  return { models: after.slice(0, limit), hasMore: after.length > limit };
}

function readLimit(text: string | null): number {
  if (text === null) return bounds.pageItemsMax;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > bounds.pageItemsMax)
    throw wrong('limit', `Input should be a whole number from 1 to ${bounds.pageItemsMax}`);
  return limit;
}

function placeOf(all: readonly { id: string }[], name: string, id: string): number {
  const place = all.findIndex((model) => model.id === id);
  if (place < 0) throw wrong(name, 'there is no such model, or this key may not use it');
  return place;
}

function wrong(name: string, sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${name}: ${sentence}`);
}
