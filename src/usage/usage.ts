// The door of usage: what a message used, as reported or as estimated. Pure, and ignorant of prices.

export { type CountedUsage, type CountLimits, MessageCounter } from './count-message.ts';
export { estimateOutputTokens, inputTokensUpperBound, typicalInputTokens } from './estimate-tokens.ts';
export { type PartialCounts, type PartialUsage, readUsage } from './read-usage.ts';
