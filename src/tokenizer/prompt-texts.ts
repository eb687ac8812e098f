// The texts of a message request that a provider counts, and the tokens that it adds around them. Images and files are
// read elsewhere.

import { isJsonObject, type JsonObject, type JsonValue, type MessageRequest } from '../wire/wire.ts';
import { type AddedTokens, familyOf } from './families.ts';
import type { Tokenizer } from './token-counter.ts';

export interface PromptTexts {
  texts: string[];
  /** Tokens that the provider adds to messages and tools. */
  addedTokens: number;
}

export interface CountedPrompt {
  account: number;
  /** The provider's name of the model. */
  model: string;
  request: Pick<MessageRequest, 'body'>;
  /** Texts within files. */
  mediaTexts?: readonly string[];
  /** Tokens of images, and of all else in files. */
  mediaTokens: number;
}

/** The tokens of a prompt as its provider would count them; null if they cannot be counted now. */
export function countPromptLocally(
  tokenizer: Pick<Tokenizer, 'count'>,
  counted: CountedPrompt,
): Promise<number | null> {
  const { account, model, request, mediaTexts = [], mediaTokens } = counted;
  const { texts, addedTokens } = promptTexts(request, familyOf(model).added);
  return tokenizer.count({
    account,
    model,
    texts: texts.concat(mediaTexts),
    extraTokens: mediaTokens + addedTokens,
  });
}

export function promptTexts({ body }: Pick<MessageRequest, 'body'>, added: AddedTokens): PromptTexts {
  const texts: string[] = [];
  const messages = Array.isArray(body['messages']) ? body['messages'] : [];
  const tools = Array.isArray(body['tools']) ? body['tools'] : [];
  addContent(texts, body['system']);
  for (const message of messages) addContent(texts, message);
  let addedTokens = added.prompt + messages.length * added.message;
  for (const tool of tools) addedTokens += added.tool + addTool(texts, tool) * added.property;
  if (tools.length > 0) addedTokens += added.tools;
  for (const name of OUTPUT_FORMATS) if (body[name] !== undefined) texts.push(JSON.stringify(body[name]));
  return { texts, addedTokens };
}

/** Schemas of the answer are part of the prompt. */
const OUTPUT_FORMATS = ['output_config', 'output_format'];

/** Members that no model reads as text. */
const UNREAD = new Set([
  'type',
  'role',
  'id',
  'tool_use_id',
  'server_name',
  'cache_control',
  'citations',
  'signature',
  'media_type',
  'encrypted_content',
  'encrypted_index',
  'encrypted_stdout',
]);

/** Sources with their content elsewhere, or in base64. */
const FILE_SOURCES = new Set(['base64', 'url', 'file']);

/** Adds the texts of a message, of blocks of any kind, and of what is in them. */
function addContent(texts: string[], part: JsonValue | undefined): void {
  if (typeof part === 'string') texts.push(part);
  else if (Array.isArray(part)) for (const inner of part) addContent(texts, inner);
  else if (isJsonObject(part)) addBlock(texts, part);
}

function addBlock(texts: string[], block: JsonObject): void {
  if (block['type'] === 'redacted_thinking') return;
  for (const [name, value] of Object.entries(block)) {
    if (UNREAD.has(name)) continue;
    if (name === 'input') texts.push(JSON.stringify(value));
    else if (name !== 'source' || !isJsonObject(value) || !FILE_SOURCES.has(String(value['type']))) {
      addContent(texts, value);
    }
  }
}

/** Adds what a tool's definition says, a line for each value, and returns the number of its properties. */
function addTool(texts: string[], tool: JsonValue): number {
  const lines: string[] = [];
  const properties = addDefinition(lines, tool);
  texts.push(lines.join('\n'));
  return properties;
}

function addDefinition(lines: string[], part: JsonValue): number {
  if (typeof part !== 'object' || part === null) {
    lines.push(String(part));
    return 0;
  }
  if (Array.isArray(part)) return part.reduce<number>((sum, inner) => sum + addDefinition(lines, inner), 0);
  let properties = 0;
  for (const [name, value] of Object.entries(part)) {
    if (name === 'cache_control') continue;
    const isNamed = name === 'properties' && isJsonObject(value);
    if (isNamed) {
      lines.push(...Object.keys(value));
      properties += Object.keys(value).length;
    }
    properties += addDefinition(lines, value);
  }
  return properties;
}
