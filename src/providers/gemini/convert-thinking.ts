// How much a model may think, in the terms of its generation: a budget in tokens, or a level. A request that asks
// for no thinking gets as little as the model can do with: its max_tokens are for what it shows.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';

/** What is known of the models by their names; the first that fits counts. */
const MODELS: readonly [name: RegExp, thinks: Budget | Level | null][] = [
  [/-(image|tts|audio|live)\b/, null],
  [/^gemini-2\.5-flash-lite/, { least: 0, from: 512, most: 24_576 }],
  [/^gemini-2\.5-flash/, { least: 0, from: 1, most: 24_576 }],
  [/^gemini-2\.5/, { least: 128, from: 128, most: 32_768 }],
  [/^gemini-3(\.\d+)?-flash-lite/, { lowest: 'MINIMAL', middle: 'MEDIUM' }],
  [/^gemini-3(\.[1-6])?-flash/, { lowest: 'MINIMAL', middle: 'MEDIUM' }],
  [/^gemini-3-pro/, { lowest: 'LOW', middle: 'HIGH' }],
  [/^gemini-([3-9]|\d\d)\b/, { lowest: 'LOW', middle: 'MEDIUM' }],
];
const DYNAMIC = -1;

/** Tokens: what it is set to for no thinking, and the range of what it may be set to. */
interface Budget {
  least: number;
  from: number;
  most: number;
}

/** Of the levels LOW and HIGH, which all of them have: what is below, and what is between. */
interface Level {
  lowest: string;
  middle: string;
}

const LOW_TOKENS_MAX = 4_096;
const MIDDLE_TOKENS_MAX = 16_384;

/** The `thinkingConfig`; null where nothing is known of the model and nothing is asked of it. */
export function convertThinking(body: JsonObject, model: string): JsonObject | null {
  const thinking = body['thinking'];
  const thinks = MODELS.find(([name]) => name.test(model))?.[1] ?? null;
  if (!isJsonObject(thinking) || thinking['type'] === 'disabled') return thinks === null ? null : leastOf(thinks);
  const budget = typeof thinking['budget_tokens'] === 'number' ? thinking['budget_tokens'] : null;
  const amount =
    thinks !== null && 'lowest' in thinks
      ? { thinkingLevel: levelOf(thinks, budget, effortOf(body)) }
      : { thinkingBudget: budget === null ? DYNAMIC : within(thinks, budget) };
  return { includeThoughts: thinking['display'] !== 'omitted', ...amount };
}

/** Models of this generation refuse a function call of their own that comes back without its signature. */
export function needsSignatures(model: string): boolean {
  return /^gemini-([3-9]|\d\d)\b|^gemini-[a-z-]+-latest$/.test(model);
}

function leastOf(thinks: Budget | Level): JsonObject {
  return 'lowest' in thinks ? { thinkingLevel: thinks.lowest } : { thinkingBudget: thinks.least };
}

function within(thinks: Budget | null, budget: number): number {
  return thinks === null ? budget : Math.min(Math.max(budget, thinks.from), thinks.most);
}

function levelOf({ middle }: Level, budget: number | null, effort: JsonValue | undefined): string {
  if (budget === null) return effort === 'low' ? 'LOW' : effort === 'medium' ? middle : 'HIGH';
  if (budget <= LOW_TOKENS_MAX) return 'LOW';
  return budget <= MIDDLE_TOKENS_MAX ? middle : 'HIGH';
}

function effortOf({ output_config: config }: JsonObject): JsonValue | undefined {
  return isJsonObject(config) ? config['effort'] : undefined;
}
