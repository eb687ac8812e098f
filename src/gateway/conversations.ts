// Keeps a conversation on one target, so that the provider's prompt cache and signatures stay useful. If the request
// names a session, a hash of key and session decides, equally on every node. Otherwise the node remembers the target
// of the first turn.

import { FairCache } from '../base/fair-cache.ts';
import { hashText } from '../base/hash-text.ts';
import { bounds } from '../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue, type MessageRequest } from '../wire/wire.ts';
import type { Target } from './route-health.ts';

/** A conversation, as far as routing is concerned. */
export interface Conversation {
  /** A number in [0, 1): random, or derived from the conversation and this target. */
  drawOf(healthKey: string): number;
  /** The conversation's current target: kept while it is healthy and no better tier is. */
  kept: string | null;
  /** The turn was sent to this target. */
  keep(target: Target): void;
}

export class Conversations {
  readonly #random: () => number;
  /** Target by account and hash of the conversation's identity. */
  readonly #targetOf = new FairCache<number, string>(bounds.conversationsRememberedMax);

  /** `random` returns numbers in [0, 1). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** The conversation of a key's request. Each model has its own, since their targets differ. */
  find(accountId: number, keyId: number, { model, body }: MessageRequest): Conversation {
    const session = readSession(body);
    if (session !== null) return this.#conversation(accountId, hashText(`${keyId}\n${model}\n${session}`));
    const messages = Array.isArray(body['messages']) ? body['messages'] : [];
    const opening = hashText(`${keyId}\n${model}\n${readWords(messages[0])}`);
    // A first turn is drawn at random: many conversations begin with the same words.
    if (!messages.some(isAnswer))
      return {
        drawOf: this.#random,
        kept: null,
        keep: ({ healthKey }) => void this.#targetOf.set(accountId, opening, healthKey),
      };
    // The first answer and the reply to it distinguish conversations that began alike. The second turn, which is the
    // first one with an answer, is found by the opening words alone.
    const place = hashText(`${opening}\n${readWords(messages[1])}\n${readWords(messages[2])}`);
    return this.#conversation(accountId, place, opening);
  }

  #conversation(accountId: number, place: number, opening: number | null = null): Conversation {
    const begun = opening === null ? null : (this.#targetOf.get(accountId, opening) ?? null);
    return {
      drawOf: (healthKey) => hashText(`${place}\n${healthKey}`),
      kept: this.#targetOf.get(accountId, place) ?? begun,
      keep: ({ healthKey }) => void this.#targetOf.set(accountId, place, healthKey),
    };
  }
}

/** The session named by the request: coding agents send a session, applications a user id. */
function readSession({ metadata }: JsonObject): string | null {
  const session = isJsonObject(metadata) ? metadata['user_id'] : null;
  if (typeof session !== 'string' || session === '') return null;
  return session.slice(0, bounds.conversationNameCharactersMax); // hashing time grows with the length
}

function isAnswer(message: JsonValue): boolean {
  return isJsonObject(message) && message['role'] === 'assistant';
}

/** The first words of a message, which every later turn repeats; for a tool call its id. */
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
