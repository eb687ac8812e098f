// A composed reply as one message or as the events of the same message, and how fast the events come.

import { type JsonObject, makeEvent, type StreamEvent } from '../../wire/wire.ts';
import { type EventSource, ProviderFault } from '../provider.ts';
import type { ReplyBlock, SandboxReply } from './compose-reply.ts';

/** The reply as a message that is not streamed. */
export function replyMessage(reply: SandboxReply): JsonObject {
  return {
    ...messageHead(
      reply,
      reply.blocks.map((block) => ({ ...block })),
      reply.outputTokens,
    ),
    stop_reason: reply.stopReason,
    stop_sequence: reply.stopSequence,
  };
}

/** The events of the same message, made as they are asked for; text comes in pieces of so many characters. */
export function* replyEvents(reply: SandboxReply, pieceCharacters: number): Generator<StreamEvent, void> {
  yield makeEvent({ type: 'message_start', message: messageHead(reply, [], 0) });
  for (const [index, block] of reply.blocks.entries()) {
    yield makeEvent({ type: 'content_block_start', index, content_block: emptyBlock(block) });
    for (const delta of blockDeltas(block, pieceCharacters))
      yield makeEvent({ type: 'content_block_delta', index, delta });
    yield makeEvent({ type: 'content_block_stop', index });
  }
  yield makeEvent({
    type: 'message_delta',
    delta: { stop_reason: reply.stopReason, stop_sequence: reply.stopSequence },
    usage: { output_tokens: reply.outputTokens },
  });
  yield makeEvent({ type: 'message_stop' });
}

/** The events up to the middle of the last text, where the answer breaks off. */
export function* halfOfEvents(reply: SandboxReply, pieceCharacters: number): Generator<StreamEvent, void> {
  const last = reply.blocks.at(-1);
  const halves: ReplyBlock[] = last?.type === 'text' ? [{ type: 'text', text: firstHalf(last.text) }] : [];
  for (const event of replyEvents({ ...reply, blocks: [...reply.blocks.slice(0, -1), ...halves] }, pieceCharacters)) {
    if (event.name === 'message_delta') return;
    if (event.name !== 'content_block_stop') yield event;
  }
}

function firstHalf(text: string): string {
  return text.slice(0, pieceEnd(text, 0, Math.ceil(text.length / 2)));
}

function messageHead(reply: SandboxReply, content: JsonObject[], outputTokens: number): JsonObject {
  return {
    id: reply.id,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content,
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: reply.inputTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: outputTokens,
    },
  };
}

function emptyBlock(block: ReplyBlock): JsonObject {
  if (block.type === 'text') return { ...block, text: '' };
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' };
  return { ...block, input: {} };
}

function* blockDeltas(block: ReplyBlock, pieceCharacters: number): Generator<JsonObject, void> {
  if (block.type === 'text') {
    for (const text of pieces(block.text, pieceCharacters)) yield { type: 'text_delta', text };
  } else if (block.type === 'thinking') {
    for (const thinking of pieces(block.thinking, pieceCharacters)) yield { type: 'thinking_delta', thinking };
    yield { type: 'signature_delta', signature: block.signature };
  } else {
    for (const json of pieces(JSON.stringify(block.input), pieceCharacters))
      yield { type: 'input_json_delta', partial_json: json };
  }
}

function* pieces(text: string, characters: number): Generator<string, void> {
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start, characters);
    yield text.slice(start, end);
    start = end;
  }
}

/** Where a piece ends that may not part the two halves of a character. */
function pieceEnd(text: string, start: number, characters: number): number {
  const end = start + characters;
  const isInside = end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00;
  return isInside ? end + 1 : end;
}

// What one `next` gives at most: enough for a usual message at once, never all of a huge one.
const BATCH_EVENTS_MAX = 64;

/** Gives the events as fast as they are taken; then ends, or throws `ending`. */
export function openSource(
  events: Iterator<StreamEvent, void>,
  signal: AbortSignal,
  ending: ProviderFault | null,
): EventSource {
  return {
    async next() {
      refuseAborted(signal);
      const batch = takeBatch(events, BATCH_EVENTS_MAX);
      if (batch === null && ending !== null) throw ending;
      return batch;
    },
  };
}

/** Gives one event each `intervalMs`, by the time since now, so that late timers do not add up. */
export function openPacedSource(
  events: Iterator<StreamEvent, void>,
  signal: AbortSignal,
  intervalMs: number,
): EventSource {
  const startedMs = performance.now();
  let given = 0;
  return {
    async next() {
      const waitMs = startedMs + given * intervalMs - performance.now();
      if (waitMs > 0) await wait(waitMs, signal);
      refuseAborted(signal);
      const due = Math.floor((performance.now() - startedMs) / intervalMs) + 1 - given;
      const batch = takeBatch(events, Math.min(Math.max(1, due), BATCH_EVENTS_MAX));
      given += batch?.length ?? 0;
      return batch;
    },
  };
}

function takeBatch(events: Iterator<StreamEvent, void>, eventsMax: number): StreamEvent[] | null {
  const batch: StreamEvent[] = [];
  while (batch.length < eventsMax) {
    const { done, value } = events.next();
    if (done === true) break;
    batch.push(value);
  }
  return batch.length === 0 ? null : batch;
}

/** Waits. Throws ProviderFault (aborted) as soon as the signal says so. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  refuseAborted(signal);
  const { promise, resolve } = Promise.withResolvers<void>();
  const finish = () => resolve();
  const timer = setTimeout(finish, ms);
  signal.addEventListener('abort', finish);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', finish);
  }
  refuseAborted(signal);
}

/** Throws ProviderFault (aborted) when the signal was aborted. */
export function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ProviderFault('aborted', 'aborted by this service', { cause: signal.reason });
}
