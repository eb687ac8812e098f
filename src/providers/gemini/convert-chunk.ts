// Converts GenerateContentResponse chunks to Messages events, without I/O. A whole answer is one chunk.

import { parseFraction } from '../../base/checked-number.ts';
import { DAY_MS } from '../../base/clock.ts';
import { statusOfGoogle } from '../../protocols/gemini.ts';
import { tierMembers } from '../../protocols/service-tiers.ts';
import { type Ending, endingOf } from '../../protocols/stop-words.ts';
import { readGeminiCounts } from '../../protocols/token-counts.ts';
import type { JsonObject, JsonValue, StreamEvent } from '../../wire/wire.ts';
import {
  isJsonObject,
  jsonObjects,
  makeEvent,
  objectOf,
  placeSignature,
  textOf,
  UNSIGNED_THOUGHT,
} from '../../wire/wire.ts';
import { MessageComposer, messageIdOf } from '../compose-message.ts';
import { contextErrorOf } from '../context-error.ts';
import { requireAnswer, withUsage } from '../endings.ts';
import { isErrorStatus, kindOf, parseErrorJson, readRetryAfterMs, scrubIdentifiers } from '../map-fault.ts';
import { ProviderFault } from '../provider.ts';
import { endedEarly } from '../pull-stream.ts';
import { type Dialect, NO_REPORTS, RunningUsage } from '../running-usage.ts';
import { makeCallId } from './call-ids.ts';

export const DIALECT: Dialect = { isThinkingBeside: true };

/** The fault of a response, including HTML, empty and broken bodies. Pure. */
export function mapError(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  return faultOf(status, findError(parseErrorJson(bodyText)) ?? {}, readRetryAfterMs(headers, nowMs));
}

/** The fault of an error within a response of status 200; null if it is not an error. */
export function mapErrorInside(value: JsonValue): ProviderFault | null {
  const error = findError(value);
  if (error === null) return null;
  const code = error['code'];
  return faultOf(isErrorStatus(code) ? code : statusOfGoogle(String(error['status'])), error);
}

