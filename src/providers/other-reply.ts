// Whole answers to requests for anything but a message: the text for the client, and a message without content that has the counts.

import type { JsonObject, Units } from '../wire/wire.ts';
import { messageIdOf } from './compose-message.ts';
import type { Attempt, WholeReply } from './provider.ts';

/** `usage` has the form of a message's. Absent `units`: those of the request are billed. */
export function otherReply(
  { requestId, upstreamModel }: Pick<Attempt, 'requestId' | 'upstreamModel'>,
  text: string,
  usage: JsonObject,
  upstreamRequestId: string | null,
  units?: Units,
): WholeReply {
  const message = {
    id: messageIdOf(requestId),
    type: 'message',
    role: 'assistant',
    model: upstreamModel,
    content: [],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
  };
  return { form: 'message', message, text, isNative: true, ...(units !== undefined && { units }), upstreamRequestId };
}

/** The usage of an answer without cached input; null tokens: not reported, so that they are estimated. */
export function usageOf(inputTokens: number | null, outputTokens = 0): JsonObject {
  const prompt = { input_tokens: inputTokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  return { ...(inputTokens !== null && prompt), output_tokens: outputTokens };
}
