// A whole Message as the events of a stream: the reverse of fold-events.ts. Shapes follow the traps of
// the clients' parsers: contiguous indexes, `input: {}` and one delta for a tool, one signature delta.

import { isJsonObject, jsonObjects } from './json-values.ts';
import type { JsonObject, JsonValue } from './message-request.ts';
import { makeEvent, type StreamEvent } from './stream-event.ts';

/** The events of the message, from message_start to message_stop. Folding them gives the message again. */
export function unfoldMessage(message: JsonObject): StreamEvent[] {
  const events = [makeEvent({ type: 'message_start', message: startOf(message) })];
  for (const [index, block] of jsonObjects(message['content']).entries()) pushBlock(events, block, index);
  events.push(makeEvent({ type: 'message_delta', ...endOf(message) }));
  events.push(makeEvent({ type: 'message_stop' }));
  return events;
}

function startOf(message: JsonObject): JsonObject {
  const { stop_details: _, container: __, context_management: ___, ...start } = message;
  const usage = message['usage'];
  return {
    ...start,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: isJsonObject(usage) ? { ...usage, output_tokens: 0 } : { input_tokens: 0, output_tokens: 0 },
  };
}

function endOf(message: JsonObject): JsonObject {
  const { stop_reason = null, stop_sequence = null, stop_details, container, context_management, usage } = message;
  const output = isJsonObject(usage) ? usage['output_tokens'] : 0;
  return {
    delta: { stop_reason, stop_sequence, ...present({ stop_details, container }) },
    usage: { output_tokens: output ?? 0 },
    ...present({ context_management }),
  };
}

function present(members: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((member): member is [string, JsonValue] => member[1] !== undefined),
  );
}

function pushBlock(events: StreamEvent[], block: JsonObject, index: number): void {
  const [start, deltas] = splitBlock(block);
  events.push(makeEvent({ type: 'content_block_start', index, content_block: start }));
  for (const delta of deltas) events.push(makeEvent({ type: 'content_block_delta', index, delta }));
  events.push(makeEvent({ type: 'content_block_stop', index }));
}

/** A block as its start and its deltas. What is not known to grow is complete at its start. */
function splitBlock(block: JsonObject): [JsonObject, JsonObject[]] {
  const { text, citations, thinking, signature, input } = block;
  if (block['type'] === 'text' && typeof text === 'string') {
    const quoted = Array.isArray(citations) && citations.length > 0 ? citations : [];
    const { citations: _, ...plain } = block;
    const start = { ...(quoted.length > 0 ? plain : block), text: '' };
    const deltas: JsonObject[] = quoted.map((citation) => ({ type: 'citations_delta', citation }));
    return [start, text === '' ? deltas : [...deltas, { type: 'text_delta', text }]];
  }
  if (block['type'] === 'thinking' && typeof thinking === 'string') {
    const start: JsonObject = { ...block, thinking: '' };
    const deltas: JsonObject[] = thinking === '' ? [] : [{ type: 'thinking_delta', thinking }];
    if (typeof signature !== 'string') return [start, deltas];
    return [{ ...start, signature: '' }, [...deltas, { type: 'signature_delta', signature }]];
  }
  if (isJsonObject(input))
    return [{ ...block, input: {} }, [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }]];
  return [block, []];
}
