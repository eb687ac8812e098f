// How many tokens produced text has, by what was learned of its model: a linear function of its bytes by
// class, and how far messages were off it.

import type { ByteClasses } from './byte-classes.ts';

/** Tokens a byte, for each class of bytes. */
export type Coefficients = readonly [number, number, number, number, number];

export interface OutputEstimate {
  readonly coefficients: Coefficients;
  /** Real tokens by those of the function, as few messages fall below: for billing a caller who left. */
  readonly low: number;
  /** The same, as few messages rise above: for what a hold must cover. */
  readonly high: number;
  /** The speed of the model's fastest streams. */
  readonly topTokensPerSecond: number;
  /** The speed of its slowest; 0 until known. */
  readonly lowTokensPerSecond: number;
}

/** Of a model that nothing is known of: a token has four bytes, as the sandbox counts. */
export const UNLEARNED: OutputEstimate = Object.freeze({
  coefficients: [0.25, 0.25, 0.25, 0.25, 0.25] as const,
  low: 1,
  high: 1,
  topTokensPerSecond: 150,
  lowTokensPerSecond: 0,
});

/** Tokens of so many bytes, not rounded. */
export function predictTokens(coefficients: Coefficients, classes: Readonly<ByteClasses>): number {
  return (
    classes[0] * coefficients[0] +
    classes[1] * coefficients[1] +
    classes[2] * coefficients[2] +
    classes[3] * coefficients[3] +
    classes[4] * coefficients[4]
  );
}
