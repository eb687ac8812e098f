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

export class Conversations {
  readonly #random: () => number;
  /** The target of each, by the hash of what it is known by; the oldest first. */
  readonly #targetOf = new Map<number, string>();

  /** `random` gives numbers in [0, 1). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** The conversation that a key's request is a turn of; with each model it is another, since one way does not serve both. */
  find(keyId: number, { model, body }: MessageRequest): Conversation {
    const session = readSession(body);
    if (session !== null) return this.#conversation(hashText(`${keyId}\n${model}\n${session}`));
    const messages = Array.isArray(body['messages']) ? body['messages'] : [];
    const opening = hashText(`${keyId}\n${model}\n${readWords(messages[0])}`);
    // A first turn is drawn by lot: many a conversation begins with the same words.
    if (!messages.some(isAnswer))
      return { lotOf: this.#random, kept: null, keep: ({ target }) => this.#remember(opening, target) };
    // What was answered, and said to that, tells it from others that began so; its second turn alone goes by the first words.
    return this.#conversation(hashText(`${opening}\n${readWords(messages[1])}\n${readWords(messages[2])}`), opening);
  }

  #conversation(place: number, opening: number | null = null): Conversation {
    const begun = opening === null ? null : (this.#targetOf.get(opening) ?? null);
    return {
      lotOf: (target) => hashText(`${place}\n${target}`),
      kept: this.#targetOf.get(place) ?? begun,
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
  if (typeof session !== 'string' || session === '') return null;
  return session.slice(0, bounds.conversationNameCharactersMax); // hashing takes as long as it is
}

function isAnswer(message: JsonValue): boolean {
  return isJsonObject(message) && message['role'] === 'assistant';
}

/** The words that a message begins with, which every later turn repeats; of a call its id. */
function readWords(message: JsonValue | undefined): string {
  const content = isJsonObject(message) ? message['content'] : null;
  const parts = Array.isArray(content) ? content : [content ?? ''];
  let words = '';
  for (const part of parts) {
    const left = bounds.conversationNameCharactersMax - words.length;
    if (left <= 0) break;
    words += wordsOf(part).slice(0, left);
  }
  return words;
}

function wordsOf(part: JsonValue): string {
  if (typeof part === 'string') return part;
  const words = isJsonObject(part) ? (part['text'] ?? part['id'] ?? part['tool_use_id']) : null;
  return typeof words === 'string' ? words : '';
}
