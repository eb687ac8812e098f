// The sandbox's tokens: four bytes of UTF-8 are one, of all text taken together. Everything that
// the sandbox charges follows from this file.

import { findBlock, isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';

export const TOKEN_BYTES = 4;

/**
 * The tokens of a request. Its text is: `system`; of the messages the text blocks, thinking, results of
 * tools, documents given as text, and the input of tool calls as JSON; `tools`, when there are any, as JSON.
 */
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

/** The tokens of what was produced. */
export function countOutputTokens(...texts: readonly string[]): number {
  return tokensOf(texts.reduce((bytes, text) => bytes + bytesOf(text), 0));
}

/** The longest beginning of the text that has at most so many tokens, cut between characters. */
export function cutToTokens(text: string, tokens: number): string {
  return cutToBytes(text, tokens * TOKEN_BYTES);
}

/** The longest beginning of the text that has at most so many bytes, cut between characters. */
export function cutToBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax || bytesOf(text) <= bytesMax) return text;
  const encoded = Buffer.from(text);
  let end = bytesMax;
  while (end > 0 && ((encoded[end] as number) & 0xc0) === 0x80) end--; // inside of a character
  return encoded.toString('utf8', 0, end);
}

function tokensOf(bytes: number): number {
  return Math.ceil(bytes / TOKEN_BYTES);
}

/** The text of one block, without that of the blocks inside it. */
function blockBytes(block: JsonObject): number {
  switch (block['type']) {
    case 'text':
      return bytesOf(block['text']);
    case 'thinking':
      return bytesOf(block['thinking']);
    case 'tool_use':
      return isJsonObject(block['input']) ? bytesOf(JSON.stringify(block['input'])) : 0;
    case 'tool_result':
      return bytesOf(block['content']);
    case 'document':
      return isJsonObject(block['source']) ? documentBytes(block['source']) : 0;
    default:
      return 0;
  }
}

function documentBytes(source: JsonObject): number {
  if (source['type'] === 'text') return bytesOf(source['data']);
  return source['type'] === 'content' ? bytesOf(source['content']) : 0;
}

function bytesOf(value: JsonValue | undefined): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0;
}
