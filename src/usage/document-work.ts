// Bounds on the work of reading one request's documents, which may be made to cost as much as possible. What is beyond them
// cannot be read, and counts as such.

import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';

const STEP_MS = 10;
const BYTES_PER_STEP = 64;

/** A document cannot be read within the bounds, or not without doubt about its content. */
export class UnreadableDocument extends Error {
  override name = 'UnreadableDocument';
}

export class DocumentWork {
  #bytesLeft = bounds.documentInflatedBytesMax;
  #charactersLeft = bounds.documentCharactersMax;
  #stepsLeft = bounds.documentStepsMax;
  #sinceMs = performance.now();

  /** Bytes that may still be produced by decoding. */
  get bytesLeft(): number {
    return this.#bytesLeft;
  }

  /** Counts decoded bytes. Throws UnreadableDocument. */
  addBytes(bytes: number): void {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0) throw new UnreadableDocument('the content is too long');
  }

  /** Counts characters of text that was found. Throws UnreadableDocument. */
  addText(characters: number): void {
    this.#charactersLeft -= characters;
    if (this.#charactersLeft < 0) throw new UnreadableDocument('the text is too long');
  }

  /** Counts a value or a visit, and the bytes read for it. Throws UnreadableDocument. */
  addStep(bytes = 0): void {
    this.#stepsLeft -= 1 + bytes / BYTES_PER_STEP;
    if (this.#stepsLeft < 0) throw new UnreadableDocument('the structure is too large');
  }

  /** Lets other work run if this has gone on for a while. */
  async pause(): Promise<void> {
    if (performance.now() - this.#sinceMs < STEP_MS) return;
    await nextTurn();
    this.#sinceMs = performance.now();
  }
}
