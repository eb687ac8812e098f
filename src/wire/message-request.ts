// A parsed message request. Keeps the client's text, so that a provider of the same protocol gets it byte for byte.

import { TurnpikeError } from '../errors.ts';
import type { SentForm } from './sent-form.ts';
import type { Unbounded, Units } from './units.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

/** A top-level member in the text: its key starts at `from`, its value is text.slice(start, end). */
export interface MemberSpan {
  from: number;
  start: number;
  end: number;
}

/** The protocol of the original request, before translation to Messages. */
export type Protocol =
  | 'messages'
  | 'chat-completions'
  | 'completions'
  | 'responses'
  | 'gemini'
  | 'embeddings'
  | 'rerank'
  | 'moderations'
  | 'images'
  | 'speech'
  | 'transcription';

/** Uses of models. */
export const SERVES = ['messages', 'embeddings', 'rerank', 'moderation', 'images', 'speech', 'transcription'] as const;
export type Serves = (typeof SERVES)[number];

/** Uses other than messages. */
export type OtherUse = Exclude<Serves, 'messages'>;
export const OTHER_USES: readonly OtherUse[] = SERVES.filter((use) => use !== 'messages');

/** Protocols for anything but messages. */
const USES_OF_PROTOCOLS: Readonly<Partial<Record<Protocol, OtherUse>>> = {
  embeddings: 'embeddings',
  rerank: 'rerank',
  moderations: 'moderation',
  images: 'images',
  speech: 'speech',
  transcription: 'transcription',
};

/** The use of a model that a request of this protocol asks for. */
export function servesOf(protocol: Protocol): Serves {
  return USES_OF_PROTOCOLS[protocol] ?? 'messages';
}

/** A body in the client's own protocol. A provider kind of that protocol gets it instead of the message. */
export interface NativeBody {
  /** The provider kind. */
  kind: string;
  /** Valid JSON without duplicate keys. */
  text: string;
  members: Map<string, MemberSpan>;
  /** Headers of the protocol that go with the body; absent: none. */
  headers?: Readonly<Record<string, string>>;
  /** The conversation is to be compacted instead of answered, which only providers of the protocol can. Absent: answered. */
  isCompaction?: true;
}

/**
 * A member of translated messages: the client's fields that its protocol's translation does not have. Providers get those
 * that are passed on to them, and never the member itself.
 */
export const EXTRA_MEMBER = 'extra_body';

export interface MessageRequest {
  /** The body as received: valid JSON without duplicate keys. */
  text: string;
  /** The length of the body in bytes of UTF-8; of the longer one, if there is a native body. */
  bytes: number;
  body: JsonObject;
  members: Map<string, MemberSpan>;
  model: string;
  stream: boolean;
  /** null if the request has none. */
  maxTokens: number | null;
  /** Defaults differ by protocol, and so do fields that a provider may drop. */
  protocol: Protocol;
  /** null: every provider gets the message. */
  native: NativeBody | null;
  /** The end user and the conversation that a translated request names. Absent: none. */
  named?: { user: string | null; session: string | null };
  /** The most units that a request for anything but a message may use. Absent: none. */
  units?: Units;
  /** Absent: none. */
  unbounded?: Unbounded;
  /** The message has sound, or asks for it. Absent: neither. */
  hasSound?: true;
  /** The earlier spoken answers that it names by ids. Absent: none. */
  spoken?: SpokenAnswers;
  /** The form that it came as, with files that providers are sent. Absent: it came as JSON. */
  form?: SentForm;
}

/** Spoken answers that a provider keeps, and what they add at most to a prompt. Names are those of the catalog. */
export interface SpokenAnswers {
  provider: string;
  credential: string | null;
  soundTokens: number;
  textBytes: number;
}

const PARSER_MESSAGE_CHARACTERS_MAX = 200;

const decoder = new TextDecoder('utf-8', { fatal: true });
const REPLACEMENT = '\ufffd';

/** A body as received, or its text. The runtime decodes a Blob faster: it does not copy ASCII. */
export type ReceivedBody = Uint8Array | Blob | string;

/** The bytes of a body; null for a text. */
export function sizeOf(body: ReceivedBody): number | null {
  if (typeof body === 'string') return null;
  return body instanceof Uint8Array ? body.byteLength : body.size;
}

/** The text of a body, without a byte order mark. Rejects with invalid_json for anything but UTF-8. */
export async function decodeBody(body: ReceivedBody): Promise<string> {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return decodeBytes(body);
  const text = await body.text();
  // The client's own characters, or the runtime's in place of invalid bytes.
  return text.includes(REPLACEMENT) ? decodeBytes(await body.bytes()) : text;
}

/** Like decodeBody. */
export function decodeBytes(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new TurnpikeError('invalid_json', 'The request body is not valid JSON: it is not UTF-8', { cause });
  }
}

/** The value of a body. Throws invalid_json. */
export function parseJson(text: string, parse: (text: string) => JsonValue = JSON.parse): JsonValue {
  try {
    return parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace(/^JSON Parse error: /, '') : String(cause);
    const message = `The request body is not valid JSON: ${reason.slice(0, PARSER_MESSAGE_CHARACTERS_MAX)}`;
    throw new TurnpikeError('invalid_json', message, { cause });
  }
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects of an array; empty for any other value. */
export function jsonObjects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The value if it is an object, else an empty one. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value if it is a text; else ''. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Whether a content block is sound, which Messages lacks: that of translated requests, and of answers to them. */
export function isSound({ type }: JsonObject): boolean {
  return type === 'audio';
}

/** Whether it is an earlier answer, named by its id, and no sound that the client sent. */
export function isSpokenAnswer(block: JsonObject): boolean {
  return isSound(block) && !isJsonObject(block['source']);
}

/** Whether a content block is thinking, visible or sealed. */
export function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

export interface TokenCounts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
  webSearches: number;
  /** Absent: none. */
  units?: Units;
}

export const NO_TOKENS: Readonly<TokenCounts> = Object.freeze({
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  webSearches: 0,
});

/** All tokens of the prompt, cached or not, of text and of sound. */
export function promptTokens(counts: TokenCounts): number {
  const ofText = counts.input + counts.cacheRead + counts.cacheWrite5m + counts.cacheWrite1h;
  return counts.units === undefined ? ofText : ofText + (counts.units.counts.input_audio_tokens ?? 0);
}
