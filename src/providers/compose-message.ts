// Composes the events of a Messages stream from the content of another protocol, one open block at a time.

import { assert } from '../base/assert.ts';
import { bounds } from '../config/config.ts';
import {
  InnerJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  MalformedStream,
  MessageFold,
  makeEvent,
  objectOf,
  parseExactly,
  type StreamEvent,
  textOf,
} from '../wire/wire.ts';
import { ProviderFault } from './provider.ts';

type BlockKind = 'text' | 'thinking' | 'tool' | 'sound';

interface MessageHead {
  id: string;
  model: string;
  /** Signature for thinking that the provider did not sign, which identifies its origin; absent: none. */
  signature?: string;
}

export function messageIdOf(requestId: string): string {
  return `msg_${requestId.replace(/^req_/, '')}`;
}

/** Each method returns its events, possibly none. Content before `start` starts the message without counts. */
export class MessageComposer {
  readonly #head: MessageHead;
  #isStarted = false;
  #isFinished = false;
  #open: BlockKind | null = null;
  #index = -1; // index of the last opened block
  #isSigned = false; // the open thinking block
  readonly #inputs = new InnerJson();
  #inputPieces: string[] = []; // input JSON of the open tool call
  #inputCharacters = 0; // of all tool calls
  /** A tool call was begun: the message stops with `tool_use`, whatever the provider says, unless it was cut. */
  hasTool = false;
  /** The model that the provider named before the start; null: the head's. */
  reportedModel: string | null = null;

