// The door of usage: the tokens of a message, reported or estimated. Pure, and independent of prices.

export { BILLS, type Ending, type Held, knownOf } from './bill.ts';
export {
  type CacheLifetime,
  type CountedUsage,
  type MadeCounts,
  MessageCounter,
  NOTHING_COUNTED,
} from './count-message.ts';
export { Estimates, type SampleDocument, type SampleStore } from './estimates.ts';
export { inputTokensUpperBound, measurePrompt, type PromptMeasure } from './measure-prompt.ts';
export { readMedia } from './read-media.ts';
export { isOfUnknownTier, readThinking } from './read-usage.ts';
export { recalledTokensMost, spokenTokensMost } from './sound-tokens.ts';
export { joinSound, type SoundCounts, splitSound } from './split-sound.ts';
