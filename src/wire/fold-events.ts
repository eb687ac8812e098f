// Builds the Message that is not streamed from a stream's events. The accumulators of the official
// clients are the model: usage replaces, a signature replaces, everything else appends.

import { isJsonObject } from './json-values.ts';
import type { JsonObject, JsonValue } from './message-request.ts';
import type { StreamEvent } from './stream-event.ts';

/** The events are no Messages stream, or not a whole one. Its message is for operators. */
export class MalformedStream extends Error {
  override name = 'MalformedStream';
}

export class MessageFold {
  #message: JsonObject | null = null;
  readonly #content: JsonObject[] = [];
  #open: JsonObject | null = null; // the last of the content, while it grows
  #inputJson = '';
  #isStopped = false;

  /** Takes the next event; pings and events of unknown types are passed over. Throws MalformedStream. */
  add(event: StreamEvent): void {
    const { value } = event;
    switch (value['type']) {
      case 'message_start':
        this.#start(value['message']);
        break;
      case 'content_block_start':
        this.#openBlock(value);
        break;
      case 'content_block_delta':
        this.#grow(this.#blockOf(value), value['delta']);
        break;
      case 'content_block_stop':
        this.#closeBlock(this.#blockOf(value));
        break;
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

  #start(message: JsonValue | undefined): void {
    expect(this.#message === null, 'a second message_start');
    expect(isJsonObject(message), 'message_start without a message');
    this.#message = message;
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
    expect(this.#open !== null && value['index'] === this.#content.length - 1, 'a delta or stop of no open block');
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
      case 'compaction_delta':
        block['content'] = delta['content'] ?? null;
        if (delta['encrypted_content'] !== undefined) block['encrypted_content'] = delta['encrypted_content'];
        break;
      default:
        throw new MalformedStream('a delta of an unknown type'); // passed over, a part of the answer would be lost
    }
  }

  #closeBlock(block: JsonObject): void {
    if (this.#inputJson !== '') block['input'] = parseInput(this.#inputJson);
    this.#open = null;
  }

  #finish(value: JsonObject): void {
    expect(this.#message !== null && this.#open === null && !this.#isStopped, 'message_delta out of order');
    const { type: _, delta, usage, ...beside } = value; // `beside`: context_management and what may follow it
    const before = this.#message['usage'];
    const merged = isJsonObject(usage) ? { usage: mergeUsage(isJsonObject(before) ? before : {}, usage) } : {};
    this.#message = { ...this.#message, ...(isJsonObject(delta) ? delta : {}), ...beside, ...merged };
  }
}

/** Counts are cumulative: they replace, unless they are null. */
function mergeUsage(before: JsonObject, usage: JsonObject): JsonObject {
  return { ...before, ...Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null)) };
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
