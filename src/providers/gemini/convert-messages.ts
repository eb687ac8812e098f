// The conversation as Gemini's contents: turns of the user and of the model by turns, the calls of a turn
// answered all together by the next, thoughts with their signatures where they were.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { refuseField } from '../refuse-field.ts';
import { readCallId } from './call-ids.ts';
import { convertBlock, type PlacedBlock, placeBlocks, refuseBlock, textPart } from './convert-blocks.ts';
import { type Call, convertResult } from './convert-results.ts';
import { readSignature } from './thought-signature.ts';
import { shortenName } from './tool-names.ts';

/** Taken by Google in the place of a signature that is not known, as of calls that another model made. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

interface Turn {
  role: 'user' | 'model';
  blocks: PlacedBlock[];
}

/**
 * `contents`. Throws ProviderFault (rejected) for blocks that cannot be sent, and where calls and results do not
 * match, in the words by which clients know that.
 */
export function convertMessages(messages: JsonValue | undefined, options: { needsSignatures: boolean }): JsonObject[] {
  const contents: JsonObject[] = [];
  let calls: Call[] = [];
  for (const turn of joinTurns(messages)) {
    if (turn.role === 'user') {
      pushContent(contents, 'user', convertUserTurn(turn.blocks, calls));
      calls = [];
    } else {
      const parts = convertModelTurn(turn.blocks, options.needsSignatures);
      pushContent(contents, 'model', parts);
      calls = callsOf(turn.blocks);
    }
  }
  const [unanswered] = calls;
  if (unanswered !== undefined) refuseUnanswered([unanswered]);
  return contents;
}

/** `systemInstruction`, or nothing. */
export function convertSystem(system: JsonValue | undefined): JsonObject {
  const parts = placeBlocks(system, 'system').flatMap(convertBlock);
  return parts.length === 0 ? {} : { systemInstruction: { parts } };
}

/** Neighbours of one role are one turn. What the system says in between is told by the user, marked as what it is. */
function joinTurns(messages: JsonValue | undefined): Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of (Array.isArray(messages) ? messages : []).entries()) {
    if (!isJsonObject(message)) continue;
    const role = message['role'] === 'assistant' ? 'model' : 'user';
    const placed = placeBlocks(message['content'], `messages.${index}.content`);
    const blocks = message['role'] === 'system' ? placed.map(asReminder) : placed;
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, blocks: [...blocks] });
  }
  return turns;
}

function asReminder(placed: PlacedBlock): PlacedBlock {
  const { block, path } = placed;
  if (block['type'] !== 'text') return placed;
  return { block: { ...block, text: `<system-reminder>\n${String(block['text'])}\n</system-reminder>` }, path };
}

function pushContent(contents: JsonObject[], role: string, parts: JsonObject[]): void {
  const last = contents.at(-1);
  if (parts.length === 0) return;
  // Where a turn between two others had nothing to say, they are neighbours.
  if (last?.['role'] === role) (last['parts'] as JsonObject[]).push(...parts);
  else contents.push({ role, parts });
}

function convertUserTurn(blocks: readonly PlacedBlock[], calls: readonly Call[]): JsonObject[] {
  const results = new Map<string, PlacedBlock>();
  const asked = new Set(calls.map(({ id }) => id));
  for (const placed of blocks) {
    const { block, path } = placed;
    if (block['type'] !== 'tool_result') continue;
    const id = String(block['tool_use_id']);
    if (results.has(id) || !asked.has(id)) refuseUnasked(path, id);
    results.set(id, placed);
  }
  const missing = calls.filter(({ id }) => !results.has(id));
  if (missing.length > 0) refuseUnanswered(missing);
  const answered = calls.map((call) => convertResult(call, results.get(call.id) as PlacedBlock));
  return [
    ...answered.map(({ response }) => response),
    ...answered.flatMap(({ beside }) => beside),
    ...blocks.filter(({ block }) => block['type'] !== 'tool_result').flatMap(convertBlock),
  ];
}

function convertModelTurn(blocks: readonly PlacedBlock[], needsSignatures: boolean): JsonObject[] {
  const parts: JsonObject[] = [];
  let forCall: string | null = null;
  let isFirstCall = true;
  for (const { block, path } of blocks) {
    switch (block['type']) {
      case 'text':
        parts.push(...textPart(block['text']));
        break;
      case 'thinking':
        forCall = placeThought(parts, block) ?? forCall;
        break;
      case 'redacted_thinking':
        break;
      case 'tool_use': {
        const signature: string | null = forCall ?? (needsSignatures && isFirstCall ? NO_SIGNATURE : null);
        parts.push({ ...convertCall(block, path), ...(signature !== null && { thoughtSignature: signature }) });
        forCall = null;
        isFirstCall = false;
        break;
      }
      default:
        refuseBlock(block, path);
    }
  }
  return parts;
}

/** Puts a signature back on the part that it was on; gives the one that belongs to the call that follows. */
function placeThought(parts: JsonObject[], block: JsonObject): string | null {
  const placed = readSignature(block['signature']);
  if (placed === null) return null; // another provider's, which says nothing here
  const { place, signature: thoughtSignature } = placed;
  const last = parts.at(-1);
  if (place === 'call') return thoughtSignature;
  if (place === 'thought') parts.push({ text: block['thinking'] ?? '', thought: true, thoughtSignature });
  else if (place === 'text' && isBareText(last)) last['thoughtSignature'] = thoughtSignature;
  else parts.push({ text: '', thoughtSignature });
  return null;
}

function isBareText(part: JsonObject | undefined): part is JsonObject {
  return part !== undefined && typeof part['text'] === 'string' && part['thoughtSignature'] === undefined;
}

function convertCall(block: JsonObject, path: string): JsonObject {
  const { id, name, input } = block;
  if (typeof name !== 'string') refuseField(`${path}.name`, 'Field required');
  const given = typeof id === 'string' ? readCallId(id) : null;
  const args = isJsonObject(input) ? input : {};
  return { functionCall: { ...(given !== null && { id: given }), name: shortenName(name), args } };
}

function callsOf(blocks: readonly PlacedBlock[]): Call[] {
  return blocks
    .filter(({ block }) => block['type'] === 'tool_use')
    .map(({ block, path }) => ({ id: String(block['id']), name: shortenName(String(block['name'])), path }));
}

function refuseUnanswered(calls: readonly Call[]): never {
  const path = (calls[0] as Call).path.replace(/\.content.*$/, '');
  const ids = calls.map(({ id }) => id).join(', ');
  refuseField(
    path,
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );
}

function refuseUnasked(path: string, id: string): never {
  refuseField(
    path,
    `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  );
}
