// Thinking in the `encrypted_content` of reasoning items, for the next turn. The provider itself signs it.

import { thinkingBlock } from '../../protocols/thinking.ts';
import { type JsonObject, textOf } from '../../wire/wire.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }); // replacing bytes takes long
const MARK = 'turnpike.responses.1.';
const OPEN = 'thinking';
const REDACTED = 'redacted';

/** Whether this service wrote it, and not a provider. */
export function isSealedHere(encryptedContent: unknown): boolean {
  return textOf(encryptedContent).startsWith(MARK);
}

/** The whole block, because clients may leave out the summary: `<mark>thinking.<text in base64url>.<signature>`. */
export function sealThinking(block: JsonObject): string {
  if (block['type'] === 'redacted_thinking') return `${MARK}${REDACTED}.${textOf(block['data'])}`;
  const text = Buffer.from(textOf(block['thinking'])).toString('base64url');
  return `${MARK}${OPEN}.${text}.${textOf(block['signature'])}`;
}

/** The block in a reasoning item; null for an item of a provider, which only that provider can open. */
export function openThinking(item: JsonObject): JsonObject | null {
  const sealed = textOf(item['encrypted_content']);
  if (!isSealedHere(sealed)) return null;
  const [kind, rest] = splitAtPoint(sealed.slice(MARK.length));
  if (kind === REDACTED) return { type: 'redacted_thinking', data: rest };
  if (kind !== OPEN) return null;
  const [text, signature] = splitAtPoint(rest);
  try {
    return thinkingBlock(decoder.decode(Buffer.from(text, 'base64url')), signature);
  } catch {
    return null; // truncated or changed by the client
  }
}

/** At the first point only: a client may send millions of them. */
function splitAtPoint(text: string): [before: string, after: string] {
  const at = text.indexOf('.');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
