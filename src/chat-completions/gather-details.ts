// The thinking of a stream, gathered to be told once more as a whole at its end, with its signatures. What is too long
// for that is not kept.

import { bounds } from '../config.ts';
import type { JsonObject } from '../wire/wire.ts';
import { detailOf, isThinking } from './reasoning-details.ts';

export class DetailGatherer {
  #details: JsonObject[] = [];
  #pieces: string[] = []; // of the block that grows
  #heldCharacters = 0;

  /** The next piece of the text of the block that grows. */
  takeText(piece: string): void {
    if (this.#hold(piece.length)) this.#pieces.push(piece);
  }

  /** The end of a block, with all that it has beside its text. */
  close(block: JsonObject): void {
    const thinking = this.#pieces.join('');
    this.#pieces = [];
    if (!isThinking(block)) return;
    const detail = detailOf({ ...block, thinking }, this.#details.length);
    const besideText = { ...detail, text: '' };
    if (this.#hold(JSON.stringify(besideText).length)) this.#details.push(detail);
  }

  /** In their order; none where they are too long. */
  all(): readonly JsonObject[] {
    return this.#details;
  }

  /** False when there is more than is kept: then nothing is, since a part of it would be refused as changed. */
  #hold(characters: number): boolean {
    this.#heldCharacters += characters;
    if (this.#heldCharacters <= bounds.reasoningDetailsCharactersMax) return true;
    this.#details = [];
    this.#pieces = [];
    return false;
  }
}
