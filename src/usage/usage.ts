// The door of usage: the tokens of a message, reported or estimated. Pure, and independent of prices.

export { type CacheLifetime, type CountedUsage, type CounterOptions, MessageCounter } from './count-message.ts';
export { Estimates, type SampleDocument, type SampleStore } from './estimates.ts';
export { inputTokensUpperBound, measurePrompt, type PromptMeasure } from './measure-prompt.ts';
export { readThinking, readUsage } from './read-usage.ts';
