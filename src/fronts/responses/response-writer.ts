// Writes the events of a response from Messages events, without I/O. The events of a provider of Responses are kept.

import type { Clock } from '../../base/clock.ts';
import { bounds } from '../../config/config.ts';
import { customInput } from '../../protocols/custom-tool.ts';
import { tierWord } from '../../protocols/service-tiers.ts';
import { wordOf } from '../../protocols/stop-words.ts';
import { countsOfMessage, RESPONSES_COUNTS, writeCounts } from '../../protocols/token-counts.ts';
import {
  type DeltaKind,
  encodeNative,
  InnerJson,
  type JsonObject,
  type JsonValue,
  objectOf,
  type ServerSentEvent,
  textOf,
} from '../../wire/wire.ts';
import type { AnswerEnd, AnswerWriter, StreamError } from '../answer-stream.ts';
import type { ResponseTerms } from './convert-request.ts';
import type { CalledTool } from './convert-tools.ts';
import { callItem, messageItem, reasoningItem, searchItem, summaryPart, textPart } from './output-items.ts';
import { responseErrors } from './response-error.ts';

const COMMENT = ': ping\n\n';
/** Open Responses requires it, and OpenAI's SDKs end at it: https://www.openresponses.org/specification (29 November 2026). */
const DONE = 'data: [DONE]\n\n';
const NATIVE_ID = /"id":\s*"(resp_[\w-]+)"/;

/** When and for which request a response is made. */
export interface ResponseHead {
  requestId: string;
  createdAtMs: number;
  clock: Clock;
}

/** An output item while it grows. */
interface OpenItem {
  kind: 'text' | 'thinking' | 'call' | 'search';
  id: string;
  block: JsonObject;
  pieces: string[];
}

/** Items are repeated at their end, and the whole output at the end of the response. */
const TOO_LONG: StreamError = {
  message: 'The answer is too long to be repeated at its end.',
  type: 'api_error',
  code: 'upstream_failed',
  requestId: '',
};

export class ResponseWriter implements AnswerWriter {
  readonly #called: ReadonlyMap<string, CalledTool>;
  readonly #showsThinking: boolean;
  readonly #settings: string;
  readonly #tier: ResponseTerms['tier'];
  readonly #createdAt: number;
  readonly #clock: Clock;
  #id: string;
  #model: JsonValue;
  #sequence = 0;
  readonly #output: JsonObject[] = [];
  #index = 0; // position of the open item, otherwise of the next one
  #open: OpenItem | null = null;
  #charactersMax: number; // that may still follow

  /** `charactersMax` bounds the output, because its end repeats it. */
  constructor(
    terms: ResponseTerms,
    { requestId, createdAtMs, clock }: ResponseHead,
    charactersMax: number = bounds.responseOutputCharactersMax,
  ) {
    this.#called = terms.called;
    this.#showsThinking = terms.showsThinking;
    this.#settings = terms.settings;
    this.#tier = terms.tier;
    this.#model = terms.model;
    this.#id = requestId.replace(/^req_/, '');
    this.#createdAt = secondsOf(createdAtMs);
    this.#clock = clock;
    this.#charactersMax = charactersMax;
  }

  ping(): string {
    return COMMENT;
  }

  begin(message: JsonObject): string {
    this.#id = textOf(message['id']).replace(/^msg_/, '') || this.#id;
    this.#model = message['model'] ?? this.#model;
    const response = this.#response('in_progress', objectOf(message['usage']));
    return this.#responseEvent('response.created', response) + this.#responseEvent('response.in_progress', response);
  }

  openBlock(block: JsonObject): string {
    switch (block['type']) {
      case 'text':
        return this.#open?.kind === 'text' ? '' : this.#close('completed') + this.#openText();
      case 'thinking':
      case 'redacted_thinking':
        return this.#close('completed') + this.#openThinking(block);
      case 'tool_use':
        return this.#close('completed') + this.#openCall(block);
      default:
        return this.#close('completed') + (isSearch(block) ? this.#openSearch(block) : '');
    }
  }

