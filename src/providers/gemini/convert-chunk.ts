// Turns the chunks of an answer, each a GenerateContentResponse with new parts, into the events of a Messages
// stream. Knows nothing of sockets; an answer that came whole is one chunk.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  makeEvent,
  type StreamEvent,
} from '../../wire/wire.ts';
import { MessageComposer, messageIdOf } from '../compose-message.ts';
import { ProviderFault } from '../provider.ts';
import { makeCallId } from './call-ids.ts';
import { convertInputUsage, convertUsage, mergeUsage, thoughtTokens } from './convert-usage.ts';
import { mapErrorInside } from './map-error.ts';
import { placeSignature, UNSIGNED } from './thought-signature.ts';

/** What of the request its answer depends on. */
export interface Asked {
  requestId: string;
  upstreamModel: string;
  /** The names of tools by what Gemini knows them as. */
  names: ReadonlyMap<string, string>;
  /** Ids of calls that the conversation has already. */
  callIds: ReadonlySet<string>;
  /** The caller wants thinking: the signature of a text has a block of its own then. */
  thinks: boolean;
}

const REFUSALS: readonly string[] = ['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'];
/** The model tried to call a tool and failed. To end as if it had spoken would leave an agent without an answer. */
const FAILURES: readonly string[] = [
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
];

const CALLS_MAX = 1_000;

export class ChunkConverter {
  readonly #asked: Asked;
  #composer: MessageComposer | null = null;
  #usage: JsonObject = {};
  #isUsageLate = true; // nothing of the content came after it
  #model: string | null = null;
  #stopReason: string | null = null;
  #calls = 0;
  #toldThoughts = 0; // tokens
  readonly #callIds: Set<string>;

  constructor(asked: Asked) {
    this.#asked = asked;
    this.#callIds = new Set(asked.callIds);
  }

  /** The events of the next chunk, often none. Throws ProviderFault for an error, and for what is no answer. */
  push(chunk: JsonValue): StreamEvent[] {
    const fault = mapErrorInside(chunk);
    if (fault !== null) throw fault;
    if (!isJsonObject(chunk)) throw new ProviderFault('failed', 'the provider sent an answer that is no JSON object');
    this.#usage = mergeUsage(this.#usage, chunk['usageMetadata']);
    if (typeof chunk['modelVersion'] === 'string') this.#model ??= chunk['modelVersion'];
    const feedback = chunk['promptFeedback'];
    if (isJsonObject(feedback) && isBlocked(feedback['blockReason'])) this.#stopReason = 'refusal';
    const [candidate] = jsonObjects(chunk['candidates']);
    this.#isUsageLate = isJsonObject(chunk['usageMetadata']) || (this.#isUsageLate && partsOf(candidate).length === 0);
    return candidate === undefined ? [] : this.#takeCandidate(candidate);
  }

