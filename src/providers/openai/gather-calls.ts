// Tool calls as their pieces come, put in a row: here calls may be mixed piece by piece, in a Messages stream one ends
// before the next begins. The first that is not complete streams; what belongs to others waits.

import { bounds } from '../../config.ts';
import { isJsonObject, type JsonObject, type StreamEvent } from '../../wire/wire.ts';
import { argumentsText } from '../call-arguments.ts';
import type { MessageComposer } from '../compose-message.ts';
import { ProviderFault } from '../provider.ts';
import { ObjectEnd } from './object-end.ts';

const CALLS_MAX = 1_000;
const CALL_CHARACTERS = 64; // that a call takes beside its pieces

interface Call {
  index: number | null;
  id: string;
  name: string;
  /** The JSON of its input as far as it came. */
  pieces: string[];
  isBegun: boolean;
  /** How far its input has come. */
  readonly end: ObjectEnd;
}

/** Gives a call its id and name as the client gets them. */
export type NameCall = (id: string, name: string, place: number) => { id: string; name: string };

export class CallGatherer {
  readonly #composer: MessageComposer;
  readonly #nameCall: NameCall;
  readonly #calls: Call[] = [];
  readonly #waiting: Call[] = []; // the first of them is the one that streams
  #last: Call | null = null;
  #begunCount = 0;
  #heldCharacters = 0;

  constructor(composer: MessageComposer, nameCall: NameCall) {
    this.#composer = composer;
    this.#nameCall = nameCall;
  }

  /** Whether any call is not at its end yet. */
  get isGathering(): boolean {
    return this.#waiting.length > 0;
  }

  /** A piece of a call: its head, a part of its input, or both. Throws ProviderFault. */
  take(piece: JsonObject): StreamEvent[] {
    const said = isJsonObject(piece['function']) ? piece['function'] : {};
    const id = textIn(piece['id']);
    const name = textIn(said['name']);
    const input = argumentsText(said['arguments']);
    const call = this.#callOf(piece['index'], id, name, input);
    if (call === null) return [];
    if (call.id === '') call.id = id;
    if (!call.isBegun && name !== call.name) call.name += name;
    if (input === '') return [];
    this.#hold(input.length);
    call.pieces.push(input);
    call.end.read(input);
    if (call !== this.#waiting[0]) return this.#advance();
    const events = call.isBegun ? this.#composer.toolInput(input) : this.#begin(call);
    return this.#waiting.length > 1 ? [...events, ...this.#advance()] : events;
  }

  /** The calls that are complete are ended, so that text may follow; those that are not wait. Throws ProviderFault. */
  settle(): StreamEvent[] {
    return this.#advance(true);
  }

  /** No more will come: what waits is given out in order. Throws ProviderFault. */
  end(): StreamEvent[] {
    const events: StreamEvent[] = [];
    for (const call of this.#waiting.splice(0)) if (!call.isBegun) events.push(...this.#begin(call));
    return events;
  }

  /** Null for an empty piece behind the end of its call. */
  #callOf(index: unknown, id: string, name: string, input: string): Call | null {
    const known = this.#find(index, id, name);
    if (known !== undefined) {
      if (this.#waiting.includes(known)) return known;
      if (input.trim() === '') return null;
      throw new ProviderFault('failed', 'the provider sent more of the input of a tool that was complete');
    }
    const call: Call = {
      index: typeof index === 'number' ? index : null,
      id,
      name: '',
      pieces: [],
      isBegun: false,
      end: new ObjectEnd(),
    };
    this.#hold(CALL_CHARACTERS);
    if (this.#begunCount + this.#waiting.length >= CALLS_MAX)
      throw new ProviderFault('failed', 'the provider called too many tools at once');
    this.#waiting.push(call);
    this.#calls.push(call);
    this.#last = call;
    return call;
  }

  /**
   * The call that a piece belongs to; undefined for a new one. An id alone makes none: some servers send another with
   * every piece. Without index and id it is the last one's, unless it has a name.
   */
  #find(index: unknown, id: string, name: string): Call | undefined {
    if (typeof index === 'number') {
      const call = this.#calls.findLast((one) => one.index === index);
      const isAnother = call !== undefined && name !== '' && id !== '' && call.id !== '' && id !== call.id;
      return isAnother ? undefined : call;
    }
    if (id !== '')
      return this.#calls.findLast((one) => one.id === id) ?? (name === '' ? (this.#last ?? undefined) : undefined);
    return name === '' ? (this.#last ?? undefined) : undefined;
  }

  /** Ends the calls at the front that are complete, and begins the one behind them. */
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
    if (call.name === '') throw new ProviderFault('failed', 'the provider called a tool without naming it');
    call.isBegun = true;
    const shown = this.#nameCall(call.id, call.name, this.#begunCount++);
    const events = this.#composer.beginTool(shown.id, shown.name);
    // An input that is nothing at all is one without members.
    const input = call.pieces.join('');
    return isNothing(input) ? events : [...events, ...this.#composer.toolInput(input)];
  }

  #hold(characters: number): void {
    this.#heldCharacters += characters;
    if (this.#heldCharacters > bounds.upstreamEventBytesMax)
      throw new ProviderFault('failed', 'the provider called tools with too much input');
  }
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isNothing(input: string): boolean {
  const text = input.trim();
  return text === '' || text === 'null' || text === '""';
}
