// Composes the whole reply of a sandbox model. Pure: the ids are parameters.

import { bounds } from '../../config/config.ts';
import type { JsonObject, JsonValue } from '../../wire/wire.ts';
import { isJsonObject, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { findClientTool, gatherTools } from '../client-tools.ts';
import { refuseField } from '../lost-fields.ts';
import { bytesOf, countInputTokens, countRecalledTokens, cutToBytes, TOKEN_BYTES, tokensOf } from './count-tokens.ts';
import { fillArguments, fillSchema } from './fill-schema.ts';
import { readStep, refuseScript, type ScriptedPart } from './read-script.ts';

export type ReplyBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: JsonObject }
  | { type: 'audio'; id: string; data: string; transcript: string; expires_at: number };

export interface SandboxReply {
  id: string;
  model: string;
  blocks: ReplyBlock[];
  stopReason: 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';
  stopSequence: string | null;
  inputTokens: number;
  /** Tokens of earlier spoken answers. */
  recalledTokens: number;
  outputTokens: number;
}

interface ReplyRequest {
  body: JsonObject;
  maxTokens: number;
  /** Random text for the ids. */
  nonce: string;
}

export function composeReply(model: SandboxModel, name: string, request: ReplyRequest): SandboxReply {
  const content = composeContent(model, request);
  const { body, nonce } = request;
  const [inputTokens, recalledTokens] = [countInputTokens(body), countRecalledTokens(body)];
  return { id: `msg_${nonce}`, model: name, inputTokens, recalledTokens, ...content };
}

type ReplyContent = Pick<SandboxReply, 'blocks' | 'stopReason' | 'stopSequence' | 'outputTokens'>;

// A signature that no provider accepts as its own.
const SIGNATURE = Buffer.from('sandbox: signed by nobody').toString('base64');
const THOUGHT = 'The user sent a message. I will repeat its text and add nothing of my own.';

function composeContent({ answers }: SandboxModel, request: ReplyRequest): ReplyContent {
  if (answers === 'lorem') return composeFiller(request);
  const thought: ReplyBlock[] =
    answers === 'thinking' ? [{ type: 'thinking', thinking: THOUGHT, signature: SIGNATURE }] : [];
  const script = readStep(request.body);
  const blocks = script === null ? [] : followScript(script, request);
  return fit([...thought, ...(blocks.length > 0 ? blocks : [answerOf(answers, request)])], request);
}

