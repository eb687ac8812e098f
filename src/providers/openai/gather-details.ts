// Details of reasoning as their pieces come, put together: a router wants them back as they would have come whole.

import { bounds } from '../../config.ts';
import type { JsonObject, JsonValue } from '../../wire/wire.ts';
import { ProviderFault } from '../provider.ts';

/** Members that grow; every other member is complete when it first comes. */
const GROWING: readonly string[] = ['text', 'summary', 'data'];

export class DetailGatherer {
  readonly #details: JsonObject[] = [];
  #characters = 0;

  /** Takes the next pieces. Throws ProviderFault when there is too much. */
  take(pieces: readonly JsonObject[]): void {
    for (const piece of pieces) {
      this.#characters += JSON.stringify(piece).length;
      if (this.#characters > bounds.upstreamEventBytesMax)
        throw new ProviderFault('failed', 'the provider sent too many details of its reasoning');
      const last = this.#details.at(-1);
      const isSame = last !== undefined && last['type'] === piece['type'] && last['index'] === piece['index'];
      if (isSame) grow(last, piece);
      else this.#details.push({ ...piece });
    }
  }

  /** Whether there are any that were not given out. */
  get isEmpty(): boolean {
    return this.#details.length === 0;
  }

  /** Gives them out. */
  drain(): JsonObject[] {
    return this.#details.splice(0);
  }
}

function grow(detail: JsonObject, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    if (GROWING.includes(name) && typeof value === 'string') detail[name] = textIn(detail[name]) + value;
    else if (value !== null) detail[name] = value;
  }
}

function textIn(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
