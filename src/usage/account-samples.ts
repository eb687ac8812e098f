// Samples of one account's completed messages with one model: output tokens by byte class, and speed. Numbers only,
// never text. Accounts are estimated by their own samples, so that no account can change another's bill.

import { type ByteClasses, totalBytes } from './byte-classes.ts';
import type { KindDocument, Spread } from './kinds-of-text.ts';
import { KINDS_MAX, KindsOfText, RATIO_MOST, RATIOS_KEPT, RecentSamples } from './kinds-of-text.ts';
import { BASELINE_TOKENS_PER_BYTE, type Coefficients, predictTokens, type TextFit } from './output-estimate.ts';

const CLASSES = 6;
const PRIOR = Array(CLASSES).fill(BASELINE_TOKENS_PER_BYTE) as readonly number[] as Coefficients;
const COEFFICIENT_LEAST = 0.02;
const COEFFICIENT_MOST = 1.5;
// Weight of the prior, in messages of one class only: tokenizers differ most in digits and punctuation.
const PRIOR_WEIGHTS = [0.1, 0.005, 0.02, 0.003, 0.005, 0.003];
const FORGETTING = 0.04; // the share of earlier evidence forgotten in the direction of a message
const WEIGHED_FULLY_BYTES = 512; // a shorter message weighs less: its end token and rounding matter more
const SWEEPS_MAX = 40;
const SETTLED = 1e-6; // tokens per byte

/** The state: a symmetric matrix by rows, the vector, and the solution. */
interface Fit {
  matrix: number[];
  vector: number[];
  coefficients: [number, number, number, number, number, number];
}

function newFit(): Fit {
  return { matrix: Array(CLASSES * CLASSES).fill(0), vector: Array(CLASSES).fill(0), coefficients: [...PRIOR] };
}

// Allocated once: a sample of every message is added.
const shares = new Float64Array(CLASSES);
const image = new Float64Array(CLASSES); // the matrix times the shares

/** Adds a message. Only evidence in its own direction is forgotten: samples of another script stay, however old. */
function addSample({ matrix, vector }: Fit, classes: Readonly<ByteClasses>, tokens: number): void {
  const bytes = totalBytes(classes);
  const weight = Math.min(1, bytes / WEIGHED_FULLY_BYTES);
  for (let at = 0; at < CLASSES; at++) shares[at] = (classes[at] as number) / bytes;
  for (let row = 0; row < CLASSES; row++) image[row] = rowDot(matrix, row, shares);
  const beyondPrior = tokens / bytes - dot(shares, PRIOR);
  const known = dot(shares, image);
  const fading = known > 1e-9 ? (FORGETTING * weight) / known : 0;
  const projected = dot(shares, vector);
  for (let row = 0; row < CLASSES; row++) {
    const share = shares[row] as number;
    const seen = image[row] as number;
    vector[row] = (vector[row] as number) + weight * share * beyondPrior - fading * seen * projected;
    for (let column = 0; column < CLASSES; column++) {
      const at = row * CLASSES + column;
      const gained = weight * share * (shares[column] as number);
      matrix[at] = (matrix[at] as number) + gained - fading * seen * (image[column] as number);
    }
  }
}

function solve({ matrix, vector, coefficients }: Fit): void {
  for (let sweep = 0; sweep < SWEEPS_MAX; sweep++) {
    let moved = 0;
    for (let row = 0; row < CLASSES; row++) {
      const [before, prior] = [coefficients[row] as number, PRIOR[row] as number];
      const own = matrix[row * CLASSES + row] as number;
      let others = 0;
      for (let column = 0; column < CLASSES; column++) {
        if (column === row) continue;
        others +=
          (matrix[row * CLASSES + column] as number) * ((coefficients[column] as number) - (PRIOR[column] as number));
      }
      const after = limit(prior + ((vector[row] as number) - others) / (own + (PRIOR_WEIGHTS[row] as number)));
      coefficients[row] = after;
      moved = Math.max(moved, Math.abs(after - before));
    }
    if (moved < SETTLED) return;
  }
}

function limit(coefficient: number): number {
  return Math.min(COEFFICIENT_MOST, Math.max(COEFFICIENT_LEAST, coefficient));
}

function rowDot(matrix: readonly number[], row: number, vector: Float64Array): number {
  let sum = 0;
  for (let column = 0; column < CLASSES; column++)
    sum += (matrix[row * CLASSES + column] as number) * (vector[column] as number);
  return sum;
}

