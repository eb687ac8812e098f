// Families of models behind Converse, by their ids: what each takes, and how it thinks. Everything else is the same.

import { type Abilities, claudeAbilities, NO_ABILITIES } from '../abilities.ts';
import type { Effort } from '../models.ts';
import { baseModel, isClaude } from './model-ids.ts';

export interface Family {
  /** Whether the client's cache breakpoints are sent. */
  cachePoints: boolean;
  /** Whether a tool result may have images, documents and a status. */
  fullResults: boolean;
  /** Whether the top level of a tool's schema may have only a type, properties and required members. */
  plainSchemas: boolean;
  /** The form of a request to think, and of `top_k`; null: none. */
  thinking: 'thinking' | 'reasoningConfig' | 'reasoning_effort' | null;
  topK: 'top_k' | 'inferenceConfig' | null;
  efforts: readonly Effort[];
}

const OTHER: Family = {
  cachePoints: false,
  fullResults: false,
  plainSchemas: false,
  thinking: null,
  topK: null,
  efforts: [],
};
const CLAUDE: Family = { ...OTHER, cachePoints: true, fullResults: true, thinking: 'thinking', topK: 'top_k' };
const NOVA: Family = {
  ...OTHER,
  cachePoints: true,
  fullResults: true,
  plainSchemas: true,
  topK: 'inferenceConfig',
};

/** The first match applies. */
const FAMILIES: readonly [model: RegExp, family: Family][] = [
  // With a high effort the model takes no limit of its output, which would be unpaid.
  [/^amazon\.nova-2-/, { ...NOVA, thinking: 'reasoningConfig', efforts: ['low', 'medium'] }],
  [/^amazon\.nova-/, NOVA],
  [/^openai\.gpt-oss/, { ...OTHER, thinking: 'reasoning_effort', efforts: ['low', 'medium', 'high'] }],
];

export function familyOf(model: string): Family {
  if (isClaude(model)) return CLAUDE;
  return FAMILIES.find(([pattern]) => pattern.test(baseModel(model)))?.[1] ?? OTHER;
}

const THINKING_BY_DEFAULT = /[.-]r1\b|thinking|gpt-oss|magistral|minimax-m/;

/** Whether a model may think by default without showing it. */
export function thinksByDefault(model: string): boolean {
  return !isClaude(model) && THINKING_BY_DEFAULT.test(baseModel(model));
}

const SEEING: readonly [model: RegExp, abilities: Partial<Abilities>][] = [
  [/^amazon\.nova-(?:micro|sonic)/, {}],
  [/^amazon\.nova-/, { images: true, documents: true }],
  [/^meta\.llama(?:4|3-2-(?:11|90)b)/, { images: true }],
  [/^mistral\.(?:pixtral|mistral-large-3|ministral-3|mistral-small-3)/, { images: true }],
  [/^(?:meta|mistral|deepseek|openai|cohere|ai21|qwen|moonshot|minimax)\./, {}],
];

/** null: not known. */
export function bedrockAbilities(model: string): Abilities | null {
  if (isClaude(model)) return claudeAbilities(baseModel(model));
  const known = SEEING.find(([pattern]) => pattern.test(baseModel(model)))?.[1];
  if (known === undefined) return null;
  const { efforts } = familyOf(model);
  const thinks = efforts.length > 0 || thinksByDefault(model);
  return {
    ...NO_ABILITIES,
    ...known,
    efforts,
    thinks,
    ...(thinks && { thinkingTypes: ['enabled', 'adaptive', 'disabled'] }),
  };
}
