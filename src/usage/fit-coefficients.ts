// Finds how many tokens a byte of each class has, from messages whose tokens are known: least squares, drawn
// to the coefficients that hold until something is learned. What no message had stays as it was.

import { type ByteClasses, totalBytes } from './byte-classes.ts';
import { type Coefficients, UNLEARNED } from './output-estimate.ts';

const CLASSES = 5;
const PRIOR = UNLEARNED.coefficients;
const COEFFICIENT_LEAST = 0.02;
const COEFFICIENT_MOST = 1.5;
// What the prior weighs, in messages of one class only. Tokenizers differ in digits and signs more than in
// letters: where messages cannot tell which of them is to blame, it is rather those.
const PRIOR_WEIGHTS = [0.1, 0.005, 0.02, 0.003, 0.005];
const FORGETTING = 0.04; // the share of what is known in the direction of a message that gives way to it
const WEIGHED_FULLY_BYTES = 512; // a shorter message says less: its end and its rounding count for more
const SWEEPS_MAX = 40;
const SETTLED = 1e-6; // tokens a byte

/** The state: a symmetric matrix row by row, the vector beside it, and the solution. All plain numbers. */
export interface Fit {
  matrix: number[];
  vector: number[];
  coefficients: [number, number, number, number, number];
}

export function newFit(): Fit {
  return { matrix: Array(CLASSES * CLASSES).fill(0), vector: Array(CLASSES).fill(0), coefficients: [...PRIOR] };
}

/**
 * Takes a message in. Older knowledge is forgotten only in the direction of this message: what is known of
 * text in another script stays, however long none comes.
 */
export function addSample(fit: Fit, classes: Readonly<ByteClasses>, tokens: number): void {
  const { matrix, vector } = fit;
  const bytes = totalBytes(classes);
  const weight = Math.min(1, bytes / WEIGHED_FULLY_BYTES);
  const shares = classes.map((count) => count / bytes);
  const beyondPrior = tokens / bytes - dot(shares, PRIOR);
  const image = shares.map((_, row) => rowDot(matrix, row, shares)); // the matrix times the shares
  const known = dot(shares, image);
  const fading = known > 1e-9 ? (FORGETTING * weight) / known : 0;
  const learned = dot(shares, vector);
  for (let row = 0; row < CLASSES; row++) {
    const [share, seen] = [shares[row] as number, image[row] as number];
    vector[row] = (vector[row] as number) + weight * share * beyondPrior - fading * seen * learned;
    for (let column = 0; column < CLASSES; column++) {
      const at = row * CLASSES + column;
      const gained = weight * share * (shares[column] as number);
      matrix[at] = (matrix[at] as number) + gained - fading * seen * (image[column] as number);
    }
  }
}

/** Solves for the coefficients within their limits, one after the other until they settle. */
export function solve({ matrix, vector, coefficients }: Fit): void {
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

function rowDot(matrix: readonly number[], row: number, vector: readonly number[]): number {
  let sum = 0;
  for (let column = 0; column < CLASSES; column++)
    sum += (matrix[row * CLASSES + column] as number) * (vector[column] as number);
  return sum;
}

function dot(left: readonly number[], right: readonly number[] | Coefficients): number {
  let sum = 0;
  for (let at = 0; at < CLASSES; at++) sum += (left[at] as number) * (right[at] as number);
  return sum;
}
