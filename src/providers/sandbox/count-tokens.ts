// Tokens of the sandbox: four bytes of text each, rounded up once.

import { parseWholeNumber } from '../../base/checked-number.ts';
import {
  findBlock,
  isJsonObject,
  isSpokenAnswer,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  objectOf,
  textOf,
} from '../../wire/wire.ts';

export const TOKEN_BYTES = 4;

/** Tokens of `system`, of texts, thinking, tool results, inputs and text documents in messages, and of `tools`. */
export function countInputTokens(body: JsonObject): number {
  let bytes = bytesOf(body['system']);
  for (const message of jsonObjects(body['messages'])) bytes += bytesOf(message['content']);
  findBlock(body, (block) => {
    bytes += blockBytes(block);
    return false;
  });
  const tools = body['tools'];
  if (Array.isArray(tools) && tools.length > 0) bytes += bytesOf(JSON.stringify(tools));
  return tokensOf(bytes);
}

/** The id of a spoken answer has its tokens: nothing of it is kept. */
export function spokenId(transcript: string, nonce: string): string {
  return `audio_${tokensOf(bytesOf(transcript))}_${nonce}`;
}

/** Tokens of earlier spoken answers. */
export function countRecalledTokens(body: JsonObject): number {
  let tokens = 0;
  findBlock(body, (block) => {
    if (isSpokenAnswer(block)) tokens += parseWholeNumber(textOf(block['id']).split('_')[1] ?? '') ?? 0;
    return false;
  });
  return tokens;
}

/** The longest prefix with at most this many bytes, cut between characters. */
export function cutToBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax || bytesOf(text) <= bytesMax) return text;
  const encoded = Buffer.from(text);
  let end = bytesMax;
  while (end > 0 && ((encoded[end] as number) & 0xc0) === 0x80) end--; // inside a character
  return encoded.toString('utf8', 0, end);
}

export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / TOKEN_BYTES);
}

function blockBytes(block: JsonObject): number {
  switch (block['type']) {
    case 'text':
    case 'audio':
      return bytesOf(block['text']);
    case 'thinking':
      return bytesOf(block['thinking']);
    case 'tool_use':
      return isJsonObject(block['input']) ? bytesOf(JSON.stringify(block['input'])) : 0;
    case 'tool_result':
      return bytesOf(block['content']);
    case 'document': {
      const { type, data, content } = objectOf(block['source']);
      return type === 'text' ? bytesOf(data) : type === 'content' ? bytesOf(content) : 0;
    }
    default:
      return 0;
  }
}

export function bytesOf(value: JsonValue | undefined): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0;
}
