// Reads the chunks of a stream of Gemini as its clients do. It has no tests of its own.

import { parseExactly } from '../../../../src/wire/wire.ts';
import type { Json } from './read-gemini.ts';

export interface Candidate {
  content: { role: string; parts?: Json[] };
  finishReason?: string;
}

/** The JSON of each event of a stream; blank lines keep the connection alive. */
export function chunksOf(text: string): Json[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => parseExactly(line.slice('data: '.length)) as Json);
}

export function candidateOf(answer: Json): Candidate {
  return (answer['candidates'] as Candidate[])[0] as Candidate;
}

/** The text of all chunks, without thoughts. */
export function textOf(chunks: readonly Json[]): string {
  return chunks
    .flatMap((chunk) => ('candidates' in chunk ? (candidateOf(chunk).content.parts ?? []) : []))
    .map(({ text, thought }) => (thought === true ? '' : (text ?? '')))
    .join('');
}
