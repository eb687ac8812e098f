// Writes the events of a response from Messages events, without I/O. The events of a provider of Responses are kept.

import type { Clock } from '../../base/clock.ts';
import { bounds } from '../../config/config.ts';
import { customInput } from '../../protocols/custom-tool.ts';
import { tierWord } from '../../protocols/service-tiers.ts';
import { InnerJson, type JsonObject, type JsonValue, objectOf, textOf, unfoldMessage } from '../../wire/wire.ts';
import { EventWriter } from '../event-writer.ts';
import type { Origins } from '../origins.ts';
import { addCounts, readUsage } from '../read-usage.ts';
import type { ResponseTerms } from './convert-request.ts';
import type { CalledTool } from './convert-tools.ts';
import { callItem, messageItem, reasoningItem, searchItem, summaryPart, textPart } from './output-items.ts';
import { responseErrorOfEvent } from './response-error.ts';

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
  /** The block's members that are not gathered. */
  block: JsonObject;
  pieces: string[];
}

/** Items are repeated at their end, and the whole output at the end of the response. */
const TOO_LONG: JsonObject = {
  error: { type: 'api_error', code: 'upstream_failed', message: 'The answer is too long to be repeated at its end.' },
};

const INCOMPLETE: Readonly<Record<string, string>> = {
  max_tokens: 'max_output_tokens',
  model_context_window_exceeded: 'max_output_tokens',
  refusal: 'content_filter',
};

export class ResponseWriter extends EventWriter {
  readonly #called: ReadonlyMap<string, CalledTool>;
  readonly #showsThinking: boolean;
  readonly #settings: string;
  readonly #tier: ResponseTerms['tier'];
  readonly #createdAt: number;
  readonly #clock: Clock;
  /** Needed until the answer begins; then released, because the request may be long. */
  #origins: Origins | null;
  #id: string;
  #model: JsonValue;
  readonly #usage: JsonObject = {};
  #stopReason = '';
  #sequence = 0;
  readonly #output: JsonObject[] = [];
  #index = 0; // position of the open item, otherwise of the next one
  #open: OpenItem | null = null;
  #charactersMax = bounds.responseOutputCharactersMax; // that may still follow

  constructor(terms: ResponseTerms, { requestId, createdAtMs, clock }: ResponseHead) {
    super();
    this.#called = terms.called;
    this.#showsThinking = terms.showsThinking;
    this.#settings = terms.settings;
    this.#tier = terms.tier;
    this.#model = terms.model;
    this.#origins = terms.origins;
    this.#id = requestId.replace(/^req_/, '');
    this.#createdAt = secondsOf(createdAtMs);
    this.#clock = clock;
  }

  /** The JSON of a whole answer. */
  ofMessage(message: JsonObject): string {
    this.#charactersMax = Number.POSITIVE_INFINITY; // the message is in memory
    for (const { value } of unfoldMessage(message)) this.convert(value);
    return this.#response(this.#status());
  }

