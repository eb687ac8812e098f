// The provider's events as Messages events, one after another, without I/O. Items are told in the order of their index:
// what comes of another one meanwhile waits. A whole answer takes the same way, as its items that are done.

import { bounds } from '../../config.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, type StreamEvent } from '../../wire/wire.ts';
import { argumentsText } from '../call-arguments.ts';
import { MessageComposer } from '../compose-message.ts';
import { ProviderFault } from '../provider.ts';
import { convertErrorEvent } from './convert-error.ts';
import type { ThinkingDisplay } from './convert-thinking.ts';
import { convertUsage } from './convert-usage.ts';
import { encodeReasoning, PART_SEPARATOR, type ReasoningPart } from './reasoning-signature.ts';

/** What of the request its answer depends on. */
export interface AnswerTerms {
  messageId: string;
  /** Said to have answered where the provider does not say. */
  model: string;
  display: ThinkingDisplay;
  /** The mark of the provider in the signatures of its reasoning. */
  home: string;
  /** Name of a tool at the provider → the caller's, where they differ. */
  toolNames: ReadonlyMap<string, string>;
  /** Ids of calls that the conversation has already; absent: none. */
  callIds?: ReadonlySet<string>;
  upstreamRequestId: string | null;
}

type PieceKind = 'text' | 'refusal' | 'summary' | 'content' | 'arguments';

/** One output item while it grows. */
interface OutputItem {
  /** Characters that have come of each of its parts. */
  readonly received: Map<string, number>;
  /** What is to be said of it when its turn comes. */
  readonly waiting: (() => StreamEvent[])[];
  /** What of its reasoning was shown. */
  readonly shown: ReasoningPart[];
  /** Of a call: its name is known. */
  isNamed: boolean;
  isDone: boolean;
}

/** Events that bring a piece of an item, or, for those that follow it, all of it once more. */
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
  ['response.function_call_arguments.done', { kind: 'arguments', member: 'arguments', place: null }],
]);

const ITEMS_MAX = 1_000; // of one answer
const STEP_CHARACTERS = 64; // that a step which waits takes beside its text

