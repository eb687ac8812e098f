// Tokens of sound among those of a message, which have a price of their own. Pure.

import { type TokenCounts, type Units, unitsOf } from '../wire/wire.ts';

/** Tokens of sound as the provider reported them; null: not reported. */
export interface SoundCounts {
  input: number | null;
  output: number | null;
}

/** The units that the hold pays for, and whether the output may be sound. */
interface HeldSound {
  units?: Units;
  speaks?: true;
  /** The only sound in the prompt is that of earlier answers, which a provider may read as text. */
  recalls?: true;
}

/**
 * The same counts with the tokens of sound as units: the reported ones, else as many as there may be. A provider that reports none in the
 * prompt has not counted them apart, but an answer may be text alone. Cached tokens stay what they are.
 */
export function splitSound(
  counts: TokenCounts,
  { units: held, speaks, recalls }: HeldSound,
  reported: SoundCounts,
): TokenCounts {
  const heard = held?.counts.input_audio_tokens ?? 0;
  const input =
    heard === 0 ? 0 : Math.min(counts.input, (recalls === true ? reported.input : reported.input || null) ?? heard);
  const output = speaks === true ? Math.min(counts.output, reported.output ?? counts.output) : 0;
  if (input + output === 0) return counts;
  return {
    ...counts,
    input: counts.input - input,
    output: counts.output - output,
    units: unitsOf({
      ...(input > 0 && { input_audio_tokens: input }),
      ...(output > 0 && { output_audio_tokens: output }),
    }),
  };
}

/** The same counts without the division. */
export function joinSound(counts: TokenCounts): TokenCounts {
  const { input_audio_tokens: input = 0, output_audio_tokens: output = 0 } = counts.units?.counts ?? {};
  return { ...counts, input: counts.input + input, output: counts.output + output };
}
