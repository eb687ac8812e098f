// Thinking of providers of other protocols, carried in the `thoughtSignature` of the call that follows it, or of the last part.
// Clients return signatures with their calls, and many do not return the thoughts.

import { isUtf8 } from 'node:buffer';
import { bounds } from '../../config/config.ts';
import {
  isTooDeep,
  type JsonObject,
  type JsonValue,
  type JsonWeight,
  jsonObjects,
  textOf,
  weighJson,
} from '../../wire/wire.ts';

/** Thinking blocks since the previous call, in order; 'text' is the place of the text between them. */
export type Carried = readonly (JsonObject | 'text')[];

const MARK = 'turnpike1'; // as many characters as fill base64 without a rest
const MARK_BASE64 = Buffer.from(MARK).toString('base64');
const TEXT_PLACE = 0;
const DEPTH_MAX = 3;

/** Base64, because some clients keep signatures as bytes; null if there is no thinking. */
export function encodeThinking(carried: Carried): string | null {
  if (carried.every((one) => one === 'text')) return null;
  const list = carried.map((one) =>
    one === 'text'
      ? TEXT_PLACE
      : one['type'] === 'redacted_thinking'
        ? textOf(one['data'])
        : [textOf(one['thinking']), textOf(one['signature'])],
  );
  return Buffer.from(MARK + JSON.stringify(list)).toString('base64');
}

/** null for a signature of Google, and for none. */
export function decodeThinking(signature: JsonValue | undefined): Carried | null {
  const json = carriedJson(signature);
  if (json === null || isTooDeep(json, DEPTH_MAX)) return null;
  try {
    const list: JsonValue = JSON.parse(json);
    return Array.isArray(list) ? list.flatMap(readOne) : null;
  } catch {
    return []; // truncated or changed by the client
  }
}

/** Throws invalid_request if signatures and body together are more costly to parse than a body may be. */
export function weighThinking(contents: JsonValue | undefined, weight: JsonWeight): void {
  for (const [index, content] of objectsIn(contents).entries())
    for (const [place, part] of objectsIn(content['parts']).entries()) {
      const json = carriedJson(part['thoughtSignature'] ?? part['thought_signature']);
      if (json !== null) weighJson(json, `contents.${index}.parts.${place}.thoughtSignature`, weight);
    }
}

/** One object may stand in place of a list. */
function objectsIn(value: JsonValue | undefined): JsonObject[] {
  return jsonObjects(Array.isArray(value) || value === undefined ? value : [value]);
}

export function isCarried(signature: JsonValue | undefined): boolean {
  return typeof signature === 'string' && signature.startsWith(MARK_BASE64);
}

function carriedJson(signature: JsonValue | undefined): string | null {
  if (typeof signature !== 'string' || !signature.startsWith(MARK_BASE64)) return null;
  // Node reads the URL-safe alphabet, too, which some clients write.
  const bytes = Buffer.from(signature.slice(MARK_BASE64.length), 'base64');
  return isUtf8(bytes) ? bytes.toString('utf8') : ''; // truncated or changed by the client; replacing bytes takes long
}

function readOne(one: JsonValue): (JsonObject | 'text')[] {
  if (one === TEXT_PLACE) return ['text'];
  if (typeof one === 'string') return [{ type: 'redacted_thinking', data: one }];
  if (!Array.isArray(one)) return [];
  const [thinking, signature] = one;
  if (typeof thinking !== 'string' || typeof signature !== 'string') return [];
  return [{ type: 'thinking', thinking, signature }];
}

/** Gathers the thinking before a call. Bounded, because a provider refuses a part as modified: then none is carried. */
export class ThinkingCarrier {
  #carried: (JsonObject | 'text')[] = [];
  #pieces: string[] = []; // texts of the open block
  #heldCharacters = 0;

  addPiece(thinking: string): void {
    if (this.#hold(thinking.length)) this.#pieces.push(thinking);
  }

  /** The end of a block of thinking, with its members other than its text. */
  close(block: JsonObject): void {
    const { type, signature = '', data = '' } = block;
    const thinking = this.#pieces.join('');
    this.#pieces = [];
    if (this.#hold(textOf(signature).length + textOf(data).length))
      this.#carried.push(type === 'redacted_thinking' ? { type, data } : { type: 'thinking', thinking, signature });
  }

  addText(): void {
    if (this.#carried.length > 0 && this.#carried.at(-1) !== 'text') this.#carried.push('text');
  }

  /** `thoughtSignature` of the last text. Thinking after it is lost: providers refuse turns that end with thinking. */
  takeLastMember(): JsonObject {
    this.#carried.length = this.#carried.lastIndexOf('text') + 1;
    return this.takeMember();
  }

  /** `thoughtSignature` of a call, if there was thinking since the previous one. */
  takeMember(): JsonObject {
    const thoughtSignature = encodeThinking(this.#carried);
    this.#carried = [];
    this.#heldCharacters = 0;
    return thoughtSignature === null ? {} : { thoughtSignature };
  }

  #hold(characters: number): boolean {
    this.#heldCharacters += characters;
    if (this.#heldCharacters <= bounds.reasoningDetailsCharactersMax) return true;
    this.#carried = [];
    this.#pieces = [];
    return false;
  }
}
