// Gemini's thought signatures: within a conversation of Messages as thinking blocks, and beside the calls of Chat Completions.

import { type JsonObject, objectOf, textOf } from './message-request.ts';

/** The signed part: the `call` after the block, the `text` before it, an empty `end` part, or the `thought` itself. */
type SignaturePlace = 'call' | 'text' | 'end' | 'thought';

const PLACED = /^gemini\.(call|text|end|thought)\.(.+)$/s;

/** Marks a thought that Gemini did not sign: other providers would refuse a missing signature. */
export const UNSIGNED_THOUGHT = 'gemini.thought.';

/** The signature of a thinking block. */
export function placeSignature(place: SignaturePlace, signature: string): string {
  return `gemini.${place}.${signature}`;
}

/** null for another provider's signature. */
export function readSignature(text: unknown): { place: SignaturePlace; signature: string } | null {
  const match = typeof text === 'string' ? PLACED.exec(text) : null;
  return match === null ? null : { place: match[1] as SignaturePlace, signature: match[2] as string };
}

/** The signature that a thinking block has for the call after it, or null. */
export function signatureForCall(block: JsonObject): string | null {
  const placed = block['type'] === 'thinking' ? readSignature(block['signature']) : null;
  return placed?.place === 'call' ? placed.signature : null;
}

/**
 * The signature beside a call of Chat Completions, '' for none. Gemini refuses a turn whose calls lack theirs.
 * Source: https://ai.google.dev/gemini-api/docs/thought-signatures (2026-11-29).
 */
export function signatureOfChatCall(call: JsonObject): string {
  return textOf(objectOf(objectOf(call['extra_content'])['google'])['thought_signature']);
}

/** The same as a member of a call; empty for none. */
export function signatureMember(signature: string | null): JsonObject {
  return signature === null || signature === '' ? {} : { extra_content: { google: { thought_signature: signature } } };
}
