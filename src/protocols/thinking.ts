// Thinking as clients of Chat Completions return it, and as signatures carry it: a provider gets back its own.

import { bounds } from '../config/config.ts';
import { InnerJson, isJsonObject, type JsonObject, type JsonValue, jsonObjects, textOf } from '../wire/wire.ts';
import type { Placed } from './placed.ts';

/** This protocol's, version 1: alone, it marks thinking of providers without signatures. Other providers drop such a block. */
const MARK = 'turnpike.chat.1.';

export function thinkingBlock(thinking: string, signature: string): JsonObject {
  return { type: 'thinking', thinking, signature: signature || MARK };
}

/** Thinking blocks returned in an assistant message. Details of other services are dropped. */
export function thinkingOf(message: JsonObject, path: string): Placed[] {
  const details = jsonObjects(message['reasoning_details']);
  if (details.length > 0)
    return details.flatMap((detail, place) => {
      const block = blockOf(detail);
      return block === null ? [] : [{ block, path: `${path}.reasoning_details.${place}` }];
    });
  const text = textOf(message['reasoning_content']) || textOf(message['reasoning']);
  if (text === '') return [];
  return [{ block: thinkingBlock(text, ''), path: `${path}.reasoning_content` }];
}

/** The detail of a thinking block, which `thinkingOf` reads. */
export function detailOf(block: JsonObject, index: number): JsonObject {
  if (block['type'] === 'redacted_thinking') return { type: 'reasoning.encrypted', data: textOf(block['data']), index };
  const signature = textOf(block['signature']);
  const text = textOf(block['thinking']);
  return { type: 'reasoning.text', text, ...(signature !== '' && { signature }), index };
}

function blockOf(detail: JsonObject): JsonObject | null {
  const { type, text, data, signature } = detail;
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data };
  if (type !== 'reasoning.text' || !(typeof text === 'string' || textOf(signature) !== '')) return null;
  return thinkingBlock(textOf(text), textOf(signature));
}

/** `details`: reasoning details for this model only; empty if the text is all there is. */
export function sealReasoning(model: string, details: readonly JsonObject[]): string {
  if (details.length === 0) return MARK;
  return MARK + Buffer.from(JSON.stringify({ model, details })).toString('base64url');
}

/** The details in a signature for this model; empty for any other signature. */
export function openReasoning(signature: JsonValue | undefined, model: string, signed: SignedJson): JsonObject[] {
  if (typeof signature !== 'string' || !signature.startsWith(MARK)) return [];
  const held = signed.read(signature.slice(MARK.length));
  return held !== null && held['model'] === model ? jsonObjects(held['details']) : [];
}

/** JSON in a request's signatures, which clients may truncate or change. */
export class SignedJson {
  readonly #json = new InnerJson(bounds.jsonDepthMax);

  /** The object in base64url; null if invalid or beyond the bounds of a body. */
  read(encoded: string): JsonObject | null {
    const value = this.#json.read(Buffer.from(encoded, 'base64url').toString('utf8'));
    return isJsonObject(value) ? value : null;
  }
}