  grow(kind: DeltaKind, piece: string): string | StreamError {
    const item = this.#open;
    if (item === null || kind !== GROWS[item.kind]) return '';
    const isFirst = item.pieces.length === 0;
    item.pieces.push(piece);
    this.#charactersMax -= piece.length;
    return this.#charactersMax < 0 ? TOO_LONG : this.#piece(item, piece, isFirst);
  }

  /** Texts in a row are one message: clients read the last part of the last one as the answer. */
  closeBlock(): string {
    return this.#open?.kind === 'text' ? '' : this.#close('completed');
  }

  stop(stopReason: string): string {
    return this.#close(statusOf(stopReason));
  }

  finish(end: AnswerEnd): string {
    const status = statusOf(end.stopReason);
    return this.#close(status) + this.#responseEvent(`response.${status}`, this.whole(end)) + DONE;
  }

  /** Some clients read only `error`, others only `response.failed`. */
  fail(failed: StreamError, { usage }: AnswerEnd): string {
    const { error, failure } = responseErrors(failed);
    const told = this.#event('error', { error });
    return told + this.#responseEvent('response.failed', this.#response('failed', usage, failure)) + DONE;
  }

  keepNative(event: ServerSentEvent): string {
    if (this.#sequence === 0) this.#id = NATIVE_ID.exec(event.text)?.[1]?.slice(RESPONSE.length) ?? this.#id;
    this.#sequence++;
    return encodeNative(event);
  }

  /** The JSON of the whole answer, at its end. */
  whole({ usage, stopReason }: AnswerEnd): string {
    return this.#response(statusOf(stopReason), usage, null, wordOf(stopReason, 'responses'));
  }

  #event(type: string, members: JsonObject): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...members })}\n\n`;
  }

