// How much a model is asked to think, as other protocols say it: an effort by its name. The Messages protocol has such
// names too, and a budget in tokens. Thinking is a hint: what a model does not know becomes the next below.

import { isJsonObject, type JsonObject } from '../wire/wire.ts';

/** From little to much; `none` turns thinking off. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** A rule of thumb: budgets below these many tokens are this effort, all others are high. */
const BUDGETS: readonly [belowTokens: number, effort: Effort][] = [
  [2_048, 'low'],
  [8_192, 'medium'],
];

/** The effort that a request names, else that of its budget; null where it says neither. */
export function readEffort(body: JsonObject): Effort | null {
  const config = isJsonObject(body['output_config']) ? body['output_config'] : {};
  const named = EFFORTS.find((effort) => effort === config['effort'] && effort !== 'none');
  if (named !== undefined) return named;
  const budgetTokens = readBudget(body);
  if (budgetTokens === null) return null;
  return BUDGETS.find(([belowTokens]) => budgetTokens < belowTokens)?.[1] ?? 'high';
}

/** In tokens; null where the request has none. */
export function readBudget({ thinking }: JsonObject): number | null {
  if (!isJsonObject(thinking) || thinking['type'] !== 'enabled') return null;
  const { budget_tokens: budgetTokens } = thinking;
  return typeof budgetTokens === 'number' ? budgetTokens : null;
}

/** `off` where the request says so, `on` where it asks for thinking in any way, else null. */
export function readThinking({ thinking }: JsonObject): 'on' | 'off' | null {
  const type = isJsonObject(thinking) ? thinking['type'] : null;
  if (type === 'disabled') return 'off';
  return typeof type === 'string' ? 'on' : null;
}

/** The effort itself, else the next below it that is known, else the least; null where none is. */
export function nearestEffort(asked: Effort | null, efforts: readonly Effort[]): Effort | null {
  if (asked === null) return null;
  const known = efforts.filter((effort) => effort !== 'none');
  return known.findLast((effort) => EFFORTS.indexOf(effort) <= EFFORTS.indexOf(asked)) ?? known[0] ?? null;
}

/** What turns thinking off, or nearly; null for a model that cannot be asked to. */
export function leastEffort(efforts: readonly Effort[]): Effort | null {
  return efforts.find((effort) => effort === 'none' || effort === 'minimal') ?? null;
}
