// Stores a reasoning item in a thinking block's signature, for the next turn. The provider itself seals its content.

import { createHash } from 'node:crypto';
import { isWholeNumber } from '../../base/checked-number.ts';
import { SignedJson } from '../../protocols/thinking.ts';
import { type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import type { ProviderEndpoint } from '../provider.ts';

/** A part of a thinking block's text, from the item's summary or content. */
export interface ReasoningPart {
  of: 'summary' | 'content';
  characters: number;
}

interface SealedReasoning {
  id: string;
  /** null if the provider gave none. */
  encryptedContent: string | null;
  /** In the order of the thinking text. */
  parts: readonly ReasoningPart[];
}

export const PART_SEPARATOR = '\n\n';

const KIND = 'openai-responses';
const VERSION = '1';
const HOME_CHARACTERS = 12;

/** Identifies the provider that sealed an item, which alone can open it, without revealing its address. */
export function homeOf({ name, baseUrl }: Pick<ProviderEndpoint, 'name' | 'baseUrl'>): string {
  return createHash('sha256').update(`${name}\n${baseUrl}`).digest('base64url').slice(0, HOME_CHARACTERS);
}

/** `openai-responses.1.<a JSON object in base64url: home, id, parts>.<encrypted_content as received>` */
export function encodeReasoning({ id, encryptedContent, parts }: SealedReasoning, home: string): string {
  const head = JSON.stringify({ home, id, parts: parts.map(({ of, characters }) => ({ of, characters })) });
  return [KIND, VERSION, Buffer.from(head).toString('base64url'), encryptedContent ?? ''].join('.');
}

/** The item in a thinking block, as input for the provider; null for any signature that this provider did not give. */
export function decodeReasoning(
  thinking: string,
  signature: string,
  home: string,
  signed = new SignedJson(),
): JsonObject | null {
  const [kind, version, encoded = '', ...rest] = signature.split('.');
  if (kind !== KIND || version !== VERSION) return null;
  const head = signed.read(encoded);
  if (head === null || head['home'] !== home || typeof head['id'] !== 'string') return null;
  const sealed = rest.join('.');
  const texts = cutParts(thinking, jsonObjects(head['parts']));
  const partsOf = (kind: string, type: string) =>
    texts.filter(({ of }) => of === kind).map(({ text }) => ({ type, text }));
  const content = partsOf('content', 'reasoning_text');
  if (sealed === '' && content.length === 0) return null; // the provider stores nothing and could not find it
  return {
    type: 'reasoning',
    id: head['id'],
    summary: partsOf('summary', 'summary_text'),
    ...(content.length > 0 && { content }),
    ...(sealed !== '' && { encrypted_content: sealed }),
  };
}

/** The parts of the thinking; the whole text as one part if it was changed. */
function cutParts(thinking: string, parts: readonly JsonObject[]): { of: JsonValue; text: string }[] {
  const texts: { of: JsonValue; text: string }[] = [];
  let at = 0;
  for (const { of = 'summary', characters } of parts) {
    const end = at + (isWholeNumber(characters) ? characters : 0);
    texts.push({ of, text: thinking.slice(at, end) });
    at = end + PART_SEPARATOR.length;
  }
  if (texts.map(({ text }) => text).join(PART_SEPARATOR) === thinking) return texts;
  return [{ of: texts[0]?.of ?? 'summary', text: thinking }];
}
