// Composes the whole reply of a sandbox model. Pure: the ids are parameters.

import { bounds } from '../../config.ts';
import type { JsonObject, JsonValue } from '../../wire/wire.ts';
import { findBlock, isJsonObject, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';

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

/** The longest prefix with at most this many tokens, cut between characters. */
function cutToTokens(text: string, tokens: number): string {
  const bytesMax = tokens * TOKEN_BYTES;
  if (text.length * 3 <= bytesMax || bytesOf(text) <= bytesMax) return text;
  const encoded = Buffer.from(text);
  let end = bytesMax;
  while (end > 0 && ((encoded[end] as number) & 0xc0) === 0x80) end--; // inside a character
  return encoded.toString('utf8', 0, end);
}

function tokensOf(bytes: number): number {
  return Math.ceil(bytes / TOKEN_BYTES);
}

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
    case 'document': {
      const { type, data, content } = objectOf(block['source']);
      return type === 'text' ? bytesOf(data) : type === 'content' ? bytesOf(content) : 0;
    }
    default:
      return 0;
  }
}

function bytesOf(value: JsonValue | undefined): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0;
}

// References may be cyclic, and each level may fan out.
const DEPTH_MAX = 16;
const VALUES_MAX = 1_000;

interface Filling {
  root: JsonObject;
  valuesLeft: number;
}

function fillObject(schema: JsonObject, filling: Filling, depth: number): JsonObject {
  const properties = objectOf(schema['properties']);
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const members: [string, JsonValue][] = [];
  for (const name of required) {
    if (typeof name !== 'string' || filling.valuesLeft <= 0) continue;
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    members.push([name, fillValue(property, filling, depth + 1)]);
  }
  return Object.fromEntries(members);
}

function fillValue(given: JsonValue | undefined, filling: Filling, depth: number): JsonValue {
  filling.valuesLeft--;
  if (depth > DEPTH_MAX || filling.valuesLeft < 0) return null;
  const schema = resolveReference(given, filling.root);
  if (schema['const'] !== undefined) return schema['const'];
  const values = schema['enum'];
  if (Array.isArray(values) && values[0] !== undefined) return values[0];
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const choices = schema[word];
    if (Array.isArray(choices) && choices.length > 0) return fillValue(choices[0], filling, depth + 1);
  }
  const named = schema['type'] ?? (isJsonObject(schema['properties']) ? 'object' : 'string');
  const type = Array.isArray(named) ? (named.find((name) => name !== 'null') ?? 'null') : named;
  switch (type) {
    case 'integer':
    case 'number': {
      const { minimum, exclusiveMinimum: above } = schema;
      const lowest = typeof minimum === 'number' ? minimum : typeof above === 'number' ? above + 1 : 1;
      return type === 'integer' ? Math.ceil(lowest) : lowest;
    }
    case 'boolean':
      return true;
    case 'array':
      return schema['items'] === undefined ? [] : [fillValue(schema['items'], filling, depth + 1)];
    case 'object':
      return fillObject(schema, filling, depth);
    case 'null':
      return null;
    default:
      return 'text';
  }
}

/** A schema at `#/…`; one step, because a definition that is itself a reference is filled as text. */
function resolveReference(schema: JsonValue | undefined, root: JsonObject): JsonObject {
  if (!isJsonObject(schema)) return {};
  const reference = schema['$ref'];
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return schema;
  let found: JsonValue | undefined = root;
  for (const part of reference.slice(2).split('/')) {
    found = isJsonObject(found) && Object.hasOwn(found, part) ? found[part] : undefined;
  }
  return objectOf(found);
}

export type ReplyBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: JsonObject };

export interface SandboxReply {
  id: string;
  model: string;
  blocks: ReplyBlock[];
  stopReason: 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';
  stopSequence: string | null;
  inputTokens: number;
  outputTokens: number;
}

interface ReplyRequest {
  body: JsonObject;
  maxTokens: number;
  /** Random text for the ids. */
  nonce: string;
}

export function composeReply(model: SandboxModel, name: string, request: ReplyRequest): SandboxReply {
  const content = composers[model.answers](request);
  return { id: `msg_${request.nonce}`, model: name, inputTokens: countInputTokens(request.body), ...content };
}

/** `tool_choice` names a tool that the request does not have. */
export class UnknownTool extends Error {
  override name = 'UnknownTool';
}

type ReplyContent = Pick<SandboxReply, 'blocks' | 'stopReason' | 'stopSequence' | 'outputTokens'>;

const composers: Record<SandboxModel['answers'], (request: ReplyRequest) => ReplyContent> = {
  echo: (request) => composeText('', request),
  lorem: composeFiller,
  tool: composeCall,
  thinking: (request) =>
    composeText('The user sent a message. I will repeat its text and add nothing of my own.', request),
};

// A signature that no provider accepts as its own.
const SIGNATURE = Buffer.from('sandbox: signed by nobody').toString('base64');

