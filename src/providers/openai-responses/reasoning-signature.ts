// A reasoning item of the provider on its way through a client, in the signature of a thinking block, so that the
// next turn brings the very same item. Not signed by us: what matters in it is sealed by the provider itself.

import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import type { ProviderEndpoint } from '../provider.ts';

/** A stretch of the text of a thinking block: a part of the item's summary, or of its content. */
export interface ReasoningPart {
  of: 'summary' | 'content';
  characters: number;
}

export interface SealedReasoning {
  id: string;
  /** Null where the provider gave none. */
  encryptedContent: string | null;
  /** In the order in which they stand in the thinking. */
  parts: readonly ReasoningPart[];
}

/** What stands between two parts in the thinking. */
export const PART_SEPARATOR = '\n\n';

const KIND = 'openai-responses';
const VERSION = '1';
const HOME_CHARACTERS = 12;

/** The mark of the provider that sealed an item: nobody else can open it. Tells a client nothing of where that is. */
export function homeOf({ name, baseUrl }: Pick<ProviderEndpoint, 'name' | 'baseUrl'>): string {
  return createHash('sha256').update(`${name}\n${baseUrl}`).digest('base64url').slice(0, HOME_CHARACTERS);
}

/** `openai-responses.1.<a JSON object in base64url: home, id, parts>.<encrypted_content as it came>` */
export function encodeReasoning({ id, encryptedContent, parts }: SealedReasoning, home: string): string {
  const head = JSON.stringify({ home, id, parts: parts.map(({ of, characters }) => ({ of, characters })) });
  return [KIND, VERSION, Buffer.from(head).toString('base64url'), encryptedContent ?? ''].join('.');
}

/**
 * The item that a thinking block carries, as input for the provider. Null for a signature that is not ours, is of
 * another provider, or holds nothing that the provider would take back.
 */
export function decodeReasoning(thinking: string, signature: string, home: string): JsonObject | null {
  const [kind, version, encoded = '', ...rest] = signature.split('.');
  if (kind !== KIND || version !== VERSION) return null;
  const head = parseHead(encoded);
  if (head === null || head['home'] !== home || typeof head['id'] !== 'string') return null;
  const sealed = rest.join('.');
  const texts = cutParts(thinking, jsonObjects(head['parts']));
  // Nothing is stored at the provider: an item without what it sealed would not be found there.
  if (sealed === '' && !texts.some(({ of }) => of === 'content')) return null;
  const content = texts.filter(({ of }) => of === 'content').map(({ text }) => ({ type: 'reasoning_text', text }));
  return {
    type: 'reasoning',
    id: head['id'],
    summary: texts.filter(({ of }) => of === 'summary').map(({ text }) => ({ type: 'summary_text', text })),
    ...(content.length > 0 && { content }),
    ...(sealed !== '' && { encrypted_content: sealed }),
  };
}

function parseHead(encoded: string): JsonObject | null {
  try {
    const head: JsonValue = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    return isJsonObject(head) ? head : null;
  } catch {
    return null; // cut or changed on its way: not what we sent
  }
}

/** The parts of the thinking; where it was changed on its way, all of it as one. */
function cutParts(thinking: string, parts: readonly JsonObject[]): { of: JsonValue; text: string }[] {
  const texts: { of: JsonValue; text: string }[] = [];
  let at = 0;
  for (const { of = 'summary', characters } of parts) {
    const end = at + (typeof characters === 'number' ? characters : 0);
    texts.push({ of, text: thinking.slice(at, end) });
    at = end + PART_SEPARATOR.length;
  }
  if (texts.map(({ text }) => text).join(PART_SEPARATOR) === thinking) return texts;
  return [{ of: texts[0]?.of ?? 'summary', text: thinking }];
}
