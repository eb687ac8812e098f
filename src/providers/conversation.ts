// Turns, the pairing of tool calls with results, and JSON in signatures, for providers of other protocols.

import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import type { Placed } from '../protocols/placed.ts';
import type { JsonObject, JsonValue } from '../wire/wire.ts';
import { isJsonObject, jsonObjects, objectOf, textOf } from '../wire/wire.ts';
import { refuseField } from './lost-fields.ts';

export interface Turn {
  role: 'user' | 'assistant' | 'system';
  /** Path of its first message. */
  path: string;
  blocks: Placed[];
}

/** Begins a coding agent's billing line for its own vendor, which differs in each conversation. */
const BILLING_LINE = 'x-anthropic-billing-header:';

export function isBillingLine(block: JsonObject): boolean {
  return textOf(block['text']).startsWith(BILLING_LINE);
}

export const NO_PREFILL =
  'This model does not support assistant message prefill. The conversation must end with a user message.';

export function placeBlocks(content: JsonValue | undefined, path: string): Placed[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }];
  return jsonObjects(content).map((block, place) => ({ block, path: `${path}.${place}` }));
}

/** The results of tools among the blocks of a user, and the others. */
export function partResults(blocks: readonly Placed[]): { results: Placed[]; said: Placed[] } {
  const isResult = ({ block }: Placed) => block['type'] === 'tool_result';
  return { results: blocks.filter(isResult), said: blocks.filter((placed) => !isResult(placed)) };
}

/** Adds the parts of a turn. Turns become neighbours if an empty one between them was dropped. */
export function addTurn(turns: JsonObject[], role: string, member: 'content' | 'parts', parts: JsonObject[]): void {
  const last = turns.at(-1);
  if (parts.length === 0) return;
  if (last?.['role'] === role) (last[member] as JsonObject[]).push(...parts);
  else turns.push({ role, [member]: parts });
}

/** Facts about a document, one line each, before its content. */
export function heading(facts: Record<string, JsonValue | undefined>): string {
  const given = Object.entries(facts).filter(([, value]) => textOf(value) !== '');
  return given.map(([name, value]) => `${name}: ${textOf(value)}`).join('\n');
}

/** The format that an answer must have; null: any. The second place is the older one. */
export function answerFormat({ output_config: config, output_format: former }: JsonObject): JsonObject | null {
  const format = objectOf(config)['format'] ?? former;
  return isJsonObject(format) ? format : null;
}

/** Joins consecutive messages of a role. `convertSystem` makes system messages user blocks; null: they are turns. */
export function joinTurns(
  messages: JsonValue | undefined,
  convertSystem: ((blocks: Placed[]) => Placed[]) | null,
): Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of jsonObjects(messages).entries()) {
    const path = `messages.${index}`;
    const placed = placeBlocks(message['content'], `${path}.content`);
    const isConverted = message['role'] === 'system' && convertSystem !== null;
    const role = isConverted ? 'user' : (message['role'] as Turn['role']);
    const blocks = isConverted ? convertSystem(placed) : placed;
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else if (blocks.length > 0 || !isConverted) turns.push({ role, path, blocks });
  }
  return turns;
}

interface PairingRules {
  /** The path to report for a call without a result in the next turn. */
  pathOfUnanswered(call: Placed, turn: Turn, next: Turn | undefined): string;
  mayRepeatResults: boolean;
}

/** Throws ProviderFault (rejected) unless calls and results of adjacent turns match. Clients recognize the wording. */
export function checkCalls(turns: readonly Turn[], { pathOfUnanswered, mayRepeatResults }: PairingRules): void {
  let before: Turn = { role: 'user', path: '', blocks: [] };
  for (const turn of [...turns, undefined]) {
    const calls = before.role === 'assistant' ? before.blocks.filter(({ block }) => block['type'] === 'tool_use') : [];
    const called = new Set(calls.map(idOf));
    const answered = new Set<string>();
    for (const { block, path } of turn?.blocks ?? []) {
      if (block['type'] !== 'tool_result') continue;
      const id = textOf(block['tool_use_id']);
      if (!called.has(id) || (answered.has(id) && !mayRepeatResults))
        refuseField(
          path,
          `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      answered.add(id);
    }
    const missing = calls.filter((call) => !answered.has(idOf(call)));
    const [first] = missing;
    if (first !== undefined)
      refuseField(
        pathOfUnanswered(first, before, turn),
        `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.map(idOf).join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    if (turn !== undefined) before = turn;
  }
}

function idOf({ block }: Placed): string {
  return textOf(block['id']);
}

/** The ids of the tool calls of a conversation, as sent to a provider: of its form, and unique. */
export class CallIds {
  readonly #form: RegExp;
  readonly #open = new Map<string, string>();
  readonly #used = new Set<string>();

  constructor(form: RegExp) {
    this.#form = form;
  }

  /** Throws ProviderFault (rejected) for the id of a call that has no result yet. */
  begin(id: string, path: string): string {
    if (this.#open.has(id)) refuseField(path, '`tool_use` ids must be unique');
    const short = this.#form.test(id) ? id : `call_${hashId(id)}`;
    // Some providers repeat call ids in every turn; here an id identifies one call of the conversation.
    const callId = this.#used.has(short) ? `call_${hashId(`${id}\n${this.#used.size}`)}` : short;
    this.#used.add(callId);
    this.#open.set(id, callId);
    return callId;
  }

  answer(id: string): string {
    const callId = this.#open.get(id);
    assert(callId !== undefined, 'every result has its call');
    this.#open.delete(id);
    return callId;
  }
}

function hashId(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Hashed, so that the provider can distinguish users without identifying them; null without a user. */
export function hashUserId({ metadata }: JsonObject): string | null {
  const { user_id: userId } = objectOf(metadata);
  if (typeof userId !== 'string' || userId === '') return null;
  return createHash('sha256').update(userId).digest('hex');
}
