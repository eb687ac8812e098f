// The events of a Messages stream from what another protocol says, in the order in which it says it.
// Blocks open and close by themselves, never two at once. What the pieces mean is their provider's to know.

import { assert } from '../base/assert.ts';
import { isJsonObject, type JsonObject, makeEvent, type StreamEvent } from '../wire/wire.ts';
import { isTooDeep } from './parse-json.ts';
import { ProviderFault } from './provider.ts';

type BlockKind = 'text' | 'thinking' | 'tool';

export interface MessageHead {
  id: string;
  model: string;
  /** What thinking is signed with that its provider did not sign, so that it is known whose it is; absent: nothing. */
  signature?: string;
}

/** An id for the message that answers this request. */
export function messageIdOf(requestId: string): string {
  return `msg_${requestId.replace(/^req_/, '')}`;
}

/**
 * Every method gives the events that follow from it, none where nothing does (an empty text). Content before `start`
 * starts the message without counts. Nothing may come after `finish`.
 */
export class MessageComposer {
  readonly #head: MessageHead;
  #isStarted = false;
  #isFinished = false;
  #open: BlockKind | null = null;
  #index = -1; // of the block that was opened last
  #isSigned = false; // the thinking that is open
  #inputPieces: string[] = []; // of the tool that is open
  #hasTool = false;

  constructor(head: MessageHead) {
    this.#head = head;
  }

  /** A tool was begun: such a message stops with `tool_use`, whatever its provider says, unless it was cut. */
  get hasTool(): boolean {
    return this.#hasTool;
  }

  /** The first call gives message_start. Of the usage only what is known by now: what is not is left out, never zero. */
  start(usage: JsonObject): StreamEvent[] {
    assert(!this.#isFinished, 'nothing follows the end of a message');
    if (this.#isStarted) return [];
    this.#isStarted = true;
    const message: JsonObject = {
      id: this.#head.id,
      type: 'message',
      role: 'assistant',
      model: this.#head.model,
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

  /** Ends the block of thinking, which has one signature; where none is open, the signature gets a block without text. */
  signature(signature: string): StreamEvent[] {
    if (signature === '') return [];
    const events = [...this.#openThinking(), this.#delta({ type: 'signature_delta', signature })];
    this.#isSigned = true;
    return [...events, ...this.#close()];
  }

  /** Thinking that is sealed: a block of its own. */
  redacted(data: string): StreamEvent[] {
    const events = this.#openBlock('thinking', { type: 'redacted_thinking', data });
    this.#isSigned = true; // by what it holds
    return [...events, ...this.#close()];
  }

  beginTool(id: string, name: string): StreamEvent[] {
    const events = this.#openBlock('tool', { type: 'tool_use', id, name, input: {} });
    this.#inputPieces = [];
    this.#hasTool = true;
    return events;
  }

  /** The next piece of the JSON of the input of the tool that was begun last; all of them together are one object. */
  toolInput(partialJson: string): StreamEvent[] {
    if (partialJson === '') return [];
    assert(this.#open === 'tool', 'the input of a tool belongs to the block that is open');
    this.#inputPieces.push(partialJson);
    return [this.#delta({ type: 'input_json_delta', partial_json: partialJson })];
  }

  /** Closes the block that is open. Throws ProviderFault (failed) for a tool whose input is no JSON object. */
  closeBlock(): StreamEvent[] {
    if (this.#open === 'tool') expectObject(this.#inputPieces);
    return this.#close();
  }

  /**
   * The end of the message, with the usage of all of it: counts that are absent are estimated by whoever reads it. Throws
   * ProviderFault (failed) as `closeBlock` does, but where the message was cut, as by `max_tokens`: so may be a tool's input.
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

  #sign(): StreamEvent[] {
    const { signature } = this.#head;
    if (this.#open !== 'thinking' || this.#isSigned || signature === undefined) return [];
    return [this.#delta({ type: 'signature_delta', signature })];
  }

  #close(): StreamEvent[] {
    if (this.#open === null) return [];
    // Some clients fail at a tool that got no input at all.
    const hasNoInput = this.#open === 'tool' && this.#inputPieces.length === 0;
    const events = hasNoInput ? [this.#delta({ type: 'input_json_delta', partial_json: '{}' })] : this.#sign();
    events.push(makeEvent({ type: 'content_block_stop', index: this.#index }));
    this.#open = null;
    this.#inputPieces = [];
    return events;
  }
}

function expectObject(pieces: readonly string[]): void {
  if (pieces.length === 0) return;
  const input = pieces.join('');
  try {
    if (!isTooDeep(input) && isJsonObject(JSON.parse(input))) return;
  } catch {
    // Without the parser's own words: they quote what could not be parsed.
  }
  throw new ProviderFault('failed', 'the provider sent the input of a tool that is no JSON object');
}
