// Builds a whole message from stream events: usage and signatures replace, everything else appends.

import { isWholeNumber } from '../base/checked-number.ts';
import { isJsonObject, isSound, type JsonObject, type JsonValue, jsonObjects, objectOf } from './message-request.ts';
import type { ServerSentEvent } from './server-sent-events.ts';

/** The events are not a complete Messages stream. The message is for operators. */
export class MalformedStream extends Error {
  override name = 'MalformedStream';
}

export class MessageFold {
  #message: JsonObject | null = null;
  readonly #content: JsonObject[] = [];
  #open: JsonObject | null = null; // the last content block, while it grows
  #inputJson = '';
  #isStopped = false;

  /** Adds an event; pings and unknown events are skipped. Throws MalformedStream. */
  add(event: StreamEvent): void {
    const { value } = event;
    switch (value['type']) {
      case 'message_start': {
        const { message } = value;
        expect(this.#message === null, 'a second message_start');
        expect(isJsonObject(message), 'message_start without a message');
        this.#message = message;
        break;
      }
      case 'content_block_start':
        this.#openBlock(value);
        break;
      case 'content_block_delta':
        this.#grow(this.#blockOf(value), value['delta']);
        break;
      case 'content_block_stop': {
        const block = this.#blockOf(value);
        if (this.#inputJson !== '') block['input'] = parseInput(this.#inputJson);
        this.#open = null;
        break;
      }
      case 'message_delta':
        this.#finish(value);
        break;
      case 'message_stop':
        expect(this.#message !== null && this.#open === null && !this.#isStopped, 'message_stop out of order');
        this.#isStopped = true;
    }
  }

  /** The message. Throws MalformedStream before its message_stop. */
  message(): JsonObject {
    expect(this.#message !== null && this.#isStopped, 'the stream ended without message_stop');
    return { ...this.#message, content: this.#content };
  }

  #openBlock(value: JsonObject): void {
    expect(this.#message !== null && !this.#isStopped, 'content outside of the message');
    expect(this.#open === null, 'a block begins inside another');
    expect(value['index'] === this.#content.length, `block ${this.#content.length} is missing`);
    const block = value['content_block'];
    expect(isJsonObject(block), 'content_block_start without a block');
    this.#open = { ...block };
    this.#inputJson = '';
    this.#content.push(this.#open);
  }

  #blockOf(value: JsonObject): JsonObject {
    expect(this.#open !== null && value['index'] === this.#content.length - 1, 'a delta or stop without an open block');
    return this.#open;
  }

  #grow(block: JsonObject, delta: JsonValue | undefined): void {
    expect(isJsonObject(delta), 'content_block_delta without a delta');
    switch (delta['type']) {
      case 'text_delta':
        block['text'] = text(block['text'] ?? '') + text(delta['text']);
        break;
      case 'thinking_delta':
        block['thinking'] = text(block['thinking'] ?? '') + text(delta['thinking']);
        break;
      case 'signature_delta':
        block['signature'] = text(delta['signature']);
        break;
      case 'input_json_delta':
        this.#inputJson += text(delta['partial_json']);
        break;
      case 'citations_delta': {
        const before = block['citations'];
        const citation = delta['citation'];
        expect(citation !== undefined, 'citations_delta without a citation');
        block['citations'] = Array.isArray(before) ? [...before, citation] : [citation];
        break;
      }
      case 'audio_delta':
        growSound(block, delta['audio']);
        break;
      case 'compaction_delta':
        block['content'] = delta['content'] ?? null;
        if (delta['encrypted_content'] !== undefined) block['encrypted_content'] = delta['encrypted_content'];
        break;
      default:
        throw new MalformedStream('a delta of an unknown type'); // skipping it would lose part of the answer
    }
  }

  #finish(value: JsonObject): void {
    expect(this.#message !== null && this.#open === null && !this.#isStopped, 'message_delta out of order');
    const { type: _, delta, usage, ...beside } = value; // `beside`: context_management and later members
    const before = this.#message['usage'];
    this.#message = { ...this.#message, ...objectOf(delta), ...beside };
    if (!isJsonObject(usage)) return;
    this.#message['usage'] = laterCounts(objectOf(before), usage);
  }
}

const PROMPT_COUNTS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/**
 * Cumulative counts of a message after later ones. They never fall: the parts of the prompt are those whose sum is larger, because
 * a provider may divide it later. null says nothing. With `wereEstimates`, any later count but zero takes the place of an earlier one.
 */
export function laterCounts(before: JsonObject, later: JsonObject, wereEstimates = false): JsonObject {
  const said = Object.fromEntries(Object.entries(later).filter(([, count]) => count !== null));
  const counts: JsonObject = { ...before, ...said };
  const prompt = promptOf(counts);
  if (wereEstimates ? prompt === 0 : prompt < promptOf(before))
    for (const name of PROMPT_COUNTS) if (before[name] !== undefined) counts[name] = before[name];
  const [known, output] = [before['output_tokens'], counts['output_tokens']];
  const hasFallen = isWholeNumber(known) && isWholeNumber(output) && output < known;
  if (hasFallen && (!wereEstimates || output === 0)) counts['output_tokens'] = known;
  return counts;
}

function promptOf(counts: JsonObject): number {
  const parts = PROMPT_COUNTS.map((name) => counts[name]);
  return parts.reduce<number>((sum, count) => sum + (isWholeNumber(count) ? count : 0), 0);
}

/** Texts append, other members replace. Each piece of sound is base64 of its own. */
function growSound(block: JsonObject, audio: JsonValue | undefined): void {
  const { data = '', transcript = '', ...others } = objectOf(audio);
  Object.assign(block, others);
  const before = text(block['data'] ?? '');
  const isPadded = before.endsWith('=');
  const piece = text(data);
  block['data'] = isPadded && piece !== '' ? joinBase64(before, piece) : before + piece;
  block['transcript'] = text(block['transcript'] ?? '') + text(transcript);
}

function joinBase64(...pieces: string[]): string {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');
}

function parseInput(json: string): JsonValue {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new MalformedStream('the input of a tool is not JSON', { cause });
  }
}

function text(value: JsonValue | undefined): string {
  expect(typeof value === 'string', 'a delta without its text');
  return value;
}

function expect(claim: boolean, sentence: string): asserts claim {
  if (!claim) throw new MalformedStream(sentence);
}

export interface StreamEvent {
  /** The event's name, equal to the `type` in its JSON. */
  name: string;
  /** One line of JSON, as the provider sent it. */
  json: string;
  value: JsonObject;
  /** Sent instead, possibly nothing: the events of a provider of the client's own protocol. Absent: this event is sent. */
  native?: readonly ServerSentEvent[];
  /**
   * Counts so far, in the form of a message's `usage`, that the provider sent beside the event; `contradicted` has the names
   * of those that it lowered. Clients do not get them.
   */
  usage?: JsonObject;
}

/** The text of an event for clients of Messages. */
export function encodeEvent({ name, json }: Pick<StreamEvent, 'name' | 'json'>): string {
  return `event: ${name}\ndata: ${json}\n\n`;
}

/** The text of an event of another protocol. Its JSON is written on one line. */
export function encodeNative({ name, text }: ServerSentEvent): string {
  const said = name === 'message' ? '' : `event: ${name}\n`;
  return `${said}data: ${onOneLine(text)}\n\n`;
}

const [LINE_FEED, RETURN, SPACE] = [0x0a, 0x0d, 0x20];

/** JSON without line ends, which can only occur between its tokens. In bytes: replacing millions in a text takes long. */
export function onOneLine(json: string): string {
  if (!json.includes('\n') && !json.includes('\r')) return json;
  const bytes = Buffer.from(json);
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === LINE_FEED || bytes[at] === RETURN) bytes[at] = SPACE;
  return bytes.toString();
}

export function makeEvent(value: JsonObject & { type: string }): StreamEvent {
  return { name: value.type, json: JSON.stringify(value), value };
}

/** Fills silence. */
export const PING: StreamEvent = makeEvent({ type: 'ping' });

/** The events of a message, from message_start to message_stop. Folding them gives the message again. */
export function unfoldMessage(message: JsonObject): StreamEvent[] {
  const events = [makeEvent({ type: 'message_start', message: startOf(message) })];
  for (const [index, block] of jsonObjects(message['content']).entries()) {
    const [start, deltas] = splitBlock(block);
    events.push(makeEvent({ type: 'content_block_start', index, content_block: start }));
    for (const delta of deltas) events.push(makeEvent({ type: 'content_block_delta', index, delta }));
    events.push(makeEvent({ type: 'content_block_stop', index }));
  }
  events.push(makeEvent({ type: 'message_delta', ...endOf(message) }));
  events.push(makeEvent({ type: 'message_stop' }));
  return events;
}

function startOf(message: JsonObject): JsonObject {
  const { stop_details: _, container: __, context_management: ___, ...start } = message;
  const usage = message['usage'];
  return {
    ...start,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: isJsonObject(usage) ? { ...usage, output_tokens: 0 } : { input_tokens: 0, output_tokens: 0 },
  };
}

function endOf(message: JsonObject): JsonObject {
  const { stop_reason = null, stop_sequence = null, stop_details, container, context_management, usage } = message;
  return {
    delta: { stop_reason, stop_sequence, ...present({ stop_details, container }) },
    usage: { output_tokens: objectOf(usage)['output_tokens'] ?? 0 },
    ...present({ context_management }),
  };
}

function present(members: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** A block as its start and its deltas. Blocks that are not known to grow are complete at their start. */
export function splitBlock(block: JsonObject): [JsonObject, JsonObject[]] {
  const { text, citations, thinking, signature, input } = block;
  if (block['type'] === 'text' && typeof text === 'string') {
    const quoted = Array.isArray(citations) && citations.length > 0 ? citations : [];
    const { citations: _, ...plain } = block;
    const start = { ...(quoted.length > 0 ? plain : block), text: '' };
    const deltas: JsonObject[] = quoted.map((citation) => ({ type: 'citations_delta', citation }));
    return [start, text === '' ? deltas : [...deltas, { type: 'text_delta', text }]];
  }
  if (block['type'] === 'thinking' && typeof thinking === 'string') {
    const start: JsonObject = { ...block, thinking: '' };
    const deltas: JsonObject[] = thinking === '' ? [] : [{ type: 'thinking_delta', thinking }];
    if (typeof signature !== 'string') return [start, deltas];
    return [{ ...start, signature: '' }, [...deltas, { type: 'signature_delta', signature }]];
  }
  if (isSound(block)) {
    const { type, ...audio } = block;
    return [{ type: type ?? '' }, [{ type: 'audio_delta', audio }]];
  }
  if (isJsonObject(input))
    return [{ ...block, input: {} }, [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }]];
  return [block, []];
}
