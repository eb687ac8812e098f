// Orders the interleaved pieces of tool calls: the first incomplete call streams, pieces of others wait.

import { bounds } from '../../config.ts';
import {
  type JsonObject,
  objectOf,
  placeSignature,
  type StreamEvent,
  signatureOfChatCall,
  textOf,
} from '../../wire/wire.ts';
import { argumentsText, type MessageComposer } from '../compose-message.ts';
import { ProviderFault } from '../provider.ts';

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [BRACKET_OPEN, BRACKET_CLOSE, BRACE_OPEN, BRACE_CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];

class ObjectEnd {
  isReached = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  read(piece: string): void {
    for (let at = 0; at < piece.length && !this.isReached; at++) this.#step(piece.charCodeAt(at));
  }

  #step(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInString) {
      this.#isEscaped = code === BACKSLASH;
      this.#isInString = code !== QUOTE;
    } else if (code === QUOTE) this.#isInString = true;
    else if (code === BRACE_OPEN || code === BRACKET_OPEN) this.#depth++;
    else if (code === BRACE_CLOSE || code === BRACKET_CLOSE) {
      this.#depth--;
      this.isReached = this.#depth === 0;
    }
  }
}

const CALLS_MAX = 1_000;
const CALL_CHARACTERS = 64; // overhead of a call besides its pieces

interface Call {
  index: number | null;
  id: string;
  name: string;
  /** A name that came after its input was complete. */
  nextName: string;
  /** The signature of the thought before it. */
  signature: string;
  pieces: string[];
  isBegun: boolean;
  readonly end: ObjectEnd;
}

interface Piece {
  index: unknown;
  id: string;
  name: string;
  input: string;
  signature: string;
}

function readPiece(value: JsonObject): Piece {
  const { name, arguments: input } = objectOf(value['function']);
  return {
    ...{ index: value['index'], id: textOf(value['id']), name: textOf(name), input: argumentsText(input) },
    signature: signatureOfChatCall(value),
  };
}

/**
 * Whether the piece begins another call at the index of a known one. Some servers count every call as the first, with other
 * ids or with none: without ids, a name after a complete input begins another call.
 */
function isAnother(known: Call, { id, name, input }: Piece): boolean {
  if (id !== '' && known.id !== '') return name !== '' && id !== known.id;
  if (!known.end.isReached) return false;
  return input.trim() === '' ? name !== '' && name !== known.name : (name || known.nextName) !== '';
}

type NameCall = (id: string, name: string, place: number) => { id: string; name: string };

export class CallGatherer {
  readonly #composer: MessageComposer;
  readonly #nameCall: NameCall;
  readonly #calls: Call[] = [];
  readonly #waiting: Call[] = []; // the first one streams
  #begunCount = 0;
  #heldCharacters = 0;

  constructor(composer: MessageComposer, nameCall: NameCall) {
    this.#composer = composer;
    this.#nameCall = nameCall;
  }

  get isGathering(): boolean {
    return this.#waiting.length > 0;
  }

