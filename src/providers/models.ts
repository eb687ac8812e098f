// Models by name: how they think, and which parameters they accept. A provider refuses a whole request for one parameter
// that its model does not accept. A new model usually needs a row in src/model-facts, or a line here, and nowhere else.

import { assert } from '../base/assert.ts';
import { type Effort, factsOf } from '../model-facts/model-facts.ts';
import type { EffortForm } from '../protocols/effort.ts';

export type { Effort } from '../model-facts/model-facts.ts';

/** The name without the mark of a fine-tuned model and without a path, in lower case. */
function plainName(model: string): string {
  return model.toLowerCase().replace(/^ft:/, '').replace(/^.*\//, '');
}

/** Whether a model may think by default without showing it. */
export function thinksByDefault(upstreamModel: string): boolean {
  return factsOf('thinking_by_default', plainName(upstreamModel)) !== null;
}

// Messages

/** Parameters that a model of the Messages protocol accepts. */
export type Generation = NonNullable<ReturnType<typeof factsOf<'claude'>>>;

export function claudeGeneration(model: string): Generation {
  const generation = factsOf('claude', model);
  assert(generation !== null, 'the last row of the facts is for all other models');
  return generation;
}

// Gemini

/** In tokens: the value for no thinking, and the allowed range. */
interface ThinkingBudget {
  least: number;
  from: number;
  most: number;
}

/** In addition to LOW and HIGH, which all have: the level below, and the one between. */
export interface ThinkingLevels {
  lowest: string;
  middle: string;
}

/** How a Gemini model thinks; null if it does not, or is unknown. */
export function geminiThinking(model: string): ThinkingBudget | ThinkingLevels | null {
  const found = factsOf('gemini_thinking', model);
  return found?.budget ?? found?.levels ?? null;
}

/** Whether `temperature`, `topP` and `topK` are sent. */
export function geminiTakesSampling(model: string): boolean {
  return factsOf('gemini_without_sampling', model) === null;
}

/** The most output tokens of one call, which the model's own limit may exceed: an answer goes on only by further calls. */
export function geminiOutputMax(model: string, isStream: boolean): number {
  const found = factsOf('gemini', model);
  if (found === null) return Number.POSITIVE_INFINITY;
  return isStream ? found.outputTokensStreamedMax : found.outputTokensMax;
}

/** Models of this generation refuse their own function calls without their signatures. */
export function needsSignatures(model: string): boolean {
  return factsOf('gemini_signatures', model) !== null;
}

// OpenAI Responses

const USUAL: readonly Effort[] = ['low', 'medium', 'high'];

export interface Reasoning {
  /** `unknown`: it reasons if the request asks for thinking. */
  does: 'always' | 'never' | 'unknown';
  efforts: readonly Effort[];
}

/** Capabilities assumed for a model that rejected a reasoning request. */
export const NO_REASONING: Reasoning = { does: 'never', efforts: [] };

/** Reasoning of a model over the Responses protocol. */
export function reasoningOf(model: string): Reasoning {
  const found = factsOf('openai', plainName(model));
  if (found === null) return { does: 'unknown', efforts: USUAL };
  return found.efforts.length === 0 ? NO_REASONING : { does: 'always', efforts: found.efforts };
}

// Chat Completions

/** Properties of a Chat Completions provider that differ between its models. */
export interface ChatTraits {
  systemRole: 'system' | 'developer';
  /** Whether a user message may follow tool results; otherwise it becomes part of the last one. */
  userAfterTools: boolean;
  /** Accepted sampling parameters; others are dropped as hints. */
  sampling: readonly ('temperature' | 'top_p' | 'top_k')[];
  stopMax: number;
  parallelToolCalls: boolean;
  /** Format of call ids, and length of replacements. */
  toolIds: { form: RegExp; madeCharacters: number };
  /** The parameter for thinking; null: not configurable. */
  thinking: EffortForm | null;
  efforts: readonly Effort[];
  /** Effort with tools: some models refuse both together, and some refuse tools over this protocol. */
  effortWithTools: 'sent' | 'left out' | 'none' | 'refused';
  /** How thinking is sent back: its text within tool loops, if need be an empty one; the provider's details; or not at all. */
  thinkingBack: 'text' | 'text if any' | 'details' | null;
  /** Thinking may be at the start of the text, between <think> and </think>. */
  thinkTags: boolean;
}

/** Call ids of Mistral's models. */
export const NINE_CHARACTERS = { form: /^[A-Za-z0-9]{9}$/, madeCharacters: 9 };
const OPENAI = ['openai', 'azure'];
/** Where models of OpenAI get its own parameters. */
const OPENAI_MODELS = [...OPENAI, 'compatible'];
/** Servers of many vendors' models, which forward the text of earlier thinking to them. */
const HOSTS = ['compatible', 'cerebras', 'ollama'];
const OF_OPENAI = /^(?:o\d|codex-|gpt-(?:[5-9]|\d\d)(?!.*-chat))/;

/**
 * All matches apply; later ones take precedence. null: at any host, as the model itself refuses what differs. Thinking within tool
 * loops: https://github.com/PrimeIntellect-ai/verifiers/issues/575 and https://github.com/langchain-ai/langchain/pull/34177; ids
 * of Mistral's models: https://github.com/vllm-project/vllm/issues/9019 (2026-11-29).
 */
const CHAT_MODELS: readonly [families: readonly string[] | null, model: RegExp, traits: Partial<ChatTraits>][] = [
  [OPENAI, OF_OPENAI, { systemRole: 'developer', stopMax: 0 }],
  [OPENAI_MODELS, OF_OPENAI, { sampling: [], thinking: 'reasoning_effort' }],
  [OPENAI_MODELS, /^o\d/, { parallelToolCalls: false }],
  [['xai'], /^grok-(?:3-mini|[4-9]|code)/, { stopMax: 0 }],
  [['xai'], /^grok-3-mini/, { thinking: 'reasoning_effort', efforts: ['low', 'high'] }],
  [['moonshot'], /^kimi-k(?:2\.[5-9]|[3-9])/, { sampling: [], thinking: 'thinking' }],
  [['deepseek'], /reasoner/, { thinking: null }], // the name alone enables thinking
  [['groq', ...HOSTS], /gpt-oss/, { thinking: 'reasoning_effort', efforts: USUAL, thinkTags: false }],
  [HOSTS, /glm-?(?:4\.[5-9]|[5-9](?!\d*b))|minimax-?m\d|qwen-?[3-9](?!\d*b)|qwq/, { thinkingBack: 'text if any' }],
  [HOSTS, /deepseek|kimi/, { thinkingBack: 'text' }],
  [
    null,
    /mistral|mixtral|ministral|magistral|devstral|codestral|pixtral/,
    { userAfterTools: false, toolIds: NINE_CHARACTERS },
  ],
];

/** The traits of a model that differ from those of its family. */
export function chatTraits(family: string, model: string): Partial<ChatTraits> {
  const plain = plainName(model); // routers add the vendor
  const whole = model.toLowerCase();
  const matching = CHAT_MODELS.filter(
    ([families, pattern]) => (families?.includes(family) ?? true) && (pattern.test(plain) || pattern.test(whole)),
  );
  return Object.assign(openAiTraits(family, plain), ...matching.map(([, , traits]) => traits));
}

function openAiTraits(family: string, name: string): Partial<ChatTraits> {
  const found = OPENAI_MODELS.includes(family) ? factsOf('openai', name) : null;
  if (found === null || found.efforts.length === 0) return {};
  const withTools = found.chatEffortWithTools;
  // A server of another vendor may send the request over the other protocol.
  const isTranslated = withTools === 'refused' && !OPENAI.includes(family);
  return { efforts: found.efforts, effortWithTools: isTranslated ? 'sent' : withTools };
}
