// The conversation as the provider's list of input items, in its order: reasoning before the calls that came of it, the
// results of tools before what else was said with them. Pure.

import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { refuseField } from '../refuse-field.ts';
import { convertBlock, convertContent, convertResult, refuseBlock } from './convert-blocks.ts';
import { convertToolName } from './convert-tools.ts';
import { decodeReasoning } from './reasoning-signature.ts';

/** The home of reasoning items that go back to the provider; null: none do, because no thinking was asked for. */
export type ReasoningHome = string | null;

const CALL_ID_CHARACTERS_MAX = 64;
const PREFILL = 'This model does not support assistant message prefill. The conversation must end with a user message.';

/** Throws ProviderFault (rejected), its message beginning with the path of what the provider cannot be told. */
export function convertMessages(body: JsonObject, home: ReasoningHome): JsonObject[] {
  const messages = jsonObjects(body['messages']);
  if (messages.at(-1)?.['role'] === 'assistant') refuseField(`messages.${messages.length - 1}`, PREFILL);
  const calls = new Calls();
  const items = messages.flatMap((message, place) => {
    const path = `messages.${place}.content`;
    if (message['role'] === 'system') return saidBy('developer', convertContent(message['content'], path));
    if (message['role'] === 'user') return convertUser(message, path, calls);
    if (messages[place - 1]?.['role'] !== 'assistant') calls.expectAnswered();
    return convertAssistant(message, path, calls, home);
  });
  calls.expectAnswered();
  return withoutLooseReasoning(items);
}

/** The ids of the tool calls of a conversation, as the provider is told them: short, and each but once. */
class Calls {
  readonly #open = new Map<string, { callId: string; path: string }>();
  readonly #used = new Set<string>();

  begin(id: string, path: string): string {
    if (this.#open.has(id)) refuseField(path, '`tool_use` ids must be unique');
    const callId = this.#unusedId(id);
    this.#used.add(callId);
    this.#open.set(id, { callId, path });
    return callId;
  }

  answer(id: string, path: string): string {
    const call = this.#open.get(id);
    if (call === undefined)
      return refuseField(
        path,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    this.#open.delete(id);
    return call.callId;
  }

  expectAnswered(): void {
    const [[id, call] = []] = this.#open;
    if (call === undefined) return;
    refuseField(
      call.path,
      `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
  }

  /** Some providers count their calls anew in every turn; here an id stands for one call of the whole conversation. */
  #unusedId(id: string): string {
    const short = id.length <= CALL_ID_CHARACTERS_MAX ? id : `call_${hash(id)}`;
    if (!this.#used.has(short)) return short;
    return `call_${hash(`${id}\n${this.#used.size}`)}`;
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function convertUser(message: JsonObject, path: string, calls: Calls): JsonObject[] {
  const { content } = message;
  if (!Array.isArray(content)) return saidBy('user', convertContent(content, path));
  const results: JsonObject[] = [];
  const parts: JsonObject[] = [];
  for (const [place, block] of content.entries()) {
    if (!isJsonObject(block)) continue; // refused when it was parsed
    if (block['type'] === 'tool_result') results.push(convertCallOutput(block, `${path}.${place}`, calls));
    else parts.push(...convertBlock(block, `${path}.${place}`));
  }
  return [...results, ...saidBy('user', parts)];
}

function convertCallOutput(block: JsonObject, path: string, calls: Calls): JsonObject {
  const callId = calls.answer(textOf(block['tool_use_id']), path);
  return { type: 'function_call_output', call_id: callId, output: convertResult(block, path) };
}

function convertAssistant(message: JsonObject, path: string, calls: Calls, home: ReasoningHome): JsonObject[] {
  const { content } = message;
  if (!Array.isArray(content)) return saidByAssistant(textOf(content));
  return content.flatMap((block, place) =>
    isJsonObject(block) ? convertAnswered(block, `${path}.${place}`, calls, home) : [],
  );
}

function convertAnswered(block: JsonObject, path: string, calls: Calls, home: ReasoningHome): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return saidByAssistant(textOf(block['text']));
    case 'thinking': {
      const item = home === null ? null : decodeReasoning(textOf(block['thinking']), textOf(block['signature']), home);
      return item === null ? [] : [item]; // what another provider signed is none of this one's business
    }
    case 'redacted_thinking':
      return [];
    case 'tool_use':
      return [
        {
          type: 'function_call',
          call_id: calls.begin(textOf(block['id']), path),
          name: convertToolName(textOf(block['name'])),
          arguments: JSON.stringify(isJsonObject(block['input']) ? block['input'] : {}),
        },
      ];
    default:
      return refuseBlock(block, path);
  }
}

function saidBy(role: 'user' | 'developer', content: JsonObject[]): JsonObject[] {
  return content.length === 0 ? [] : [{ type: 'message', role, content }];
}

function saidByAssistant(text: string): JsonObject[] {
  return text === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }];
}

/** The provider refuses reasoning that nothing of the same answer follows, as where its answer was cut. */
function withoutLooseReasoning(items: readonly JsonObject[]): JsonObject[] {
  const kept: JsonObject[] = [];
  for (const item of items.toReversed()) {
    const next = kept.at(-1);
    const isFollowed = next !== undefined && (ANSWERED.includes(next['type']) || next['role'] === 'assistant');
    if (item['type'] !== 'reasoning' || isFollowed) kept.push(item);
  }
  return kept.reverse();
}

const ANSWERED: readonly (JsonValue | undefined)[] = ['reasoning', 'function_call'];

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
