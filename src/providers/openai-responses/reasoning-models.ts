// Which models reason, and how little and how much they can be asked to, by their names: the provider refuses what a model
// does not know. A name that nobody here knows is believed to be what its caller takes it for.

/** From little to much; `none` turns reasoning off. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

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

/** The effort itself, else the next below it that the model knows, else the least; null where it knows none. */
export function nearestEffort(asked: Effort, { efforts }: Reasoning): Effort | null {
  const below = efforts.findLast((effort) => EFFORTS.indexOf(effort) <= EFFORTS.indexOf(asked) && effort !== 'none');
  return below ?? efforts.find((effort) => effort !== 'none') ?? null;
}

/** What turns reasoning off, or nearly; null for a model that cannot be asked to. */
export function leastEffort({ efforts }: Reasoning): Effort | null {
  return efforts.find((effort) => effort === 'none' || effort === 'minimal') ?? null;
}