/** The thinking, if any, then the echo, cut at a stop sequence or at max_tokens. */
function composeText(thinking: string, request: ReplyRequest): ReplyContent {
  const { text, stopSequence } = stopAt(lastUserText(request.body), request.body['stop_sequences']);
  const whole = cutToTokens(thinking + text, request.maxTokens);
  const isCut = whole.length < thinking.length + text.length;
  const thought = whole.slice(0, thinking.length);
  const rest = whole.slice(thought.length);
  const blocks: ReplyBlock[] = [];
  if (thought !== '') blocks.push({ type: 'thinking', thinking: thought, signature: SIGNATURE });
  if (rest !== '') blocks.push({ type: 'text', text: rest }); // an empty block could not be sent back
  const outputTokens = tokensOf(bytesOf(thought) + bytesOf(rest));
  if (isCut) return { blocks, stopReason: 'max_tokens', stopSequence: null, outputTokens };
  return { blocks, stopReason: stopSequence === null ? 'end_turn' : 'stop_sequence', stopSequence, outputTokens };
}

function stopAt(text: string, sequences: JsonValue | undefined): { text: string; stopSequence: string | null } {
  let end = text.length;
  let stopSequence: string | null = null;
  for (const sequence of Array.isArray(sequences) ? sequences : []) {
    if (typeof sequence !== 'string' || sequence === '') continue;
    const place = text.indexOf(sequence);
    if (place < 0 || place >= end) continue;
    end = place;
    stopSequence = sequence;
  }
  return { text: text.slice(0, end), stopSequence };
}

/** The text blocks of the last user message; without any, its tool results. */
function lastUserText(body: JsonObject): string {
  const content = jsonObjects(body['messages']).findLast((message) => message['role'] === 'user')?.['content'];
  const results = jsonObjects(content).filter(({ type }) => type === 'tool_result');
  return textIn(content) || results.map((result) => textIn(result['content'])).join('');
}

function textIn(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  return jsonObjects(content)
    .map(({ type, text }) => (type === 'text' ? textOf(text) : ''))
    .join('');
}

const FILLER =
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua ';
let filler = FILLER; // one text, as long as the longest request so far: replies are slices of it and cost no memory

function composeFiller(request: ReplyRequest): ReplyContent {
  const outputTokens = Math.min(request.maxTokens, bounds.usageTokensMax);
  const characters = outputTokens * TOKEN_BYTES;
  if (filler.length < characters) filler = FILLER.repeat(Math.ceil((2 * characters) / FILLER.length));
  const text = filler.slice(0, characters);
  const blocks: ReplyBlock[] = text === '' ? [] : [{ type: 'text', text }];
  return { blocks, stopReason: 'max_tokens', stopSequence: null, outputTokens };
}

/** One call of the first tool. After its result, and if no tool may be called, text, so that an agent finishes. */
function composeCall(request: ReplyRequest): ReplyContent {
  const tool = chooseTool(request.body);
  const last = jsonObjects(jsonObjects(request.body['messages']).at(-1)?.['content']);
  if (tool === null || last.some(({ type }) => type === 'tool_result')) return composeText('', request);
  const root = objectOf(tool['input_schema']);
  const input = fillObject(root, { root, valuesLeft: VALUES_MAX }, 0);
  const outputTokens = tokensOf(bytesOf(JSON.stringify(input)));
  // A truncated input would be invalid JSON, which clients take for a broken stream.
  if (outputTokens > request.maxTokens)
    return { blocks: [], stopReason: 'max_tokens', stopSequence: null, outputTokens: 0 };
  const block: ReplyBlock = { type: 'tool_use', id: `toolu_${request.nonce}`, name: String(tool['name']), input };
  return { blocks: [block], stopReason: 'tool_use', stopSequence: null, outputTokens };
}

function chooseTool(body: JsonObject): JsonObject | null {
  const tools = jsonObjects(body['tools']).filter((tool) => typeof tool['name'] === 'string');
  const choice = objectOf(body['tool_choice']);
  if (choice['type'] === 'none') return null;
  if (choice['type'] !== 'tool') return tools[0] ?? null;
  const named = tools.find((tool) => tool['name'] === choice['name']);
  if (named === undefined) throw new UnknownTool(`tool_choice.tool.name: Tool '${choice['name']}' not found`);
  return named;
}

export interface SandboxModel {
  answers: 'echo' | 'lorem' | 'tool' | 'thinking';
  firstByteAfterMs: number;
  /** The answer breaks off after half of its text. */
  isCut: boolean;
  errorStatus: number | null;
}

const ERROR_STATUSES = [400, 401, 403, 404, 413, 429, 500, 502, 503, 504, 529];
const ECHO: SandboxModel = { answers: 'echo', firstByteAfterMs: 0, isCut: false, errorStatus: null };

/** By the model's name at the provider, which alone decides the answer. */
export const sandboxModels: ReadonlyMap<string, SandboxModel> = new Map<string, SandboxModel>([
  ['sandbox-echo', ECHO],
  ['sandbox-lorem', { ...ECHO, answers: 'lorem' }],
  ['sandbox-tool', { ...ECHO, answers: 'tool' }],
  ['sandbox-thinking', { ...ECHO, answers: 'thinking' }],
  ['sandbox-cut', { ...ECHO, isCut: true }],
  ['sandbox-slow', { ...ECHO, firstByteAfterMs: 5_000 }],
  ...ERROR_STATUSES.map((status): [string, SandboxModel] => [
    `sandbox-error-${status}`,
    { ...ECHO, errorStatus: status },
  ]),
]);

export const sandboxModelNames: readonly string[] = [...sandboxModels.keys()];
