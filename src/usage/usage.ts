// The door of usage: what a message used, as reported or as estimated. Pure, and ignorant of prices.

export { type CountedUsage, type CounterOptions, type CountLimits, MessageCounter } from './count-message.ts';
export { Estimates } from './estimates.ts';
export type { LearnedDocument } from './learned-model.ts';
export type { LearnedStore } from './learned-store.ts';
export { inputTokensLikely, inputTokensUpperBound, measurePrompt, type PromptMeasure } from './measure-prompt.ts';
export type { OutputEstimate } from './output-estimate.ts';
export { readThinking } from './read-thinking.ts';
export { type PartialCounts, type PartialUsage, readUsage } from './read-usage.ts';
