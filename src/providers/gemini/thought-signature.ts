// What the model's sealed thoughts become on their way through the caller. Gemini puts a signature on any
// part of its answer and wants it back on the same part; in the Messages protocol only a block of thinking has
// one. So it travels as the signature of such a block, with the place that it came from before it.

/**
 * `call`: on the function call that follows the block; `text`: on the text before it; `end`: on a part of its own
 * without text; `thought`: on the thought that the block itself shows.
 */
export type SignaturePlace = 'call' | 'text' | 'end' | 'thought';

const PLACED = /^gemini\.(call|text|end|thought)\.(.+)$/s;

/** Of a thought that Gemini did not sign: it says no more than whose it is, and other providers would refuse none at all. */
export const UNSIGNED = 'gemini.thought.';

/** The signature of a block of thinking. */
export function placeSignature(place: SignaturePlace, signature: string): string {
  return `gemini.${place}.${signature}`;
}

/** Null for the signature of another provider. */
export function readSignature(text: unknown): { place: SignaturePlace; signature: string } | null {
  const match = typeof text === 'string' ? PLACED.exec(text) : null;
  return match === null ? null : { place: match[1] as SignaturePlace, signature: match[2] as string };
}
