// Writes Chat Completions chunks from Messages events, without I/O. [DONE] follows only the end, never an error.

import { bounds } from '../config.ts';
import { isJsonObject, isThinking, type JsonObject, type JsonValue, objectOf, parseExactly } from '../wire/wire.ts';
import type { ChatTerms } from './chat-request.ts';
import type { Origins } from './convert-error.ts';
import { chatErrorOfEvent } from './convert-error.ts';
import { chatIdOf, convertUsage, detailOf, finishReasonOf } from './convert-message.ts';

class DetailGatherer {
  #details: JsonObject[] = [];
  #pieces: string[] = []; // of the open block
  #heldCharacters = 0;

  takeText(piece: string): void {
    if (this.#hold(piece.length)) this.#pieces.push(piece);
  }

  /** The end of a block, with its members other than text. */
  close(block: JsonObject): void {
    const thinking = this.#pieces.join('');
    this.#pieces = [];
    if (!isThinking(block)) return;
    const detail = detailOf({ ...block, thinking }, this.#details.length);
    if (this.#hold(JSON.stringify({ ...detail, text: '' }).length)) this.#details.push(detail);
  }

  /** In order; empty if they were too long. */
  all(): readonly JsonObject[] {
    return this.#details;
  }

  /** False if there is more than fits: then nothing is kept, because providers refuse a part as modified. */
  #hold(characters: number): boolean {
    this.#heldCharacters += characters;
    if (this.#heldCharacters <= bounds.reasoningDetailsCharactersMax) return true;
    this.#details = [];
    this.#pieces = [];
    return false;
  }
}

const COMMENT = ': ping\n\n';
const DONE = 'data: [DONE]\n\n';
const EVENT_END = '\n\n';
const DATA = 'data: ';

/** Converts the text of events to chunks. The text may be split anywhere. */
export class ChunkWriter {
  readonly #includesUsage: boolean;
  readonly #callsFunctions: boolean;
  readonly #createdAtMs: number;
  readonly #details = new DetailGatherer();
  /** Needed until the answer begins; then released, because the request may be long. */
  #origins: Origins | null;
  #rest = ''; // an incomplete event; its size is bounded by the relay
  #head = ''; // of every chunk, up to its choices
  #tail = '';
  #isOver = false;
  #usage: JsonObject = {};
  #stopReason: JsonValue = null;
  #callCount = 0;
  #open: JsonObject = {}; // the open block
  #hasInput = false;

  constructor(terms: ChatTerms, createdAtMs: number) {
    this.#includesUsage = terms.includesUsage;
    this.#callsFunctions = terms.callsFunctions;
    this.#origins = terms.origins;
    this.#createdAtMs = createdAtMs;
    this.#begin({});
  }

  /** The chunks for the text; empty if there are none. */
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
    // Only blocks that arrive whole can have long numbers.
    const event: JsonValue = json.includes('content_block_start') ? parseExactly(json) : JSON.parse(json);
    if (!isJsonObject(event)) return '';
    switch (event['type']) {
      case 'ping':
        return COMMENT;
      case 'message_start':
        this.#begin(objectOf(event['message']));
        this.#origins = null;
        return this.#chunk({ role: 'assistant', content: '' });
      case 'content_block_start':
        return this.#openBlock(objectOf(event['content_block']));
      case 'content_block_delta':
        return this.#grow(objectOf(event['delta']));
      case 'content_block_stop':
        return this.#closeBlock();
      case 'message_delta':
        this.#stopReason = objectOf(event['delta'])['stop_reason'] ?? null;
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

  /** Counts are cumulative: a later count replaces an earlier one, unless it is null. */
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
        return this.#textChunk('content', block['text']);
      case 'thinking':
        return this.#thinkingChunk(block['thinking']);
      case 'tool_use': {
        const { id = '', name = '' } = block;
        return this.#callChunk({ id, type: 'function', function: { name, arguments: '' } }, this.#callCount++);
      }
      default:
        return '';
    }
  }

  #grow(delta: JsonObject): string {
    switch (delta['type']) {
      case 'text_delta':
        return this.#textChunk('content', delta['text']);
      case 'thinking_delta':
        return this.#thinkingChunk(delta['thinking']);
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

  #textChunk(member: 'content' | 'reasoning_content', text: JsonValue | undefined): string {
    return typeof text === 'string' && text !== '' ? this.#chunk({ [member]: text }) : '';
  }

  #thinkingChunk(text: JsonValue | undefined): string {
    if (typeof text !== 'string' || text === '') return '';
    this.#details.takeText(text);
    return this.#textChunk('reasoning_content', text);
  }

  #callInput(piece: JsonValue | undefined): string {
    if (typeof piece !== 'string' || piece === '') return '';
    this.#hasInput = true;
    return this.#callChunk({ function: { arguments: piece } }, this.#callCount - 1);
  }

  /** The older `function_call` format has only one call. */
  #callChunk(call: JsonObject, index: number): string {
    if (this.#callsFunctions) return index === 0 ? this.#chunk({ function_call: call['function'] ?? {} }) : '';
    return this.#chunk({ tool_calls: [{ index, ...call }] });
  }

  /** All details are in one chunk: some clients keep only the last one. */
  #finish(): string {
    this.#isOver = true;
    const all = this.#details.all();
    const details = all.length > 0 ? this.#chunk({ reasoning_details: [...all] }) : '';
    const usage = `${this.#head}[],"usage":${JSON.stringify(convertUsage(this.#usage))}}${EVENT_END}`;
    const end = this.#chunk({}, finishReasonOf(this.#stopReason, this.#callsFunctions));
    return `${details}${end}${this.#includesUsage ? usage : ''}${DONE}`;
  }
}

/** Propagates cancellation to its source. */
export async function* convertEvents(
  events: AsyncIterable<string | Uint8Array>,
  terms: ChatTerms,
  createdAtMs: number,
): AsyncGenerator<string> {
  const writer = new ChunkWriter(terms, createdAtMs);
  const decoder = new TextDecoder();
  for await (const piece of events) {
    const written = writer.push(typeof piece === 'string' ? piece : decoder.decode(piece)); // bytes are whole events
    if (written !== '') yield written;
  }
}