  /** A piece of a call: its head, part of its input, or both. Throws ProviderFault. */
  take(value: JsonObject): StreamEvent[] {
    const piece = readPiece(value);
    const call = this.#callOf(piece);
    if (call === null) return [];
    const { id, name, input } = piece;
    if (call.id === '') call.id = id;
    if (!call.isBegun && name !== call.name) call.name += name;
    call.signature ||= piece.signature;
    if (input === '') return [];
    this.#hold(input.length);
    call.pieces.push(input);
    call.end.read(input);
    if (call !== this.#waiting[0]) return this.#advance();
    const events = call.isBegun ? this.#composer.toolInput(input) : this.#begin(call);
    return this.#waiting.length > 1 ? [...events, ...this.#advance()] : events;
  }

  /** Ends complete calls, so that text may follow; incomplete ones wait. Throws ProviderFault. */
  settle(): StreamEvent[] {
    return this.#advance(true);
  }

  /** No more pieces follow: emits waiting calls in order. Throws ProviderFault. */
  end(): StreamEvent[] {
    const events: StreamEvent[] = [];
    for (const call of this.#waiting.splice(0)) if (!call.isBegun) events.push(...this.#begin(call));
    return events;
  }

  /** null for an empty piece after the end of its call. */
  #callOf(piece: Piece): Call | null {
    const known = this.#find(piece);
    if (known !== undefined && !isAnother(known, piece)) {
      if (piece.input.trim() === '' && known.end.isReached) {
        known.nextName ||= piece.name; // of a call that follows, perhaps
        return null;
      }
      if (this.#waiting.includes(known)) return known;
      throw new ProviderFault('unusable', 'the provider sent more input for a tool call that was complete');
    }
    const { index, id } = piece;
    const call: Call = {
      ...{
        index: typeof index === 'number' ? index : null,
        id,
        name: piece.name === '' ? (known?.nextName ?? '') : '',
      },
      ...{ nextName: '', signature: '', pieces: [], isBegun: false, end: new ObjectEnd() },
    };
    this.#hold(CALL_CHARACTERS);
    if (this.#begunCount + this.#waiting.length >= CALLS_MAX)
      throw new ProviderFault('unusable', 'the provider called too many tools at once');
    this.#waiting.push(call);
    this.#calls.push(call);
    return call;
  }

  /** By index, else by id, else the last; undefined for a new call. Some servers send another id with every piece. */
  #find({ index, id, name }: Piece): Call | undefined {
    if (typeof index === 'number') return this.#calls.findLast((one) => one.index === index);
    const known = id === '' ? undefined : this.#calls.findLast((one) => one.id === id);
    return known ?? (name === '' ? this.#calls.at(-1) : undefined);
  }

  /** Ends complete calls at the front and begins the next. */
  #advance(isLastToo = false): StreamEvent[] {
    const events: StreamEvent[] = [];
    while (this.#waiting.length > (isLastToo ? 0 : 1)) {
      const first = this.#waiting[0] as Call;
      if (!first.end.isReached) break;
      if (!first.isBegun) events.push(...this.#begin(first));
      events.push(...this.#composer.closeBlock());
      this.#waiting.shift();
      first.pieces = [];
      const next = this.#waiting[0];
      if (next !== undefined && next.pieces.length > 0) events.push(...this.#begin(next));
    }
    return events;
  }

  #begin(call: Call): StreamEvent[] {
    if (call.name === '') throw new ProviderFault('unusable', 'the provider called a tool without naming it');
    call.isBegun = true;
    const shown = this.#nameCall(call.id, call.name, this.#begunCount++);
    const signed = this.#composer.signature(call.signature && placeSignature('call', call.signature));
    const events = [...signed, ...this.#composer.beginTool(shown.id, shown.name)];
    const input = call.pieces.join('');
    const isEmpty = ['', 'null', '""'].includes(input.trim()); // an object without members
    return isEmpty ? events : [...events, ...this.#composer.toolInput(input)];
  }

  #hold(characters: number): void {
    this.#heldCharacters += characters;
    if (this.#heldCharacters > bounds.upstreamEventBytesMax)
      throw new ProviderFault('unusable', 'the provider sent too much tool input');
  }
}

/** Members that grow; all others are complete when they first appear. */
const GROWING: readonly string[] = ['text', 'summary', 'data'];

export class DetailGatherer {
  readonly #details: JsonObject[] = [];
  #characters = 0;
  #isDrained = false;

  /** Adds pieces; or with `isWhole` replaces those not drained yet by all so far. Throws ProviderFault beyond the bound. */
  take(pieces: readonly JsonObject[], isWhole: boolean): void {
    if (isWhole && pieces.length > 0) {
      if (this.#isDrained) return;
      this.#details.length = 0;
      this.#characters = 0;
    }
    for (const piece of pieces) {
      this.#characters += JSON.stringify(piece).length;
      if (this.#characters > bounds.upstreamEventBytesMax)
        throw new ProviderFault('unusable', 'the provider sent too many details of its reasoning');
      const last = this.#details.at(-1);
      const isSame = last !== undefined && last['type'] === piece['type'] && last['index'] === piece['index'];
      if (isSame) grow(last, piece);
      else this.#details.push({ ...piece });
    }
  }

  get isEmpty(): boolean {
    return this.#details.length === 0;
  }

  drain(): JsonObject[] {
    this.#isDrained ||= !this.isEmpty;
    return this.#details.splice(0);
  }
}

function grow(detail: JsonObject, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    if (GROWING.includes(name) && typeof value === 'string') detail[name] = textOf(detail[name]) + value;
    else if (value !== null) detail[name] = value;
  }
}
