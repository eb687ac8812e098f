// Thinking that a client returned, as a block.

import type { JsonObject } from '../wire/wire.ts';

/** Marks thinking of providers without signatures; other providers drop such a block. */
const UNSIGNED = 'turnpike.chat.1.';

export function thinkingBlock(thinking: string, signature: string): JsonObject {
  return { type: 'thinking', thinking, signature: signature || UNSIGNED };
}
