// The interface of a provider kind in this suite: how its wire format renders a response or an error, what clients
// see and what is sent back, and how its requests are read. Written from the protocols' documentation, without src/.
// It has no tests of its own.

import type { FaultKind } from '../../../../src/providers/providers.ts';
import type { Fact } from './facts.ts';
import type { Counted, ModelReply, Segment } from './model-reply.ts';

/** Plain JSON. */
export type Json = Record<string, unknown>;

/** A block as a client sees it. For signatures created by the service, only their presence is compared. */
export type Shown =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: unknown }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; name: string; input: string };

export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** The expected kind of fault. */
  kind: FaultKind;
  /** The retry time, if there is one. */
  retryAfterMs?: number;
}

/** The layout of a conversation for a kind; everything else is as it was sent. */
export interface Layout {
  /** Results are in the order of their calls, whatever their own order was. */
  resultsByCall: boolean;
  /** Attachments of results come after all results. */
  attachmentsAfterResults: boolean;
  /** Text of the user beside results is part of the last result. */
  textInLastResult: boolean;
  /** The assistant's texts come before its calls. */
  textBeforeCalls: boolean;
  /** The role of a system message in the middle. */
  systemInside: 'system' | 'user';
  /** For these documents the title is a file name after the other text. */
  titleLast: readonly ('pdf' | 'pdf-url')[];
  /** Content that the kind does not support. */
  refuses: readonly Carried[];
  /** Texts that the kind may add. */
  adds: readonly RegExp[];
}

/** Kinds of content that some providers do not support. */
export type Carried = 'image-url' | 'image-gif' | 'pdf' | 'pdf-url' | 'web-url';

export interface Driver {
  /** For example "gemini" or "openai (mistral)". */
  name: string;
  kind: string;
  /** The kind whose wire format it has; absent: its own. */
  wire?: string;
  /** It speaks the Messages protocol: requests and events are forwarded as they are. */
  speaksMessages: boolean;
  /** Tools that messages add are sent from the start; absent: as they were added, in the Messages protocol. */
  gathersTools?: true;
  /** As configured by an operator; requests to its host are answered by the test. */
  baseUrl: string;
  model: string;
  credential: string;
  /** The parts of a reply that this kind can express, in its order. */
  fit(reply: ModelReply): ModelReply;
  /**
   * The stream of a reply: the text of each of its events. `random` splits the pieces, and interleaves them if the
   * kind allows it.
   */
  stream(reply: ModelReply, random: () => number): string[];
  /** The bytes of an event, and their content type; absent: server-sent events as text. */
  framing?: { contentType: string; encode(event: string): Uint8Array };
  /** The number of final events that add nothing to the message. */
  eventsAfterEnd: number;
  whole(reply: ModelReply): string;
  /** The blocks that a client sees. */
  shown(reply: ModelReply): Shown[];
  /** The segments of its own reply that are sent back to the provider, in its order. */
  back(reply: ModelReply): Segment[];
  /** Whether the text of another model's thinking is sent back. */
  acceptsForeignThinking: boolean;
  /** Only the counts that this kind reports. */
  reportedCounts(counted: Counted): Json;
  /** Whether it reports the stop sequence. */
  reportsSequence: boolean;
  /** An error in the middle of a stream, and its fault. */
  midway: { event: string; kind: FaultKind };
  refusals: Readonly<Record<string, Refusal>>;
  /** The response to a probe, with two models; or the refusal that a probe expects, if there is no list. */
  models: string | { status: number; body: string };
  layout: Layout;
  /** The conversation of a request, and the names of its tools. */
  read(body: string): { facts: Fact[]; tools: { name: string; schema: unknown }[] };
  /** The required form of a tool name. */
  toolName: RegExp;
  /** The parameters in a request. */
  parameters(body: Json): Parameters;
}

/** undefined if the protocol has no such parameter. */
export interface Parameters {
  maxTokens: unknown;
  stopSequences: unknown;
  topP: unknown;
  toolChoice: unknown;
}

/** The kind whose wire format a driver has. */
export function wireOf({ kind, wire }: Driver): string {
  return wire ?? kind;
}

/** A text in pieces of a few characters, never splitting a surrogate pair. */
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

/** The bytes of events. */
export function bytesOf({ framing }: Pick<Driver, 'framing'>, events: readonly string[]): Uint8Array {
  return framing === undefined ? Buffer.from(events.join('')) : Buffer.concat(events.map(framing.encode));
}

/** The content type of a stream. */
export function streamTypeOf({ framing }: Pick<Driver, 'framing'>): string {
  return framing?.contentType ?? 'text/event-stream';
}

/** Merges several lists, keeping the order of each. */
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

/** Numbers calls by their ids; a repeated id stands for its latest call. */
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

/** The objects in a list; empty if the value is not a list. */
export function objectsOf(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}
