// A whole Chat Completions answer as the events of a message. It passes the state machine of the streams as if it
// had come in one chunk.

import { isJsonObject, type JsonObject, jsonObjects, type StreamEvent } from '../../wire/wire.ts';
import { type Attempt, ProviderFault } from '../provider.ts';
import { ChunkConverter } from './convert-chunk.ts';
import type { Profile } from './profile.ts';

/** Throws ProviderFault, also for an error that came with status 200. */
export function convertAnswer(
  answer: JsonObject,
  attempt: Attempt,
  profile: Profile,
  upstreamRequestId: string | null,
): StreamEvent[] {
  const converter = new ChunkConverter(attempt, profile, upstreamRequestId);
  const events = converter.take(asChunk(answer));
  if (events.length === 0)
    throw new ProviderFault('failed', 'the provider answered with JSON that is no answer', { upstreamRequestId });
  return [...events, ...converter.finish()];
}

function asChunk(answer: JsonObject): JsonObject {
  const choice = jsonObjects(answer['choices'])[0];
  if (choice === undefined || !isJsonObject(choice['message'])) return answer;
  const { message } = choice;
  const reason = choice['finish_reason'] ?? 'stop'; // what is whole has ended
  const calls = jsonObjects(message['tool_calls']).map((call, index) => ({
    ...call,
    index,
    ...((reason === 'length' || reason === 'content_filter') && { function: withWholeInput(call['function']) }),
  }));
  const delta = { ...message, ...(calls.length > 0 && { tool_calls: calls }) };
  return { ...answer, choices: [{ ...choice, finish_reason: reason, delta }] };
}

/** The input of a call that max_tokens or a filter cut: what is there of it is no JSON, and a message that is whole has only JSON. */
function withWholeInput(said: unknown): JsonObject {
  const call = isJsonObject(said as JsonObject) ? (said as JsonObject) : {};
  const { arguments: given } = call;
  if (typeof given !== 'string') return call;
  try {
    JSON.parse(given);
    return call;
  } catch {
    return { ...call, arguments: '{}' };
  }
}
