// Translates a whole message to a chat.completion.

import { customInput } from '../../protocols/custom-tool.ts';
import { tierOfAnswer } from '../../protocols/service-tiers.ts';
import { wordOf } from '../../protocols/stop-words.ts';
import { detailOf } from '../../protocols/thinking.ts';
import { CHAT_COUNTS, countsOfMessage, writeCounts } from '../../protocols/token-counts.ts';
import type { JsonObject, JsonValue } from '../../wire/wire.ts';
import {
  isSound,
  isThinking,
  jsonObjects,
  objectOf,
  signatureForCall,
  signatureMember,
  textOf,
} from '../../wire/wire.ts';
import type { ChatTerms } from './chat-request.ts';

export function convertUsage(usage: JsonObject): JsonObject {
  return writeCounts(countsOfMessage(usage), CHAT_COUNTS);
}

export function finishReasonOf(stopReason: JsonValue | undefined, callsFunctions: boolean): string {
  if (stopReason === 'tool_use' && callsFunctions) return 'function_call';
  return wordOf(stopReason, 'chat') ?? 'stop';
}

/** Names no configuration. Clients accept neither null in chunks nor, in whole answers, its absence (@openrouter/sdk 1.3.19). */
export const FINGERPRINT = 'fp_0';

export function chatIdOf(messageId: JsonValue | undefined): string {
  return `chatcmpl-${String(messageId ?? '').replace(/^msg_/, '')}`;
}

export function convertMessage(
  { id, model = '', usage, content, stop_reason: stopReason }: JsonObject,
  terms: Pick<ChatTerms, 'tier' | 'callsFunctions' | 'customTools'>,
  createdAtMs: number,
): string {
  const { callsFunctions } = terms;
  const message = assistantMessage(jsonObjects(content), terms);
  return JSON.stringify({
    id: chatIdOf(id),
    object: 'chat.completion',
    created: Math.floor(createdAtMs / 1000),
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasonOf(stopReason, callsFunctions) }],
    usage: convertUsage(objectOf(usage)),
    system_fingerprint: FINGERPRINT,
    ...tierOfAnswer(objectOf(usage), terms.tier),
  });
}

function assistantMessage(
  blocks: readonly JsonObject[],
  { callsFunctions, customTools }: Pick<ChatTerms, 'callsFunctions' | 'customTools'>,
): JsonObject {
  const text = joined(blocks, 'text');
  const thinking = joined(blocks, 'thinking');
  const calls = blocks.flatMap(({ type, id = '', name = '', input = {} }, place): JsonObject[] => {
    if (type !== 'tool_use') return [];
    const signature = signatureForCall(blocks[place - 1] ?? {});
    const json = JSON.stringify(input);
    const form = customTools.get(textOf(name));
    if (form === 'custom') return [{ id, type: form, custom: { name, input: customInput(json) } }];
    const called = { name, arguments: form === undefined ? json : customInput(json) };
    return [{ id, type: 'function', function: called, ...signatureMember(signature) }];
  });
  const { type: _, ...audio } = blocks.find(isSound) ?? {};
  const isSpoken = Object.keys(audio).length > 0;
  const details = blocks.filter(isThinking).map(detailOf);
  // The older `function_call` format has only one call.
  const called = callsFunctions ? { function_call: calls[0]?.['function'] ?? null } : { tool_calls: calls };
  return {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || isSpoken) ? null : text,
    refusal: null,
    ...(thinking !== '' && { reasoning_content: thinking }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && called),
    ...(isSpoken && { audio: audio as JsonObject }),
  };
}

/** The texts of all blocks of a type; the text member has the same name. */
function joined(blocks: readonly JsonObject[], type: 'text' | 'thinking'): string {
  return blocks.map((block) => (block['type'] === type ? textOf(block[type]) : '')).join('');
}