function dot(left: Float64Array, right: Float64Array | readonly number[] | Coefficients): number {
  let sum = 0;
  for (let at = 0; at < CLASSES; at++) sum += (left[at] as number) * (right[at] as number);
  return sum;
}

const TEXTS_LEAST = 8; // before an account is estimated by its own samples, or has a vote
const RATIOS_LEAST = 4;
const UNTRUSTED_FITS = 4; // first messages, whose prediction errors say nothing yet
// The share of messages whose bill may be too high, or whose hold too small. Beginnings of messages vary more.
const LOW_SHARE = 0.1;
// If messages differ at all.
const LOW_MARGIN = 0.97;
const HIGH_MARGIN = 1.03;
const HIGH_SHARE = 0.95;
// Bounds on the spread: a few unusual messages must not move bills and holds far.
const LOW_LEAST = 0.7;
const LOW_MOST = 1.5;
const HIGH_MOST = 1.5;
const SPEEDS_KEPT = 32;
const SPEEDS_LEAST = 8;
const SLOW_SHARE = 0.1;
const FAST_SHARE = 0.95;
const TOP_SPEED_LEAST = 50; // tokens per second: a slow reader must not leave its thinking uncovered
const WARM_SAMPLES = 64; // from here on the fit is solved only occasionally, which costs less
const WARM_MS_BETWEEN_SAMPLES = 100;
const SAMPLES_BETWEEN_LOOKS = 16; // of text and speed: after about eight streams
const ROUNDING_TOKENS = 1; // counts are integers, and an end token may be counted
const STORED_DIGITS = 7;

/** The samples of one account as JSON to store. */
export interface AccountDocument {
  account: number;
  samples: number;
  matrix: number[];
  vector: number[];
  coefficients: number[];
  kinds: KindDocument[];
  /** Tokens per second of the last streams. */
  speeds: number[];
}

/** Speeds of slow and fast streams, in tokens per second. */
export interface Speeds {
  low: number;
  top: number;
}

export class AccountSamples {
  readonly account: number;
  readonly #fit: Fit;
  #samples = 0;
  readonly #kinds: KindsOfText;
  readonly #speeds: RecentSamples;
  #untilLook = 0;
  #sampledAtMs = Number.NEGATIVE_INFINITY;
  #text: TextFit | null = null;
  #measured: Speeds | null = null;

  /** `document` must be valid. */
  constructor(account: number, document: AccountDocument | null = null) {
    this.account = account;
    this.#kinds = new KindsOfText(document?.kinds);
    this.#speeds = new RecentSamples(SPEEDS_KEPT, document?.speeds);
    this.#fit = document === null ? newFit() : fitOf(document);
    this.#samples = document?.samples ?? 0;
    this.#estimate();
  }

  /** null until there are enough samples. */
  get text(): TextFit | null {
    return this.#text;
  }

  /** null until there are enough samples. */
  get speeds(): Speeds | null {
    return this.#measured;
  }

  /** Whether to sample a message now; if true, the next one is sampled only after a while, once there are many samples. */
  takeTurn(nowMs: number): boolean {
    if (this.#isWarm && nowMs - this.#sampledAtMs < WARM_MS_BETWEEN_SAMPLES) return false;
    this.#sampledAtMs = nowMs;
    return true;
  }

  get #isWarm(): boolean {
    return this.#samples + this.#speeds.size > WARM_SAMPLES;
  }

