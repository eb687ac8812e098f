// What a caller reads of the usage where its provider has not said it: clients demand the counts of a message's
// beginning and end. Only what is absent is added, and only for the caller: what is billed is counted before.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  makeEvent,
  type StreamEvent,
  type TokenCounts,
} from '../wire/wire.ts';

/** The same events; those whose usage lacks a count that clients demand with the estimate in its place. */
export function completeEvents(events: StreamEvent[], estimate: () => TokenCounts): StreamEvent[] {
  if (!events.some(({ value }) => isLacking(value))) return events; // nearly always
  return events.map((event) => (isLacking(event.value) ? completeEvent(event.value, estimate()) : event));
}

/** The text of a message that is not streamed, with the counts that its usage lacks. */
export function completeText(message: JsonObject, text: string, estimate: () => TokenCounts): string {
  const { usage } = message;
  if (!lacks(usage, 'input_tokens') && !lacks(usage, 'output_tokens')) return text;
  return JSON.stringify({ ...message, usage: completed(usage, estimate()) });
}

function isLacking(value: JsonObject): boolean {
  if (value['type'] === 'message_delta') return lacks(value['usage'], 'output_tokens');
  const { message } = value;
  return value['type'] === 'message_start' && isJsonObject(message) && lacks(message['usage'], 'input_tokens');
}

/** A usage that is none at all is left as its provider sent it. */
function lacks(usage: JsonValue | undefined, name: string): usage is JsonObject {
  return isJsonObject(usage) && typeof usage[name] !== 'number';
}

function completeEvent(value: JsonObject, counts: TokenCounts): StreamEvent {
  const { message, usage } = value;
  if (value['type'] === 'message_delta')
    return makeEvent({ ...value, type: 'message_delta', usage: completed(usage, counts) });
  const begun = isJsonObject(message) ? message : {};
  const atStart = { ...counts, output: 0 };
  return makeEvent({
    ...value,
    type: 'message_start',
    message: { ...begun, usage: completed(begun['usage'], atStart) },
  });
}

function completed(usage: JsonValue | undefined, counts: TokenCounts): JsonObject {
  return {
    input_tokens: counts.input,
    cache_creation_input_tokens: counts.cacheWrite5m + counts.cacheWrite1h,
    cache_read_input_tokens: counts.cacheRead,
    output_tokens: counts.output,
    ...(isJsonObject(usage) ? Object.fromEntries(Object.entries(usage).filter(([, told]) => told !== null)) : {}),
  };
}
