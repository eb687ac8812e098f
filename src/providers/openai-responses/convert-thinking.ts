// What a request says of thinking, as the provider's reasoning: how much, and what of it a caller is to see. Where no
// thinking was asked for, none is shown: a model may still think, and its caller expects the text first. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';

/** `shown` with its signature; `sealed`: its signature alone; `hidden`: nothing. */
export type ThinkingDisplay = 'shown' | 'sealed' | 'hidden';

const THINKING: readonly (JsonValue | undefined)[] = ['enabled', 'adaptive', 'between_tools'];
const EFFORTS: readonly (JsonValue | undefined)[] = ['low', 'medium', 'high', 'xhigh', 'max'];
/** A rule of thumb: budgets below these many tokens are this effort, all others are high. */
const BUDGETS: readonly [belowTokens: number, effort: string][] = [
  [2_048, 'low'],
  [8_192, 'medium'],
];
const EFFORT_MOST = 'high';

export function readDisplay(body: JsonObject): ThinkingDisplay {
  const thinking = body['thinking'];
  if (!isJsonObject(thinking) || !THINKING.includes(thinking['type'])) return 'hidden';
  return thinking['display'] === 'omitted' ? 'sealed' : 'shown';
}

/** `reasoning` and `include`, as far as the request asks for any. */
export function convertThinking(body: JsonObject): JsonObject {
  const display = readDisplay(body);
  const effort = readEffort(body);
  const reasoning = { ...(effort !== null && { effort }), ...(display === 'shown' && { summary: 'auto' }) };
  return {
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    // Models that do not reason refuse it, so it is asked for only where thinking is.
    ...(display !== 'hidden' && { include: ['reasoning.encrypted_content'] }),
  };
}

/** The effort that was named, else that of the budget, else the model's own. */
function readEffort(body: JsonObject): string | null {
  const named = isJsonObject(body['output_config']) ? body['output_config']['effort'] : undefined;
  if (EFFORTS.includes(named)) return named as string;
  const thinking = isJsonObject(body['thinking']) ? body['thinking'] : {};
  const budgetTokens = thinking['budget_tokens'];
  if (thinking['type'] !== 'enabled' || typeof budgetTokens !== 'number') return null;
  return BUDGETS.find(([belowTokens]) => budgetTokens < belowTokens)?.[1] ?? EFFORT_MOST;
}
