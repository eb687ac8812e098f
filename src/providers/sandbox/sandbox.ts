// A deterministic provider inside the service, for first starts and tests; its faults take the path of a real one's.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  makeEvent,
  type StreamEvent,
  splitBlock,
  textOf,
} from '../../wire/wire.ts';
import { NO_ABILITIES } from '../abilities.ts';
import { mapFault } from '../map-fault.ts';
import { offeredModel } from '../offered-models.ts';
import { type Attempt, type EventSource, type Provider, ProviderFault, type ProviderReply } from '../provider.ts';
import type { ReplyBlock, SandboxModel, SandboxReply } from './compose-reply.ts';
import { composeReply, sandboxModels } from './compose-reply.ts';
import { countInputTokens, spokenId, TOKEN_BYTES, tokensOf } from './count-tokens.ts';
import { speakAnswer } from './media.ts';
import { otherModelNames, sandboxUses } from './other-uses.ts';

export const sandboxModelNames: readonly string[] = [...sandboxModels.keys(), ...otherModelNames];

export const sandbox: Provider = {
  kind: 'sandbox',

  async submit(attempt) {
    const upstreamRequestId = `req_sandbox${nonce()}`;
    refuseAborted(attempt.signal);
    const model = sandboxModels.get(attempt.upstreamModel);
    if (model === undefined) throw errorAnswer(404, `model: ${attempt.upstreamModel}`, upstreamRequestId);
    if (model.errorStatus !== null)
      throw errorAnswer(model.errorStatus, `the sandbox answers with ${model.errorStatus}`, upstreamRequestId);
    const { request, upstreamModel, maxTokens } = attempt;
    const composed = composeReply(model, upstreamModel, { body: request.body, maxTokens, nonce: nonce() });
    const reply = request.hasSound === true ? await spoken(composed, request.body['audio']) : composed;
    if (model.firstByteAfterMs > 0) await wait(model.firstByteAfterMs, attempt.signal);
    return answer(model, reply, attempt, upstreamRequestId);
  },

  uses: sandboxUses,

  sound: () => ({ input: true, output: true }),

  countTokens: async (attempt) => countInputTokens(attempt.request.body),

  countLocally: (request) => countInputTokens(request.body),

  countTextLocally: (text) => tokensOf(Buffer.byteLength(text)),

  abilities: () => ({ ...NO_ABILITIES, structuredOutputs: true }),

  servesTier: () => true,

  probe: async () => ({ status: null, models: sandboxModelNames.length }),

  listModels: async () => sandboxModelNames.map((name) => offeredModel({}, name)),
};

const SOUND_LIFE_SECONDS = 3_600; // as at OpenAI

/** The reply with its texts as sound, if sound was asked for. */
async function spoken(reply: SandboxReply, audio: JsonValue | undefined): Promise<SandboxReply> {
  if (!isJsonObject(audio)) return reply;
  const expires_at = Math.floor(Date.now() / 1_000) + SOUND_LIFE_SECONDS;
  const blocks = reply.blocks.map(async (block): Promise<ReplyBlock> => {
    if (block.type !== 'text') return block;
    const sound = await speakAnswer(block.text, audio['format'] !== 'pcm16');
    return {
      type: 'audio',
      id: spokenId(block.text, nonce()),
      data: sound.toString('base64'),
      transcript: block.text,
      expires_at,
    };
  });
  return { ...reply, blocks: await Promise.all(blocks) };
}

function answer(
  model: SandboxModel,
  reply: SandboxReply,
  { request, signal }: Attempt,
  upstreamRequestId: string,
): ProviderReply {
  if (request.stream) return { form: 'stream', events: openEvents(model, reply, signal), upstreamRequestId };
  if (model.isCut) throw brokenConnection();
  const message = replyMessage(reply);
  return { form: 'message', message, text: JSON.stringify(message), upstreamRequestId };
}

const PIECE_CHARACTERS = 256;
const PACED_PIECE_CHARACTERS = 4 * TOKEN_BYTES; // one byte each: four tokens
const PACED_INTERVAL_MS = 10;

function openEvents(model: SandboxModel, reply: SandboxReply, signal: AbortSignal): EventSource {
  if (model.answers === 'lorem')
    return openSource(replyEvents(reply, PACED_PIECE_CHARACTERS), signal, { intervalMs: PACED_INTERVAL_MS });
  if (model.isCut) return openSource(halfOfEvents(reply, PIECE_CHARACTERS), signal, { ending: brokenConnection() });
  return openSource(replyEvents(reply, PIECE_CHARACTERS), signal, {});
}