  /** An event about the response, whose JSON is given. */
  #responseEvent(type: string, response: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},"response":${response}}\n\n`;
  }

  /** An event about the open item. */
  #itemEvent(type: string, members: JsonObject): string {
    return this.#event(type, { item_id: this.#open?.id ?? '', output_index: this.#index, ...members });
  }

  #add(kind: OpenItem['kind'], prefix: string, block: JsonObject): OpenItem {
    this.#open = { kind, id: `${prefix}_${this.#id}_${this.#index}`, block, pieces: [] };
    return this.#open;
  }

  #added(item: JsonObject): string {
    return this.#event('response.output_item.added', { output_index: this.#index, item });
  }

  #openText(): string {
    const { id } = this.#add('text', 'msg', {});
    const added = this.#added(messageItem(id, '', 'in_progress'));
    return added + this.#itemEvent('response.content_part.added', { content_index: 0, part: textPart('') });
  }

  #openThinking(block: JsonObject): string {
    const { id } = this.#add('thinking', 'rs', block);
    return this.#added({ id, type: 'reasoning', summary: [] });
  }

  #openCall(block: JsonObject): string {
    const { id } = this.#add('call', PREFIXES[this.#toolOf(block).kind], block);
    return this.#added(callItem(id, block['id'] ?? '', this.#toolOf(block), '', 'in_progress'));
  }

  #openSearch(block: JsonObject): string {
    const { id } = this.#add('search', 'ws', block);
    return this.#added(searchItem(id, {}, 'in_progress'));
  }

  #toolOf(block: JsonObject): CalledTool {
    const name = textOf(block['name']);
    return this.#called.get(name) ?? { kind: 'function', name, namespace: null };
  }

  #piece(item: OpenItem, piece: string, isFirst: boolean): string {
    switch (item.kind) {
      case 'text':
        return this.#itemEvent('response.output_text.delta', { content_index: 0, delta: piece, logprobs: [] });
      case 'thinking': {
        if (!this.#showsThinking) return '';
        const part = { summary_index: 0, part: summaryPart('') };
        const begun = isFirst ? this.#itemEvent('response.reasoning_summary_part.added', part) : '';
        const delta = { summary_index: 0, delta: piece };
        return begun + this.#itemEvent('response.reasoning_summary_text.delta', delta);
      }
      case 'call':
        // The input of other tools is inside of the JSON.
        if (this.#toolOf(item.block).kind !== 'function') return '';
        return this.#itemEvent('response.function_call_arguments.delta', { delta: piece });
      case 'search':
        return '';
    }
  }

  /** The end of the open item. */
  #close(status: string): string {
    const open = this.#open;
    if (open === null) return '';
    const text = open.pieces.join('');
    const [before, item] = this.#done(open, text, status === 'completed' ? status : 'incomplete');
    const done = this.#event('response.output_item.done', { output_index: this.#index, item });
    this.#open = null;
    this.#index++;
    this.#output.push(item);
    return before + done;
  }

  /** The events before the end of an item, and the item. */
  #done({ kind, id, block }: OpenItem, text: string, status: string): [string, JsonObject] {
    switch (kind) {
      case 'text': {
        const part = textPart(text);
        const done = this.#itemEvent('response.output_text.done', { content_index: 0, text, logprobs: [] });
        return [
          done + this.#itemEvent('response.content_part.done', { content_index: 0, part }),
          messageItem(id, text, status),
        ];
      }
      case 'thinking': {
        const item = reasoningItem(id, { ...block, thinking: text }, this.#showsThinking);
        if (text === '' || !this.#showsThinking) return ['', item];
        const done = this.#itemEvent('response.reasoning_summary_text.done', { summary_index: 0, text });
        const part = { summary_index: 0, part: summaryPart(text) };
        return [done + this.#itemEvent('response.reasoning_summary_part.done', part), item];
      }
      case 'call':
        return this.#doneCall(id, block, text === '' ? JSON.stringify(block['input'] ?? {}) : text, status);
      case 'search':
        return ['', searchItem(id, readInput(text) ?? block['input'], status)];
    }
  }

  #doneCall(id: string, block: JsonObject, json: string, status: string): [string, JsonObject] {
    const tool = this.#toolOf(block);
    const item = callItem(id, block['id'] ?? '', tool, json, status);
    if (tool.kind === 'tool_search') return ['', item];
    if (tool.kind === 'function') {
      const { name } = tool;
      return [this.#itemEvent('response.function_call_arguments.done', { name, arguments: json }), item];
    }
    const input = customInput(json);
    const delta = this.#itemEvent('response.custom_tool_call_input.delta', { delta: input });
    return [delta + this.#itemEvent('response.custom_tool_call_input.done', { input }), item];
  }

  /** Its JSON. */
  #response(
    status: 'in_progress' | 'completed' | 'incomplete' | 'failed',
    usage: JsonObject,
    error: JsonObject | null = null,
    reason: string | null = null,
  ): string {
    const isOver = status === 'completed' || status === 'incomplete';
    const own: JsonObject = {
      id: RESPONSE + this.#id,
      object: 'response',
      created_at: this.#createdAt,
      completed_at: status === 'completed' ? Math.max(this.#createdAt, secondsOf(this.#clock.nowMs())) : null,
      status,
      error,
      incomplete_details: status === 'incomplete' ? { reason } : null,
      model: this.#model,
      output: isOver ? this.#output : [],
      usage: isOver ? convertUsage(usage) : null,
      service_tier: tierWord(usage, this.#tier),
    };
    return `${JSON.stringify(own).slice(0, -1)},${this.#settings}}`;
  }
}

/** The pieces that an item gathers. */
const GROWS: Readonly<Record<OpenItem['kind'], DeltaKind>> = {
  text: 'text',
  thinking: 'thinking',
  call: 'input',
  search: 'input',
};

function isSearch({ type, name }: JsonObject): boolean {
  return type === 'server_tool_use' && name === 'web_search';
}

function statusOf(stopReason: string): 'completed' | 'incomplete' {
  return wordOf(stopReason, 'responses') === null ? 'completed' : 'incomplete';
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}

const RESPONSE = 'resp_';
const PREFIXES = { function: 'fc', custom: 'ctc', tool_search: 'tsc' } as const;

function readInput(json: string): JsonValue | null {
  return new InnerJson().read(json) ?? null; // it was cut
}

function convertUsage(usage: JsonObject): JsonObject {
  const counts = countsOfMessage(usage);
  return writeCounts({ ...counts, thinking: counts.thinking ?? 0 }, RESPONSES_COUNTS);
}