  /** Of counts that came before the last of the content, those of the output are not of all of it. */
  #finalUsage(): JsonObject {
    return this.#isUsageLate ? convertUsage(this.#usage) : convertInputUsage(this.#usage);
  }

  /** The end of the answer, with its counts. Throws ProviderFault when nothing said that it is one. */
  end(): StreamEvent[] {
    if (this.#stopReason === null) throw new ProviderFault('failed', 'the stream ended before the message did');
    const stopReason = this.#stopReason === 'end_turn' && this.#calls > 0 ? 'tool_use' : this.#stopReason;
    const composer = this.#compose();
    return [...this.#start(), ...composer.finish(stopReason, null, this.#finalUsage())];
  }

  #takeCandidate(candidate: JsonObject): StreamEvent[] {
    const { finishReason, finishMessage } = candidate;
    const events = partsOf(candidate).flatMap((part) => this.#takePart(part));
    if (typeof finishReason !== 'string' || finishReason === 'FINISH_REASON_UNSPECIFIED') return events;
    if (FAILURES.includes(finishReason))
      throw new ProviderFault(
        'failed',
        `the model failed (${finishReason}): ${String(finishMessage ?? 'no reason given')}`,
      );
    this.#stopReason = convertFinish(finishReason);
    return events;
  }

  #takePart(part: JsonObject): StreamEvent[] {
    const { text, thought, functionCall, thoughtSignature } = part;
    const signature = typeof thoughtSignature === 'string' ? thoughtSignature : '';
    if (isJsonObject(functionCall)) return [...this.#start(), ...this.#takeCall(functionCall, signature)];
    if (typeof text === 'string' || signature !== '') {
      const shown = typeof text === 'string' ? text : '';
      if (shown === '' && signature === '') return [];
      return thought === true ? this.#takeThought(shown, signature) : this.#takeText(shown, signature);
    }
    if (Object.keys(part).length === 0) return [];
    throw new ProviderFault('failed', 'the provider sent content that a message has no place for');
  }

  #takeThought(text: string, signature: string): StreamEvent[] {
    const composer = this.#compose();
    const begun = this.#start();
    const sealed = signature === '' ? '' : placeSignature('thought', signature);
    const shown = composer.thinking(text).map((event) => this.#tellTokens(event));
    return [...begun, ...shown, ...composer.signature(sealed)];
  }

  /** What is shown of thoughts is a summary: how much they cost so far is told beside it, as the protocol has it. */
  #tellTokens(event: StreamEvent): StreamEvent {
    const { delta } = event.value;
    const grown = thoughtTokens(this.#usage) - this.#toldThoughts;
    if (!isJsonObject(delta) || delta['type'] !== 'thinking_delta' || grown <= 0) return event;
    this.#toldThoughts += grown;
    return makeEvent({ ...event.value, type: event.name, delta: { ...delta, estimated_tokens: grown } });
  }

  #takeText(text: string, signature: string): StreamEvent[] {
    const composer = this.#compose();
    const events = [...this.#start(), ...composer.text(text)];
    // It is of use and not needed: who did not ask for thinking is not given a block of it for that.
    if (signature === '' || !this.#asked.thinks) return events;
    return [...events, ...composer.signature(placeSignature(text === '' ? 'end' : 'text', signature))];
  }

  #takeCall(call: JsonObject, signature: string): StreamEvent[] {
    const { id: given, name, args } = call;
    if (typeof name !== 'string' || name === '')
      throw new ProviderFault('failed', 'the provider called a tool without a name');
    if (this.#calls >= CALLS_MAX) throw new ProviderFault('failed', 'the provider called too many tools at once');
    const composer = this.#compose();
    const id = makeCallId(given, this.#callIds, this.#asked.requestId, this.#calls++);
    this.#callIds.add(id);
    return [
      ...composer.signature(signature === '' ? '' : placeSignature('call', signature)),
      ...composer.beginTool(id, this.#asked.names.get(name) ?? name),
      ...composer.toolInput(JSON.stringify(args ?? {})),
      ...composer.closeBlock(),
    ];
  }

  #compose(): MessageComposer {
    const { requestId, upstreamModel } = this.#asked;
    const model = this.#model ?? upstreamModel;
    this.#composer ??= new MessageComposer({ id: messageIdOf(requestId), model, signature: UNSIGNED });
    return this.#composer;
  }

  /** Begins with the first content and not before: until then another provider may still be tried. */
  #start(): StreamEvent[] {
    return this.#compose().start({ ...convertInputUsage(this.#usage), output_tokens: 0 });
  }
}

function partsOf(candidate: JsonObject | undefined): JsonObject[] {
  const content = candidate?.['content'];
  return jsonObjects(isJsonObject(content) ? content['parts'] : undefined);
}

function isBlocked(reason: JsonValue | undefined): boolean {
  return typeof reason === 'string' && reason !== 'BLOCK_REASON_UNSPECIFIED';
}

function convertFinish(reason: string): string {
  if (reason === 'MAX_TOKENS') return 'max_tokens';
  return REFUSALS.includes(reason) || reason.startsWith('IMAGE_') ? 'refusal' : 'end_turn';
}
