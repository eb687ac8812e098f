// Estimates tokens of output: a linear function of its bytes by class, fitted to the account's own samples. An
// account without enough samples is billed the baseline, which samples of other accounts can only lower.

import { type ByteClasses, totalBytes } from './byte-classes.ts';
import { type KindSpread, nearest, type Spread } from './kinds-of-text.ts';

/** Tokens per byte, for each class. */
export type Coefficients = readonly [number, number, number, number, number, number];

/** The fit of one account's samples for a model; `low` and `high` cover all its messages. */
export interface TextFit extends Spread {
  readonly coefficients: Coefficients;
  readonly kinds: readonly KindSpread[];
}

export interface OutputEstimate {
  /** null until the account has enough samples. */
  readonly own: TextFit | null;
  /** One per other account; used only if `own` is null, and empty with too few accounts. */
  readonly votes: readonly TextFit[];
  /** Speed of the model's fastest streams. */
  readonly topTokensPerSecond: number;
  /** Speed of its slowest streams; 0 until known. */
  readonly lowTokensPerSecond: number;
}

/** Four bytes per token by default, as the sandbox counts. */
export const BASELINE_TOKENS_PER_BYTE = 0.25;
export const VOTES_MAX = 15;

const OTHERS_LOWER_TO = 0.7; // of the baseline: how far other accounts can lower a bill
const OTHERS_COVER_MOST = 1.5; // of the baseline
const COVER_LEAST = 0.8; // of the baseline, whatever the samples
const TOKENS_PER_TEXT_BYTE_LEAST = 0.1; // billed for letters, digits and non-ASCII characters, whatever the samples

export const BASELINE_ESTIMATE: OutputEstimate = Object.freeze({
  own: null,
  votes: [],
  topTokensPerSecond: 150,
  lowTokensPerSecond: 0,
});

/** Tokens to bill for text, not rounded. */
export function billedText({ own, votes }: OutputEstimate, classes: Readonly<ByteClasses>): number {
  if (own !== null) {
    const predicted = predictTokens(own.coefficients, classes);
    return Math.max(predicted * spreadOf(own, classes).low, TOKENS_PER_TEXT_BYTE_LEAST * textBytes(classes));
  }
  const baseline = BASELINE_TOKENS_PER_BYTE * totalBytes(classes);
  if (votes.length === 0) return baseline;
  return Math.min(baseline, Math.max(OTHERS_LOWER_TO * baseline, medianVote(votes, classes, 'low')));
}

/** Tokens that a hold must cover for text, not rounded: at least `billedText`. */
export function coverText({ own, votes }: OutputEstimate, classes: Readonly<ByteClasses>): number {
  const bytes = totalBytes(classes);
  if (bytes === 0) return 0; // common for names and thinking
  const baseline = BASELINE_TOKENS_PER_BYTE * bytes;
  if (own === null && votes.length === 0) return baseline;
  if (own === null) {
    const voted = Math.min(OTHERS_COVER_MOST * baseline, medianVote(votes, classes, 'high'));
    return Math.max(COVER_LEAST * baseline, voted);
  }
  const predicted = predictTokens(own.coefficients, classes);
  const { low, high } = spreadOf(own, classes);
  const sampled = Math.max(predicted * low, Math.min(bytes, predicted * high));
  return Math.max(COVER_LEAST * baseline, sampled);
}

/** All messages so far matched their estimate. */
export function isExact({ own, votes }: OutputEstimate): boolean {
  return own === null ? votes.every(({ low }) => low >= 1) : own.low >= 1;
}

function spreadOf(fit: TextFit, classes: Readonly<ByteClasses>): Spread {
  return nearest(fit.kinds, classes) ?? fit;
}

export function predictTokens(coefficients: Coefficients, classes: Readonly<ByteClasses>): number {
  return (
    classes[0] * coefficients[0] +
    classes[1] * coefficients[1] +
    classes[2] * coefficients[2] +
    classes[3] * coefficients[3] +
    classes[4] * coefficients[4] +
    classes[5] * coefficients[5]
  );
}

const scratch = new Float64Array(VOTES_MAX); // allocated once, because it is used for every delta

function medianVote(votes: readonly TextFit[], classes: Readonly<ByteClasses>, side: 'low' | 'high'): number {
  let count = 0;
  for (const vote of votes) {
    if (count === VOTES_MAX) break;
    scratch[count++] = predictTokens(vote.coefficients, classes) * spreadOf(vote, classes)[side];
  }
  return scratch.subarray(0, count).sort()[(count - 1) >> 1] as number;
}

function textBytes([letters, digits, , , beyond, rareLetters]: Readonly<ByteClasses>): number {
  return letters + digits + beyond + rareLetters;
}
