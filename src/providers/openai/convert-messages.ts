// The conversation as Chat Completions messages. Results of tools stand directly behind the calls that they answer,
// before anything else that their message says; nothing of it is lost.

import { type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { refuseField } from '../refuse-field.ts';
import { collapseParts, convertBlock, joinTexts, nameOf, type Placed, textOf, textPart } from './convert-blocks.ts';
import { sentCallId, sentToolName } from './convert-names.ts';
import { openReasoning } from './own-signature.ts';
import type { Profile } from './profile.ts';

// The line by which a coding agent tells its provider whom to bill. It differs in each conversation.
const ATTRIBUTION = 'x-anthropic-billing-header:';
const NO_PREFILL =
  'This model does not support assistant message prefill. The conversation must end with a user message.';

interface Turn {
  role: 'user' | 'assistant' | 'system';
  path: string;
  blocks: Placed[];
}

/** All messages of a request, the system's first. `model` is its name at the provider. Throws ProviderFault (rejected). */
export function convertMessages(body: JsonObject, profile: Profile, model: string): JsonObject[] {
  const turns = gatherTurns(body, profile);
  checkCalls(turns);
  const last = turns.at(-1);
  if (last?.role === 'assistant' && !profile.prefill) refuseField(last.path, NO_PREFILL);
  const isWithTools = jsonObjects(body['tools']).length > 0;
  return [
    ...systemMessage(body['system'], profile),
    ...turns.flatMap((turn) => {
      if (turn.role === 'user') return convertUser(turn, profile);
      if (turn.role === 'assistant') return [convertAssistant(turn, profile, model, isWithTools)];
      return systemMessage(
        turn.blocks.map(({ block }) => block),
        profile,
      );
    }),
  ];
}

function systemMessage(content: JsonValue | undefined, profile: Profile): JsonObject[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : jsonObjects(content);
  const parts = blocks
    .filter(({ text }) => !textOf(text).startsWith(ATTRIBUTION))
    .flatMap((block) => textPart(textOf(block['text']), block, profile));
  return parts.length === 0 ? [] : [{ role: profile.systemRole, content: collapseParts(parts) }];
}

/** Messages of one role that follow one another are one turn, as they are in the Messages protocol. */
function gatherTurns(body: JsonObject, profile: Profile): Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of jsonObjects(body['messages']).entries()) {
    const path = `messages.${index}`;
    const isFolded = message['role'] === 'system' && !profile.systemAnywhere;
    const role = isFolded ? 'user' : (message['role'] as Turn['role']);
    const placed = placeBlocks(message['content'], path);
    const blocks = isFolded ? remind(placed) : placed;
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else if (blocks.length > 0 || !isFolded) turns.push({ role, path, blocks });
  }
  return turns;
}

function placeBlocks(content: JsonValue | undefined, path: string): Placed[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path: `${path}.content` }];
  return jsonObjects(content).map((block, place) => ({ block, path: `${path}.content.${place}` }));
}

/** What the system says in the middle of a conversation, to a model that hears it only at the beginning. */
function remind(blocks: readonly Placed[]): Placed[] {
  const text = joinTexts(blocks.filter(({ block }) => textOf(block['text']) !== '').map(({ block }) => block));
  if (text === '') return [];
  const path = blocks[0]?.path ?? '';
  return [{ block: { type: 'text', text: `<system-reminder>\n${text}\n</system-reminder>` }, path }];
}

