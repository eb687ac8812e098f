// What a request says of thinking, as the provider's reasoning: how much, and what of it a caller is to see. Where no
// thinking was asked for, none is shown: a model may still think, and its caller expects the text first. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { EFFORTS, type Effort, leastEffort, nearestEffort, type Reasoning } from './reasoning-models.ts';

/** `shown` with its signature; `sealed`: its signature alone; `hidden`: nothing. */
export type ThinkingDisplay = 'shown' | 'sealed' | 'hidden';

const THINKING: readonly (JsonValue | undefined)[] = ['enabled', 'adaptive', 'between_tools'];
/** A rule of thumb: budgets below these many tokens are this effort, all others are high. */
const BUDGETS: readonly [belowTokens: number, effort: Effort][] = [
  [2_048, 'low'],
  [8_192, 'medium'],
];

export function readDisplay(body: JsonObject): ThinkingDisplay {
  const thinking = body['thinking'];
  if (!isJsonObject(thinking) || !THINKING.includes(thinking['type'])) return 'hidden';
  return thinking['display'] === 'omitted' ? 'sealed' : 'shown';
}

/** `reasoning` and `include`, as far as the request asks for any and the model has any. */
export function convertThinking(body: JsonObject, model: Reasoning): JsonObject {
  if (model.does === 'never') return {}; // thinking is a hint, and such a model refuses to be told
  const display = readDisplay(body);
  const effort = readEffort(body, model);
  const reasoning = { ...(effort !== null && { effort }), ...(display === 'shown' && { summary: 'auto' }) };
  return {
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    // Models that do not reason refuse it, so it is asked for only where thinking is.
    ...(display !== 'hidden' && { include: ['reasoning.encrypted_content'] }),
  };
}

/** The effort that was named, else that of the budget, else the model's own. */
function readEffort(body: JsonObject, model: Reasoning): Effort | null {
  const thinking = isJsonObject(body['thinking']) ? body['thinking'] : {};
  const config = isJsonObject(body['output_config']) ? body['output_config'] : {};
  const named = EFFORTS.find((effort) => effort === config['effort']);
  if (named !== undefined) return nearestEffort(named, model);
  const { type, budget_tokens: budgetTokens } = thinking;
  if (type === 'disabled') return leastEffort(model);
  if (type !== 'enabled' || typeof budgetTokens !== 'number') return null;
  return nearestEffort(BUDGETS.find(([belowTokens]) => budgetTokens < belowTokens)?.[1] ?? 'high', model);
}
