// Keeps a conversation where it is, so that what a provider has cached of it, and the signatures that it gave
// out, are of use in its next turn. Where a request names its session, a hash of key and session decides, on
// every node alike; where it names none, the node remembers which way its first turn took.

import { hashText } from '../../base/hash-text.ts';
import { bounds } from '../../config.ts';
import { isJsonObject, type JsonObject, type JsonValue, type MessageRequest } from '../../wire/wire.ts';
import type { Candidate } from './candidate.ts';
import type { Lots } from './order-candidates.ts';

/** A conversation as far as its way is concerned. */
export interface Conversation extends Pick<Lots, 'lotOf' | 'kept'> {
  /** Its turn went this way. */
  keep(candidate: Candidate): void;
}

const OPENING_CHARACTERS_MAX = 16_384;

export class Conversations {
  readonly #random: () => number;
  /** The target of each, by the hash of what it is known by; the oldest first. */
  readonly #targetOf = new Map<number, string>();

  /** `random` gives numbers in [0, 1). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** The conversation that a key's request is a turn of. */
  find(keyId: number, request: MessageRequest): Conversation {
    const session = readSession(request.body);
    const name = session ?? readOpening(request.body);
    const place = hashText(`${keyId}\n${name}`);
    const isFirstTurn = session === null && !hasAnswer(request.body);
    return {
      // A first turn is drawn by lot: many a conversation begins with the same words.
      lotOf: isFirstTurn ? this.#random : (target) => hashText(`${keyId}\n${name}\n${target}`),
      kept: isFirstTurn ? null : (this.#targetOf.get(place) ?? null),
      keep: ({ target }) => this.#remember(place, target),
    };
  }

  #remember(place: number, target: string): void {
    this.#targetOf.delete(place); // so that it is the newest
    this.#targetOf.set(place, target);
    if (this.#targetOf.size <= bounds.conversationsRememberedMax) return;
    for (const oldest of this.#targetOf.keys()) {
      this.#targetOf.delete(oldest);
      return;
    }
  }
}

/** What the request itself says: coding agents put their session there, applications their user. */
function readSession({ metadata }: JsonObject): string | null {
  const session = isJsonObject(metadata) ? metadata['user_id'] : null;
  return typeof session === 'string' && session !== '' ? session : null;
}

/** The words that it began with, which every later turn repeats. */
function readOpening({ messages }: JsonObject): string {
  const first = Array.isArray(messages) ? messages[0] : null;
  const content = isJsonObject(first) ? first['content'] : null;
  const parts = Array.isArray(content) ? content : [content ?? ''];
  let text = '';
  for (const part of parts) {
    text += textOf(part);
    if (text.length >= OPENING_CHARACTERS_MAX) break;
  }
  return text.slice(0, OPENING_CHARACTERS_MAX);
}

function textOf(part: JsonValue): string {
  if (typeof part === 'string') return part;
  const text = isJsonObject(part) ? part['text'] : null;
  return typeof text === 'string' ? text : '';
}

function hasAnswer({ messages }: JsonObject): boolean {
  return (
    Array.isArray(messages) && messages.some((message) => isJsonObject(message) && message['role'] === 'assistant')
  );
}
