// Units of use besides tokens of text: tokens of other modalities, and what is not counted in tokens.

import { exactNumber } from '../base/checked-number.ts';

export const UNITS = [
  'input_audio_tokens',
  'output_audio_tokens',
  'input_image_tokens',
  'output_image_tokens',
  'images',
  'characters',
  /** Seconds of sound; a begun one counts. */
  'seconds',
  'searches',
] as const;
export type Unit = (typeof UNITS)[number];

export type UnitCounts = Readonly<Partial<Record<Unit, number>>>;

export interface Units {
  /** Whole numbers. */
  readonly counts: UnitCounts;
  /** Size and quality of the images, such as "1024x1024 high", or one of them; null: not stated, or no images. */
  readonly image: string | null;
}

/** Units of a request without a known most, and why, as an error that begins with the path of a field. */
export type Unbounded = Readonly<Partial<Record<Unit, string>>>;

export function unitsOf(counts: UnitCounts, image: string | null = null): Units {
  return { counts, image };
}

/** The units that are counted, with their counts. */
export function unitEntries({ counts }: Units): [unit: Unit, count: number][] {
  return UNITS.flatMap((unit): [Unit, number][] => {
    const count = counts[unit] ?? 0;
    return count === 0 ? [] : [[unit, count]];
  });
}

/**
 * The parts of a cost that units have in it, by their shares of all that it pays for. Whole numbers, each less than one away from its exact
 * part: with the part of everything else, they add up to the cost.
 */
export function divideCost(
  cost: number,
  shares: readonly (readonly [unit: Unit, share: bigint])[],
  all: bigint,
): UnitCounts {
  const parts: Partial<Record<Unit, number>> = {};
  let [sum, given] = [0n, 0n];
  for (const [unit, share] of shares) {
    sum += share;
    const upTo = all === 0n ? 0n : (BigInt(cost) * sum) / all;
    parts[unit] = exactNumber(upTo - given);
    given = upTo;
  }
  return parts;
}
