// What is learned of one model from its completed messages: tokens of prompts by their bytes, tokens of output
// by classes of bytes, and its speed. Numbers only, never text.

import { type ByteClasses, totalBytes } from './byte-classes.ts';
import { addSample, type Fit, newFit, solve } from './fit-coefficients.ts';
import { type OutputEstimate, predictTokens, UNLEARNED } from './output-estimate.ts';
import { RecentSamples } from './recent-samples.ts';

const PROMPTS_KEPT = 256;
const PROMPTS_LEAST = 16;
const NEW_PROMPTS_SHARE = 1 / 4; // of those kept, before they are sorted again
const PROMPT_SHARE = 0.98;
const PROMPT_MARGIN = 1.03;
const RATIOS_KEPT = 64;
const RATIOS_LEAST = 8;
// Of messages: by so many a bill is too high, or a hold too small. Beginnings of messages scatter more.
const LOW_SHARE = 0.06;
const LOW_MARGIN = 0.98; // where messages differ at all
const HIGH_SHARE = 0.9;
// However far off messages are: one caller's odd ones must not move far what others pay and may have.
const LOW_LEAST = 0.7;
const HIGH_MOST = 1.5;
const SPEEDS_KEPT = 64;
const SPEEDS_LEAST = 8;
const SLOW_SHARE = 0.1;
const FAST_SHARE = 0.95;
const UNTRUSTED_FITS = 8; // of the first messages, before how far they are off says anything
const WARM_SAMPLES = 64; // from here on what was learned is looked at only after some more, which costs less
const SAMPLES_BETWEEN_LOOKS = 16; // of text and of speed, so after some eight streams
const ROUNDING_TOKENS = 1; // a count is whole, and an end of the message may count
const RATIO_MOST = 4; // one further off was not counted by its text

/** What is learned of one model, as plain JSON to be stored. */
export type LearnedDocument = {
  version: 1;
  /** Tokens a byte of the last prompts. */
  prompts: number[];
  /** How many messages the fit has taken in. */
  samples: number;
  matrix: number[];
  vector: number[];
  coefficients: number[];
  /** Real by predicted tokens of the last messages. */
  ratios: number[];
  /** Tokens a second of the last streams. */
  speeds: number[];
};

export class LearnedModel {
  readonly #prompts: RecentSamples;
  #promptsUntilLook = 0;
  #tokensPerByte: number | null = null;
  readonly #fit: Fit;
  #samples = 0;
  readonly #ratios: RecentSamples;
  readonly #speeds: RecentSamples;
  #outputUntilLook = 0;
  #output: OutputEstimate = UNLEARNED;

  /** `document` is one that was checked. */
  constructor(document: LearnedDocument | null = null) {
    this.#prompts = new RecentSamples(PROMPTS_KEPT, document?.prompts);
    this.#ratios = new RecentSamples(RATIOS_KEPT, document?.ratios);
    this.#speeds = new RecentSamples(SPEEDS_KEPT, document?.speeds);
    this.#fit = document === null ? newFit() : fitOf(document);
    this.#samples = document?.samples ?? 0;
    this.#lookAtPrompts();
    this.#estimateOutput();
  }

  /** A figure that few prompts exceed; null until enough are known. */
  get tokensPerByte(): number | null {
    return this.#tokensPerByte;
  }

  /** The same object until something is learned. */
  get output(): OutputEstimate {
    return this.#output;
  }