function brokenConnection(): ProviderFault {
  return new ProviderFault('failed', 'broken connection');
}

const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

/** The fault of a response as a provider would send it. */
function errorAnswer(status: number, message: string, requestId: string): ProviderFault {
  const error = { type: ERROR_TYPES.get(status) ?? 'api_error', message };
  const headers = new Headers({ 'request-id': requestId });
  if (status === 429) headers.set('retry-after', '1');
  return mapFault(status, headers, JSON.stringify({ type: 'error', error, request_id: requestId }), Date.now());
}

function nonce(): string {
  return crypto.randomUUID().replaceAll('-', '');
}

function replyMessage(reply: SandboxReply): JsonObject {
  const content = reply.blocks.map((block) => ({ ...block }));
  const head = messageHead(reply, content, reply.outputTokens);
  return { ...head, stop_reason: reply.stopReason, stop_sequence: reply.stopSequence };
}

/** The events of the same message, made on demand; text comes in pieces of this many characters. */
function* replyEvents(reply: SandboxReply, pieceCharacters: number): Generator<StreamEvent, void> {
  yield makeEvent({ type: 'message_start', message: messageHead(reply, [], 0) });
  for (const [index, block] of reply.blocks.entries()) {
    const [start, deltas] = splitBlock({ ...block });
    yield makeEvent({ type: 'content_block_start', index, content_block: start });
    for (const whole of deltas)
      for (const delta of deltaPieces(whole, pieceCharacters))
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
function* halfOfEvents(reply: SandboxReply, pieceCharacters: number): Generator<StreamEvent, void> {
  const last = reply.blocks.at(-1);
  const halves: ReplyBlock[] =
    last?.type === 'text'
      ? [{ type: 'text', text: last.text.slice(0, pieceEnd(last.text, 0, Math.ceil(last.text.length / 2))) }]
      : [];
  for (const event of replyEvents({ ...reply, blocks: [...reply.blocks.slice(0, -1), ...halves] }, pieceCharacters)) {
    if (event.name === 'message_delta') return;
    if (event.name !== 'content_block_stop') yield event;
  }
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
      input_tokens: reply.inputTokens + reply.recalledTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: outputTokens,
      ...(reply.recalledTokens > 0 && { input_tokens_details: { audio_tokens: reply.recalledTokens } }),
    },
  };
}

/** The delta in pieces of its text; a signature stays whole. */
function* deltaPieces(delta: JsonObject, characters: number): Generator<JsonObject, void> {
  const member = ['text', 'thinking', 'partial_json'].find((name) => name in delta);
  if (member === undefined) yield delta;
  else for (const piece of pieces(textOf(delta[member]), characters)) yield { ...delta, [member]: piece };
}

function* pieces(text: string, characters: number): Generator<string, void> {
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start, characters);
    yield text.slice(start, end);
    start = end;
  }
}

/** The end of a piece, which must not split a surrogate pair. */
function pieceEnd(text: string, start: number, characters: number): number {
  const end = start + characters;
  const isInside = end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00;
  return isInside ? end + 1 : end;
}

// Maximum number of events per `next`: a usual message at once, never all of a huge one.
const BATCH_EVENTS_MAX = 64;

/** Returns the events, then ends or throws `ending`. With `intervalMs`, one event per interval of elapsed time. */
function openSource(
  events: Iterator<StreamEvent, void>,
  signal: AbortSignal,
  { ending = null, intervalMs = 0 }: { ending?: ProviderFault | null; intervalMs?: number },
): EventSource {
  const startedMs = performance.now();
  let given = 0;
  return {
    async next() {
      const waitMs = intervalMs === 0 ? 0 : startedMs + given * intervalMs - performance.now();
      if (waitMs > 0) await wait(waitMs, signal);
      refuseAborted(signal);
      const due = Math.floor((performance.now() - startedMs) / intervalMs) + 1 - given;
      const eventsMax = intervalMs === 0 ? BATCH_EVENTS_MAX : Math.min(Math.max(1, due), BATCH_EVENTS_MAX);
      const batch: StreamEvent[] = [];
      while (batch.length < eventsMax) {
        const { done, value } = events.next();
        if (done === true) break;
        batch.push(value);
      }
      given += batch.length;
      if (batch.length === 0 && ending !== null) throw ending;
      return batch.length === 0 ? null : batch;
    },
  };
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
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

function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ProviderFault('aborted', 'aborted by this service', { cause: signal.reason });
}
