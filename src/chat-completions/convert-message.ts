// A message that is not streamed as a chat.completion. Its JSON is read exactly: the inputs of tools keep every digit.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, parseExactly } from '../wire/wire.ts';
import { convertUsage } from './convert-usage.ts';
import { chatIdOf, finishReasonOf } from './finish-reason.ts';
import { detailOf, isThinking } from './reasoning-details.ts';

/** The JSON of the answer, from that of the message. */
export function convertMessage(text: string, createdAtMs: number): string {
  const parsed = parseExactly(text);
  const message = isJsonObject(parsed) ? parsed : {};
  const { id, model = '', usage } = message;
  const choice = {
    index: 0,
    message: assistantMessage(jsonObjects(message['content'])),
    logprobs: null,
    finish_reason: finishReasonOf(message['stop_reason']),
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

function assistantMessage(blocks: readonly JsonObject[]): JsonObject {
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
    ...(calls.length > 0 && { tool_calls: calls }),
  };
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
