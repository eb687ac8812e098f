// Thinking on its way to a client and back. `reasoning_content` is its text, for people; `reasoning_details` is what
// a model must see again while a loop of tools runs, with its signatures. A client that keeps neither loses nothing else.

import { type JsonObject, jsonObjects } from '../wire/wire.ts';
import type { Placed } from './convert-parts.ts';

/** What the providers of this service take for thinking whose text is all there is of it; another drops the block. */
const UNSIGNED = 'turnpike.chat.1.';

export function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** A block of thinking as one of `reasoning_details`. */
export function detailOf(block: JsonObject, index: number): JsonObject {
  if (block['type'] === 'redacted_thinking') return { type: 'reasoning.encrypted', data: textOf(block['data']), index };
  const signature = textOf(block['signature']);
  return {
    type: 'reasoning.text',
    text: textOf(block['thinking']),
    ...(signature !== '' && { signature }),
    index,
  };
}

/** The blocks of thinking that an assistant's message brings back. Details of other services that say nothing here are left out. */
export function thinkingOf(message: JsonObject, path: string): Placed[] {
  const details = jsonObjects(message['reasoning_details']);
  if (details.length > 0)
    return details.flatMap((detail, place) => {
      const block = blockOf(detail);
      return block === null ? [] : [{ block, path: `${path}.reasoning_details.${place}` }];
    });
  const text = textOf(message['reasoning_content']) || textOf(message['reasoning']);
  if (text === '') return [];
  return [{ block: { type: 'thinking', thinking: text, signature: UNSIGNED }, path: `${path}.reasoning_content` }];
}

function blockOf(detail: JsonObject): JsonObject | null {
  const { type, text, data, signature } = detail;
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data };
  if (type !== 'reasoning.text' || !(typeof text === 'string' || isSigned(detail))) return null;
  return { type: 'thinking', thinking: textOf(text), signature: textOf(signature) || UNSIGNED };
}

function isSigned({ signature }: JsonObject): boolean {
  return typeof signature === 'string' && signature !== '';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
