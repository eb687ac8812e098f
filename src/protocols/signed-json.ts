// JSON that a provider's converter put into a signature of thinking, to read it in the next turn.

import { bounds } from '../config/config.ts';
import { InnerJson, isJsonObject, type JsonObject } from '../wire/wire.ts';

/** JSON in a request's signatures, which clients may truncate or change. */
export class SignedJson {
  readonly #json = new InnerJson(bounds.jsonDepthMax);

  /** The object in base64url; null if invalid or beyond the bounds of a body. */
  read(encoded: string): JsonObject | null {
    const value = this.#json.read(Buffer.from(encoded, 'base64url').toString('utf8'));
    return isJsonObject(value) ? value : null;
  }
}
