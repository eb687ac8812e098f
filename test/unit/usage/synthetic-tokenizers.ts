// Text of several kinds, generated from a seed, and tokenizers that count it differently: by whole words and
// punctuation as real ones do, or with a fixed rate per kind.

export type Kind = 'english' | 'code' | 'chinese' | 'json';
export const kinds: readonly Kind[] = ['english', 'code', 'chinese', 'json'];

/** A section of text of one kind; a message is a list of them. */
export interface Piece {
  kind: Kind;
  text: string;
}

export type Random = () => number;

/** Numbers from 0 to 1, the same for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<Value>(random: Random, values: ArrayLike<Value>): Value {
  return values[Math.floor(random() * values.length)] as Value;
}

const syllables = [
  'an',
  'ber',
  'con',
  'de',
  'er',
  'for',
  'ing',
  'lo',
  'ment',
  'ni',
  'on',
  'pre',
  're',
  'ta',
  'tion',
  'u',
];
const characters =
  '的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家';

function word(random: Random): string {
  let made = '';
  for (let left = 1 + Math.floor(random() * 3); left > 0; left--) made += pick(random, syllables);
  return made;
}

const phrases: Record<Kind, (random: Random) => string> = {
  english: (random) => `${word(random)}${random() < 0.1 ? '.' : random() < 0.1 ? ',' : ''} `,
  code: (random) =>
    pick(random, [
      `  const ${word(random)} = ${word(random)}.${word(random)}(${Math.floor(random() * 1000)});\n`,
      `if (${word(random)} === '${word(random)}') {\n`,
      `  return [${word(random)}, ${word(random)}];\n}\n`,
    ]),
  chinese: (random) => `${pick(random, characters)}${pick(random, characters)}${random() < 0.15 ? '，' : ''}`,
  json: (random) => `{"${word(random)}":"${word(random)}","${word(random)}":${Math.floor(random() * 100_000)}},`,
};

/** Text of the kind, of about this many bytes. */
export function makePiece(random: Random, kind: Kind, bytes: number): Piece {
  let text = '';
  let made = 0;
  while (made < bytes) {
    const phrase = phrases[kind](random);
    text += phrase;
    made += kind === 'chinese' ? Buffer.byteLength(phrase) : phrase.length; // the others are ASCII
  }
  return { kind, text };
}

/** A message of one to four sections, of 300 to 6,000 bytes. */
export function makeMixed(random: Random): Piece[] {
  return Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
    makePiece(random, pick(random, kinds), 300 + random() * 1200),
  );
}

/** The first characters of a message. */
export function cut(pieces: readonly Piece[], characterCount: number): Piece[] {
  const kept: Piece[] = [];
  let left = characterCount;
  for (const { kind, text } of pieces) {
    if (left <= 0) break;
    kept.push({ kind, text: text.slice(0, left) });
    left -= text.length;
  }
  return kept;
}

export type Tokenizer = (pieces: readonly Piece[]) => number;

/** Four bytes per token, for any text. */
export const byQuarters: Tokenizer = (pieces) =>
  Math.ceil(pieces.reduce((bytes, { text }) => bytes + Buffer.byteLength(text), 0) / 4);

/** A number of bytes per token, for each kind. */
export const byKind =
  (bytesPerToken: Record<Kind, number>): Tokenizer =>
  (pieces) =>
    Math.ceil(pieces.reduce((tokens, { kind, text }) => tokens + Buffer.byteLength(text) / bytesPerToken[kind], 0));

/** A Chinese character has 0.8 tokens and three bytes. */
export const rates: Record<Kind, number> = { english: 4.6, code: 3.2, chinese: 3 / 0.8, json: 2.9 };

/** By words, numbers and punctuation: a token per six letters of a word, and per three digits of a number. */
export const byWords: Tokenizer = (pieces) => {
  let tokens = 0;
  for (const { text } of pieces) {
    for (const [part] of text.matchAll(/ ?[A-Za-z]+|\d+|[\u0080-\uffff]|[^A-Za-z\d\s\u0080-\uffff]+|\s+/g)) {
      if (/[A-Za-z]/.test(part)) tokens += Math.ceil(part.trim().length / 6);
      else if (/\d/.test(part)) tokens += Math.ceil(part.length / 3);
      else if (part.charCodeAt(0) > 127)
        tokens += part.charCodeAt(0) % 5 === 0 ? 0 : 1; // counts four of five characters
      else tokens += Math.ceil(part.length / 2);
    }
  }
  return tokens;
};
