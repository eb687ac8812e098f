// Converts events to Messages events, without I/O. Items come in index order; a whole answer is completed items.

import { isWholeNumber, parseFraction } from '../../base/checked-number.ts';
import { DAY_MS } from '../../base/clock.ts';
import { bounds } from '../../config/config.ts';
import { CUSTOM_JSON } from '../../protocols/custom-tool.ts';
import { tierMembers } from '../../protocols/service-tiers.ts';
import { endingOf } from '../../protocols/stop-words.ts';
import { RESPONSES_COUNTS, readCounts } from '../../protocols/token-counts.ts';
import type { JsonObject, JsonValue, StreamEvent } from '../../wire/wire.ts';
import { InnerJson, isJsonObject, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { argumentsText, MessageComposer } from '../compose-message.ts';
import { contextErrorOf } from '../context-error.ts';
import { withUsage } from '../endings.ts';
import { faultOf, kindOf, parseErrorJson, scrubIdentifiers } from '../map-fault.ts';
import { type FaultKind, ProviderFault } from '../provider.ts';
import { NO_REPORTS, RunningUsage } from '../running-usage.ts';
import type { ThinkingDisplay } from './convert-request.ts';
import { encodeReasoning, PART_SEPARATOR, type ReasoningPart } from './reasoning-signature.ts';

/** Codes and types that concern our credit or access, whatever their status. */
const OUR_CODES: readonly string[] = [
  'account_deactivated',
  'billing_hard_limit_reached',
  'billing_not_active',
  'insufficient_quota',
  'invalid_api_key',
  'model_not_found',
  'organization_restricted',
];
const OUR_WORDS = /\borgani[sz]ation must be verified\b|\bexceeded your current quota\b/i;

const REASONING_REFUSED = /^(?:unsupported parameter: 'reasoning\b|encrypted content is not supported)/i;

const CODE_KINDS: ReadonlyMap<string, FaultKind> = new Map([
  ['rate_limit_exceeded', 'rate_limited'],
  ['server_is_overloaded', 'overloaded'],
  ['slow_down', 'overloaded'],
  ['timeout', 'timeout'],
]);
const REJECTED_CODE =
  /^(invalid_|image_|empty_image|unsupported_|failed_to_download|context_length|content_policy|string_)/;

interface ErrorFields {
  code: string;
  message: string | null;
}

/** The fault of an error response, including HTML, empty and broken bodies. */
export function convertError(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  const said = readError(parseErrorJson(bodyText));
  const fault = faultOf(status, headers, { type: null, message: wordsOf(said) }, nowMs);
  if (status === 404 || !isOurs(said)) return fault;
  const { message, retryAfterMs, upstreamRequestId } = fault;
  return new ProviderFault('credentials', message, { status, retryAfterMs, upstreamRequestId });
}

/** The fault of an `error` event, or of the `error` of a failed response. */
export function convertErrorEvent(value: JsonValue | undefined, upstreamRequestId: string | null): ProviderFault {
  const said = readError(value);
  const kind = isOurs(said) ? 'credentials' : kindOfCode(said);
  return new ProviderFault(kind, scrubIdentifiers(wordsOf(said) ?? 'the provider sent an error'), {
    errorType: kind === 'rejected' ? 'invalid_request_error' : null,
    retryAfterMs: kind === 'rate_limited' ? readWaitMs(said.message) : null,
    upstreamRequestId,
  });
}

/** Whether a model without reasoning refused a reasoning request. */
export function refusesReasoning(thrown: unknown): boolean {
  return thrown instanceof ProviderFault && thrown.kind === 'rejected' && REASONING_REFUSED.test(thrown.message);
}

function isOurs({ code, message }: ErrorFields): boolean {
  return OUR_CODES.includes(code) || OUR_WORDS.test(message ?? '');
}

function kindOfCode({ code, message }: ErrorFields): FaultKind {
  return CODE_KINDS.get(code) ?? (REJECTED_CODE.test(code) ? kindOf(400, null, message) : 'failed');
}

/** Streams have no headers: the waiting time is in the message. */
function readWaitMs(message: string | null): number | null {
  const [, digits, unit] = /try again in (\d+(?:\.\d+)?) ?(ms|s)\b/i.exec(message ?? '') ?? [];
  const count = parseFraction(digits ?? '');
  if (count === null) return null;
  return Math.min(Math.ceil(count * (unit === 'ms' ? 1 : 1_000)), DAY_MS);
}

function wordsOf({ code, message }: ErrorFields): string | null {
  if (code === 'context_length_exceeded') return contextErrorOf(message ?? 'it exceeds the context window', code);
  if (/image/.test(code) && !/could not process image/i.test(message ?? ''))
    return `Could not process image: ${message ?? code}`;
  if (code === 'invalid_encrypted_content') return `Invalid signature in thinking block: ${message ?? code}`;
  return message;
}

/** An error is in a member `error`, or is the object itself. */
function readError(value: JsonValue | undefined): ErrorFields {
  const holder = objectOf(value);
  const { code, type, message } = isJsonObject(holder['error']) ? holder['error'] : holder;
  return { code: textOf(code) || textOf(type), message: typeof message === 'string' ? message : null };
}

/** The parts of the request that the response depends on. */
export interface AnswerTerms {
  messageId: string;
  /** Reported as the model if the provider reports none. */
  model: string;
  display: ThinkingDisplay;
  /** Identifies the provider in the signatures of its reasoning. */
  home: string;
  /** Tool name at the provider → tool name of the client, where they differ. */
  toolNames: ReadonlyMap<string, string>;
  /** Ids of calls already in the conversation; absent: none. */
  callIds?: ReadonlySet<string>;
  upstreamRequestId: string | null;
}

type PieceKind = 'text' | 'refusal' | 'summary' | 'content' | 'arguments' | 'custom';

/** One output item while it grows. */
interface OutputItem {
  readonly received: Map<string, number>;
  /** Events to emit when all earlier items are complete. */
  readonly waiting: (() => StreamEvent[])[];
  readonly shown: ReasoningPart[];
  /** For a call: its name is known. */
  isNamed: boolean;
  isDone: boolean;
}

/** Events with a piece of an item, or with its whole text again. */
const PIECES: ReadonlyMap<string, { kind: PieceKind; member: string; place: string | null }> = new Map([
  ['response.output_text.delta', { kind: 'text', member: 'delta', place: 'content_index' }],
  ['response.output_text.done', { kind: 'text', member: 'text', place: 'content_index' }],
  ['response.refusal.delta', { kind: 'refusal', member: 'delta', place: 'content_index' }],
  ['response.refusal.done', { kind: 'refusal', member: 'refusal', place: 'content_index' }],
  ['response.reasoning_summary_text.delta', { kind: 'summary', member: 'delta', place: 'summary_index' }],
  ['response.reasoning_summary_text.done', { kind: 'summary', member: 'text', place: 'summary_index' }],
  ['response.reasoning_text.delta', { kind: 'content', member: 'delta', place: 'content_index' }],
  ['response.reasoning_text.done', { kind: 'content', member: 'text', place: 'content_index' }],
  ['response.function_call_arguments.delta', { kind: 'arguments', member: 'delta', place: null }],
  ['response.custom_tool_call_input.delta', { kind: 'custom', member: 'delta', place: null }],
  ['response.custom_tool_call_input.done', { kind: 'custom', member: 'input', place: null }],
  ['response.function_call_arguments.done', { kind: 'arguments', member: 'arguments', place: null }],
]);

/** Calls; all but functions are only of clients of this protocol, and are only counted. */
const CALL_TYPES: readonly unknown[] = ['function_call', 'custom_tool_call', 'tool_search_call'];

const ITEMS_MAX = 1_000; // per response
const BEGUN: readonly JsonValue[] = ['queued', 'in_progress'];
const STEP_CHARACTERS = 64; // overhead of a waiting step

export class ChunkConverter {
  readonly usage: RunningUsage;
  readonly #terms: AnswerTerms;
  readonly #items = new Map<number, OutputItem>(); // started, but not emitted completely
  readonly #callIds: Set<string>;
  readonly #emitted = new Set<number>(); // indexes of the items of this response
  readonly #indexes = new Map<JsonValue | undefined, number>(); // item id → index
  readonly #composer: MessageComposer;
  #turn: number | null = null; // index of the item that is being emitted
  #latest = 0;
  #waitingCharacters = 0;
  #isRefused = false;
  #isFinished = false;

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
    this.#callIds = new Set(terms.callIds);
    this.#composer = new MessageComposer({ id: terms.messageId, model: terms.model });
    this.usage = new RunningUsage(this.#composer);
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** The events that follow from the provider's event. Throws ProviderFault for its errors. */
  add(value: JsonObject): StreamEvent[] {
    const type = String(value['type']);
    const piece = PIECES.get(type);
    this.count(value, piece !== undefined || type === 'response.output_item.done');
    if (piece !== undefined) {
      const place = piece.place === null ? '' : String(value[piece.place] ?? 0);
      return this.#piece(this.#itemOf(value), piece.kind, place, value[piece.member], type.endsWith('.done'));
    }
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        // Not emitted yet: a failure before any output may be retried elsewhere.
        this.#noteModel(value['response']);
        return [];
      case 'response.output_item.added':
        if (indexOf(value) === null && this.#emitted.has(this.#latest)) this.#latest++; // some servers omit it
        return [...this.usage.begin(), ...this.#begin(this.#itemOf(value), value['item'])];
      case 'response.output_item.done':
        return this.#whole(indexOf(value) ?? this.#latest, value['item']);
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(value['response'], type === 'response.incomplete');
      case 'response.failed':
      case 'response.cancelled':
        throw this.#failure(value['response']);
      case 'error':
        throw convertErrorEvent(value, this.#terms.upstreamRequestId);
      default:
        return []; // starts and ends of parts, annotations, and unknown events
    }
  }

  /** Only the counts of an event, which are in its response. */
  count({ response, usage }: JsonObject, hasContent = false): void {
    const reported = isJsonObject(response) ? response['usage'] : usage;
    // At its beginning a response has the requested tier.
    if (isJsonObject(response) && !BEGUN.includes(response['status'] ?? null))
      this.usage.add(tierMembers(response['service_tier']));
    this.usage.take(isJsonObject(reported) ? [readCounts(reported, RESPONSES_COUNTS)] : NO_REPORTS, hasContent);
  }

  /** The item of an event, begun if the provider did not announce it. */
  #itemOf(value: JsonObject): number {
    const index = indexOf(value) ?? this.#latest;
    this.#latest = index;
    if (this.#items.has(index) || this.#emitted.has(index)) return index;
    if (this.#items.size + this.#emitted.size >= ITEMS_MAX)
      throw new ProviderFault('unusable', 'the provider sent too many items');
    this.#items.set(index, { received: new Map(), waiting: [], shown: [], isNamed: false, isDone: false });
    this.#turn ??= index;
    return index;
  }

  #begin(index: number, value: JsonValue | undefined): StreamEvent[] {
    const item = this.#items.get(index);
    if (isJsonObject(value) && typeof value['id'] === 'string') this.#indexes.set(value['id'], index);
    if (item === undefined || item.isNamed || !isJsonObject(value) || !CALL_TYPES.includes(value['type'])) return [];
    const { name = value['type'], call_id: callId } = value;
    if (typeof name !== 'string' || name === '') return [];
    item.isNamed = true;
    const id = this.#shownId(textOf(callId), index);
    return this.#emitInTurn(index, 0, () => this.#composer.beginTool(id, this.#terms.toolNames.get(name) ?? name));
  }

  /** The provider's id of a call, or a replacement if that is not unique in the conversation. */
  #shownId(callId: string, index: number): string {
    const own = callId.replaceAll(/[^\w-]/g, '_');
    const shown = own !== '' && !this.#callIds.has(own) ? own : `${this.#terms.messageId}_${index}`;
    this.#callIds.add(shown);
    return shown;
  }

  /** The new part of a piece; for a whole text, the part that its pieces did not contain. */
  #piece(index: number, kind: PieceKind, place: string, text: JsonValue | undefined, isWhole: boolean): StreamEvent[] {
    const item = this.#items.get(index);
    if (item === undefined || typeof text !== 'string') return [];
    if ((kind === 'arguments' || kind === 'custom') && !item.isNamed) return []; // the item itself brings it, with its name
    const key = `${kind} ${place}`;
    const before = item.received.get(key) ?? 0;
    const fresh = isWhole ? text.slice(before) : text;
    if (fresh === '') return [];
    item.received.set(key, before + fresh.length);
    return this.#emitInTurn(index, fresh.length, () => this.#composePiece(item, kind, fresh, before === 0));
  }

  #composePiece(item: OutputItem, kind: PieceKind, text: string, isFirst: boolean): StreamEvent[] {
    const composer = this.#composer;
    switch (kind) {
      case 'arguments':
        return composer.toolInput(text);
      case 'custom':
        return composer.toolInput((isFirst ? CUSTOM_JSON.before : '') + JSON.stringify(text).slice(1, -1));
      case 'summary':
      case 'content':
        return this.#terms.display === 'shown' ? composer.thinking(this.#show(item, kind, text, isFirst)) : [];
      case 'refusal':
        this.#isRefused = true;
        break;
      case 'text':
    }
    return [...(isFirst ? composer.closeBlock() : []), ...composer.text(text)];
  }

  /** The text as shown in the thinking, recorded for sending the item back. */
  #show({ shown }: OutputItem, of: 'summary' | 'content', text: string, isFirst: boolean): string {
    if (isFirst) shown.push({ of, characters: 0 });
    const part = shown.at(-1);
    if (part !== undefined) part.characters += text.length;
    return isFirst && shown.length > 1 ? PART_SEPARATOR + text : text;
  }

  /** The parts of a completed item that its pieces did not contain, and its end. */
  #whole(index: number, value: JsonValue | undefined): StreamEvent[] {
    this.#itemOf({ output_index: index });
    if (!isJsonObject(value)) return [];
    const events = this.#begin(index, value);
    const bring = (kind: PieceKind, place: number | '', text: JsonValue | undefined) =>
      events.push(...this.#piece(index, kind, String(place), text, true));
    const parts = jsonObjects(value['content']).entries();
    switch (value['type']) {
      case 'function_call':
      case 'tool_search_call':
        bring('arguments', '', argumentsText(value['arguments']));
        break;
      case 'custom_tool_call':
        bring('custom', '', value['input']);
        if (value['status'] !== 'incomplete') events.push(...this.#emitInTurn(index, 0, () => this.#endCustom(index)));
        break;
      case 'message':
        for (const [place, part] of parts) {
          bring('text', place, part['text']);
          bring('refusal', place, part['refusal']);
        }
        break;
      case 'reasoning':
        for (const [place, part] of jsonObjects(value['summary']).entries()) bring('summary', place, part['text']);
        for (const [place, part] of parts) bring('content', place, part['text']);
        events.push(
          ...this.#emitInTurn(index, textOf(value['encrypted_content']).length, () => this.#seal(index, value)),
        );
    }
    return [...events, ...this.#end(index, value['status'] === 'incomplete')];
  }

  #endCustom(index: number): StreamEvent[] {
    const hasInput = this.#items.get(index)?.received.has('custom ') ?? false;
    return hasInput ? this.#composer.toolInput(CUSTOM_JSON.after) : [];
  }

  #seal(index: number, { id, encrypted_content: sealed }: JsonObject): StreamEvent[] {
    const parts = this.#items.get(index)?.shown ?? [];
    const encryptedContent = textOf(sealed) || null;
    if (encryptedContent === null && parts.length === 0) return [];
    return this.#composer.signature(encodeReasoning({ id: textOf(id), encryptedContent, parts }, this.#terms.home));
  }

  /** Emits now, or when the item's turn comes. */
  #emitInTurn(index: number, characters: number, step: () => StreamEvent[]): StreamEvent[] {
    if (index === this.#turn) return step();
    this.#waitingCharacters += characters + STEP_CHARACTERS;
    if (this.#waitingCharacters > bounds.upstreamEventBytesMax)
      throw new ProviderFault('unusable', 'the provider interleaved too many items to put them in order');
    this.#items.get(index)?.waiting.push(step);
    return [];
  }

  #end(index: number, isCut: boolean): StreamEvent[] {
    const item = this.#items.get(index);
    if (item === undefined) return [];
    item.isDone = true;
    // The end of the message closes truncated items, because it has the reason.
    const events = isCut ? [] : this.#emitInTurn(index, 0, () => this.#composer.closeBlock());
    return index === this.#turn ? [...events, ...this.#passTurn(false)] : events;
  }

  /** Closes the current item and emits the items that waited for it; at the end of the response, all remaining items. */
  #passTurn(isLast: boolean): StreamEvent[] {
    const events: StreamEvent[] = [];
    for (;;) {
      if (this.#turn !== null) {
        this.#items.delete(this.#turn);
        this.#emitted.add(this.#turn);
      }
      this.#turn = this.#items.size === 0 ? null : Math.min(...this.#items.keys());
      const item = this.#turn === null ? undefined : this.#items.get(this.#turn);
      if (item === undefined) return events;
      for (const step of item.waiting.splice(0)) events.push(...step());
      if (!item.isDone && !isLast) return events;
    }
  }

  #finish(value: JsonValue | undefined, isCut: boolean): StreamEvent[] {
    const response = objectOf(value);
    if (hasFailed(response)) throw this.#failure(response);
    this.#noteModel(response);
    const events = this.#placesOf(jsonObjects(response['output'])).flatMap(([index, item]) => this.#whole(index, item));
    events.push(...this.#passTurn(true));
    const isIncomplete = isCut || response['status'] === 'incomplete';
    const reason = this.#stopReason(response, isIncomplete);
    events.push(...this.#composer.finish(reason, null, this.usage.finish(), isIncomplete));
    this.#isFinished = true;
    return events;
  }

  /** Content that is rejected only after output was counted is what the model made of the prompt. */
  #failure(response: JsonValue | undefined): ProviderFault {
    const fault = convertErrorEvent(response, this.#terms.upstreamRequestId);
    if (fault.kind !== 'rejected' || !this.usage.hasOutput) return fault;
    const { upstreamRequestId } = fault;
    return new ProviderFault('unusable', fault.message, { usage: this.usage.usage, upstreamRequestId });
  }

  /** The items by their indexes in the stream, which it may omit: by id or by order; unknown items come last. */
  #placesOf(output: readonly JsonObject[]): [index: number, item: JsonObject][] {
    const known = [...this.#emitted, ...this.#items.keys()].sort((one, other) => one - other);
    let behind = (known.at(-1) ?? -1) + 1;
    return output.map((item, place) => [this.#indexes.get(item['id']) ?? known[place] ?? behind++, item]);
  }

  #stopReason(response: JsonObject, isCut: boolean): string {
    if (isCut) {
      const word = textOf(objectOf(response['incomplete_details'])['reason']);
      return endingOf(word, 'responses') === 'refusal' ? 'refusal' : 'max_tokens'; // whatever cut it
    }
    if (this.#composer.hasTool) return 'tool_use';
    return this.#isRefused ? 'refusal' : 'end_turn';
  }

  #noteModel(response: JsonValue | undefined): void {
    if (isJsonObject(response) && typeof response['model'] === 'string')
      this.#composer.reportedModel ??= response['model'];
  }
}

function hasFailed({ status, error }: JsonObject): boolean {
  return status === 'failed' || status === 'cancelled' || isJsonObject(error);
}

function indexOf({ output_index: index }: JsonObject): number | null {
  return isWholeNumber(index) ? index : null;
}

/** The events of the message. Throws ProviderFault for a failed or invalid response. */
export function convertAnswer(response: JsonObject, terms: AnswerTerms): StreamEvent[] {
  const { status, output } = response;
  if (hasFailed(response)) return new ChunkConverter(terms).add({ type: 'response.failed', response });
  if (!Array.isArray(output)) throw convertErrorEvent(response, terms.upstreamRequestId);
  if (status !== 'completed' && status !== 'incomplete' && status !== undefined)
    throw new ProviderFault('failed', 'the provider returned an unfinished response');
  // A truncated tool input is invalid JSON, which a whole message must not contain.
  const inputs = new InnerJson();
  const kept =
    status === 'incomplete' ? output.filter((item) => !isJsonObject(item) || !isCutCall(item, inputs)) : output;
  const converter = new ChunkConverter(terms);
  try {
    return converter.add({ type: 'response.completed', response: { ...response, output: kept } });
  } catch (thrown) {
    throw withUsage(thrown, converter.usage.usage);
  }
}

function isCutCall(item: JsonObject, inputs: InnerJson): boolean {
  return item['type'] === 'function_call' && !isJsonObject(inputs.read(argumentsText(item['arguments'])));
}
