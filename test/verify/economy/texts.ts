// Kinds of text, and tokenizers that count them. Each kind has a fixed rate at a tokenizer, so that the tokens of
// any beginning of an answer are known.

export const textKinds = ['prose', 'code', 'cjk', 'letters', 'digits', 'spaces'] as const;
export type TextKind = (typeof textKinds)[number];

/** So many bytes of one kind; a text is a list of them. */
export type Piece = readonly [kind: TextKind, bytes: number];
export type Text = readonly Piece[];

/** Tokens a byte of each kind. */
export type Tokenizer = Readonly<Record<TextKind, number>>;

const same = (rate: number): Tokenizer => ({
  prose: rate,
  code: rate,
  cjk: rate,
  letters: rate,
  digits: rate,
  spaces: rate,
});

export const tokenizers = {
  quarters: same(0.25),
  kinds: { prose: 0.24, code: 0.3, cjk: 0.3, letters: 0.6, digits: 0.5, spaces: 0.02 },
  bytes: same(1),
} as const satisfies Record<string, Tokenizer>;

const samples: Record<TextKind, string> = {
  prose: 'The harbour lay quiet in the early light and the boats moved slowly against their ropes. ',
  code: 'const total = items.map((item) => item.price * 3).filter(Boolean); // sum of all ',
  cjk: '的一是不了人我在有他这为之大来以个中上们到说国和地也子时道',
  letters: 'xqzvkjwpfhgbydmcunotrsialeZXQKVJWPGYFMBUDHLCTNIRSAOE',
  digits: '8301947265710384926157',
  spaces: '        ',
};
const SAMPLE_BYTES = 64 * 1024;
const longSamples = new Map(
  textKinds.map((kind) => [kind, samples[kind].repeat(Math.ceil(SAMPLE_BYTES / samples[kind].length))]),
);

/** The text, at most some 60 KB of each piece. A character beyond ASCII has three bytes. */
export function writeText(text: Text): string {
  return text.map(([kind, bytes]) => writePiece(kind, 0, bytes)).join('');
}

/** A part of a piece of text, by its bytes. */
export function writePiece(kind: TextKind, fromByte: number, bytes: number): string {
  const width = kind === 'cjk' ? 3 : 1;
  const from = Math.floor(fromByte / width);
  return (longSamples.get(kind) as string).slice(from, from + Math.floor(bytes / width));
}

/** The tokens of the text's first bytes, or of all of it; not rounded. */
export function countTokens(tokenizer: Tokenizer, text: Text, bytesMax = Number.POSITIVE_INFINITY): number {
  let tokens = 0;
  let left = bytesMax;
  for (const [kind, bytes] of text) {
    if (left <= 0) break;
    tokens += tokenizer[kind] * Math.min(left, bytes);
    left -= bytes;
  }
  return tokens;
}

export function bytesOf(text: Text): number {
  return text.reduce((sum, [, bytes]) => sum + bytes, 0);
}

/** Whether it is what people write: no text that was chosen to be counted oddly. */
export function isOrdinary(text: Text): boolean {
  return text.every(([kind]) => kind === 'prose' || kind === 'code' || kind === 'cjk');
}
