// Writes Chat Completions chunks from Messages events, without I/O. [DONE] follows only the end, never an error.

import { bounds } from '../../config/config.ts';
import { customInput } from '../../protocols/custom-tool.ts';
import { tierOfAnswer } from '../../protocols/service-tiers.ts';
import { detailOf } from '../../protocols/thinking.ts';
import {
  type DeltaKind,
  isThinking,
  type JsonObject,
  signatureForCall,
  signatureMember,
  textOf,
} from '../../wire/wire.ts';
import type { AnswerEnd, AnswerWriter, StreamError } from '../answer-stream.ts';
import { openAiError } from '../openai-error.ts';
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
const TOO_LONG: StreamError = {
  message: 'The input of a custom tool is too long.',
  type: 'api_error',
  code: 'upstream_failed',
  requestId: '',
};

/** Members that follow others in JSON. */
function moreOf(members: JsonObject): string {
  const json = JSON.stringify(members).slice(1, -1);
  return json === '' ? '' : `,${json}`;
}

export class ChunkWriter implements AnswerWriter {
  readonly #usagePlace: UsagePlace;
  readonly #tier: ChatTerms['tier'];
  readonly #callsFunctions: boolean;
  readonly #customTools: CustomTools;
  readonly #createdAtMs: number;
  readonly #details = new DetailGatherer();
  #head = ''; // of every chunk, up to its choices
  #callCount = 0;
  #hasInput = false;
  #custom: { form: 'custom' | 'function'; pieces: string[] } | null = null; // the open call's input, if it is a text
  #customCharactersMax = bounds.responseOutputCharactersMax; // that may still follow
  #signature: string | null = null; // of the call that follows

  constructor(terms: ChatTerms, createdAtMs: number) {
    this.#usagePlace = terms.usage;
    this.#tier = terms.tier;
    this.#callsFunctions = terms.callsFunctions;
    this.#customTools = terms.customTools;
    this.#createdAtMs = createdAtMs;
    this.begin({});
  }

  ping(): string {
    return COMMENT;
  }

  begin(message: JsonObject): string {
    const head = {
      id: chatIdOf(message['id']),
      object: 'chat.completion.chunk',
      created: Math.floor(this.#createdAtMs / 1000),
      model: message['model'] ?? '',
      system_fingerprint: FINGERPRINT,
    };
    this.#head = `${DATA}${JSON.stringify(head).slice(0, -1)},"choices":`;
    return this.#chunk({ role: 'assistant', content: '' });
  }

  openBlock({ type, id = '', name = '' }: JsonObject): string {
    this.#hasInput = false;
    this.#custom = null;
    if (type !== 'tool_use') return '';
    const form = this.#customTools.get(textOf(name));
    const called = form === 'custom' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } };
    const head = { id, type: form ?? 'function', ...called, ...signatureMember(this.#signature) };
    this.#signature = null;
    if (form !== undefined) this.#custom = { form, pieces: [] };
    return this.#callChunk(head, this.#callCount++);
  }

  grow(kind: DeltaKind, piece: string, { type }: JsonObject): string | StreamError {
    switch (kind) {
      case 'text':
        return this.#chunk({ content: piece });
      case 'thinking':
        this.#details.takeText(piece);
        return this.#chunk({ reasoning_content: piece });
      case 'input':
        if (type !== 'tool_use') return '';
        this.#hasInput = true;
        return this.#custom === null ? this.#callInput(piece) : this.#gather(this.#custom.pieces, piece);
    }
  }

  sound(piece: JsonObject): string {
    return this.#chunk({ audio: piece });
  }

  closeBlock(block: JsonObject): string {
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

  /** All details are in one chunk: some clients keep only the last one. */
  finish({ usage: counts, stopReason }: AnswerEnd): string {
    const all = this.#details.all();
    const details = all.length > 0 ? this.#chunk({ reasoning_details: [...all] }) : '';
    const usage = convertUsage(counts);
    const reason = finishReasonOf(stopReason, this.#callsFunctions);
    const tier = tierOfAnswer(counts, this.#tier);
    const end = this.#chunk({}, reason, { ...tier, ...(this.#usagePlace === 'last chunk' && { usage }) });
    const own = this.#usagePlace === 'own chunk' ? `${this.#head}[]${moreOf({ ...tier, usage })}}${EVENT_END}` : '';
    return `${details}${end}${own}${DONE}`;
  }

  fail(error: StreamError): string {
    return `${DATA}${JSON.stringify({ error: openAiError(error, FIELDS) })}${EVENT_END}`;
  }

  /** Only the last chunk has `more`: several clients accept no null as `usage`. */
  #chunk(delta: JsonObject, finishReason: string | null = null, more: JsonObject = {}): string {
    const end = finishReason === null ? 'null' : JSON.stringify(finishReason);
    const choice = `{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":${end}}`;
    return `${this.#head}[${choice}]${moreOf(more)}}${EVENT_END}`;
  }

  #callInput(piece: string): string {
    return piece === '' ? '' : this.#callChunk({ function: { arguments: piece } }, this.#callCount - 1);
  }

  /** The text of a custom tool is inside of the JSON. */
  #gather(pieces: string[], piece: string): string | StreamError {
    pieces.push(piece);
    this.#customCharactersMax -= piece.length;
    return this.#customCharactersMax < 0 ? TOO_LONG : '';
  }

  /** The older `function_call` format has only one call. */
  #callChunk(call: JsonObject, index: number): string {
    if (this.#callsFunctions) return index === 0 ? this.#chunk({ function_call: call['function'] ?? {} }) : '';
    return this.#chunk({ tool_calls: [{ index, ...call }] });
  }
}
