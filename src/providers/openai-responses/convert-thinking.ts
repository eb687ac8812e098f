// What a request says of thinking, as the provider's reasoning: how much, and what of it a caller is to see. It is asked for
// only where the request asks; what a server shows by itself is shown, as of every kind of provider. Pure.

import { isJsonObject, type JsonObject } from '../../wire/wire.ts';
import { leastEffort, nearestEffort, readEffort, readThinking } from '../effort.ts';
import type { Reasoning } from './reasoning-models.ts';

/** `shown` with its signature; `sealed`: its signature alone. */
export type ThinkingDisplay = 'shown' | 'sealed';

export function readDisplay({ thinking }: JsonObject): ThinkingDisplay {
  return isJsonObject(thinking) && thinking['display'] === 'omitted' ? 'sealed' : 'shown';
}

/** `reasoning` and `include`, as far as the request asks for any and the model has any. */
export function convertThinking(body: JsonObject, model: Reasoning): JsonObject {
  if (model.does === 'never') return {}; // thinking is a hint, and such a model refuses to be told
  const thinking = readThinking(body);
  const effort = thinking === 'off' ? leastEffort(model.efforts) : nearestEffort(readEffort(body), model.efforts);
  const isShown = thinking === 'on' && readDisplay(body) === 'shown';
  const reasoning = { ...(effort !== null && { effort }), ...(isShown && { summary: 'auto' }) };
  return {
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    // Models that do not reason refuse it, so it is asked for only where thinking is.
    ...(thinking === 'on' && { include: ['reasoning.encrypted_content'] }),
  };
}