/** Cuts the blocks at a stop sequence and at max_tokens. Empty ones are left out: they could not be sent back. */
function fit(blocks: readonly ReplyBlock[], { body, maxTokens }: ReplyRequest): ReplyContent {
  const bytesMax = maxTokens * TOKEN_BYTES;
  const kept: ReplyBlock[] = [];
  let bytes = 0;
  const end = (stopReason: SandboxReply['stopReason'], stopSequence: string | null = null) => {
    return { blocks: kept, stopReason, stopSequence, outputTokens: tokensOf(bytes) };
  };
  for (const block of blocks) {
    if (block.type === 'audio') continue; // made of texts that fit
    if (block.type === 'tool_use') {
      const inputBytes = bytesOf(JSON.stringify(block.input));
      // A truncated input would be invalid JSON, which clients take for a broken stream.
      if (bytes + inputBytes > bytesMax) return end('max_tokens');
      kept.push(block);
      bytes += inputBytes;
      continue;
    }
    const given = block.type === 'text' ? block.text : block.thinking;
    const { text, stopSequence } = stopAt(given, block.type === 'text' ? body['stop_sequences'] : []);
    const cut = cutToBytes(text, bytesMax - bytes);
    if (cut !== '') kept.push(block.type === 'text' ? { ...block, text: cut } : { ...block, thinking: cut });
    bytes += bytesOf(cut);
    if (cut.length < text.length) return end('max_tokens');
    if (stopSequence !== null) return end('stop_sequence', stopSequence);
  }
  return end(kept.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn');
}

const STOP_SEQUENCES_MAX = 32; // each is a search in the whole text

function stopAt(text: string, given: JsonValue | undefined): { text: string; stopSequence: string | null } {
  const sequences = Array.isArray(given) ? given : [];
  if (sequences.length > STOP_SEQUENCES_MAX)
    refuseField('stop_sequences', `List should have at most ${STOP_SEQUENCES_MAX} items`);
  let end = text.length;
  let stopSequence: string | null = null;
  for (const sequence of sequences) {
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

/** Says how much sound the last user message has; empty without any. */
function describeSound(body: JsonObject): string {
  const content = jsonObjects(body['messages']).findLast((message) => message['role'] === 'user')?.['content'];
  const sounds = jsonObjects(content).filter(({ type }) => type === 'audio');
  const bytes = sounds.reduce(
    (sum, { source }) => sum + Buffer.byteLength(textOf(objectOf(source)['data']), 'base64'),
    0,
  );
  return sounds.length === 0 ? '' : `The sandbox heard ${bytes} bytes of sound.`;
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

/** Without a script: a call, where one is due; a value of the requested schema; or the echo. */
function answerOf(answers: SandboxModel['answers'], request: ReplyRequest): ReplyBlock {
  const { body } = request;
  const { tools, isForced } = readToolChoice(body);
  const tool = answers === 'tool' || isForced ? nextTool(body, tools, isForced) : undefined;
  if (tool !== undefined) return callOf(tool, fillArguments(tool.schema), request);
  return { type: 'text', text: composeValue(body) ?? (lastUserText(body) || describeSound(body)) };
}

/** After a result comes text, so that an agent finishes; a forced choice first calls each tool once. */
function nextTool(body: JsonObject, tools: readonly CallableTool[], isForced: boolean): CallableTool | undefined {
  const messages = jsonObjects(body['messages']);
  const hasBlock = ({ content }: JsonObject, kind: string) => jsonObjects(content).some(({ type }) => type === kind);
  const from = messages.findLastIndex((message) => message['role'] === 'user' && !hasBlock(message, 'tool_result'));
  const turns = messages.slice(from + 1);
  if (!isForced && turns.some((message) => hasBlock(message, 'tool_result'))) return undefined;
  const called = new Set(turns.flatMap(({ content }) => jsonObjects(content).map(({ name }) => name)));
  return tools.find(({ name }) => !called.has(name));
}

/** The value in the requested format as JSON; null without a format. */
function composeValue(body: JsonObject): string | null {
  const format = objectOf(body['output_config'])['format'] ?? body['output_format'] ?? null; // the second is the older name
  if (format === null) return null;
  const { type, schema } = objectOf(format);
  if (type !== 'json_schema' || !isJsonObject(schema))
    refuseField('output_config.format', "Input should have the type 'json_schema' and a schema");
  return JSON.stringify(fillSchema(schema));
}

interface CallableTool {
  name: string;
  schema: JsonObject;
}

interface ToolChoice {
  /** Those that may be called. */
  tools: readonly CallableTool[];
  isForced: boolean;
  isParallel: boolean;
}

function readToolChoice(body: JsonObject): ToolChoice {
  const { type, name, disable_parallel_tool_use: disabled } = objectOf(body['tool_choice']);
  const all = gatherTools(body).flatMap(({ tool }) => callable(tool));
  const isParallel = disabled !== true;
  if (type === 'none') return { tools: [], isForced: false, isParallel };
  if (type !== 'tool') return { tools: all, isForced: type === 'any', isParallel };
  const named = all.filter((tool) => tool.name === name);
  if (named.length === 0) refuseField('tool_choice.tool.name', `Tool '${textOf(name)}' not found`);
  return { tools: named, isForced: true, isParallel };
}

/** The tool, if the client runs it: a provider's own tools are not called. */
function callable({ name, type, input_schema: schema }: JsonObject): CallableTool[] {
  if (typeof name !== 'string') return [];
  const known = findClientTool(type);
  const isOwn = (type ?? 'custom') === 'custom' || known !== null || textOf(type).startsWith('computer_');
  return isOwn ? [{ name, schema: known?.parameters ?? objectOf(schema) }] : [];
}

function callOf({ name }: CallableTool, input: JsonObject, { nonce }: ReplyRequest, place = 0): ReplyBlock {
  return { type: 'tool_use', id: `toolu_${nonce}${place === 0 ? '' : `_${place}`}`, name, input };
}

/** The blocks of a step. Calls are left out of a request in which no tool may be called. */
function followScript(step: readonly ScriptedPart[], request: ReplyRequest): ReplyBlock[] {
  const { tools, isForced, isParallel } = readToolChoice(request.body);
  const parts = tools.length === 0 ? step.filter(({ kind }) => kind === 'text') : step;
  const calls = parts.filter(({ kind }) => kind === 'call').length;
  if (isForced && calls === 0 && tools.length > 0) refuseScript('tool_choice requires a call, and this step has none');
  if (calls > 1 && !isParallel) refuseScript(`this step has ${calls} calls, and the request disables parallel calls`);
  return parts.map((part, place) => {
    if (part.kind === 'text') return { type: 'text', text: part.text };
    const tool = tools.find(({ name }) => name === part.name);
    if (tool === undefined)
      return refuseScript(`${part.name} is not among the tools that may be called: ${namesOf(tools)}`);
    return callOf(tool, part.input ?? fillArguments(tool.schema), request, place);
  });
}

const NAMES_SHOWN_MAX = 20;

function namesOf(tools: readonly CallableTool[]): string {
  const shown = tools.slice(0, NAMES_SHOWN_MAX).map(({ name }) => name);
  return shown.join(', ') + (tools.length > shown.length ? ', …' : '');
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
  ['sandbox-voice', ECHO],
  ['sandbox-slow', { ...ECHO, firstByteAfterMs: 5_000 }],
  ...ERROR_STATUSES.map((status): [string, SandboxModel] => [
    `sandbox-error-${status}`,
    { ...ECHO, errorStatus: status },
  ]),
]);