export class ChunkConverter {
  readonly #terms: AnswerTerms;
  readonly #items = new Map<number, OutputItem>(); // begun, and not told to their end
  readonly #callIds: Set<string>;
  readonly #told = new Set<number>(); // one number for each item of one answer
  readonly #indexes = new Map<JsonValue | undefined, number>(); // of items by their ids
  #composer: MessageComposer | null = null;
  #model: string | null = null;
  #turn: number | null = null; // the item that is told at the moment
  #latest = 0;
  #waitingCharacters = 0;
  #isRefused = false;
  #isFinished = false;

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
    this.#callIds = new Set(terms.callIds);
  }

  /** The end of the message was given. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** The events that follow from the provider's next one. Throws ProviderFault for its errors. */
  add(value: JsonObject): StreamEvent[] {
    const type = String(value['type']);
    const piece = PIECES.get(type);
    if (piece !== undefined) {
      const place = piece.place === null ? '' : String(value[piece.place] ?? 0);
      return this.#piece(this.#itemOf(value), piece.kind, place, value[piece.member], type.endsWith('.done'));
    }
    switch (type) {
      case 'response.created':
        // Not said yet: what fails before anything was produced may be tried elsewhere.
        this.#noteModel(value['response']);
        return [];
      case 'response.output_item.added':
        return [...this.#compose().start({}), ...this.#begin(this.#newItem(value), value['item'])];
      case 'response.output_item.done':
        return this.#whole(indexOf(value) ?? this.#latest, value['item']);
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(value['response'], type === 'response.incomplete');
      case 'response.failed':
      case 'response.cancelled':
        throw this.#faultOf(value['response']);
      case 'error':
        throw convertErrorEvent(value, this.#terms.upstreamRequestId);
      default:
        return []; // the beginnings and ends of parts, annotations, and what is yet to be invented
    }
  }

  #newItem(value: JsonObject): number {
    if (indexOf(value) === null && this.#told.has(this.#latest)) this.#latest++; // some servers leave it out
    return this.#itemOf(value);
  }

  /** The item that an event is of, begun where the provider has left out to say so. */
  #itemOf(value: JsonObject): number {
    const index = indexOf(value) ?? this.#latest;
    this.#latest = index;
    if (this.#items.has(index) || this.#told.has(index)) return index;
    if (this.#items.size + this.#told.size >= ITEMS_MAX)
      throw new ProviderFault('failed', 'the provider answered with too many items');
    this.#items.set(index, { received: new Map(), waiting: [], shown: [], isNamed: false, isDone: false });
    this.#turn ??= index;
    return index;
  }

  #begin(index: number, value: JsonValue | undefined): StreamEvent[] {
    const item = this.#items.get(index);
    if (isJsonObject(value) && typeof value['id'] === 'string') this.#indexes.set(value['id'], index);
    if (item === undefined || item.isNamed || !isJsonObject(value) || value['type'] !== 'function_call') return [];
    const { name, call_id: callId } = value;
    if (typeof name !== 'string' || name === '') return [];
    item.isNamed = true;
    const id = this.#shownId(typeof callId === 'string' ? callId : '', index);
    return this.#say(index, 0, () => this.#compose().beginTool(id, this.#terms.toolNames.get(name) ?? name));
  }

  /** The provider's own id of a call, or one of ours where that would not be the only one of the conversation. */
  #shownId(callId: string, index: number): string {
    const own = callId.replaceAll(/[^\w-]/g, '_');
    const isUnique = own !== '' && !this.#callIds.has(own);
    const shown = isUnique ? own : `${this.#terms.messageId}_${index}`;
    this.#callIds.add(shown);
    return shown;
  }

  /** What is new in a piece; of a whole, what its pieces have not brought. */
  #piece(index: number, kind: PieceKind, place: string, text: JsonValue | undefined, isWhole: boolean): StreamEvent[] {
    const item = this.#items.get(index);
    if (item === undefined || typeof text !== 'string') return [];
    if (kind === 'arguments' && !item.isNamed) return []; // it is brought by the item itself, with its name
    const key = `${kind} ${place}`;
    const before = item.received.get(key) ?? 0;
    const fresh = isWhole ? text.slice(before) : text;
    if (fresh === '') return [];
    item.received.set(key, before + fresh.length);
    return this.#say(index, fresh.length, () => this.#tell(item, kind, fresh, before === 0));
  }

  #tell(item: OutputItem, kind: PieceKind, text: string, isFirst: boolean): StreamEvent[] {
    const composer = this.#compose();
    switch (kind) {
      case 'arguments':
        return composer.toolInput(text);
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

  /** The text as it stands in the thinking, noted for the item's way back. */
  #show({ shown }: OutputItem, of: 'summary' | 'content', text: string, isFirst: boolean): string {
    if (isFirst) shown.push({ of, characters: 0 });
    const part = shown.at(-1);
    if (part !== undefined) part.characters += text.length;
    return isFirst && shown.length > 1 ? PART_SEPARATOR + text : text;
  }

  /** An item as it is at its end: what its pieces have not brought, and that it ends. */
  #whole(index: number, value: JsonValue | undefined): StreamEvent[] {
    this.#itemOf({ output_index: index });
    if (!isJsonObject(value)) return [];
    const events = this.#begin(index, value);
    const bring = (kind: PieceKind, place: number | '', text: JsonValue | undefined) =>
      events.push(...this.#piece(index, kind, String(place), text, true));
    const parts = jsonObjects(value['content']).entries();
    switch (value['type']) {
      case 'function_call':
        bring('arguments', '', argumentsText(value['arguments']));
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
        events.push(...this.#say(index, lengthOf(value['encrypted_content']), () => this.#seal(index, value)));
    }
    return [...events, ...this.#end(index, value['status'] === 'incomplete')];
  }

  #seal(index: number, { id, encrypted_content: sealed }: JsonObject): StreamEvent[] {
    const parts = this.#items.get(index)?.shown ?? [];
    const encryptedContent = typeof sealed === 'string' && sealed !== '' ? sealed : null;
    if (encryptedContent === null && parts.length === 0) return [];
    const reasoning = { id: typeof id === 'string' ? id : '', encryptedContent, parts };
    return this.#compose().signature(encodeReasoning(reasoning, this.#terms.home));
  }

  /** Says it now, or when the item's turn comes. */
  #say(index: number, characters: number, step: () => StreamEvent[]): StreamEvent[] {
    if (index === this.#turn) return step();
    this.#waitingCharacters += characters + STEP_CHARACTERS;
    if (this.#waitingCharacters > bounds.upstreamEventBytesMax)
      throw new ProviderFault('failed', 'the provider mixes its items so that they cannot be told in turn');
    this.#items.get(index)?.waiting.push(step);
    return [];
  }

  #end(index: number, isCut: boolean): StreamEvent[] {
    const item = this.#items.get(index);
    if (item === undefined) return [];
    item.isDone = true;
    // What was cut is closed by the end of the message, which knows why.
    const events = isCut ? [] : this.#say(index, 0, () => this.#compose().closeBlock());
    return index === this.#turn ? [...events, ...this.#passTurn(false)] : events;
  }

  /** Ends the turn of the item that is told, and tells those whose turn comes; at the end of the answer all that are left. */
  #passTurn(isLast: boolean): StreamEvent[] {
    const events: StreamEvent[] = [];
    for (;;) {
      if (this.#turn !== null) {
        this.#items.delete(this.#turn);
        this.#told.add(this.#turn);
      }
      this.#turn = this.#items.size === 0 ? null : Math.min(...this.#items.keys());
      const item = this.#turn === null ? undefined : this.#items.get(this.#turn);
      if (item === undefined) return events;
      for (const step of item.waiting.splice(0)) events.push(...step());
      if (!item.isDone && !isLast) return events;
    }
  }

  #faultOf(response: JsonValue | undefined): ProviderFault {
    return convertErrorEvent(isJsonObject(response) ? response : undefined, this.#terms.upstreamRequestId);
  }

  #finish(value: JsonValue | undefined, isCut: boolean): StreamEvent[] {
    const response = isJsonObject(value) ? value : {};
    if (FAILED.includes(response['status']) || isJsonObject(response['error'])) throw this.#faultOf(response);
    this.#noteModel(response);
    const events = this.#placesOf(jsonObjects(response['output'])).flatMap(([index, item]) => this.#whole(index, item));
    events.push(...this.#passTurn(true));
    const composer = this.#compose();
    const isIncomplete = isCut || response['status'] === 'incomplete';
    const reason = this.#stopReason(response, isIncomplete, composer);
    events.push(...composer.finish(reason, null, convertUsage(response['usage']), isIncomplete));
    this.#isFinished = true;
    return events;
  }

  /**
   * The items of the whole response with the indexes that the stream gave them: by their ids, else in their order, since a
   * stream may leave indexes out. What the stream had nothing of comes behind.
   */
  #placesOf(output: readonly JsonObject[]): [index: number, item: JsonObject][] {
    const known = [...this.#told, ...this.#items.keys()].sort((one, other) => one - other);
    let behind = (known.at(-1) ?? -1) + 1;
    return output.map((item, place) => [this.#indexes.get(item['id']) ?? known[place] ?? behind++, item]);
  }

  #stopReason(response: JsonObject, isCut: boolean, composer: MessageComposer): string {
    if (isCut) {
      const details = response['incomplete_details'];
      const isFiltered = isJsonObject(details) && details['reason'] === 'content_filter';
      return isFiltered ? 'refusal' : 'max_tokens'; // a cause that nobody knows has cut it, too
    }
    if (composer.hasTool) return 'tool_use';
    return this.#isRefused ? 'refusal' : 'end_turn';
  }

  #noteModel(response: JsonValue | undefined): void {
    if (isJsonObject(response) && typeof response['model'] === 'string') this.#model ??= response['model'];
  }

  #compose(): MessageComposer {
    const { messageId, model } = this.#terms;
    this.#composer ??= new MessageComposer({ id: messageId, model: this.#model ?? model });
    return this.#composer;
  }
}

const FAILED: readonly (JsonValue | undefined)[] = ['failed', 'cancelled'];

function lengthOf(text: JsonValue | undefined): number {
  return typeof text === 'string' ? text.length : 0;
}

function indexOf({ output_index: index }: JsonObject): number | null {
  return typeof index === 'number' && Number.isSafeInteger(index) ? index : null;
}
