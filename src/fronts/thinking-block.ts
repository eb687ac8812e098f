// Thinking that a client returned, as a block.

import type { Placed } from '../protocols/placed.ts';
import { type JsonObject, jsonObjects, textOf } from '../wire/wire.ts';

/** Marks thinking of providers without signatures; other providers drop such a block. */
const UNSIGNED = 'turnpike.chat.1.';

export function thinkingBlock(thinking: string, signature: string): JsonObject {
  return { type: 'thinking', thinking, signature: signature || UNSIGNED };
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

function blockOf(detail: JsonObject): JsonObject | null {
  const { type, text, data, signature } = detail;
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data };
  if (type !== 'reasoning.text' || !(typeof text === 'string' || textOf(signature) !== '')) return null;
  return thinkingBlock(textOf(text), textOf(signature));
}
