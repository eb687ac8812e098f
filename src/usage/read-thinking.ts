// What a request lets the model think.

import { isJsonObject, type JsonValue, type MessageRequest } from '../wire/wire.ts';

const THINKING: readonly (JsonValue | undefined)[] = ['enabled', 'adaptive', 'between_tools'];

/** `budgetTokens` is null where the request sets none. */
export function readThinking({ body }: Pick<MessageRequest, 'body'>): { thinks: boolean; budgetTokens: number | null } {
  const thinking = body['thinking'];
  if (!isJsonObject(thinking) || !THINKING.includes(thinking['type'])) return { thinks: false, budgetTokens: null };
  const budget = thinking['budget_tokens'];
  const isCount = typeof budget === 'number' && Number.isSafeInteger(budget) && budget >= 0;
  return { thinks: true, budgetTokens: isCount ? budget : null };
}
