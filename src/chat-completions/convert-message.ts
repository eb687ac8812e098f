// A message that is not streamed as a chat.completion. Its JSON is read exactly: the inputs of tools keep every digit.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, parseExactly } from '../wire/wire.ts';
import type { ChatTerms } from './chat-request.ts';
import { convertUsage } from './convert-usage.ts';
import { chatIdOf, finishReasonOf } from './finish-reason.ts';
import { detailOf, isThinking } from './reasoning-details.ts';

/** The JSON of the answer, from that of the message. */
export function convertMessage(text: string, terms: Pick<ChatTerms, 'callsFunctions'>, createdAtMs: number): string {
  const parsed = parseExactly(text);
  const message = isJsonObject(parsed) ? parsed : {};
  const { id, model = '', usage } = message;
  const { callsFunctions } = terms;
  const choice = {
    index: 0,
    message: assistantMessage(jsonObjects(message['content']), callsFunctions),
    logprobs: null,
    finish_reason: finishReasonOf(message['stop_reason'], callsFunctions),
  };
  return JSON.stringify({
    id: chatIdOf(id),
    object: 'chat.completion',
    created: Math.floor(createdAtMs / 1000),
    model,
    choices: [choice],
    usage: convertUsage(isJsonObject(usage) ? usage : {}),
    system_fingerprint: null,
  });
}

function assistantMessage(blocks: readonly JsonObject[], callsFunctions: boolean): JsonObject {
  const text = joined(blocks, 'text');
  const thinking = joined(blocks, 'thinking');
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(convertCall);
  const details = blocks.filter(isThinking).map(detailOf);
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(thinking !== '' && { reasoning_content: thinking }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && callsMember(calls, callsFunctions)),
  };
}

/** Who calls functions by their older name reads of one call only. */
function callsMember(calls: JsonObject[], callsFunctions: boolean): JsonObject {
  return callsFunctions ? { function_call: calls[0]?.['function'] ?? null } : { tool_calls: calls };
}

/** The texts of the blocks of this type, whose text is the member of the same name. */
function joined(blocks: readonly JsonObject[], type: 'text' | 'thinking'): string {
  return blocks.map((block) => (block['type'] === type ? textOf(block[type]) : '')).join('');
}

function convertCall({ id = '', name = '', input = {} }: JsonObject): JsonObject {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
