// Writes Chat Completions chunks from Messages events, without I/O. [DONE] follows only the end, never an error.

import { bounds } from '../../config/config.ts';
import { detailOf } from '../../protocols/chat-thinking.ts';
import { customInput } from '../../protocols/custom-tool.ts';
import { tierOfAnswer } from '../../protocols/service-tiers.ts';
import {
  isThinking,
  type JsonObject,
  type JsonValue,
  objectOf,
  signatureForCall,
  signatureMember,
  textOf,
} from '../../wire/wire.ts';
import { EventWriter } from '../event-writer.ts';
import { openAiErrorOfEvent } from '../openai-error.ts';
import type { Origins } from '../origins.ts';
import { addCounts } from '../read-usage.ts';
import { FIELDS } from './chat-fields.ts';
import type { ChatTerms, UsagePlace } from './chat-request.ts';
import { chatIdOf, convertUsage, FINGERPRINT, finishReasonOf } from './convert-message.ts';
import type { CustomTools } from './convert-tools.ts';

class DetailGatherer {
  #details: JsonObject[] = [];
  #pieces: string[] = []; // texts of the open block
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
const TOO_LONG: JsonObject = {
  error: { type: 'api_error', code: 'upstream_failed', message: 'The input of a custom tool is too long.' },
};

/** Members that follow others in JSON. */
function moreOf(members: JsonObject): string {
  const json = JSON.stringify(members).slice(1, -1);
  return json === '' ? '' : `,${json}`;
}

export class ChunkWriter extends EventWriter {
  readonly #usagePlace: UsagePlace;
  readonly #tier: ChatTerms['tier'];
  readonly #callsFunctions: boolean;
  readonly #customTools: CustomTools;
  readonly #createdAtMs: number;
  readonly #details = new DetailGatherer();
  /** Needed until the answer begins; then released, because the request may be long. */
  #origins: Origins | null;
  #head = ''; // of every chunk, up to its choices
  readonly #usage: JsonObject = {};
  #stopReason: JsonValue = null;
  #callCount = 0;
  #open: JsonObject = {}; // the open block
  #hasInput = false;
  #custom: { form: 'custom' | 'function'; pieces: string[] } | null = null; // the open call's input, if it is a text
  #customCharactersMax = bounds.responseOutputCharactersMax; // that may still follow
  #signature: string | null = null; // of the call that follows

  constructor(terms: ChatTerms, createdAtMs: number) {
    super();
    this.#usagePlace = terms.usage;
    this.#tier = terms.tier;
    this.#callsFunctions = terms.callsFunctions;
    this.#customTools = terms.customTools;
    this.#origins = terms.origins;
    this.#createdAtMs = createdAtMs;
    this.#begin({});
  }

  protected override convert(event: JsonObject): string {
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
        addCounts(this.#usage, event['usage']);
        return '';
      case 'message_stop':
        return this.#finish();
      case 'error':
        return this.#fail(event);
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
      system_fingerprint: FINGERPRINT,
    };
    this.#head = `${DATA}${JSON.stringify(head).slice(0, -1)},"choices":`;
    addCounts(this.#usage, message['usage']);
  }

  /** Only the last chunk has `more`: several clients accept no null as `usage`. */
  #chunk(delta: JsonObject, finishReason: string | null = null, more: JsonObject = {}): string {
    const end = finishReason === null ? 'null' : JSON.stringify(finishReason);
    const choice = `{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":${end}}`;
    return `${this.#head}[${choice}]${moreOf(more)}}${EVENT_END}`;
  }

  #openBlock(block: JsonObject): string {
    this.#open = block;
    this.#hasInput = false;
    this.#custom = null;
    switch (block['type']) {
      case 'text':
        return this.#textChunk('content', block['text']);
      case 'thinking':
        return this.#thinkingChunk(block['thinking']);
      case 'tool_use': {
        const { id = '', name = '' } = block;
        const form = this.#customTools.get(textOf(name));
        const called = form === 'custom' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } };
        const head = { id, type: form ?? 'function', ...called, ...signatureMember(this.#signature) };
        this.#signature = null;
        if (form !== undefined) this.#custom = { form, pieces: [] };
        return this.#callChunk(head, this.#callCount++);
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
    if (block['type'] === 'tool_use') {
      const given = this.#hasInput ? '' : JSON.stringify(block['input'] ?? {});
      if (this.#custom === null) return this.#callInput(given);
      const { form, pieces } = this.#custom;
      const input = customInput(pieces.join('') || given);
      this.#custom = null;
      return form === 'function' ? this.#callInput(input) : this.#callChunk({ custom: { input } }, this.#callCount - 1);
    }
    this.#details.close(block);
    this.#signature = signatureForCall(block);
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
    if (this.#custom !== null) return this.#gather(this.#custom.pieces, piece);
    return this.#callChunk({ function: { arguments: piece } }, this.#callCount - 1);
  }

  /** The text of a custom tool is inside of the JSON. */
  #gather(pieces: string[], piece: string): string {
    pieces.push(piece);
    this.#customCharactersMax -= piece.length;
    return this.#customCharactersMax < 0 ? this.#fail(TOO_LONG) : '';
  }

  #fail(event: JsonObject): string {
    this.end();
    return `${DATA}${JSON.stringify({ error: openAiErrorOfEvent(event, this.#origins, FIELDS) })}${EVENT_END}`;
  }

  /** The older `function_call` format has only one call. */
  #callChunk(call: JsonObject, index: number): string {
    if (this.#callsFunctions) return index === 0 ? this.#chunk({ function_call: call['function'] ?? {} }) : '';
    return this.#chunk({ tool_calls: [{ index, ...call }] });
  }

  /** All details are in one chunk: some clients keep only the last one. */
  #finish(): string {
    this.end();
    const all = this.#details.all();
    const details = all.length > 0 ? this.#chunk({ reasoning_details: [...all] }) : '';
    const usage = convertUsage(this.#usage);
    const reason = finishReasonOf(this.#stopReason, this.#callsFunctions);
    const tier = tierOfAnswer(this.#usage, this.#tier);
    const end = this.#chunk({}, reason, { ...tier, ...(this.#usagePlace === 'last chunk' && { usage }) });
    const own = this.#usagePlace === 'own chunk' ? `${this.#head}[]${moreOf({ ...tier, usage })}}${EVENT_END}` : '';
    return `${details}${end}${own}${DONE}`;
  }
}
