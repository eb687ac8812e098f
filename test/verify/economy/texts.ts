// Kinds of text, of which prompts and answers are made.

export const textKinds = ['prose', 'code', 'cjk', 'letters', 'digits', 'spaces'] as const;
export type TextKind = (typeof textKinds)[number];

/** So many bytes of one kind; a text is a list of them. */
export type Piece = readonly [kind: TextKind, bytes: number];
export type Text = readonly Piece[];

const samples: Record<TextKind, string> = {
  prose: 'The harbour lay quiet in the early light and the boats moved slowly against their ropes. ',
  code: 'const total = items.map((item) => item.price * 3).filter(Boolean); // sum of all ',
  cjk: '的一是不了人我在有他，这为之大来以个中上们到。说国和地也子时道，',
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

export function bytesOf(text: Text): number {
  return text.reduce((sum, [, bytes]) => sum + bytes, 0);
}

/** Whether it is what people write: no text that was chosen to be counted oddly. */
export function isOrdinary(text: Text): boolean {
  return text.every(([kind]) => kind === 'prose' || kind === 'code' || kind === 'cjk');
}
