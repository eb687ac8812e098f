// Ids and arguments of the tool calls of a conversation.

import { createHash } from 'node:crypto';
import { bounds } from '../config/config.ts';
import { isExactObject } from '../protocols/placed.ts';
import { InnerJson, type JsonObject, type JsonValue, parseExactly, requireText } from '../wire/wire.ts';

const TAKEN = /^[a-zA-Z0-9_-]+$/;
const MADE_CHARACTERS = 24;

interface Calls {
  made: string[];
  answeredCount: number;
}

/** The ids of one conversation, requested in order. */
export class CallIds {
  readonly #made = new Set<string>();
  readonly #lastOf = new Map<string, number>();
  /** By the client's id. */
  readonly #calls = new Map<string, Calls>();

  /** The id of the next call. A repeated id is replaced: some services count from the start in every turn. */
  ofCall(id: string): string {
    const made = this.#makeUnique(takenCallId(id));
    const calls = this.#calls.get(id);
    if (calls === undefined) this.#calls.set(id, { made: [made], answeredCount: 0 });
    else calls.made.push(made);
    return made;
  }

  ofResult(id: string): string {
    const calls = this.#calls.get(id);
    return calls?.made[calls.answeredCount++] ?? takenCallId(id);
  }

  isAwaited(id: string): boolean {
    const calls = this.#calls.get(id);
    return calls !== undefined && calls.answeredCount < calls.made.length;
  }

  #makeUnique(id: string): string {
    let made = id;
    let last = this.#lastOf.get(id) ?? 1;
    while (this.#made.has(made)) made = `${id}_${++last}`;
    this.#lastOf.set(id, last);
    this.#made.add(made);
    return made;
  }
}

function takenCallId(id: string): string {
  if (TAKEN.test(id)) return id;
  return `call_${createHash('sha256').update(id).digest('base64url').slice(0, MADE_CHARACTERS)}`;
}

/** Empty arguments are an empty object. Invalid JSON, as of a truncated answer, is kept as text, to go on with. */
export function readArguments(given: JsonValue, path: string): JsonObject {
  if (isExactObject(given)) return given;
  const text = requireText(given, path).trim();
  if (text === '') return {};
  const input = new InnerJson(bounds.jsonDepthMax).read(text, parseExactly);
  if (input === null) return {};
  return isExactObject(input) ? input : { arguments: text };
}
