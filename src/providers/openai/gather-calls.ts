// Orders the interleaved pieces of tool calls: the first incomplete call streams, pieces of others wait.

import { bounds } from '../../config/config.ts';
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
  /** The length of all pieces. */
  characters: number;
  /** Only white space came. */
  isBlank: boolean;
  isBegun: boolean;
  end: ObjectEnd;
  /** How often its name came again without any input or id: as many more calls without input, if none follows. */
  repeats: number;
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

/** Inputs without members. */
const EMPTY_INPUTS: readonly string[] = ['', 'null', '""', '{}', '[]'];

/** Some servers send an empty input before the pieces of the real one. */
function hasPlaceholder({ pieces }: Call): boolean {
  const input = pieces.length === 1 ? (pieces[0] as string).trim() : '';
  return input !== '' && EMPTY_INPUTS.includes(input);
}

/** Whether a last chunk repeats the whole call. */
function isRepeated(known: Call, { id, name, input }: Piece): boolean {
  const isSame = id !== '' && id === known.id && name === known.name && known.end.isReached;
  return isSame && input.length === known.characters && input === known.pieces.join('');
}

/**
 * Whether the piece begins another call at the index of a known one. Some servers count every call as the first, with other
 * ids or with none: without ids, a name after a complete input begins another call. Others make up an id for every piece.
 */
function isAnother(known: Call, { id, name, input }: Piece): boolean {
  const hasInput = input.trim() !== '';
  const haveIds = id !== '' && known.id !== '';
  if (!known.end.isReached) {
    if (!haveIds || id === known.id || name === '') return false;
    return name !== known.name || (known.isBlank && !hasInput);
  }
  if (haveIds && id !== known.id) return name !== '';
  if (haveIds) return hasInput && name !== '' && !hasPlaceholder(known);
  return hasInput ? (name || known.nextName) !== '' : name !== '' && name !== known.name;
}

type NameCall = (id: string, name: string, place: number) => { id: string; name: string };

export class CallGatherer {
  readonly #composer: MessageComposer;
  readonly #nameCall: NameCall;
  readonly #isPatient: boolean;
  readonly #calls: Call[] = [];
  readonly #waiting: Call[] = []; // the first one streams
  #count = 0;
  #begunCount = 0;
  #heldCharacters = 0;

  /** `isPatient`: calls are held until they are complete, because their signatures may come last. */
  constructor(composer: MessageComposer, nameCall: NameCall, isPatient: boolean) {
    this.#isPatient = isPatient;
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
    if (hasPlaceholder(call)) {
      call.pieces = [];
      call.characters = 0;
      call.end = new ObjectEnd();
    }
    if (input.trim() !== '') {
      call.isBlank = false;
      call.repeats = 0;
    }
    call.pieces.push(input);
    call.characters += input.length;
    call.end.read(input);
    if (this.#isPatient || call !== this.#waiting[0]) return this.#advance();
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
    for (const call of this.#waiting.splice(0)) {
      if (!call.isBegun) events.push(...this.#begin(call));
      for (let more = 0; more < call.repeats; more++) events.push(...this.#begin(call));
    }
    return events;
  }

  /** null for a repetition, or an empty piece after the end of its call. */
  #callOf(piece: Piece): Call | null {
    if (piece.id !== '' && this.#calls.some((call) => isRepeated(call, piece))) return null;
    const known = this.#find(piece);
    return known === undefined || isAnother(known, piece)
      ? this.#add(piece, known?.nextName ?? '')
      : this.#more(known, piece);
  }

  #add({ index, id, name }: Piece, nextName: string): Call {
    this.#countCall();
    const call: Call = {
      ...{ index: typeof index === 'number' ? index : null, id, name: name === '' ? nextName : '', nextName: '' },
      ...{ signature: '', pieces: [], characters: 0, isBlank: true, isBegun: false, end: new ObjectEnd(), repeats: 0 },
    };
    this.#waiting.push(call);
    this.#calls.push(call);
    return call;
  }

  /** Another piece of a known call. */
  #more(known: Call, piece: Piece): Call | null {
    const isEmpty = piece.input.trim() === '';
    if (isEmpty && known.end.isReached) {
      known.nextName ||= piece.name; // may be the name of the next call
      known.signature ||= piece.signature;
      return null;
    }
    if (!this.#waiting.includes(known))
      throw new ProviderFault('unusable', 'the provider sent more input for a tool call that was complete');
    const isHead = isEmpty && known.isBlank && piece.name !== '' && piece.name === known.name;
    if (isHead && piece.id === '' && known.id === '') {
      this.#countCall();
      known.repeats++;
    }
    return known;
  }

  #countCall(): void {
    this.#hold(CALL_CHARACTERS);
    if (++this.#count > CALLS_MAX) throw new ProviderFault('unusable', 'the provider called too many tools at once');
  }

  /** By index, else by id, else the last; undefined for a new call. Some servers send another id with every piece. */
  #find({ index, id, name }: Piece): Call | undefined {
    if (typeof index === 'number') return this.#calls.findLast((one) => one.index === index);
    const last = this.#calls.at(-1);
    if (id === '') return name === '' || name === last?.name ? last : undefined;
    return this.#calls.findLast((one) => one.id === id) ?? (name === '' ? last : undefined);
  }

  /** Ends complete calls at the front and begins the next. */
  #advance(isLastToo = false): StreamEvent[] {
    const events: StreamEvent[] = [];
    while (this.#waiting.length > (isLastToo ? 0 : 1)) {
      const first = this.#waiting[0] as Call;
      if (!first.end.isReached || (!isLastToo && this.#awaitsInput(first))) break;
      if (!first.isBegun) events.push(...this.#begin(first));
      events.push(...this.#composer.closeBlock());
      this.#waiting.shift();
      const next = this.#waiting[0];
      if (!this.#isPatient && next !== undefined && next.pieces.length > 0) events.push(...this.#begin(next));
    }
    return events;
  }

  /** Whether an empty input may still be a placeholder: no call after it has any other. */
  #awaitsInput(first: Call): boolean {
    return hasPlaceholder(first) && this.#waiting.every((call) => call.isBlank || hasPlaceholder(call));
  }

  #begin(call: Call): StreamEvent[] {
    if (call.name === '') throw new ProviderFault('unusable', 'the provider called a tool without naming it');
    call.isBegun = true;
    const shown = this.#nameCall(call.id, call.name, this.#begunCount++);
    const signed = this.#composer.signature(call.signature && placeSignature('call', call.signature));
    const events = [...signed, ...this.#composer.beginTool(shown.id, shown.name)];
    const input = call.pieces.join('');
    return EMPTY_INPUTS.includes(input.trim()) ? events : [...events, ...this.#composer.toolInput(input)];
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
