// Abilities of models, as far as their names tell: for lists of models.

import { factsOf } from '../model-facts/model-facts.ts';
import { claudeGeneration, type Effort, geminiThinking, reasoningOf } from './models.ts';

export interface Abilities {
  images: boolean;
  /** PDF documents. */
  documents: boolean;
  citations: boolean;
  /** JSON by a schema. */
  structuredOutputs: boolean;
  /** Edits of the context by the provider, such as clearing tool results. */
  contextEdits: boolean;
  compaction: boolean;
  /** Web search by the provider, for a model that has a price for it. */
  webSearch: boolean;
  /** Accepted efforts. */
  efforts: readonly Effort[];
  /** Whether the model can think, and the accepted types of thinking. */
  thinks: boolean;
  thinkingTypes: readonly ThinkingType[];
}

export const THINKING_TYPES = ['enabled', 'adaptive', 'disabled', 'between_tools'] as const;
type ThinkingType = (typeof THINKING_TYPES)[number];

/** The abilities of a model for text alone. */
export const NO_ABILITIES: Abilities = {
  images: false,
  documents: false,
  citations: false,
  structuredOutputs: false,
  contextEdits: false,
  compaction: false,
  webSearch: false,
  efforts: [],
  thinks: false,
  thinkingTypes: ['disabled'],
};
const USUAL: Abilities = { ...NO_ABILITIES, images: true, documents: true, structuredOutputs: true };
// Other protocols' kinds translate the types of thinking.
const TRANSLATED: readonly ThinkingType[] = ['enabled', 'adaptive', 'disabled'];
const EFFORTS_SHOWN: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** null: not a model of this vendor. */
export function claudeAbilities(model: string): Abilities | null {
  const facts = factsOf('claude_abilities', model);
  if (facts === null) return null;
  const { thinks, takesBudget, off, efforts } = claudeGeneration(model);
  return {
    images: facts.images,
    documents: facts.documents,
    citations: facts.documents,
    structuredOutputs: facts.structuredOutputs,
    contextEdits: facts.contextEdits,
    compaction: thinks === 'adaptively',
    webSearch: true,
    efforts: efforts === 'none' ? [] : EFFORTS_SHOWN.filter((effort) => effort !== 'xhigh' || efforts === 'all'),
    thinks: thinks !== 'never',
    thinkingTypes: THINKING_TYPES.filter(
      (type) => type === off || (type === 'enabled' && takesBudget) || (type === 'adaptive' && thinks === 'adaptively'),
    ),
  };
}

/** null: not known. */
export function openAiAbilities(model: string): Abilities | null {
  const { does, efforts } = reasoningOf(model);
  if (does === 'unknown') return null;
  const usual = /gpt-3|gpt-4(?![.o])/.test(model) ? NO_ABILITIES : USUAL;
  return does === 'never' ? usual : { ...usual, ...thinking(efforts) };
}

/** null: not a model of this vendor. */
export function geminiAbilities(model: string): Abilities | null {
  if (!/^(?:models\/)?gemini-/.test(model)) return null;
  return geminiThinking(model.replace('models/', '')) === null
    ? USUAL
    : { ...USUAL, ...thinking(['low', 'medium', 'high']) };
}

function thinking(efforts: readonly Effort[]): Pick<Abilities, 'efforts' | 'thinks' | 'thinkingTypes'> {
  return {
    efforts: efforts.filter((effort) => EFFORTS_SHOWN.includes(effort)),
    thinks: true,
    thinkingTypes: TRANSLATED,
  };
}
