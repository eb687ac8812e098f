// Stores a model's reasoning of Converse in a thinking block's signature, for the next turn with the same model.

import type { JsonObject } from '../../wire/wire.ts';
import { textOf } from '../../wire/wire.ts';

const MARKED = /^bedrock\.(text|redacted)\.([\w-]+)\.(.+)$/s;

/** Marks thinking that the model did not sign: other providers would refuse a missing signature. */
export const UNSIGNED = 'bedrock.unsigned.';

/** `text`: of the block's text. `redacted`: the reasoning itself, sealed by the model. */
export function markSignature(kind: 'text' | 'redacted', home: string, signature: string): string {
  return `bedrock.${kind}.${home}.${signature}`;
}

/** The reasoning of a thinking block; null if another model signed it, or none. */
export function openReasoning(block: JsonObject, home: string): JsonObject | null {
  const [, kind, signedAt, signature = ''] = MARKED.exec(textOf(block['signature'])) ?? [];
  if (signedAt !== home) return null;
  if (kind === 'redacted') return { reasoningContent: { redactedContent: signature } };
  return { reasoningContent: { reasoningText: { text: textOf(block['thinking']), signature } } };
}
