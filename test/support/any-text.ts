// Generated text for tests.

import fc from 'fast-check';

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const CODE_POINT_MAX = 0x10ffff;

const character = fc
  .integer({ min: 0, max: CODE_POINT_MAX - SURROGATES })
  .map((place) => String.fromCodePoint(place < SURROGATES_FROM ? place : place + SURROGATES));

/**
 * Text of any characters, and words that are dangerous as names. Like `fc.string({ unit: 'binary' })`, which first makes a table of all
 * 1.1 million characters and takes half a second for it.
 */
export function anyText(limits: { maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.array(character, limits).map((characters) => characters.join('')) },
    fc.string(limits),
  );
}