  protected override keepNative(text: string): string {
    if (this.#sequence === 0) this.#id = NATIVE_ID.exec(text)?.[1]?.slice(RESPONSE.length) ?? this.#id;
    this.#sequence++;
    this.#origins = null;
    return text;
  }

  protected override convert(event: JsonObject): string {
    switch (event['type']) {
      case 'ping':
        return COMMENT;
      case 'message_start':
        return this.#begin(objectOf(event['message']));
      case 'content_block_start':
        return this.#openBlock(objectOf(event['content_block']));
      case 'content_block_delta':
        return this.#grow(objectOf(event['delta']));
      case 'content_block_stop':
        // Texts in a row are one message: clients read the last part of the last one as the answer.
        return this.#open?.kind === 'text' ? '' : this.#close('completed');
      case 'message_delta':
        this.#stopReason = textOf(objectOf(event['delta'])['stop_reason']);
        addCounts(this.#usage, event['usage']);
        return this.#close(this.#status());
      case 'message_stop':
        return this.#finish();
      case 'error':
        return this.#fail(event);
      default:
        return '';
    }
  }

  #begin(message: JsonObject): string {
    this.#origins = null;
    this.#id = textOf(message['id']).replace(/^msg_/, '') || this.#id;
    this.#model = message['model'] ?? this.#model;
    addCounts(this.#usage, message['usage']);
    const response = this.#response('in_progress');
    return this.#responseEvent('response.created', response) + this.#responseEvent('response.in_progress', response);
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

  #openBlock(block: JsonObject): string {
    const type = block['type'];
    const isText = type === 'text';
    if (isText && this.#open?.kind === 'text') return this.#piece(block['text']);
    const closed = this.#close('completed');
    if (isText) return closed + this.#openText() + this.#piece(block['text']);
    if (type === 'thinking' || type === 'redacted_thinking') return closed + this.#openThinking(block);
    if (type === 'tool_use') return closed + this.#openCall(block);
    return type === 'server_tool_use' && block['name'] === 'web_search' ? closed + this.#openSearch(block) : closed;
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
    return this.#added({ id, type: 'reasoning', summary: [] }) + this.#piece(block['thinking']);
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

  #grow(delta: JsonObject): string {
    const kind = this.#open?.kind;
    switch (delta['type']) {
      case 'text_delta':
        return kind === 'text' ? this.#piece(delta['text']) : '';
      case 'thinking_delta':
        return kind === 'thinking' ? this.#piece(delta['thinking']) : '';
      case 'signature_delta':
        if (this.#open !== null) this.#open.block['signature'] = delta['signature'] ?? '';
        return '';
      case 'input_json_delta':
        return kind === 'call' || kind === 'search' ? this.#piece(delta['partial_json']) : '';
      default:
        return '';
    }
  }

  #piece(piece: JsonValue | undefined): string {
    const item = this.#open;
    if (item === null || typeof piece !== 'string' || piece === '') return '';
    const isFirst = item.pieces.length === 0;
    item.pieces.push(piece);
    this.#charactersMax -= piece.length;
    if (this.#charactersMax < 0) return this.#fail(TOO_LONG);
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

  #status(): 'completed' | 'incomplete' {
    return Object.hasOwn(INCOMPLETE, this.#stopReason) ? 'incomplete' : 'completed';
  }

  #finish(): string {
    this.end();
    const status = this.#status();
    return this.#close(status) + this.#responseEvent(`response.${status}`, this.#response(status)) + DONE;
  }

  /** Some clients read only `error`, others only `response.failed`. */
  #fail(event: JsonObject): string {
    this.end();
    const { error, failure } = responseErrorOfEvent(event, this.#origins);
    const told = this.#event('error', { error });
    return told + this.#responseEvent('response.failed', this.#response('failed', failure)) + DONE;
  }

  /** Its JSON. */
  #response(status: 'in_progress' | 'completed' | 'incomplete' | 'failed', error: JsonObject | null = null): string {
    const isOver = status === 'completed' || status === 'incomplete';
    const own: JsonObject = {
      id: RESPONSE + this.#id,
      object: 'response',
      created_at: this.#createdAt,
      completed_at: status === 'completed' ? Math.max(this.#createdAt, secondsOf(this.#clock.nowMs())) : null,
      status,
      error,
      incomplete_details: status === 'incomplete' ? { reason: INCOMPLETE[this.#stopReason] ?? null } : null,
      model: this.#model,
      output: isOver ? this.#output : [],
      usage: isOver ? convertUsage(this.#usage) : null,
      service_tier: tierWord(this.#usage, this.#tier),
    };
    return `${JSON.stringify(own).slice(0, -1)},${this.#settings}}`;
  }
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}

const RESPONSE = 'resp_';
const PREFIXES = { function: 'fc', custom: 'ctc', tool_search: 'tsc' } as const;

function readInput(json: string): JsonValue | null {
  return new InnerJson().read(json) ?? null; // it was cut
}

export function convertUsage(usage: JsonObject): JsonObject {
  const { prompt, cached, written, output, thinking } = readUsage(usage);
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thinking ?? 0 },
    total_tokens: prompt + output,
  };
}
