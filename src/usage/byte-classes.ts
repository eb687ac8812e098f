// Counts the bytes of text by class, for estimates of its tokens: a tokenizer makes more tokens of digits
// and signs than of words. On the path of every delta, so that it must cost next to nothing.

import type { JsonValue } from '../wire/wire.ts';

/** Bytes of UTF-8: ASCII letters, digits, spaces, other ASCII, characters beyond ASCII. */
export type ByteClasses = [letters: number, digits: number, spaces: number, signs: number, beyond: number];

export const NO_BYTES: Readonly<ByteClasses> = [0, 0, 0, 0, 0];

// Letters, digits and spaces are counted in one number, ten bits each: one addition a character. What is none
// of them is the rest. A run is as long as ten bits can count.
const RUN_CHARACTERS = 1023;
const DIGIT_STEP = 1 << 10;
const SPACE_STEP = 1 << 20;
const STEPS = new Int32Array(128);
for (let code = 0; code < 128; code++) {
  const character = String.fromCharCode(code);
  if (/[A-Za-z]/.test(character)) STEPS[code] = 1;
  else if (/[0-9]/.test(character)) STEPS[code] = DIGIT_STEP;
  else if (character === ' ') STEPS[code] = SPACE_STEP;
}

/** Adds the bytes of the text to the classes; anything but text adds nothing. */
export function addText(classes: ByteClasses, text: JsonValue | undefined): void {
  if (typeof text !== 'string') return;
  for (let from = 0; from < text.length; from += RUN_CHARACTERS)
    addRun(classes, text, from, Math.min(text.length, from + RUN_CHARACTERS));
}

function addRun(classes: ByteClasses, text: string, from: number, end: number): void {
  let packed = 0;
  let ascii = end - from;
  let beyond = 0;
  for (let at = from; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code < 128) packed += STEPS[code] as number;
    else {
      ascii--;
      beyond += code < 0x800 || (code & 0xf800) === 0xd800 ? 2 : 3; // a pair of surrogates is four bytes
    }
  }
  const letters = packed & 1023;
  const digits = (packed >> 10) & 1023;
  const spaces = packed >> 20;
  classes[0] += letters;
  classes[1] += digits;
  classes[2] += spaces;
  classes[3] += ascii - letters - digits - spaces;
  classes[4] += beyond;
}

/**
 * Adds the bytes of a value written as JSON, but for escapes. Not written to be measured: nested by the ten
 * thousand, as JSON can be read, it could not be, and to find that out would take the runtime seconds.
 */
export function addJson(classes: ByteClasses, whole: JsonValue): void {
  const rest = [whole];
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    if (typeof part === 'string') {
      addText(classes, part);
      classes[3] += 2;
    } else if (typeof part !== 'object' || part === null) addText(classes, String(part));
    else {
      const names = Array.isArray(part) ? null : Object.keys(part);
      const parts = Object.values(part);
      classes[3] += 2 + Math.max(0, parts.length - 1);
      for (const name of names ?? []) {
        addText(classes, name);
        classes[3] += 3;
      }
      for (const inner of parts) rest.push(inner);
    }
  }
}

export function totalBytes(classes: Readonly<ByteClasses>): number {
  return classes[0] + classes[1] + classes[2] + classes[3] + classes[4];
}
