// Reads the new content of a chunk's choice: its `delta`, or the part of its `message` that no earlier chunk had.

import { isWholeNumber } from '../../base/checked-number.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { argumentsText } from '../compose-message.ts';

/** Thinking stands in a member of its own, or among the parts of the content. */
type TextKind = 'thinking' | 'thinkingPart' | 'text' | 'refusal';

interface TextPiece {
  kind: TextKind;
  text: string;
}

/** New content, in the order in which it is relayed. */
export interface NewContent {
  details: JsonObject[];
  /** The details replace earlier ones. */
  areDetailsWhole: boolean;
  texts: TextPiece[];
  /** Pieces of calls. */
  calls: JsonObject[];
  /** A piece of spoken output; null: none. */
  sound: JsonObject | null;
}

const HEAD_CHARACTERS = 1_024;

/** A text so far: its length and its beginning, by which its repetition is recognized. */
class SaidText {
  /** A delta had a part of it. */
  isInPieces = false;
  #head = '';
  #characters = 0;

  add(text: string): void {
    if (this.#head.length < HEAD_CHARACTERS) this.#head += text.slice(0, HEAD_CHARACTERS - this.#head.length);
    this.#characters += text.length;
  }

  /** The characters at the start of a message's text that are not new: a message has all text so far, or the next piece. */
  knownIn(text: string): number {
    if (text.length >= this.#characters && text.startsWith(this.#head)) return this.#characters;
    return this.isInPieces ? text.length : 0;
  }
}

export class ChoiceReader {
  readonly #texts: Record<TextKind, SaidText> = {
    ...{ thinking: new SaidText(), thinkingPart: new SaidText(), text: new SaidText(), refusal: new SaidText() },
  };
  readonly #inputs = new Map<JsonValue, SaidText>(); // of calls in messages, by index
  #hasDetails = false; // of a delta
  #hasCalls = false; // of a delta
  #hasSound = false; // of a delta

  read(choice: JsonObject): NewContent {
    let content = contentOf(objectOf(choice['delta']));
    if (!isFilled(content)) {
      const message = contentOf(objectOf(choice['message']));
      if (isFilled(message)) return this.#newOf(message);
      content = contentOf({ content: textOf(choice['text']) }); // as in a text completion
    }
    for (const { kind, text } of content.texts) {
      this.#texts[kind].isInPieces = true;
      this.#texts[kind].add(text);
    }
    this.#hasDetails ||= content.details.length > 0;
    this.#hasCalls ||= content.calls.length > 0;
    this.#hasSound ||= content.sound !== null;
    return content;
  }

  /** The new content of a message. */
  #newOf({ details, texts, calls, sound }: NewContent): NewContent {
    const kinds = new Set(texts.map(({ kind }) => kind));
    const known = new Map([...kinds].map((kind) => [kind, this.#texts[kind].knownIn(wholeOf(texts, kind))]));
    const fresh = texts.map(({ kind, text }) => {
      const left = known.get(kind) ?? 0;
      known.set(kind, Math.max(0, left - text.length));
      return { kind, text: text.slice(left) };
    });
    for (const { kind, text } of fresh) this.#texts[kind].add(text);
    return {
      details: this.#hasDetails ? [] : details,
      areDetailsWhole: true,
      texts: fresh.filter(({ text }) => text !== ''),
      sound: this.#hasSound ? null : sound,
      calls: this.#hasCalls ? [] : calls.flatMap((call, at) => this.#newInCall(call, call['index'] ?? at)),
    };
  }

  #newInCall(call: JsonObject, index: JsonValue): JsonObject[] {
    const said = objectOf(call['function']);
    const input = argumentsText(said['arguments']);
    const before = this.#inputs.get(index);
    const fresh = input.slice(before?.knownIn(input) ?? 0);
    if (before !== undefined && fresh === '') return [];
    const known = before ?? new SaidText();
    known.add(fresh);
    this.#inputs.set(index, known);
    return [{ ...call, index, function: { ...said, arguments: fresh } }];
  }
}

/** Whether it is more than the empty texts of a first or last chunk. */
export function isFilled({ details, texts, calls, sound }: NewContent): boolean {
  return texts.length > 0 || calls.length > 0 || details.length > 0 || sound !== null;
}

function wholeOf(texts: readonly TextPiece[], kind: TextKind): string {
  return texts.map((piece) => (piece.kind === kind ? piece.text : '')).join('');
}

/** The content of a delta or message. */
function contentOf(said: JsonObject): NewContent {
  const texts: TextPiece[] = [];
  const add = (kind: TextKind, text: string) => {
    if (text !== '') texts.push({ kind, text });
  };
  add('thinking', textIn(said['reasoning_content']) || textIn(said['reasoning']));
  readContent(said['content'], add);
  add('refusal', textOf(said['refusal']));
  const calls = jsonObjects(said['tool_calls']);
  const old = said['function_call']; // a single call
  return {
    details: jsonObjects(said['reasoning_details']),
    areDetailsWhole: false,
    texts,
    calls: calls.length === 0 && isJsonObject(old) ? [{ index: 0, function: old }] : calls,
    sound: soundOf(said['audio']),
  };
}

function soundOf(audio: JsonValue | undefined): JsonObject | null {
  const { id, data, transcript, expires_at: expiresAt } = objectOf(audio);
  const piece = {
    ...(typeof id === 'string' && { id }),
    ...(typeof data === 'string' && { data }),
    ...(typeof transcript === 'string' && { transcript }),
    ...(isWholeNumber(expiresAt) && { expires_at: expiresAt }),
  };
  return Object.keys(piece).length > 0 ? piece : null;
}

/** A text, a part, or a list of both. */
function readContent(content: JsonValue | undefined, add: (kind: TextKind, text: string) => void): void {
  for (const part of Array.isArray(content) ? content : [content ?? null]) {
    if (typeof part === 'string') add('text', part);
    if (!isJsonObject(part)) continue;
    const { type, text, thinking, reasoning, refusal } = part;
    if (type === 'thinking' || type === 'reasoning') add('thinkingPart', textIn(thinking ?? reasoning ?? text));
    else if (type === 'refusal') add('refusal', textIn(refusal ?? text));
    else add('text', textOf(text));
  }
}

/** The text of a text, of an object with one, or of a list of both. */
function textIn(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return value.map(textIn).join('');
  if (isJsonObject(value)) return textIn(value['text'] ?? value['content']);
  return textOf(value);
}

const THOUGHT_CHARACTERS_MAX = 64 * 1_024;

export type ThoughtForm = 'member' | 'content';

/** Thinking that may come in two forms at once, of which one repeats the other: in a member, and in the content. */
export class ThoughtReader {
  #all = '';
  #first: ThoughtForm | null = null;
  readonly #read = { member: 0, content: 0 }; // characters of it that came in each form
  #areDifferent = false;

  /** The part of a piece that is new. */
  take(form: ThoughtForm, piece: string): string {
    this.#first ??= form;
    const isSecond = form !== this.#first;
    const at = this.#read[form];
    if (this.#areDifferent) return piece;
    if (this.#all.length >= THOUGHT_CHARACTERS_MAX) return isSecond ? '' : piece;
    const text = isSecond && at === 0 ? piece.trimStart() : piece;
    const known = at === this.#all.length ? '' : this.#all.slice(at, at + text.length);
    if (!text.startsWith(known)) {
      this.#areDifferent = true;
      return piece;
    }
    const fresh = text.slice(known.length);
    const isPadding = isSecond && fresh.trim() === '';
    if (!isPadding) this.#all += fresh;
    this.#read[form] = at + (isPadding ? known.length : text.length);
    return isPadding ? '' : fresh;
  }
}
