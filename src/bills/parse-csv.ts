// Reads CSV (RFC 4180) from a stream of bytes, row by row: quoted line breaks, CRLF, a byte order mark. Bounded in bytes,
// rows, columns and characters of a cell. Cells are texts: nothing in them is evaluated.

import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { unreadableBill } from './bill-line.ts';

/** The rows, each with its number from 1. Throws invalid_request, body_too_large, and what the body throws. */
export async function* parseCsv(body: AsyncIterable<Uint8Array>): AsyncGenerator<{ cells: string[]; number: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true }); // drops a byte order mark
  const parser = new CsvParser();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > bounds.billBytesMax)
      throw new TurnpikeError('body_too_large', `The bill must not be larger than ${bounds.billBytesMax} bytes.`);
    yield* parser.take(decode(decoder, chunk));
  }
  yield* parser.take(decode(decoder, null));
  yield* parser.end();
}

function decode(decoder: TextDecoder, chunk: Uint8Array | null): string {
  try {
    return chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw unreadableBill('it is not UTF-8');
  }
}

type State = 'start' | 'plain' | 'quoted' | 'closed';

class CsvParser {
  #cells: string[] = [];
  #cell = '';
  #state: State = 'start';
  #number = 1;
  #isAfterReturn = false;

  *take(text: string): Generator<{ cells: string[]; number: number }> {
    let from = 0; // of the characters that are not yet in the cell
    for (let at = 0; at < text.length; at++) {
      const character = text[at] as string;
      if (this.#isAfterReturn) {
        this.#isAfterReturn = false;
        if (character === '\n') {
          from = at + 1;
          continue;
        }
      }
      if (this.#state === 'quoted') {
        if (character !== '"') continue;
        this.#append(text.slice(from, at));
        this.#state = 'closed';
      } else if (character === '"') {
        if (this.#state === 'plain') throw unreadableBill(`row ${this.#number}: a quote inside a cell without quotes`);
        if (this.#state === 'closed') this.#append('"');
        this.#state = 'quoted';
      } else if (character === ',' || character === '\n' || character === '\r') {
        if (this.#state === 'plain') this.#append(text.slice(from, at));
        this.#endCell();
        this.#isAfterReturn = character === '\r';
        if (character !== ',') yield* this.#endRow();
      } else if (this.#state === 'closed') throw unreadableBill(`row ${this.#number}: text after a closing quote`);
      else {
        if (this.#state === 'start') from = at;
        this.#state = 'plain';
        continue;
      }
      from = at + 1;
    }
    if (this.#state === 'plain' || this.#state === 'quoted') this.#append(text.slice(from));
  }

  *end(): Generator<{ cells: string[]; number: number }> {
    if (this.#state === 'quoted') throw unreadableBill(`row ${this.#number}: a quote that is not closed`);
    if (this.#state === 'start' && this.#cells.length === 0) return;
    this.#endCell();
    yield* this.#endRow();
  }

  #append(text: string): void {
    this.#cell += text;
    if (this.#cell.length > bounds.billCellCharactersMax)
      throw unreadableBill(`row ${this.#number}: a cell has more than ${bounds.billCellCharactersMax} characters`);
  }

  #endCell(): void {
    this.#cells.push(this.#cell);
    this.#cell = '';
    this.#state = 'start';
    if (this.#cells.length > bounds.billColumnsMax)
      throw unreadableBill(`row ${this.#number}: it has more than ${bounds.billColumnsMax} columns`);
  }

  *#endRow(): Generator<{ cells: string[]; number: number }> {
    const cells = this.#cells;
    this.#cells = [];
    const number = this.#number++;
    if (number > bounds.billRowsMax) throw unreadableBill(`it has more than ${bounds.billRowsMax} rows`);
    if (cells.length > 1 || cells[0] !== '') yield { cells, number };
  }
}
