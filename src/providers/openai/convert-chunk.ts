// The chunks of a Chat Completions stream as the events of a Messages stream: a state machine without I/O. A whole
// answer passes it as one chunk, so that there is one translation of answers.

import { bounds } from '../../config.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, type StreamEvent } from '../../wire/wire.ts';
import { callIdsOf } from '../call-ids.ts';
import { MessageComposer, messageIdOf } from '../compose-message.ts';
import { type Attempt, ProviderFault } from '../provider.ts';
import { shownCallId } from './convert-names.ts';
import { replacedToolNames } from './convert-tools.ts';
import { convertUsage, startUsage } from './convert-usage.ts';
import { CallGatherer } from './gather-calls.ts';
import { DetailGatherer } from './gather-details.ts';
import { isChatError, mapChatError } from './map-error.ts';
import { sealReasoning } from './own-signature.ts';
import type { Profile } from './profile.ts';
import { type SplitText, ThinkTagReader } from './split-think-tags.ts';

/** Why a model stopped; what is not here is an end of its turn. */
const STOP_REASONS: Readonly<Record<string, string>> = {
  length: 'max_tokens',
  model_length: 'max_tokens', // Mistral
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};
/** Ends that are none: the answer is not whole. */
const FAULTY_ENDS: Readonly<Record<string, 'failed' | 'overloaded'>> = {
  error: 'failed',
  abort: 'failed',
  insufficient_system_resource: 'overloaded', // DeepSeek
};

export class ChunkConverter {
  readonly #attempt: Attempt;
  readonly #upstreamRequestId: string | null;
  readonly #names: ReadonlyMap<string, string>;
  readonly #stops: readonly JsonValue[];
  readonly #tags: ThinkTagReader | null;
  readonly #details = new DetailGatherer();
  readonly #shownIds: Set<string>; // and those of the conversation
  #composer: MessageComposer;
  #calls: CallGatherer;
  #usage: JsonObject | null = null; // as reported last
  #isUsageLate = true; // nothing of the content came after it
  #finishReason: string | null = null;
  #stopSequence: string | null = null;
  #isRefused = false;
  #isThinking = false;
  #isStarted = false;
  #lateText: string[] = []; // said while calls were not complete
  #lateCharacters = 0;

  constructor(attempt: Attempt, profile: Profile, upstreamRequestId: string | null) {
    this.#attempt = attempt;
    this.#upstreamRequestId = upstreamRequestId;
    const { body } = attempt.request;
    this.#shownIds = new Set(callIdsOf(body));
    this.#names = replacedToolNames(body);
    this.#stops = Array.isArray(body['stop_sequences']) ? body['stop_sequences'] : [];
    this.#tags = profile.thinkTags ? new ThinkTagReader() : null;
    this.#composer = new MessageComposer({ id: messageIdOf(attempt.requestId), model: attempt.upstreamModel });
    this.#calls = this.#gatherCalls();
  }

