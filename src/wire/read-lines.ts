// The lines of a file, one at a time.

import { freeBytes } from '../base/sealed-chunks.ts';
import { TurnpikeError } from '../errors.ts';

const LINE_END = 0x0a;

/** Texts of the lines that are not blank. Frees the pieces. Throws body_too_large, invalid_request for bytes that are not UTF-8. */
export async function* readLines(pieces: AsyncIterable<Uint8Array>, lineBytesMax: number): AsyncGenerator<string> {
  for await (const line of readAnyLines(pieces, lineBytesMax)) {
    if (typeof line !== 'string') throw line;
    yield line;
  }
}

/** The same, with the error of a line in its place: those after it follow. Of a line that is too long, nothing is kept. */
export async function* readAnyLines(
  pieces: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
): AsyncGenerator<string | TurnpikeError> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  let number = 0;
  const add = (bytes: Uint8Array) => {
    begunBytes += bytes.byteLength;
    if (begunBytes <= lineBytesMax) begun.push(bytes);
    else begun = [];
  };
  const end = (): string | TurnpikeError => {
    number++;
    const [line, bytes] = [Buffer.concat(begun), begunBytes];
    begun = [];
    begunBytes = 0;
    if (bytes > lineBytesMax)
      return new TurnpikeError('body_too_large', `line ${number}: must not have more than ${lineBytesMax} bytes`);
    try {
      return decoder.decode(line).trim();
    } catch {
      return new TurnpikeError('invalid_request', `line ${number}: must be UTF-8`);
    } finally {
      freeBytes(line);
    }
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(LINE_END); at >= 0; at = piece.indexOf(LINE_END, from)) {
      add(piece.subarray(from, at));
      from = at + 1;
      const line = end();
      if (line !== '') yield line;
    }
    if (from < piece.byteLength) add(piece.slice(from));
    freeBytes(piece);
  }
  const last = end();
  if (last !== '') yield last;
}