function faultOf(status: number, error: JsonObject, headerMs: number | null = null): ProviderFault {
  const kind = status === 400 && isAboutOurProject(error) ? 'credentials' : kindOf(status, null, null);
  const message = textOf(error['message']) || `the provider answered with status ${status}`;
  const shown = scrubIdentifiers(kind === 'rejected' ? contextErrorOf(message) : message)
    .replaceAll(/\bprojects?\/[\w.:-]+/g, 'projects/[redacted]')
    .replaceAll(/\b(project_number:|consumer:|project )(?:\d+|['"`][\w.:-]+['"`])/g, '$1[redacted]')
    .replaceAll(/\bAIza[\w-]{10,}/g, '[redacted]');
  return new ProviderFault(kind, shown, {
    status,
    retryAfterMs: readRetryDelayMs(error) ?? headerMs,
    errorType: kind === 'rejected' ? (status === 413 ? 'request_too_large' : 'invalid_request_error') : null,
  });
}

const PROJECT_WORDINGS: readonly RegExp[] = [
  /^api[ -]key (not (valid|found)|expired|invalid)\b/i,
  /^user location is not supported\b/i,
  /\bfree tier is not available in your country\b/i,
  /^(please )?(enable|check your) billing\b|\bbilling (account|to be enabled)\b/i,
];

/** Whether a 400 concerns the key or its project. A failed precondition always does: clients set none. */
function isAboutOurProject(error: JsonObject): boolean {
  const { status, message, details } = error;
  if (status === 'FAILED_PRECONDITION') return true;
  if (jsonObjects(details).some(({ reason }) => textOf(reason).startsWith('API_KEY_'))) return true;
  return PROJECT_WORDINGS.some((wording) => wording.test(textOf(message)));
}

/** From a RetryInfo in the details: "37s", "0.5s". */
function readRetryDelayMs({ details }: JsonObject): number | null {
  for (const { retryDelay } of jsonObjects(details)) {
    const seconds = parseFraction(/^(.*)s$/.exec(textOf(retryDelay))?.[1] ?? '');
    if (seconds !== null) return Math.min(Math.ceil(seconds * 1000), DAY_MS);
  }
  return null;
}

function findError(value: JsonValue | undefined): JsonObject | null {
  const holder = Array.isArray(value)
    ? value.find((entry) => isJsonObject(entry) && isJsonObject(entry['error']))
    : value;
  const error = isJsonObject(holder) ? holder['error'] : undefined;
  return isJsonObject(error) ? error : null;
}

/** The parts of the request that the response depends on. */
export interface AnswerTerms {
  requestId: string;
  upstreamModel: string;
  /** Tool names by Gemini's names. */
  names: ReadonlyMap<string, string>;
  callIds: ReadonlySet<string>;
  /** The client requested thinking: then a text's signature gets its own block. */
  thinks: boolean;
  /** The request has sound; absent: no. */
  hasSound?: boolean;
}

const CALLS_MAX = 1_000;

export class ChunkConverter {
  readonly usage: RunningUsage;
  readonly #terms: AnswerTerms;
  readonly #composer: MessageComposer;
  #end: { word: string; ending: Ending } | null = null;
  #calls = 0;
  #reportedThoughts = 0; // tokens
  readonly #callIds: Set<string>;

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
    this.#callIds = new Set(terms.callIds);
    const { requestId, upstreamModel: model } = terms;
    this.#composer = new MessageComposer({ id: messageIdOf(requestId), model, signature: UNSIGNED_THOUGHT });
    this.usage = new RunningUsage(this.#composer, DIALECT);
  }

  /** A chunk said how the answer ended; others may follow. */
  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** The events of the next chunk, often none. Throws ProviderFault for an error or an invalid answer. */
  push(chunk: JsonValue): StreamEvent[] {
    const fault = mapErrorInside(chunk);
    if (fault !== null) throw fault;
    if (!isJsonObject(chunk))
      throw new ProviderFault('failed', 'the provider sent a response that is not a JSON object');
    const [candidate] = jsonObjects(chunk['candidates']);
    this.count(chunk, partsOf(candidate).length > 0);
    if (typeof chunk['modelVersion'] === 'string') this.#composer.reportedModel ??= chunk['modelVersion'];
    const { blockReason } = objectOf(chunk['promptFeedback']);
    if (typeof blockReason === 'string' && blockReason !== 'BLOCK_REASON_UNSPECIFIED')
      this.#end = { word: blockReason, ending: 'refusal' };
    return candidate === undefined ? [] : this.#takeCandidate(candidate);
  }

  /** Only the counts of a chunk. */
  count({ usageMetadata: metadata }: JsonObject, hasContent = false): void {
    if (isJsonObject(metadata)) this.usage.add(tierMembers(metadata['trafficType'], metadata['serviceTier']));
    this.usage.take(
      isJsonObject(metadata) ? [readGeminiCounts(metadata, this.#terms.hasSound === true)] : NO_REPORTS,
      hasContent,
    );
  }

  /** The end of the answer, with its counts. Throws ProviderFault if no chunk said that it ended, or not with an answer. */
  end(): StreamEvent[] {
    if (this.#end === null) throw endedEarly(null);
    const { word, ending } = this.#end;
    const hasOutput = this.#composer.hasContent || this.usage.hasOutput;
    const said = requireAnswer(ending, { word, hasOutput, usage: this.usage.usage });
    const stopReason = said === 'end_turn' && this.#calls > 0 ? 'tool_use' : said;
    return [...this.usage.begin(), ...this.#composer.finish(stopReason, null, this.usage.finish())];
  }

  #takeCandidate(candidate: JsonObject): StreamEvent[] {
    const { finishReason } = candidate;
    const events = partsOf(candidate).flatMap((part) => this.#takePart(part));
    if (typeof finishReason !== 'string' || finishReason === 'FINISH_REASON_UNSPECIFIED') return events;
    this.#end = { word: finishReason, ending: endingOf(finishReason, 'gemini') };
    return events;
  }

  #takePart(part: JsonObject): StreamEvent[] {
    const { text, thought, functionCall, thoughtSignature } = part;
    const signature = textOf(thoughtSignature);
    if (isJsonObject(functionCall)) return [...this.usage.begin(), ...this.#takeCall(functionCall, signature)];
    if (typeof text === 'string' || signature !== '') {
      const shown = textOf(text);
      if (shown === '' && signature === '') return [];
      return thought === true ? this.#takeThought(shown, signature) : this.#takeText(shown, signature);
    }
    if (Object.keys(part).length === 0) return [];
    throw new ProviderFault('unusable', 'the provider sent content of an unsupported type');
  }

  #takeThought(text: string, signature: string): StreamEvent[] {
    const begun = this.usage.begin();
    const shown = this.#composer.thinking(text).map((event) => this.#reportTokens(event));
    return [...begun, ...shown, ...this.#composer.signature(signature && placeSignature('thought', signature))];
  }

  /** Visible thoughts are summaries: the number of new thinking tokens is reported beside them, as in the protocol. */
  #reportTokens(event: StreamEvent): StreamEvent {
    const { delta } = event.value;
    const grown = this.usage.thinking - this.#reportedThoughts;
    if (!isJsonObject(delta) || delta['type'] !== 'thinking_delta' || grown <= 0) return event;
    this.#reportedThoughts += grown;
    return makeEvent({ ...event.value, type: event.name, delta: { ...delta, estimated_tokens: grown } });
  }

  #takeText(text: string, signature: string): StreamEvent[] {
    const events = [...this.usage.begin(), ...this.#composer.text(text)];
    // Optional: a client that did not request thinking gets no block for it.
    if (signature === '' || !this.#terms.thinks) return events;
    return [...events, ...this.#composer.signature(placeSignature(text === '' ? 'end' : 'text', signature))];
  }

  #takeCall(call: JsonObject, signature: string): StreamEvent[] {
    const { id: given, name, args } = call;
    if (typeof name !== 'string' || name === '')
      throw new ProviderFault('unusable', 'the provider called a tool without a name');
    if (this.#calls >= CALLS_MAX) throw new ProviderFault('unusable', 'the provider called too many tools at once');
    const composer = this.#composer;
    const id = makeCallId(given, this.#callIds, this.#terms.requestId, this.#calls++);
    this.#callIds.add(id);
    return [
      ...composer.signature(signature && placeSignature('call', signature)),
      ...composer.beginTool(id, this.#terms.names.get(name) ?? name),
      ...composer.toolInput(JSON.stringify(args ?? {})),
      ...composer.closeBlock(),
    ];
  }
}

function partsOf(candidate: JsonObject | undefined): JsonObject[] {
  return jsonObjects(objectOf(candidate?.['content'])['parts']);
}

/** The events of an answer: one chunk, or a list of them. Throws ProviderFault. */
export function convertAnswer(answer: JsonValue, terms: AnswerTerms): StreamEvent[] {
  const converter = new ChunkConverter(terms);
  const chunks = Array.isArray(answer) ? answer : [answer];
  try {
    return [...chunks.flatMap((chunk) => converter.push(chunk)), ...converter.end()];
  } catch (thrown) {
    for (const chunk of chunks) converter.count(objectOf(chunk)); // the last ones may have the counts
    throw withUsage(thrown, converter.usage.usage);
  }
}