  constructor(head: MessageHead) {
    this.#head = head;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** A block was begun. */
  get hasContent(): boolean {
    return this.#index >= 0;
  }

  /** The first call returns message_start. `usage` has the counts known by now: unknown ones are absent, never zero. */
  start(usage: JsonObject): StreamEvent[] {
    assert(!this.#isFinished, 'nothing follows the end of a message');
    if (this.#isStarted) return [];
    this.#isStarted = true;
    const message: JsonObject = {
      id: this.#head.id,
      type: 'message',
      role: 'assistant',
      model: this.reportedModel ?? this.#head.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    };
    return [makeEvent({ type: 'message_start', message })];
  }

  text(text: string): StreamEvent[] {
    if (text === '') return [];
    const opening = this.#open === 'text' ? [] : this.#openBlock('text', { type: 'text', text: '' });
    return [...opening, this.#delta({ type: 'text_delta', text })];
  }

  thinking(thinking: string): StreamEvent[] {
    if (thinking === '') return [];
    return [...this.#openThinking(), this.#delta({ type: 'thinking_delta', thinking })];
  }

  /** Ends the thinking block with its signature; without an open one, the signature gets an empty block. */
  signature(signature: string): StreamEvent[] {
    if (signature === '') return [];
    const events = [...this.#openThinking(), this.#delta({ type: 'signature_delta', signature })];
    this.#isSigned = true;
    return [...events, ...this.#close()];
  }

  /** Sealed thinking: a block of its own. */
  redacted(data: string): StreamEvent[] {
    const events = this.#openBlock('thinking', { type: 'redacted_thinking', data });
    this.#isSigned = true; // its content is the signature
    return [...events, ...this.#close()];
  }

  /** A piece of spoken output, as providers of Chat Completions send it. */
  sound(audio: JsonObject): StreamEvent[] {
    const opening = this.#open === 'sound' ? [] : this.#openBlock('sound', { type: 'audio' });
    return [...opening, this.#delta({ type: 'audio_delta', audio })];
  }

  beginTool(id: string, name: string): StreamEvent[] {
    const events = this.#openBlock('tool', { type: 'tool_use', id, name, input: {} });
    this.#inputPieces = [];
    this.hasTool = true;
    return events;
  }

  /**
   * The next piece of the tool's input JSON; all pieces together are one object. `characters` are those that the provider
   * sent, if names were replaced. Throws ProviderFault (failed).
   */
  toolInput(partialJson: string, characters = partialJson.length): StreamEvent[] {
    this.#inputCharacters += characters;
    if (this.#inputCharacters > bounds.toolInputCharactersMax)
      throw new ProviderFault('failed', 'the provider sent too much tool input');
    if (partialJson === '') return [];
    assert(this.#open === 'tool', 'the input of a tool belongs to the block that is open');
    this.#inputPieces.push(partialJson);
    return [this.#delta({ type: 'input_json_delta', partial_json: partialJson })];
  }

  /** Closes the open block. Throws ProviderFault (unusable) for a tool whose input is not a JSON object. */
  closeBlock(): StreamEvent[] {
    const input = this.#open === 'tool' ? this.#inputPieces.join('') : '';
    if (input !== '' && !isJsonObject(this.#inputs.read(input)))
      throw new ProviderFault('unusable', 'the provider sent tool input that is not a JSON object');
    return this.#close();
  }

  /**
   * The end of the message, with its final usage; the relay estimates absent counts. Throws ProviderFault (unusable) as
   * `closeBlock` does, unless the message was truncated, as by `max_tokens`: then a tool input may be incomplete.
   */
  finish(
    stopReason: string,
    stopSequence: string | null,
    usage: JsonObject,
    isCut = stopReason === 'max_tokens',
  ): StreamEvent[] {
    const events = [...this.start({}), ...(isCut ? this.#close() : this.closeBlock())];
    const delta: JsonObject = { stop_reason: stopReason, stop_sequence: stopSequence };
    events.push(makeEvent({ type: 'message_delta', delta, usage }), makeEvent({ type: 'message_stop' }));
    this.#isFinished = true;
    return events;
  }

  #openThinking(): StreamEvent[] {
    if (this.#open === 'thinking') return [];
    return this.#openBlock('thinking', { type: 'thinking', thinking: '', signature: '' });
  }

  #openBlock(kind: BlockKind, block: JsonObject): StreamEvent[] {
    const events = [...this.start({}), ...this.closeBlock()];
    this.#open = kind;
    this.#isSigned = false;
    this.#index++;
    events.push(makeEvent({ type: 'content_block_start', index: this.#index, content_block: block }));
    return events;
  }

  #delta(delta: JsonObject): StreamEvent {
    return makeEvent({ type: 'content_block_delta', index: this.#index, delta });
  }

  #close(): StreamEvent[] {
    if (this.#open === null) return [];
    const { signature } = this.#head;
    const events: StreamEvent[] = [];
    // Some clients fail on a tool call without any input event.
    if (this.#open === 'tool' && this.#inputPieces.length === 0)
      events.push(this.#delta({ type: 'input_json_delta', partial_json: '{}' }));
    if (this.#open === 'thinking' && !this.#isSigned && signature !== undefined)
      events.push(this.#delta({ type: 'signature_delta', signature }));
    events.push(makeEvent({ type: 'content_block_stop', index: this.#index }));
    this.#open = null;
    this.#inputPieces = [];
    return events;
  }
}

const OBJECT_ARGUMENTS = /"arguments"\s*:\s*\{/;

/** Parses a provider's answer, keeping every digit in such an object. */
export function parseWithArguments(text: string): JsonValue {
  return OBJECT_ARGUMENTS.test(text) ? parseExactly(text) : JSON.parse(text);
}

/** The input as JSON text; empty without any. */
export function argumentsText(given: JsonValue | undefined): string {
  if (isJsonObject(given)) return JSON.stringify(given);
  return typeof given === 'string' ? given : '';
}

export function callIdsOf(body: JsonObject): ReadonlySet<string> {
  const blocks = jsonObjects(body['messages']).flatMap(({ content }) => jsonObjects(content));
  return new Set(blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => textOf(id)));
}

/** Throws ProviderFault (unusable) if the events are not a complete message. */
export function foldAnswer(events: readonly StreamEvent[]): { message: JsonObject; text: string } {
  const fold = new MessageFold();
  try {
    for (const event of events) fold.add(event);
    const message = fold.message();
    return { message, text: JSON.stringify({ ...message, content: exactContent(message, events) }) };
  } catch (cause) {
    // A RangeError: too deeply nested to be written.
    if (!(cause instanceof MalformedStream || cause instanceof RangeError)) throw cause;
    const { usage } = events.findLast(({ name }) => name === 'message_delta')?.value ?? {};
    throw new ProviderFault('unusable', 'the events of the provider do not form a complete message', {
      usage: isJsonObject(usage) ? usage : null,
      cause,
    });
  }
}

function exactContent(message: JsonObject, events: readonly StreamEvent[]): JsonObject[] {
  const inputs = new Map<JsonValue | undefined, string>();
  for (const { value } of events) {
    const piece = objectOf(value['delta'])['partial_json'];
    if (typeof piece === 'string') inputs.set(value['index'], (inputs.get(value['index']) ?? '') + piece);
  }
  return jsonObjects(message['content']).map((block, index) => {
    const input = inputs.get(index);
    return input === undefined || input === '' ? block : { ...block, input: parseExactly(input) };
  });
}
