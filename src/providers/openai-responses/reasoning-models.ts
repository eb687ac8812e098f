// Which models reason, and how little and how much they can be asked to, by their names: the provider refuses what a model
// does not know. A name that nobody here knows is believed to be what its caller takes it for.

import type { Effort } from '../effort.ts';

export interface Reasoning {
  /** `unknown`: it reasons where a request asks for thinking. */
  does: 'always' | 'never' | 'unknown';
  /** The efforts that it knows. */
  efforts: readonly Effort[];
}

/** What is believed of a model that has refused to be asked to reason. */
export const NO_REASONING: Reasoning = { does: 'never', efforts: [] };

const USUAL: readonly Effort[] = ['low', 'medium', 'high'];

/** The first that fits. */
const MODELS: readonly [name: RegExp, reasoning: Reasoning][] = [
  [/^(?:gpt-[34]|chatgpt-|gpt-[5-9].*-chat)/, NO_REASONING],
  [/^gpt-5\.1-codex-max/, { does: 'always', efforts: ['none', ...USUAL, 'xhigh'] }],
  [/^gpt-5\.1/, { does: 'always', efforts: ['none', ...USUAL] }],
  [/^gpt-5(?![.\d])/, { does: 'always', efforts: ['minimal', ...USUAL] }],
  [/^gpt-(?:[5-9]|\d\d)/, { does: 'always', efforts: ['none', ...USUAL, 'xhigh'] }],
  [/^(?:o\d|codex-)/, { does: 'always', efforts: USUAL }],
];

export function reasoningOf(model: string): Reasoning {
  const name = model.toLowerCase().replace(/^ft:/, '').replace(/^.*\//, '');
  return MODELS.find(([pattern]) => pattern.test(name))?.[1] ?? { does: 'unknown', efforts: USUAL };
}
