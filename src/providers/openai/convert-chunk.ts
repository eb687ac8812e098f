// Converts Chat Completions chunks to Messages events, without I/O. A whole answer is one chunk.

import { bounds } from '../../config/config.ts';
import { tierMembers } from '../../protocols/service-tiers.ts';
import { type Ending, endingOf, type StopReason } from '../../protocols/stop-words.ts';
import { sealReasoning } from '../../protocols/thinking.ts';
import { CHAT_COUNTS, countOf, type ReportedCounts, readCounts } from '../../protocols/token-counts.ts';
import type { JsonObject, JsonValue, StreamEvent } from '../../wire/wire.ts';
import { InnerJson, isJsonObject, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { replacedToolNames } from '../client-tools.ts';
import { callIdsOf, MessageComposer, messageIdOf } from '../compose-message.ts';
import { requireAnswer, withUsage } from '../endings.ts';
import { type Attempt, ProviderFault } from '../provider.ts';
import { endedEarly } from '../pull-stream.ts';
import { NO_REPORTS, RunningUsage } from '../running-usage.ts';
import { CallGatherer, DetailGatherer } from './gather-calls.ts';
import { chatErrorIn, mapChatError } from './map-error.ts';
import { type Profile, shownCallId } from './profile.ts';
import { ChoiceReader, isFilled, type NewContent, type ThoughtForm, ThoughtReader } from './read-choice.ts';
import { ThinkTagReader } from './split-think-tags.ts';

/** Known members and details; other numbers are passed on under their own names. */
const KNOWN: ReadonlySet<string> = new Set([
  ...Object.values(CHAT_COUNTS)
    .map((words) => words.join('.'))
    .filter((name) => !name.endsWith('.audio_tokens')), // unknown, unless the request has sound
  ...['text_tokens', 'image_tokens'].map(named('prompt_tokens_details')),
  'prompt_tokens_details.cache_creation_tokens', // LiteLLM
  'input_tokens_details.cached_tokens', // Responses
  ...['text_tokens', 'accepted_prediction_tokens', 'rejected_prediction_tokens'].map(
    named('completion_tokens_details'),
  ),
  ...['prompt_cache_hit_tokens', 'prompt_cache_miss_tokens'], // DeepSeek
  'cached_tokens', // Moonshot
  'num_cached_tokens', // Mistral
  ...['queue_time', 'prompt_time', 'completion_time', 'total_time'], // Groq
  'cost', // OpenRouter: its charge to the operator
  ...['', 'prompt_', 'completions_'].map((part) => `cost_details.upstream_inference_${part}cost`),
  'cost_in_usd_ticks', // xAI
]);

/** Names that an unknown number must not have, because they have a meaning here that affects the bill. */
const TAKEN =
  /^(?:(?:input|output|cache_\w+_input)_tokens|(?:cache_creation|output_tokens_details|server_tool_use)(?:\..*)?)$/;

function named(holder: string): (name: string) => string {
  return (name) => `${holder}.${name}`;
}

/** Also in the words of Responses and Messages, for what has no count in those of Chat Completions. */
export function readChatCounts(value: JsonObject, hasSound = false): ReportedCounts {
  const counts = readCounts(value, CHAT_COUNTS, hasSound);
  const { prompt, output } = counts;
  const input = prompt ? NO_INPUT : readInput(value);
  const inner = objectOf(value['output_tokens_details']);
  return {
    ...counts,
    prompt: input.prompt ?? prompt,
    cacheRead: firstCount(
      ...[counts.cacheRead, value['prompt_cache_hit_tokens'], value['cached_tokens'], value['num_cached_tokens']],
      input.cacheRead,
    ),
    cacheWrite: firstCount(
      counts.cacheWrite,
      objectOf(value['prompt_tokens_details'])['cache_creation_tokens'],
      input.cacheWrite,
    ),
    output: firstCount(output, value['output_tokens']),
    thinking: firstCount(counts.thinking, ...(output ? [] : [inner['reasoning_tokens'], inner['thinking_tokens']])),
    others: unknownNumbers(value, hasSound),
  };
}

type InputCounts = Pick<ReportedCounts, 'prompt' | 'cacheRead' | 'cacheWrite'>;

const NO_INPUT: InputCounts = { prompt: null, cacheRead: null, cacheWrite: null };

/** Responses include cached tokens in the input; Messages count them beside it. */
function readInput(value: JsonObject): InputCounts {
  const input = countOf(value['input_tokens']);
  const details = value['input_tokens_details'];
  if (input === null || isJsonObject(details))
    return { prompt: input, cacheRead: countOf(objectOf(details)['cached_tokens']), cacheWrite: null };
  const cacheRead = countOf(value['cache_read_input_tokens']);
  const cacheWrite = countOf(value['cache_creation_input_tokens']);
  return { prompt: countOf(input + (cacheRead ?? 0) + (cacheWrite ?? 0)), cacheRead, cacheWrite };
}

/** The first count above zero; else zero if there is any; else null. */
function firstCount(...values: readonly (JsonValue | undefined)[]): number | null {
  let first: number | null = null;
  for (const value of values) first ||= countOf(value) ?? first;
  return first;
}

/** Unknown numbers, also one level inside: reported to the operator. */
function unknownNumbers(usage: JsonObject, hasSound: boolean): JsonObject {
  const found: JsonObject = {};
  const isSound = (name: string) => hasSound && name.endsWith('.audio_tokens');
  const isUnknown = (name: string, count: JsonValue) =>
    typeof count === 'number' && count !== 0 && !KNOWN.has(name) && !TAKEN.test(name) && !isSound(name);
  for (const [name, value] of Object.entries(usage)) {
    if (isUnknown(name, value)) found[name] = value;
    const inner = Object.entries(objectOf(value)).filter(([part, count]) => isUnknown(`${name}.${part}`, count));
    if (inner.length > 0) found[name] = Object.fromEntries(inner);
  }
  return found;
}

export class ChunkConverter {
  readonly usage: RunningUsage;
  readonly #attempt: Attempt;
  readonly #upstreamRequestId: string | null;
  readonly #names: ReadonlyMap<string, string>;
  readonly #stops: readonly JsonValue[];
  readonly #tags: ThinkTagReader | null;
  readonly #details = new DetailGatherer();
  readonly #shownIds: Set<string>; // and those of the conversation
  readonly #composer: MessageComposer;
  readonly #calls: CallGatherer;
  readonly #choices = new ChoiceReader();
  /** The index of the choice that is read; null: it has none; undefined: there was none yet. */
  #index: JsonValue | undefined;
  readonly #thoughts = new ThoughtReader();
  #hasEnds = false; // its choices have a finish reason, perhaps null
  #isCounted = false; // counts of their own came after the content
  #end: { word: string; ending: Ending } | null = null;
  #stopSequence: string | null = null;
  #isRefused = false;
  #isThinking = false;
  #lateText: string[] = []; // text received while calls were incomplete
  #lateCharacters = 0;

  constructor(attempt: Attempt, profile: Profile, upstreamRequestId: string | null) {
    this.#attempt = attempt;
    this.#upstreamRequestId = upstreamRequestId;
    const { body } = attempt.request;
    this.#shownIds = new Set(callIdsOf(body));
    this.#names = replacedToolNames(body);
    this.#stops = Array.isArray(body['stop_sequences']) ? body['stop_sequences'] : [];
    this.#tags = profile.thinkTags ? new ThinkTagReader() : null;
    const messageId = messageIdOf(attempt.requestId);
    this.#composer = new MessageComposer({ id: messageId, model: attempt.upstreamModel });
    this.usage = new RunningUsage(this.#composer);
    this.#calls = new CallGatherer(
      this.#composer,
      (id, name, place) => {
        const wanted = shownCallId(id, messageId, place);
        const shown = this.#shownIds.has(wanted) ? shownCallId('', messageId, place) : wanted;
        this.#shownIds.add(shown);
        return { id: shown, name: this.#names.get(name) ?? name };
      },
      profile.callSignatures && /gemini/i.test(attempt.upstreamModel),
    );
  }

  /** The choice that came first, of a server that sends several, although nobody can ask for them. */
  #choiceOf(chunk: JsonObject): JsonObject | undefined {
    const choices = jsonObjects(chunk['choices']);
    const [first] = choices;
    if (this.#index === undefined && first !== undefined) this.#index = first['index'] ?? null;
    return choices.find(({ index }) => (index ?? this.#index) === this.#index);
  }

  /** The events of the next chunk. Throws ProviderFault, also for an error in place of a chunk. */
  take(chunk: JsonObject): StreamEvent[] {
    const choice = this.#choiceOf(chunk);
    const content = choice === undefined ? null : this.#choices.read(choice);
    const reports = this.#reportsIn(chunk, choice);
    const hasContent = content !== null && isFilled(content);
    this.usage.add(tierMembers(chunk['service_tier']));
    this.usage.take(reports, hasContent);
    this.#isCounted = !hasContent && (this.#isCounted || reports.length > 0);
    const error = chatErrorIn(chunk);
    if (error !== null) throw mapChatError(error, this.#upstreamRequestId);
    this.#composer.reportedModel ??= textOf(chunk['model']) || null;
    if (choice === undefined || content === null) return []; // usage only, or prompt filter results
    const events = this.usage.begin();
    events.push(...this.#takeContent(content));
    this.#takeEnd(choice);
    return events;
  }

  /** Usage is beside the choices, in a choice (Moonshot) or its content, or under a name of its own (Groq). */
  #reportsIn({ usage, x_groq: groq }: JsonObject, choice: JsonObject | undefined): readonly ReportedCounts[] {
    const { usage: ofChoice, delta, message } = choice ?? {};
    const places = [usage, ofChoice, objectOf(delta)['usage'], objectOf(message)['usage'], objectOf(groq)['usage']];
    const reports = places.filter(isJsonObject);
    if (reports.length === 0) return NO_REPORTS; // in most chunks
    return reports.map((report) => readChatCounts(report, this.#attempt.request.hasSound === true));
  }

  /** Only the counts of a chunk. */
  count(chunk: JsonObject): void {
    this.usage.add(tierMembers(chunk['service_tier']));
    this.usage.take(this.#reportsIn(chunk, this.#choiceOf(chunk)), false);
  }

  /**
   * The end of the message. `isWhole`: it may have ended without a word for it, as servers with [DONE] alone do. Throws
   * ProviderFault if the provider did not end it, or not with an answer.
   */
  finish(isWhole = false): StreamEvent[] {
    const isEnded = isWhole && this.#hasOutput && (this.#isCounted || !this.#hasEnds);
    const end = this.#end ?? (isEnded ? { word: 'stop', ending: 'end_turn' as const } : null);
    if (end === null) throw endedEarly(this.#upstreamRequestId);
    const { word, ending } = end;
    const { usage } = this.usage;
    const said = requireAnswer(ending, {
      word,
      hasOutput: this.#hasOutput,
      usage,
      upstreamRequestId: this.#upstreamRequestId,
    });
    const events = [...this.#endWords(), ...this.#calls.end()];
    for (const text of this.#lateText) events.push(...this.#composer.text(text));
    // Sealed reasoning may come last: it gets its own block.
    if (!this.#details.isEmpty) events.push(...this.#composer.signature(this.#seal()));
    const { reason, sequence } = this.#stop(said);
    const isCut = !isFinished(said); // within a call, perhaps
    return [...events, ...this.#composer.finish(reason, sequence, this.usage.finish(), isCut)];
  }

  get #hasOutput(): boolean {
    return this.#composer.hasContent || this.#calls.isGathering || this.usage.hasOutput;
  }

  #takeContent({ details, areDetailsWhole, texts, calls, sound }: NewContent): StreamEvent[] {
    const events: StreamEvent[] = [];
    this.#details.take(details, areDetailsWhole);
    for (const { kind, text } of texts) {
      if (kind === 'refusal') this.#isRefused = true;
      if (kind === 'thinking') events.push(...this.#addThinking('member', text));
      else if (kind === 'thinkingPart') events.push(...this.#addThinking('content', text));
      else events.push(...(kind === 'text' ? this.#addTagged(text) : this.#addText(text)));
    }
    if (sound !== null && this.#attempt.request.hasSound)
      events.push(...this.#endWords(), ...this.#composer.sound(sound));
    if (calls.length > 0) events.push(...this.#endWords());
    for (const piece of calls) events.push(...this.#calls.take(piece));
    return events;
  }

  #addTagged(tagged: string): StreamEvent[] {
    const { thinking, text } = this.#tags?.take(tagged) ?? { thinking: '', text: tagged };
    return [...this.#addThinking('content', thinking), ...this.#addText(text)];
  }

  /** Text held back as a possible tag is emitted before other content. */
  #endWords(): StreamEvent[] {
    const { thinking, text } = this.#tags?.end() ?? { thinking: '', text: '' };
    return [...this.#addThinking('content', thinking), ...this.#addText(text), ...this.#endThinking()];
  }

  #addThinking(form: ThoughtForm, thinking: string): StreamEvent[] {
    const text = thinking === '' ? '' : this.#thoughts.take(form, thinking);
    if (text === '') return [];
    const events = this.#calls.settle();
    if (this.#calls.isGathering) return events; // not allowed between the pieces of a call
    this.#isThinking = true;
    return [...events, ...this.#composer.thinking(text)];
  }

  #addText(text: string): StreamEvent[] {
    if (text === '') return [];
    const events = [...this.#endThinking(), ...this.#calls.settle()];
    if (!this.#calls.isGathering) return [...events, ...this.#composer.text(text)];
    this.#lateCharacters += text.length;
    if (this.#lateCharacters > bounds.upstreamEventBytesMax)
      throw new ProviderFault('unusable', 'the provider sent too much text while its tool calls were incomplete');
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
    this.#hasEnds ||= choice['finish_reason'] !== undefined;
    const word = textOf(choice['finish_reason']);
    if (word === '') return;
    const ending = endingOf(word, 'chat');
    // A router has the provider's own word beside its general one.
    const native = textOf(choice['native_finish_reason']);
    const own = endingOf(native, 'chat');
    const isOther = own === 'unusable' || (isFinished(ending) && !isFinished(own) && own !== 'unclear');
    this.#end = isOther ? { word: native, ending: own } : { word, ending };
    const matched = choice['stop_reason']; // vLLM: the stop sequence, or a token id
    if (typeof matched === 'string' && this.#stops.includes(matched)) this.#stopSequence = matched;
  }

  /** A call counts as a call even if the provider says that the turn ended. */
  #stop(said: StopReason): { reason: string; sequence: string | null } {
    if (!isFinished(said)) return { reason: said, sequence: null };
    if (this.#isRefused) return { reason: 'refusal', sequence: null };
    if (this.#composer.hasTool) return { reason: 'tool_use', sequence: null };
    if (this.#stopSequence !== null) return { reason: 'stop_sequence', sequence: this.#stopSequence };
    return { reason: 'end_turn', sequence: null };
  }
}

const FINISHED: readonly Ending[] = ['end_turn', 'tool_use', 'stop_sequence'];

function isFinished(ending: Ending): boolean {
  return FINISHED.includes(ending);
}

/** Throws ProviderFault, also for an error with status 200. */
export function convertAnswer(
  answer: JsonObject,
  attempt: Attempt,
  profile: Profile,
  upstreamRequestId: string | null,
): StreamEvent[] {
  const converter = new ChunkConverter(attempt, profile, upstreamRequestId);
  try {
    const events = converter.take(asChunk(answer));
    if (events.length > 0) return [...events, ...converter.finish(true)];
  } catch (thrown) {
    throw withUsage(thrown, converter.usage.usage);
  }
  throw new ProviderFault('failed', 'the provider answered with JSON that is not a chat completion', {
    upstreamRequestId,
  });
}

function asChunk(answer: JsonObject): JsonObject {
  const choice = jsonObjects(answer['choices'])[0];
  if (choice === undefined) return answer;
  const { message, text } = choice;
  const reason = textOf(choice['finish_reason']) || 'stop'; // a whole answer has ended
  const ended = { ...choice, finish_reason: reason };
  if (!isJsonObject(message)) return typeof text === 'string' ? { ...answer, choices: [ended] } : answer;
  const isCut = !isFinished(endingOf(reason, 'chat'));
  const inputs = new InnerJson();
  const calls = jsonObjects(message['tool_calls']).map((call, index) => ({
    ...call,
    index,
    ...(isCut && { function: withWholeInput(call['function'], inputs) }),
  }));
  const delta = { ...message, ...(calls.length > 0 && { tool_calls: calls }) };
  return { ...answer, choices: [{ ...ended, delta }] };
}

/** A call truncated by max_tokens or a filter has invalid JSON as input, which a whole message must not contain. */
function withWholeInput(said: JsonValue | undefined, inputs: InnerJson): JsonObject {
  const call = objectOf(said);
  const input = call['arguments'];
  return typeof input === 'string' && inputs.read(input) === undefined ? { ...call, arguments: '{}' } : call;
}
