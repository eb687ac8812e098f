// Claude by InvokeModel: the body and the events are those of the Messages protocol, each event in base64.

import { readBudget } from '../../protocols/effort.ts';
import { countOf } from '../../protocols/token-counts.ts';
import type { JsonObject, JsonValue, ServerSentEvent, StreamEvent } from '../../wire/wire.ts';
import { makeEvent, objectOf } from '../../wire/wire.ts';
import { convertEvents, type ReplacedNames } from '../anthropic/anthropic.ts';
import { convertPlatformBody } from '../claude-platforms.ts';
import { parseObject } from '../parse-json.ts';
import { type Attempt, ProviderFault } from '../provider.ts';
import type { EventConverter } from '../pull-stream.ts';
import { baseModel } from './model-ids.ts';

const CHUNK = 'chunk';
/** Bedrock's own counts and times, in the last event. */
const METRICS = 'amazon-bedrock-invocationMetrics';

/** Converts frames to the vendor's events: those within chunks, without what Bedrock adds. */
export function convertChunks(upstreamRequestId: string | null, names: ReplacedNames): EventConverter {
  const events = convertEvents(upstreamRequestId, { names });
  return {
    get isDone() {
      return events.isDone;
    },
    take: (frame) => (frame.name === CHUNK ? events.take(openChunk(frame, upstreamRequestId)).map(cleanEvent) : []),
    end: () => events.end(),
  };
}

function openChunk({ text }: ServerSentEvent, upstreamRequestId: string | null): ServerSentEvent {
  const { bytes } = parseObject(text, { what: 'an event', upstreamRequestId });
  if (typeof bytes !== 'string')
    throw new ProviderFault('failed', 'the provider sent a chunk without bytes', { upstreamRequestId });
  return { name: 'message', text: Buffer.from(bytes, 'base64').toString('utf8') };
}

/** The event with Bedrock's metrics only as counts, and on one line. */
function cleanEvent(event: StreamEvent): StreamEvent {
  if (METRICS in event.value) {
    const { [METRICS]: metrics, ...rest } = event.value;
    return { ...makeEvent({ ...rest, type: event.name }), usage: convertMetrics(objectOf(metrics)) };
  }
  return event;
}

/** Bedrock's bill follows these counts. A zero prompt is unknown. */
function convertMetrics(metrics: JsonObject): JsonObject {
  const counts = {
    input_tokens: countOf(metrics['inputTokenCount']) || null,
    cache_read_input_tokens: countOf(metrics['cacheReadInputTokenCount']),
    cache_creation_input_tokens: countOf(metrics['cacheWriteInputTokenCount']),
    output_tokens: countOf(metrics['outputTokenCount']),
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== null));
}

/** The model whose tokens are counted, which cannot be an inference profile; null: its name is not known. */
export function countedModel(model: string): string | null {
  const base = baseModel(model);
  return base.startsWith('anthropic.') ? base : null;
}

/** The input of CountTokens: the body that InvokeModel would get. Throws ProviderFault (rejected). */
export function countInput(attempt: Attempt): JsonValue {
  const maxTokens = (readBudget(attempt.request.body) ?? 0) + 1; // the counter refuses a budget that is not below it
  const body = convertPlatformBody({ ...attempt, maxTokens }, 'bedrock');
  return { invokeModel: { body: Buffer.from(body).toString('base64') } };
}