  addPrompt(tokensPerByte: number): void {
    this.#prompts.add(Math.min(1, tokensPerByte));
    if (--this.#promptsUntilLook <= 0) this.#lookAtPrompts();
  }

  /** `tokens` are what the bytes have by the provider's count. */
  addText(classes: Readonly<ByteClasses>, tokens: number): void {
    const predicted = predictTokens(this.#fit.coefficients, classes);
    const isAsPredicted = Math.abs(tokens - predicted) <= ROUNDING_TOKENS;
    const ratio = isAsPredicted ? 1 : Math.min(RATIO_MOST, Math.max(1 / RATIO_MOST, tokens / predicted));
    addSample(this.#fit, classes, predicted * ratio);
    if (++this.#samples > UNTRUSTED_FITS) this.#ratios.add(ratio);
    if (--this.#outputUntilLook <= 0) this.#lookAtOutput();
  }

  addSpeed(tokensPerSecond: number): void {
    this.#speeds.add(tokensPerSecond);
    if (--this.#outputUntilLook <= 0) this.#lookAtOutput();
  }

  /** From here on what is estimated is what it would be after a restart with the document. */
  document(): LearnedDocument {
    this.#lookAtPrompts();
    this.#lookAtOutput();
    return {
      version: 1,
      prompts: this.#prompts.list(),
      samples: this.#samples,
      matrix: [...this.#fit.matrix],
      vector: [...this.#fit.vector],
      coefficients: [...this.#fit.coefficients],
      ratios: this.#ratios.list(),
      speeds: this.#speeds.list(),
    };
  }

  #lookAtPrompts(): void {
    const { size } = this.#prompts;
    this.#promptsUntilLook = Math.max(PROMPTS_LEAST - size, Math.floor(size * NEW_PROMPTS_SHARE));
    if (size < PROMPTS_LEAST) return;
    const [upper] = this.#prompts.quantiles(PROMPT_SHARE);
    this.#tokensPerByte = Math.min(1, upper * PROMPT_MARGIN);
  }

  #lookAtOutput(): void {
    solve(this.#fit);
    this.#estimateOutput();
  }

  #estimateOutput(): void {
    this.#outputUntilLook = this.#samples + this.#speeds.size <= WARM_SAMPLES ? 1 : SAMPLES_BETWEEN_LOOKS;
    const [lowest, highest] = this.#ratios.size < RATIOS_LEAST ? [1, 1] : this.#ratios.quantiles(LOW_SHARE, HIGH_SHARE);
    const low = Math.max(LOW_LEAST, lowest < 1 ? lowest * LOW_MARGIN : lowest);
    const high = Math.min(HIGH_MOST, highest);
    const { lowTokensPerSecond: slow, topTokensPerSecond: fast } = UNLEARNED;
    const [lowTokensPerSecond, topTokensPerSecond] =
      this.#speeds.size < SPEEDS_LEAST ? [slow, fast] : this.#speeds.quantiles(SLOW_SHARE, FAST_SHARE);
    const { coefficients } = this.#fit;
    this.#output = { coefficients: [...coefficients], low, high, topTokensPerSecond, lowTokensPerSecond };
  }
}

/** The document, if it is one; else null. A part of it is not taken: what it fits to would be wrong. */
export function readDocument(document: unknown): LearnedDocument | null {
  if (typeof document !== 'object' || document === null) return null;
  const { version, prompts, samples, matrix, vector, coefficients, ratios, speeds } =
    document as Partial<LearnedDocument>;
  const isRead =
    version === 1 &&
    areNumbers(prompts, 0, PROMPTS_KEPT, 0, 1) &&
    areNumbers([samples], 1, 1, 0, Number.MAX_SAFE_INTEGER) &&
    areNumbers(matrix, 25, 25, -1e6, 1e6) &&
    matrix.every((value, at) => at % 6 !== 0 || value >= 0) &&
    areNumbers(vector, 5, 5, -1e6, 1e6) &&
    areNumbers(coefficients, 5, 5, 0.02, 1.5) &&
    areNumbers(ratios, 0, RATIOS_KEPT, 1 / RATIO_MOST, RATIO_MOST) &&
    areNumbers(speeds, 0, SPEEDS_KEPT, 0, 1e6);
  return isRead ? (document as LearnedDocument) : null;
}

function areNumbers(list: unknown, least: number, most: number, low: number, high: number): list is number[] {
  if (!Array.isArray(list) || list.length < least || list.length > most) return false;
  return list.every((value) => typeof value === 'number' && value >= low && value <= high);
}

function fitOf({ matrix, vector, coefficients }: LearnedDocument): Fit {
  return { matrix: [...matrix], vector: [...vector], coefficients: [...coefficients] as Fit['coefficients'] };
}

/** Enough text to be learned from. */
export function isTelling(classes: Readonly<ByteClasses>): boolean {
  return totalBytes(classes) >= 128;
}
