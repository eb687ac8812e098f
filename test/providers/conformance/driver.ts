// What the suite asks of a kind of provider: how its wire renders an answer or an error, what of an answer a client is
// shown and it hears again, and how its requests are read back. Written from the protocols' facts, without src/. Not a test.

import type { FaultKind } from '../../../src/providers/providers.ts';
import type { Fact } from './facts.ts';
import type { Counted, Said, Saying } from './saying.ts';

/** Plain JSON, as a reader meets it. */
export type Json = Record<string, unknown>;

/** A block as a client is shown it. A signature is only that there is one, where it is of our own making. */
export type Shown =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: unknown }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; name: string; input: string };

export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** What it must be told as. */
  kind: FaultKind;
  /** How long to wait, where it says so. */
  retryAfterMs?: number;
}

/** How the conversation of a request is laid out for a kind; what is not said here is as it was sent. */
export interface Layout {
  /** Results stand in the order of their calls, whatever their own was. */
  resultsByCall: boolean;
  /** What else results show stands behind all of them. */
  attachmentsBeside: boolean;
  /** What a user says beside results is part of the last of them. */
  restInLastResult: boolean;
  /** The assistant's texts stand before its calls. */
  textBeforeCalls: boolean;
  /** Who says what the system says in the middle. */
  systemInside: 'system' | 'user';
  /** Of these documents the title is a name, behind the other words. */
  titleLast: readonly ('pdf' | 'pdf-url')[];
  /** What these cannot be carried. */
  refuses: readonly Carried[];
  /** Words that are added to texts. */
  adds: readonly RegExp[];
}

/** Kinds of content that some providers have no place for. */
export type Carried = 'image-url' | 'image-gif' | 'pdf' | 'pdf-url' | 'web-url';

export interface Driver {
  /** "gemini", "openai (mistral)". */
  name: string;
  kind: string;
  /** As an operator writes it; requests to its host lead to the test. */
  baseUrl: string;
  model: string;
  credential: string;
  /** What of any answer this kind can give, in its order. */
  fit(saying: Saying): Saying;
  /** The stream of an answer: the text of each of its events. Pieces are cut, and mixed where they may be, by `random`. */
  stream(saying: Saying, random: () => number): string[];
  /** How many of these events, at the end, tell nothing more of the message. */
  eventsBehindEnd: number;
  whole(saying: Saying): string;
  /** What a client is shown. */
  shown(saying: Saying): Shown[];
  /** What the provider hears again of its own answer, in its order. */
  back(saying: Saying): Said[];
  /** What it hears again of thinking that another kind's model did: its text, or nothing. */
  hearsForeignThinking: boolean;
  /** Of counts only what this kind tells. */
  tells(counted: Counted): Json;
  /** Whether it tells which stop sequence it met. */
  tellsSequence: boolean;
  /** An error in the midst of a stream, and what it is. */
  midway: { event: string; kind: FaultKind };
  refusals: Readonly<Record<string, Refusal>>;
  /** The answer to a probe, with two models. */
  models: string;
  layout: Layout;
  /** The conversation of a request, and the names of its tools. */
  read(body: string): { facts: Fact[]; tools: { name: string; schema: unknown }[] };
  /** What a name of a tool must look like there. */
  toolName: RegExp;
  /** Where a request says so: the parameter of each. */
  parameters(body: Json): Parameters;
}

/** Undefined: there is no place for it. */
export interface Parameters {
  maxTokens: unknown;
  stopSequences: unknown;
  topP: unknown;
  toolChoice: unknown;
}

/** A text in pieces of a few characters, never between the halves of one. */
export function piecesOf(text: string, random: () => number): string[] {
  const characters = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; ) {
    const end = at + 1 + Math.floor(random() * 8);
    pieces.push(characters.slice(at, end).join(''));
    at = end;
  }
  return pieces;
}

/** Several lists as one, each in its own order. */
export function mix<Value>(lists: readonly (readonly Value[])[], random: () => number): Value[] {
  const left = lists.map((list) => [...list]).filter((list) => list.length > 0);
  const mixed: Value[] = [];
  while (left.length > 0) {
    const place = Math.floor(random() * left.length);
    mixed.push(left[place]?.shift() as Value);
    if (left[place]?.length === 0) left.splice(place, 1);
  }
  return mixed;
}

/** A number of calls, told apart by their ids, the latest of each. */
export class CallNumbers {
  readonly #numbers = new Map<string, number>();
  #count = 0;

  begin(id: string): number {
    this.#numbers.set(id, this.#count);
    return this.#count++;
  }

  of(id: string): number {
    return this.#numbers.get(id) ?? -1;
  }
}

/** The members that are objects of a list; nothing for what is no list. */
export function objectsOf(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}