/** Every call has its result in the turn behind it, and every result its call before it. */
function checkCalls(turns: readonly Turn[]): void {
  let called: ReadonlySet<string> = new Set();
  for (const { role, path, blocks } of [...turns, { role: 'user', path: '', blocks: [] }]) {
    const answered = new Set<string>();
    for (const { block, path: place } of blocks) {
      if (block['type'] !== 'tool_result') continue;
      const id = textOf(block['tool_use_id']);
      if (!called.has(id))
        refuseField(
          place,
          `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      answered.add(id);
    }
    const missing = [...called].filter((id) => !answered.has(id));
    if (missing.length > 0)
      refuseField(
        path || (turns.at(-1)?.path ?? 'messages'),
        `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    called = new Set(role === 'assistant' ? callsOf(blocks) : []);
  }
}

function callsOf(blocks: readonly Placed[]): string[] {
  return blocks.filter(({ block }) => block['type'] === 'tool_use').map(({ block }) => textOf(block['id']));
}

function convertUser({ blocks }: Turn, profile: Profile): JsonObject[] {
  const isResult = ({ block }: Placed) => block['type'] === 'tool_result';
  const results = blocks.filter(isResult).map((placed) => convertResult(placed, profile));
  const said = blocks.filter((placed) => !isResult(placed)).flatMap((placed) => convertBlock(placed, profile));
  const rest = [...results.flatMap(({ beside }) => beside), ...said];
  const messages = results.map(({ message }) => message);
  const last = messages.at(-1);
  if (rest.length === 0 && last !== undefined) return messages;
  if (last === undefined || profile.userAfterTools)
    return [...messages, { role: 'user', content: collapseParts(rest) }];
  const before = textOf(last['content']);
  last['content'] = collapseParts([...(before === '' ? [] : [{ type: 'text', text: before }]), ...rest]);
  return messages;
}

/** A tool's message takes text only: what else the result has is shown right behind, `beside` it. */
function convertResult({ block, path }: Placed, profile: Profile): { message: JsonObject; beside: JsonObject[] } {
  const id = sentCallId(textOf(block['tool_use_id']), profile);
  const inner = placeBlocks(block['content'] ?? [], path);
  const parts = inner.flatMap((placed) => convertBlock(placed, profile));
  const texts = parts.filter(({ type }) => type === 'text');
  const others = parts.filter(({ type }) => type !== 'text');
  const text = [joinTexts(texts), ...(others.length > 0 ? ['[What it shows follows.]'] : [])]
    .filter(Boolean)
    .join('\n\n');
  const content = block['is_error'] === true ? `Error: ${text}` : text;
  const label: JsonObject[] = others.length > 0 ? [{ type: 'text', text: `Shown by the tool call ${id}:` }] : [];
  return { message: { role: 'tool', tool_call_id: id, content }, beside: [...label, ...others] };
}

function convertAssistant({ blocks }: Turn, profile: Profile, model: string, isWithTools: boolean): JsonObject {
  const texts: JsonObject[] = [];
  const calls: JsonObject[] = [];
  const thoughts: JsonObject[] = [];
  for (const { block, path } of blocks) {
    if (block['type'] === 'text') texts.push(...textPart(textOf(block['text']), block, profile));
    else if (block['type'] === 'tool_use') calls.push(convertCall(block, profile));
    else if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') thoughts.push(block);
    else refuseField(`${path}.type`, `the provider of this model takes no content of the type ${nameOf(block)}`);
  }
  const hasText = texts.length > 0;
  return {
    role: 'assistant',
    content: hasText ? collapseParts(texts) : calls.length > 0 ? profile.contentOfCalls : '',
    ...convertThinking(thoughts, profile, model, isWithTools && calls.length > 0, isWithTools),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function convertCall(block: JsonObject, profile: Profile): JsonObject {
  const call = { name: sentToolName(textOf(block['name'])), arguments: JSON.stringify(block['input'] ?? {}) };
  return { id: sentCallId(textOf(block['id']), profile), type: 'function', function: call };
}

/** Within a loop of tools some models must see again what they thought; `isNeeded` even where there is nothing to show. */
function convertThinking(
  thoughts: readonly JsonObject[],
  { thinkingBack }: Profile,
  model: string,
  isNeeded: boolean,
  isWithTools: boolean,
): JsonObject {
  if (thinkingBack === 'reasoning_details') {
    const details = thoughts.flatMap(({ signature }) => openReasoning(signature, model));
    return details.length === 0 ? {} : { reasoning_details: details };
  }
  if (thinkingBack === null || !isWithTools) return {};
  const text = thoughts.map(({ thinking }) => textOf(thinking)).join('');
  return text !== '' || isNeeded ? { reasoning_content: text } : {};
}
