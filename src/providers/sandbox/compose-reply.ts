// What a sandbox model says, as a whole, before anyone knows whether it is streamed. Pure but for
// the ids, which come in.

import { bounds } from '../../config.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { countInputTokens, countOutputTokens, cutToTokens, TOKEN_BYTES } from './count-tokens.ts';
import { fillArguments } from './fill-arguments.ts';
import type { SandboxModel } from './models.ts';

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

interface Ask {
  body: JsonObject;
  maxTokens: number;
  /** Random text for the ids. */
  nonce: string;
}

/** The answer of a model. Throws UnknownTool. */
export function composeReply(model: SandboxModel, name: string, ask: Ask): SandboxReply {
  const said = sayings[model.answers](ask);
  return { id: `msg_${ask.nonce}`, model: name, inputTokens: countInputTokens(ask.body), ...said };
}

/** `tool_choice` names a tool that the request does not have. */
export class UnknownTool extends Error {
  override name = 'UnknownTool';
}

type Saying = Pick<SandboxReply, 'blocks' | 'stopReason' | 'stopSequence' | 'outputTokens'>;

const sayings: Record<SandboxModel['answers'], (ask: Ask) => Saying> = {
  echo: (ask) => sayText('', ask),
  lorem: sayFiller,
  tool: sayTool,
  thinking: (ask) => sayText('I was given a message. I shall answer with the words of it, and add none.', ask),
};

// A signature that no provider takes for its own.
const SIGNATURE = Buffer.from('sandbox: signed by nobody').toString('base64');

/** The thinking, when there is any, then the echo, cut where a stop sequence or the tokens end it. */
function sayText(thinking: string, ask: Ask): Saying {
  const { text, stopSequence } = stopAt(lastUserText(ask.body), ask.body['stop_sequences']);
  const whole = cutToTokens(thinking + text, ask.maxTokens);
  const isCut = whole.length < thinking.length + text.length;
  const thought = whole.slice(0, thinking.length);
  const rest = whole.slice(thought.length);
  const blocks: ReplyBlock[] = [];
  if (thought !== '') blocks.push({ type: 'thinking', thinking: thought, signature: SIGNATURE });
  if (rest !== '') blocks.push({ type: 'text', text: rest }); // an empty block could not be sent back
  const outputTokens = countOutputTokens(thought, rest);
  if (isCut) return { blocks, stopReason: 'max_tokens', stopSequence: null, outputTokens };
  return { blocks, stopReason: stopSequence === null ? 'end_turn' : 'stop_sequence', stopSequence, outputTokens };
}

/** The text before the stop sequence that comes first in it. */
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

/** The text blocks of the last user message; where it has none, the results of tools in it. */
function lastUserText(body: JsonObject): string {
  const content = jsonObjects(body['messages']).findLast((message) => message['role'] === 'user')?.['content'];
  if (typeof content === 'string') return content;
  const blocks = jsonObjects(content);
  return textOf(blocks) || blocks.map((block) => textOfResult(block)).join('');
}

function textOf(blocks: readonly JsonObject[]): string {
  return blocks.map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : '')).join('');
}

function textOfResult({ type, content }: JsonObject): string {
  if (type !== 'tool_result') return '';
  return typeof content === 'string' ? content : textOf(jsonObjects(content));
}

const FILLER =
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua ';
let filler = FILLER; // one text, as long as was ever asked for: answers are parts of it and cost no memory

function sayFiller(ask: Ask): Saying {
  const outputTokens = Math.min(ask.maxTokens, bounds.usageTokensMax);
  const characters = outputTokens * TOKEN_BYTES;
  if (filler.length < characters) filler = FILLER.repeat(Math.ceil((2 * characters) / FILLER.length));
  const text = filler.slice(0, characters);
  const blocks: ReplyBlock[] = text === '' ? [] : [{ type: 'text', text }];
  return { blocks, stopReason: 'max_tokens', stopSequence: null, outputTokens };
}

/** One call of the first tool. After its result, and where no tool may be called, text: so that an agent comes to an end. */
function sayTool(ask: Ask): Saying {
  const tool = chooseTool(ask.body);
  if (tool === null || answersTool(ask.body)) return sayText('', ask);
  const input = fillArguments(tool['input_schema']);
  const outputTokens = countOutputTokens(JSON.stringify(input));
  // Half an input would be no JSON, which clients take for a broken stream.
  if (outputTokens > ask.maxTokens)
    return { blocks: [], stopReason: 'max_tokens', stopSequence: null, outputTokens: 0 };
  const block: ReplyBlock = { type: 'tool_use', id: `toolu_${ask.nonce}`, name: String(tool['name']), input };
  return { blocks: [block], stopReason: 'tool_use', stopSequence: null, outputTokens };
}

function chooseTool(body: JsonObject): JsonObject | null {
  const tools = jsonObjects(body['tools']).filter((tool) => typeof tool['name'] === 'string');
  const choice = isJsonObject(body['tool_choice']) ? body['tool_choice'] : {};
  if (choice['type'] === 'none') return null;
  if (choice['type'] !== 'tool') return tools[0] ?? null;
  const named = tools.find((tool) => tool['name'] === choice['name']);
  if (named === undefined) throw new UnknownTool(`tool_choice.tool.name: Tool '${choice['name']}' not found`);
  return named;
}

function answersTool(body: JsonObject): boolean {
  const last = jsonObjects(body['messages']).at(-1);
  return jsonObjects(last?.['content']).some((block) => block['type'] === 'tool_result');
}
