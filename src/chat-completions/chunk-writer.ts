// Writes the chunks of a Chat Completions stream: a state machine over the events of a Messages stream, without I/O. The end
// is told only when the message has told its own, and never behind an error.

import { isJsonObject, type JsonObject, type JsonValue, parseExactly } from '../wire/wire.ts';
import type { ChatTerms } from './chat-request.ts';
import { chatErrorOfEvent } from './convert-error.ts';
import { convertUsage } from './convert-usage.ts';
import { chatIdOf, finishReasonOf } from './finish-reason.ts';
import { DetailGatherer } from './gather-details.ts';
import type { Origins } from './origins.ts';

const COMMENT = ': ping\n\n';
const DONE = 'data: [DONE]\n\n';
const EVENT_END = '\n\n';
const DATA = 'data: ';

/** Writes chunks from events that it is given as text, wherever that is cut. */
export class ChunkWriter {
  readonly #includesUsage: boolean;
  readonly #callsFunctions: boolean;
  readonly #createdAtMs: number;
  readonly #details = new DetailGatherer();
  /** Until the answer begins: from then on nothing is said of its request, which may have been long. */
  #origins: Origins | null;
  #rest = ''; // of an event whose end has not come; whoever made the text bounds one
  #head = ''; // of every chunk, up to its choices
  #tail = '';
  #isOver = false;
  #usage: JsonObject = {};
  #stopReason: JsonValue = null;
  #callCount = 0;
  #open: JsonObject = {}; // the block that grows
  #hasInput = false;

  constructor(terms: ChatTerms, createdAtMs: number) {
    this.#includesUsage = terms.includesUsage;
    this.#callsFunctions = terms.callsFunctions;
    this.#origins = terms.origins;
    this.#createdAtMs = createdAtMs;
    this.#begin({});
  }

  /** What the text comes to; empty where that is nothing. */
  push(text: string): string {
    const whole = this.#rest + text;
    let written = '';
    let start = 0;
    for (let end = whole.indexOf(EVENT_END); end >= 0; end = whole.indexOf(EVENT_END, start)) {
      if (!this.#isOver) written += this.#take(whole.slice(start, end));
      start = end + EVENT_END.length;
    }
    this.#rest = whole.slice(start);
    return written;
  }

  #take(lines: string): string {
    const at = lines.startsWith(DATA) ? 0 : lines.indexOf(`\n${DATA}`) + 1;
    const json = lines.slice(at + DATA.length);
    // Long numbers stand only where a block comes whole.
    const event: JsonValue = json.includes('content_block_start') ? parseExactly(json) : JSON.parse(json);
    if (!isJsonObject(event)) return '';
    switch (event['type']) {
      case 'ping':
        return COMMENT;
      case 'message_start':
        this.#begin(objectIn(event, 'message'));
        this.#origins = null;
        return this.#chunk({ role: 'assistant', content: '' });
      case 'content_block_start':
        return this.#openBlock(objectIn(event, 'content_block'));
      case 'content_block_delta':
        return this.#grow(objectIn(event, 'delta'));
      case 'content_block_stop':
        return this.#closeBlock();
      case 'message_delta':
        this.#stopReason = objectIn(event, 'delta')['stop_reason'] ?? null;
        this.#count(event['usage']);
        return '';
      case 'message_stop':
        return this.#finish();
      case 'error':
        this.#isOver = true;
        return `${DATA}${chatErrorOfEvent(event, this.#origins)}${EVENT_END}`;
      default:
        return '';
    }
  }

  #begin(message: JsonObject): void {
    const head = {
      id: chatIdOf(message['id']),
      object: 'chat.completion.chunk',
      created: Math.floor(this.#createdAtMs / 1000),
      model: message['model'] ?? '',
      system_fingerprint: null,
    };
    this.#head = `${DATA}${JSON.stringify(head).slice(0, -1)},"choices":`;
    this.#tail = this.#includesUsage ? ',"usage":null}\n\n' : '}\n\n';
    this.#count(message['usage']);
  }

  /** Counts are cumulative: they replace, unless they are null. */
  #count(usage: JsonValue | undefined): void {
    if (!isJsonObject(usage)) return;
    for (const [name, count] of Object.entries(usage)) if (count !== null) this.#usage[name] = count;
  }

  #chunk(delta: JsonObject, finishReason: string | null = null): string {
    const end = finishReason === null ? 'null' : JSON.stringify(finishReason);
    const choice = `{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":${end}}`;
    return `${this.#head}[${choice}]${this.#tail}`;
  }

  #openBlock(block: JsonObject): string {
    this.#open = block;
    this.#hasInput = false;
    switch (block['type']) {
      case 'text':
        return this.#say('content', block['text']);
      case 'thinking':
        return this.#think(block['thinking']);
      case 'tool_use': {
        const { id = '', name = '' } = block;
        return this.#call({ id, type: 'function', function: { name, arguments: '' } }, this.#callCount++);
      }
      default:
        return '';
    }
  }

  #grow(delta: JsonObject): string {
    switch (delta['type']) {
      case 'text_delta':
        return this.#say('content', delta['text']);
      case 'thinking_delta':
        return this.#think(delta['thinking']);
      case 'signature_delta':
        this.#open['signature'] = delta['signature'] ?? '';
        return '';
      case 'input_json_delta':
        return this.#open['type'] === 'tool_use' ? this.#callInput(delta['partial_json']) : '';
      default:
        return '';
    }
  }

  #closeBlock(): string {
    const block = this.#open;
    this.#open = {};
    if (block['type'] === 'tool_use')
      return this.#hasInput ? '' : this.#callInput(JSON.stringify(block['input'] ?? {}));
    this.#details.close(block);
    return '';
  }

  #say(member: 'content' | 'reasoning_content', text: JsonValue | undefined): string {
    return typeof text === 'string' && text !== '' ? this.#chunk({ [member]: text }) : '';
  }

  #think(text: JsonValue | undefined): string {
    if (typeof text !== 'string' || text === '') return '';
    this.#details.takeText(text);
    return this.#say('reasoning_content', text);
  }

  #callInput(piece: JsonValue | undefined): string {
    if (typeof piece !== 'string' || piece === '') return '';
    this.#hasInput = true;
    return this.#call({ function: { arguments: piece } }, this.#callCount - 1);
  }

  /** Who calls functions by their older name reads of one call only, and of one only is there word. */
  #call(call: JsonObject, index: number): string {
    if (this.#callsFunctions) return index === 0 ? this.#chunk({ function_call: call['function'] ?? {} }) : '';
    return this.#chunk({ tool_calls: [{ index, ...call }] });
  }

  /** All details stand in one chunk: some clients keep only the last that came. */
  #finish(): string {
    this.#isOver = true;
    const all = this.#details.all();
    const details = all.length > 0 ? this.#chunk({ reasoning_details: [...all] }) : '';
    const usage = `${this.#head}[],"usage":${JSON.stringify(convertUsage(this.#usage))}}${EVENT_END}`;
    const end = this.#chunk({}, finishReasonOf(this.#stopReason, this.#callsFunctions));
    return `${details}${end}${this.#includesUsage ? usage : ''}${DONE}`;
  }
}

function objectIn(event: JsonObject, member: string): JsonObject {
  const value = event[member];
  return isJsonObject(value) ? value : {};
}
