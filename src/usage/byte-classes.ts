// Counts the bytes of text by class, to estimate tokens. On the path of every delta, so it must be cheap.

import type { JsonValue } from '../wire/wire.ts';

/** Bytes of UTF-8. Letters that rarely follow the previous one mark random text, which has many more tokens. */
export type ByteClasses = [
  letters: number,
  digits: number,
  spaces: number,
  signs: number,
  beyond: number,
  rareLetters: number,
];

// The letters that commonly follow each letter, a to z: pairs that are at least one in a thousand of those within
// words of English, German, French, Spanish, Italian, Dutch, Swedish, Danish or Portuguese text (programs' messages
// and manuals, 30,000 to a million pairs each) or of TypeScript. They are 350 of 676: about half of the pairs of
// random letters are rare, and 1 to 3 in 100 of those in the texts.
const COMMON_AFTER = (
  'abcdfghiklmnoprstuvwxyz aeijlnoruy acehiklorstu adefiklmorstuy abcdefghijklmnpqrstuvwxyz aefilortu aeghilnorstuy ' +
  'aeilnortu abcdefgjklmnopqrstuvxz adeklsz aeiklnorstu adefghijlnopstuy abeilmnoprsu abcdefghijklnopqstuvyz ' +
  'bcdefgiklmnoprstuvw acdehilmnoprstu u abcdefghiklmnoqrstuvwyz acdefhiklnopstuwy abcehimnoprstuyz ' +
  'abcdefgiklmnoprstvw aeinors aehinors eipt cdklnopst aeiotuz'
).split(' ');

// Four counters of eight bits in one number: one addition per character. A run is as long as they can count.
const RUN_CHARACTERS = 255;
const DIGIT_STEP = 1 << 8;
const SPACE_STEP = 1 << 16;
const RARE_STEP = 1 << 24;
/** The increment for a character after the previous one. */
const STEPS = new Int32Array(128 * 128);
for (let before = 0; before < 128; before++) {
  const common = COMMON_AFTER[letterOf(before)];
  for (let code = 0; code < 128; code++) {
    const character = String.fromCharCode(code).toLowerCase();
    const at = before * 128 + code;
    if (/[a-z]/.test(character)) STEPS[at] = common === undefined || common.includes(character) ? 1 : RARE_STEP;
    else if (/[0-9]/.test(character)) STEPS[at] = DIGIT_STEP;
    else if (character === ' ') STEPS[at] = SPACE_STEP;
  }
}

/** Position in the alphabet from 0; negative for other characters. */
function letterOf(code: number): number {
  const character = String.fromCharCode(code);
  return /[A-Za-z]/.test(character) ? (code | 32) - 97 : -1;
}

/** Adds the bytes of a text in pieces; other values add nothing. `before` is what the last call returned. */
export function addText(classes: ByteClasses, text: JsonValue | undefined, before = 0): number {
  if (typeof text !== 'string') return before;
  let last = before;
  for (let from = 0; from < text.length; from += RUN_CHARACTERS)
    last = addRun(classes, text, from, Math.min(text.length, from + RUN_CHARACTERS), last);
  return last;
}

function addRun(classes: ByteClasses, text: string, from: number, end: number, before: number): number {
  let packed = 0;
  let ascii = end - from;
  let beyond = 0;
  let last = before;
  for (let at = from; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code < 128) {
      packed = (packed + (STEPS[(last << 7) | code] as number)) | 0;
      last = code;
    } else {
      ascii--;
      beyond += code < 0x800 || (code & 0xf800) === 0xd800 ? 2 : 3; // a surrogate pair has four bytes
      last = 0;
    }
  }
  addPacked(classes, packed, ascii, beyond);
  return last;
}

function addPacked(classes: ByteClasses, packed: number, ascii: number, beyond: number): void {
  const letters = packed & 255;
  const digits = (packed >> 8) & 255;
  const spaces = (packed >> 16) & 255;
  const rare = packed >>> 24;
  classes[0] += letters;
  classes[1] += digits;
  classes[2] += spaces;
  classes[3] += ascii - letters - digits - spaces - rare;
  classes[4] += beyond;
  classes[5] += rare;
}

/** The same for UTF-8: adds the text in bytes.subarray(from, end). */
export function addBytes(classes: ByteClasses, bytes: Uint8Array, from: number, end: number, before: number): number {
  let last = before;
  for (let start = from; start < end; start += RUN_CHARACTERS) {
    const runEnd = Math.min(end, start + RUN_CHARACTERS);
    let packed = 0;
    let beyond = 0;
    for (let at = start; at < runEnd; at++) {
      const code = bytes[at] as number;
      if (code < 128) {
        packed = (packed + (STEPS[(last << 7) | code] as number)) | 0;
        last = code;
      } else {
        beyond++;
        last = 0;
      }
    }
    addPacked(classes, packed, runEnd - start - beyond, beyond);
  }
  return last;
}

/** Adds the bytes of a value as JSON, unescaped. Not stringified: deep nesting would take the runtime seconds. */
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
  return classes[0] + classes[1] + classes[2] + classes[3] + classes[4] + classes[5];
}
