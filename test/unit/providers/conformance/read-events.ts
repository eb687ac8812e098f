// Reads a Messages stream as a client does, by the rules of the protocol alone: it throws at the first event that
// breaks a rule. It uses nothing of src/ and has no tests of its own.

import type { StreamEvent } from '../../../../src/wire/wire.ts';
import type { Json, Shown } from './driver.ts';
import { exactText } from './facts.ts';

/** A complete message as a client sees it. Tool inputs are the received text. */
export interface ReadMessage {
  model: string;
  blocks: (Shown & { id?: string })[];
  stopReason: unknown;
  stopSequence: unknown;
  usage: Json;
}

/** Throws if the events are not a whole stream in the right order. */
export function readEvents(events: readonly StreamEvent[]): ReadMessage {
  const reader = new EventReader();
  for (const { name, json, value } of events) {
    expect(JSON.parse(json).type === name && value['type'] === name, `an event that is called otherwise: ${name}`);
    expect(!json.includes('\n'), 'an event of several lines');
    reader.take(name, JSON.parse(json) as Json);
  }
  return reader.end();
}

function expect(claim: boolean, sentence: string): asserts claim {
  if (!claim) throw new Error(`not a Messages stream: ${sentence}`);
}

class EventReader {
  #message: Json | null = null;
  #usage: Json = {};
  #stop: Json | null = null;
  #isEnded = false;
  #open: Json | null = null;
  #deltas: string[] = [];
  readonly #blocks: (Shown & { id?: string })[] = [];

  take(name: string, event: Json): void {
    expect(!this.#isEnded, `${name} after message_stop`);
    expect(name === 'message_start' || this.#message !== null, `${name} before message_start`);
    switch (name) {
      case 'message_start':
        this.#start(event['message'] as Json);
        return;
      case 'content_block_start':
        this.#begin(event);
        return;
      case 'content_block_delta':
        this.#grow(event);
        return;
      case 'content_block_stop':
        this.#close(event);
        return;
      case 'message_delta':
        expect(this.#open === null && this.#stop === null, 'message_delta out of order');
        this.#stop = event['delta'] as Json;
        Object.assign(this.#usage, event['usage']);
        return;
      case 'message_stop':
        expect(this.#stop !== null, 'message_stop without message_delta');
        this.#isEnded = true;
        return;
      case 'ping':
        return;
      default:
        expect(false, `an event that clients do not know: ${name}`);
    }
  }

  end(): ReadMessage {
    expect(this.#isEnded, 'the stream ended without message_stop');
    return {
      model: String(this.#message?.['model']),
      blocks: this.#blocks,
      stopReason: this.#stop?.['stop_reason'],
      stopSequence: this.#stop?.['stop_sequence'],
      usage: this.#usage,
    };
  }

  #start(message: Json): void {
    expect(this.#message === null, 'a second message_start');
    expect(/^msg_/.test(String(message['id'])) && message['role'] === 'assistant', 'no head of a message');
    expect(Array.isArray(message['content']) && message['content'].length === 0, 'content in message_start');
    expect(message['stop_reason'] === null && message['stop_sequence'] === null, 'a stop reason in message_start');
    this.#message = message;
    this.#usage = { ...(message['usage'] as Json) };
  }

  #begin({ index, content_block: block }: Json): void {
    expect(this.#stop === null, 'content after message_delta');
    expect(this.#open === null, 'two blocks are open');
    expect(index === this.#blocks.length, `block ${String(index)} instead of ${this.#blocks.length}`);
    this.#open = block as Json;
    this.#deltas = [];
    const { type, text, thinking, signature, input } = this.#open;
    if (type === 'text') expect(text === '', 'text in content_block_start');
    if (type === 'thinking') expect(thinking === '' && signature === '', 'thinking in content_block_start');
    if (type === 'tool_use') expect(JSON.stringify(input) === '{}', 'an input that is there at its start');
  }

  #grow({ index, delta }: Json): void {
    expect(this.#open !== null && index === this.#blocks.length, 'a delta without an open block');
    const { type, ...members } = delta as Record<string, string>;
    const grown = this.#open as Record<string, string>;
    switch (`${grown['type']} ${type}`) {
      case 'text text_delta':
        grown['text'] = (grown['text'] ?? '') + members['text'];
        return;
      case 'thinking thinking_delta':
        expect(grown['signature'] === '', 'thinking after its signature');
        grown['thinking'] = (grown['thinking'] ?? '') + members['thinking'];
        return;
      case 'thinking signature_delta':
        expect(grown['signature'] === '', 'a second signature');
        grown['signature'] = members['signature'] ?? '';
        return;
      case 'tool_use input_json_delta':
        this.#deltas.push(members['partial_json'] ?? '');
        return;
      default:
        expect(false, `a ${type} in a block of ${grown['type']}`);
    }
  }

  #close({ index }: Json): void {
    expect(this.#open !== null && index === this.#blocks.length, 'content_block_stop without an open block');
    const block = this.#open;
    this.#open = null;
    if (block['type'] !== 'tool_use') {
      this.#blocks.push(block as Shown);
      return;
    }
    expect(this.#deltas.length > 0, 'a tool without any input'); // some clients fail without any input delta
    const input = this.#deltas.join('');
    this.#blocks.push({ type: 'tool_use', id: String(block['id']), name: String(block['name']), input });
  }
}

/** The same for a message without streaming, from its text. */
export function readWhole(text: string): ReadMessage {
  const exact = JSON.parse(text, (_name, value, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined
      ? (JSON as unknown as { rawJSON(source: string): unknown }).rawJSON(context.source)
      : value,
  ) as { content: Json[] };
  const message = JSON.parse(text) as Json;
  const blocks = exact.content.map((block): Shown & { id?: string } =>
    block['type'] === 'tool_use'
      ? {
          type: 'tool_use',
          id: String(block['id']),
          name: String(block['name']),
          input: JSON.stringify(block['input']),
        }
      : (block as Shown),
  );
  return {
    model: String(message['model']),
    blocks,
    stopReason: message['stop_reason'],
    stopSequence: message['stop_sequence'],
    usage: message['usage'] as Json,
  };
}

/** Blocks for comparison: for signatures created by the service only the presence, for inputs the exact value. */
export function comparable(blocks: readonly Shown[], isVerbatim: boolean): unknown[] {
  return blocks.map((block) => {
    switch (block.type) {
      case 'thinking': {
        const { type, thinking, signature } = block;
        return { type, thinking, signature: isVerbatim ? signature : signature !== '' };
      }
      case 'tool_use':
        return { type: block.type, name: block.name, input: exactText(block.input) };
      case 'text':
        return { type: block.type, text: block.text };
      default:
        return block;
    }
  });
}