  /** `tokens`: the provider's count for the bytes. Returns true if estimates may have changed. */
  addText(classes: Readonly<ByteClasses>, tokens: number): boolean {
    const predicted = predictTokens(this.#fit.coefficients, classes);
    const isAsPredicted = Math.abs(tokens - predicted) <= ROUNDING_TOKENS;
    const ratio = isAsPredicted ? 1 : Math.min(RATIO_MOST, Math.max(1 / RATIO_MOST, tokens / predicted));
    addSample(this.#fit, classes, predicted * ratio);
    if (++this.#samples > UNTRUSTED_FITS) this.#kinds.add(classes, ratio);
    return this.#lookIfDue();
  }

  /** The same for a stream's speed. */
  addSpeed(tokensPerSecond: number): boolean {
    this.#speeds.add(tokensPerSecond);
    return this.#lookIfDue();
  }

  /** From now on estimates equal those after a restart with this document. */
  document(): AccountDocument {
    const { matrix, vector, coefficients } = this.#fit;
    this.#solve();
    for (const numbers of [matrix, vector, coefficients])
      for (const [at, number] of numbers.entries()) numbers[at] = shorten(number);
    const kinds = this.#kinds.documents(shorten);
    this.#estimate();
    return {
      account: this.account,
      samples: this.#samples,
      matrix: [...matrix],
      vector: [...vector],
      coefficients: [...coefficients],
      kinds,
      speeds: this.#speeds.list(),
    };
  }

  #lookIfDue(): boolean {
    if (--this.#untilLook > 0) return false;
    this.#solve();
    this.#estimate();
    return true;
  }

  #solve(): void {
    const before: Coefficients = [...this.#fit.coefficients];
    solve(this.#fit);
    const { coefficients } = this.#fit;
    const predict = (by: Coefficients) => (shares: readonly number[]) => predictTokens(by, shares as ByteClasses);
    this.#kinds.follow(predict(before), predict(coefficients));
  }

  #estimate(): void {
    this.#untilLook = this.#isWarm ? SAMPLES_BETWEEN_LOOKS : 1;
    this.#text = this.#samples < TEXTS_LEAST ? null : this.#fitOfText();
    if (this.#speeds.size < SPEEDS_LEAST) return;
    const [low, top] = this.#speeds.quantiles(SLOW_SHARE, FAST_SHARE);
    this.#measured = { low, top: Math.max(TOP_SPEED_LEAST, top) };
  }

  #fitOfText(): TextFit {
    const ratios = this.#kinds.ratios;
    const all = ratios.length < RATIOS_LEAST ? { low: 1, high: 1 } : spreadOf(new RecentSamples(ratios.length, ratios));
    const kinds = this.#kinds.spreads(spreadOf);
    return { coefficients: [...this.#fit.coefficients], kinds, low: Math.min(1, all.low), high: all.high };
  }
}

function spreadOf(ratios: RecentSamples): Spread {
  const [lowest, highest] = ratios.quantiles(LOW_SHARE, HIGH_SHARE);
  const low = Math.min(LOW_MOST, Math.max(LOW_LEAST, lowest < 1 ? lowest * LOW_MARGIN : lowest));
  const high = highest > 1 ? highest * HIGH_MARGIN : highest;
  return { low, high: Math.max(low, Math.min(HIGH_MOST, high)) };
}

function shorten(number: number): number {
  if (number === 0) return 0;
  const scale = 10 ** (STORED_DIGITS - 1 - Math.floor(Math.log10(Math.abs(number))));
  return Math.round(number * scale) / scale;
}

/** Validates a stored document. A damaged one is rejected as a whole, because a part would give wrong estimates. */
export function isAccountDocument(document: unknown): document is AccountDocument {
  if (typeof document !== 'object' || document === null) return false;
  const { account, samples, matrix, vector, coefficients, kinds, speeds } = document as Partial<AccountDocument>;
  return (
    Number.isSafeInteger(account) &&
    areNumbers([samples], 1, 1, 0, Number.MAX_SAFE_INTEGER) &&
    areNumbers(matrix, CLASSES * CLASSES, CLASSES * CLASSES, -1e6, 1e6) &&
    matrix.every((value, at) => at % (CLASSES + 1) !== 0 || value >= 0) &&
    areNumbers(vector, CLASSES, CLASSES, -1e6, 1e6) &&
    areNumbers(coefficients, CLASSES, CLASSES, COEFFICIENT_LEAST, COEFFICIENT_MOST) &&
    areKinds(kinds) &&
    areNumbers(speeds, 0, SPEEDS_KEPT, 0, 1e6)
  );
}

function areKinds(list: unknown): list is KindDocument[] {
  if (!Array.isArray(list) || list.length > KINDS_MAX) return false;
  return list.every((kind) => {
    const { shares, ratios } = (typeof kind === 'object' && kind !== null ? kind : {}) as Partial<KindDocument>;
    return areNumbers(shares, CLASSES, CLASSES, 0, 1) && areNumbers(ratios, 1, RATIOS_KEPT, 1 / RATIO_MOST, RATIO_MOST);
  });
}

function areNumbers(list: unknown, least: number, most: number, low: number, high: number): list is number[] {
  if (!Array.isArray(list) || list.length < least || list.length > most) return false;
  return list.every((value) => typeof value === 'number' && value >= low && value <= high);
}

function fitOf({ matrix, vector, coefficients }: AccountDocument): Fit {
  return { matrix: [...matrix], vector: [...vector], coefficients: [...coefficients] as Fit['coefficients'] };
}

export function isEnoughText(classes: Readonly<ByteClasses>): boolean {
  return totalBytes(classes) >= 128;
}