  /** What follows from the next chunk. Throws ProviderFault, also for an error in the place of a chunk. */
  take(chunk: JsonObject): StreamEvent[] {
    if (isChatError(chunk)) throw mapChatError(chunk, this.#upstreamRequestId);
    const choice = jsonObjects(chunk['choices'])[0];
    const isCounted = this.#takeUsage(chunk, choice);
    if (choice === undefined) return []; // of usage alone, or of what was found out about the prompt
    const events = this.#start(chunk);
    const delta = isJsonObject(choice['delta']) ? choice['delta'] : choice['message'];
    if (isJsonObject(delta)) {
      if (!isCounted && hasContent(delta)) this.#isUsageLate = false;
      events.push(...this.#takeDelta(delta));
    }
    this.#takeEnd(choice);
    return events;
  }

  /** The end of the message. Throws ProviderFault when the provider did not say that it is one. */
  finish(): StreamEvent[] {
    if (this.#finishReason === null)
      throw new ProviderFault('failed', 'the stream ended before the message did', {
        upstreamRequestId: this.#upstreamRequestId,
      });
    const events = [...this.#endWords(), ...this.#calls.end()];
    for (const text of this.#lateText) events.push(...this.#composer.text(text));
    // What is sealed may come behind everything else: it is kept in a block of its own.
    if (!this.#details.isEmpty) events.push(...this.#composer.signature(this.#seal()));
    const { reason, sequence } = this.#stop();
    const isCut = reason === 'max_tokens' || this.#finishReason === 'content_filter';
    return [...events, ...this.#composer.finish(reason, sequence, this.#finalUsage(), isCut)];
  }

  #start(chunk: JsonObject): StreamEvent[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    const { model } = chunk;
    if (typeof model === 'string' && model !== '') {
      this.#composer = new MessageComposer({ id: messageIdOf(this.#attempt.requestId), model });
      this.#calls = this.#gatherCalls();
    }
    return this.#composer.start(startUsage(this.#usage));
  }

  #gatherCalls(): CallGatherer {
    const messageId = messageIdOf(this.#attempt.requestId);
    return new CallGatherer(this.#composer, (id, name, place) => {
      const wanted = shownCallId(id, messageId, place);
      const shown = this.#shownIds.has(wanted) ? shownCallId('', messageId, place) : wanted;
      this.#shownIds.add(shown);
      return { id: shown, name: this.#names.get(name) ?? name };
    });
  }

  /** Counts of a stream are cumulative, so the last ones count. Whether there are any. */
  #takeUsage(chunk: JsonObject, choice: JsonObject | undefined): boolean {
    const groq = isJsonObject(chunk['x_groq']) ? chunk['x_groq']['usage'] : undefined;
    const usage = convertUsage(chunk['usage']) ?? convertUsage(choice?.['usage']) ?? convertUsage(groq);
    if (usage === null) return false;
    this.#usage = usage;
    this.#isUsageLate = true;
    return true;
  }

  /** Of counts that came before the last of the content, those of the output are not of all of it. */
  #finalUsage(): JsonObject {
    return this.#isUsageLate ? (this.#usage ?? {}) : startUsage(this.#usage);
  }

  #takeDelta(delta: JsonObject): StreamEvent[] {
    const events = this.#think(textOf(delta['reasoning_content']) || textOf(delta['reasoning']));
    this.#details.take(jsonObjects(delta['reasoning_details']));
    events.push(...this.#takeContent(delta['content']));
    const refusal = textOf(delta['refusal']);
    if (refusal !== '') {
      this.#isRefused = true;
      events.push(...this.#say(refusal));
    }
    const pieces = callPieces(delta);
    if (pieces.length > 0) events.push(...this.#endWords());
    for (const piece of pieces) events.push(...this.#calls.take(piece));
    return events;
  }

  /** Text, or a list of parts of it: Mistral puts its thinking among them. */
  #takeContent(content: JsonValue | undefined): StreamEvent[] {
    if (typeof content === 'string')
      return this.#giveSplit(this.#tags?.take(content) ?? { thinking: '', text: content });
    return jsonObjects(content).flatMap((part) => {
      if (part['type'] === 'thinking') return this.#think(jsonObjects(part['thinking']).map(partText).join(''));
      return this.#say(partText(part));
    });
  }

  /** What was held back for a tag that did not come is said before what follows. */
  #endWords(): StreamEvent[] {
    const held = this.#tags === null ? [] : this.#giveSplit(this.#tags.end());
    return [...held, ...this.#endThinking()];
  }

  #giveSplit({ thinking, text }: SplitText): StreamEvent[] {
    return [...this.#think(thinking), ...this.#say(text)];
  }

  #think(text: string): StreamEvent[] {
    if (text === '') return [];
    const events = this.#calls.settle();
    if (this.#calls.isGathering) return events; // between the pieces of calls there is no place for it
    this.#isThinking = true;
    return [...events, ...this.#composer.thinking(text)];
  }

  #say(text: string): StreamEvent[] {
    if (text === '') return [];
    const events = [...this.#endThinking(), ...this.#calls.settle()];
    if (!this.#calls.isGathering) return [...events, ...this.#composer.text(text)];
    this.#lateCharacters += text.length;
    if (this.#lateCharacters > bounds.upstreamEventBytesMax)
      throw new ProviderFault('failed', 'the provider said too much while its calls were not complete');
    this.#lateText.push(text);
    return events;
  }

  #endThinking(): StreamEvent[] {
    if (!this.#isThinking) return [];
    this.#isThinking = false;
    return this.#composer.signature(this.#seal());
  }

  #seal(): string {
    return sealReasoning(this.#attempt.upstreamModel, this.#details.drain());
  }

  #takeEnd(choice: JsonObject): void {
    const reason = choice['finish_reason'];
    if (typeof reason !== 'string' || reason === '') return;
    const kind = FAULTY_ENDS[reason];
    if (kind !== undefined)
      throw new ProviderFault(kind, 'the provider broke off the message', {
        upstreamRequestId: this.#upstreamRequestId,
      });
    this.#finishReason = reason;
    const matched = choice['stop_reason']; // vLLM: the stop sequence, or the number of a token
    if (typeof matched === 'string' && this.#stops.includes(matched)) this.#stopSequence = matched;
  }

  /** A call is a call, also where the provider says that the turn is at its end. */
  #stop(): { reason: string; sequence: string | null } {
    const said = STOP_REASONS[this.#finishReason ?? ''] ?? 'end_turn';
    if (said === 'max_tokens' || said === 'refusal') return { reason: said, sequence: null };
    if (this.#isRefused) return { reason: 'refusal', sequence: null };
    if (this.#composer.hasTool) return { reason: 'tool_use', sequence: null };
    if (this.#stopSequence !== null) return { reason: 'stop_sequence', sequence: this.#stopSequence };
    return { reason: 'end_turn', sequence: null };
  }
}

const PRODUCED = ['content', 'reasoning_content', 'reasoning', 'refusal', 'tool_calls', 'function_call'];

/** Whether anything was produced by it: the first and the last chunk have empty texts. */
function hasContent(delta: JsonObject): boolean {
  return PRODUCED.some((name) => {
    const value = delta[name];
    return typeof value === 'string' ? value !== '' : jsonObjects(value).length > 0 || isJsonObject(value);
  });
}

/** The pieces of calls; what an old server calls a function is the one call that there is. */
function callPieces(delta: JsonObject): JsonObject[] {
  const pieces = jsonObjects(delta['tool_calls']);
  const old = delta['function_call'];
  return pieces.length === 0 && isJsonObject(old) ? [{ index: 0, function: old }] : pieces;
}

function partText({ text }: JsonObject): string {
  return textOf(text);
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
