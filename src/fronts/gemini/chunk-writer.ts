// Writes chunks of GenerateContentResponse from Messages events, without I/O: as server-sent events, or as one JSON list.

import { bounds } from '../../config/config.ts';
import {
  InnerJson,
  isThinking,
  type JsonObject,
  type JsonValue,
  objectOf,
  parseExactly,
  textOf,
} from '../../wire/wire.ts';
import { EventWriter } from '../event-writer.ts';
import type { Origins } from '../origins.ts';
import { addCounts } from '../read-usage.ts';
import { ThinkingCarrier } from './carried-thinking.ts';
import { geminiErrorOfEvent } from './convert-error.ts';
import { callPart, convertUsage, finishReasonOf, identityOf, thoughtPart } from './convert-message.ts';
import type { GeminiTerms } from './convert-request.ts';
import { readEnum } from './enum-answer.ts';

/** Ignored by all clients in both forms; a comment is not: one of them takes it for JSON. */
const KEEP_ALIVE = '\n';
const DATA = 'data: ';
const EVENT_END = '\n\n';

export class ChunkWriter extends EventWriter {
  readonly #includesThoughts: boolean;
  readonly #isEnum: boolean;
  readonly #isList: boolean;
  readonly #carrier = new ThinkingCarrier();
  /** Needed until the answer begins; then released, because the request may be long. */
  #origins: Origins | null;
  #identity: JsonObject = {};
  readonly #usage: JsonObject = {};
  #usageSoFar: JsonObject = {};
  #stopReason: JsonValue = null;
  #open: JsonObject = {}; // the open block
  #pieces: string[] = []; // of the open block, if it is sent whole: a call's input, or the JSON of an enum
  #characters = 0; // of all pieces
  #isBegun = false; // the list

  constructor(terms: GeminiTerms, isList: boolean) {
    super();
    this.#includesThoughts = terms.includesThoughts;
    this.#isEnum = terms.isEnum;
    this.#origins = terms.origins;
    this.#isList = isList;
  }

  protected override convert(event: JsonObject): string {
    switch (event['type']) {
      case 'ping':
        return KEEP_ALIVE;
      case 'message_start':
        this.#begin(objectOf(event['message']));
        return '';
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
        this.end();
        return this.#frame(geminiErrorOfEvent(event, this.#origins));
      default:
        return '';
    }
  }

  protected override keepNative(text: string): string {
    return this.#isList ? this.#frame(text.slice(DATA.length, -EVENT_END.length)) : text;
  }

  override last(): string {
    if (!this.#isList) return '';
    return this.#isBegun ? ']' : '[]';
  }

  #frame(json: string): string {
    if (!this.#isList) return `${DATA}${escapeSeparators(json)}${EVENT_END}`;
    const begin = this.#isBegun ? ',\n' : '[';
    this.#isBegun = true;
    return begin + json;
  }

  #begin(message: JsonObject): void {
    this.#identity = identityOf(message);
    this.#origins = null;
    addCounts(this.#usage, message['usage']);
    this.#usageSoFar = usageSoFar(this.#usage);
  }

  #part(part: JsonObject): string {
    const candidates = [{ content: { parts: [part], role: 'model' }, index: 0 }];
    return this.#frame(JSON.stringify({ candidates, ...this.#usageSoFar, ...this.#identity }));
  }

  #openBlock(block: JsonObject): string {
    this.#open = block;
    this.#pieces = [];
    this.#characters = 0;
    if (block['type'] === 'text') return this.#text(textOf(block['text']));
    return block['type'] === 'thinking' ? this.#thinking(textOf(block['thinking'])) : '';
  }

  #grow(delta: JsonObject): string {
    switch (delta['type']) {
      case 'text_delta':
        return this.#text(textOf(delta['text']));
      case 'thinking_delta':
        return this.#thinking(textOf(delta['thinking']));
      case 'signature_delta':
        this.#open['signature'] = delta['signature'] ?? '';
        return '';
      case 'input_json_delta':
        return this.#keep(textOf(delta['partial_json']));
      default:
        return '';
    }
  }

  #text(text: string): string {
    if (text === '') return '';
    if (this.#isEnum && this.#open['type'] === 'text') return this.#keep(text);
    return this.#textPart(text);
  }

  #textPart(text: string): string {
    this.#carrier.addText();
    return this.#part({ text });
  }

  #thinking(text: string): string {
    if (text === '') return '';
    this.#carrier.addPiece(text);
    return this.#includesThoughts ? this.#part(thoughtPart(text)) : KEEP_ALIVE;
  }

  #keep(piece: string): string {
    this.#characters += piece.length;
    if (this.#characters <= bounds.upstreamEventBytesMax) this.#pieces.push(piece);
    return KEEP_ALIVE;
  }

  #closeBlock(): string {
    const block = this.#open;
    this.#open = {};
    if (isThinking(block)) this.#carrier.close(block);
    const kept = this.#pieces.join('');
    this.#pieces = [];
    if (block['type'] === 'text' && kept !== '') return this.#textPart(readEnum(kept));
    if (block['type'] !== 'tool_use') return '';
    const args = kept === '' ? (block['input'] ?? {}) : readArguments(kept);
    return args === null ? '' : this.#part(callPart(block, args, this.#carrier));
  }

  #finish(): string {
    this.end();
    // Google's SDKs drop a turn from their history if a chunk of it has no part.
    const content = { parts: [{ text: '', ...this.#carrier.takeLastMember() }], role: 'model' };
    const end = { content, finishReason: finishReasonOf(this.#stopReason), index: 0 };
    const usageMetadata = convertUsage(this.#usage);
    return this.#frame(JSON.stringify({ candidates: [end], usageMetadata, ...this.#identity }));
  }
}

/**
 * Google's chunks all have `usageMetadata`, at first without the output (recorded by the Vercel AI SDK,
 * https://github.com/vercel/ai/tree/main/packages/google/src/__fixtures__, 29 November 2026). Empty if the prompt is not counted yet.
 */
function usageSoFar(usage: JsonObject): JsonObject {
  const { candidatesTokenCount: _, ...counts } = convertUsage({ ...usage, output_tokens: 0 });
  return counts['promptTokenCount'] === 0 ? {} : { usageMetadata: counts };
}

/** Clients of an older SDK end a line at U+2028 and U+2029, too. Google escapes both. */
function escapeSeparators(json: string): string {
  if (!json.includes('\u2028') && !json.includes('\u2029')) return json;
  const bytes = Buffer.from(json); // replacing millions in a text takes long
  const written = Buffer.allocUnsafe(2 * bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const last = bytes[at + 2];
    if (bytes[at] === SEPARATOR[0] && bytes[at + 1] === SEPARATOR[1] && (last === 0xa8 || last === 0xa9)) {
      length += written.write(last === 0xa8 ? '\\u2028' : '\\u2029', length, 'latin1');
      at += 2;
    } else written[length++] = bytes[at] as number;
  }
  return written.toString('utf8', 0, length);
}

const SEPARATOR = [0xe2, 0x80]; // the first bytes of both in UTF-8

/** null for a call that was cut, as by `max_tokens`: this protocol has no part of one. */
function readArguments(json: string): JsonValue | null {
  return new InnerJson().read(json, parseExactly) ?? null;
}
