// Writes chunks of GenerateContentResponse from Messages events, without I/O: as server-sent events, or as one JSON list.

import { bounds } from '../../config/config.ts';
import {
  type DeltaKind,
  encodeNative,
  InnerJson,
  isThinking,
  type JsonObject,
  type JsonValue,
  objectOf,
  onOneLine,
  parseExactly,
  type ServerSentEvent,
} from '../../wire/wire.ts';
import type { AnswerEnd, AnswerWriter, StreamError } from '../answer-stream.ts';
import { ThinkingCarrier } from './carried-thinking.ts';
import { geminiStreamError } from './convert-error.ts';
import { callPart, convertUsage, finishReasonOf, identityOf, thoughtPart } from './convert-message.ts';
import type { GeminiTerms } from './convert-request.ts';
import { readEnum } from './enum-answer.ts';

/** Ignored by all clients in both forms; a comment is not: one of them takes it for JSON. */
const KEEP_ALIVE = '\n';
const DATA = 'data: ';
const EVENT_END = '\n\n';

export class ChunkWriter implements AnswerWriter {
  readonly #includesThoughts: boolean;
  readonly #isEnum: boolean;
  readonly #isList: boolean;
  readonly #carrier = new ThinkingCarrier();
  #identity: JsonObject = {};
  #usageSoFar: JsonObject = {};
  #pieces: string[] = []; // of the open block, if it is sent whole: a call's input, or the JSON of an enum
  #characters = 0; // of all pieces
  #isBegun = false; // the list

  constructor(terms: GeminiTerms, isList: boolean) {
    this.#includesThoughts = terms.includesThoughts;
    this.#isEnum = terms.isEnum;
    this.#isList = isList;
  }

  ping(): string {
    return KEEP_ALIVE;
  }

  begin(message: JsonObject): string {
    this.#identity = identityOf(message);
    this.#usageSoFar = usageSoFar(objectOf(message['usage']));
    return '';
  }

  openBlock(): string {
    this.#pieces = [];
    this.#characters = 0;
    return '';
  }

  grow(kind: DeltaKind, piece: string, { type }: JsonObject): string {
    switch (kind) {
      case 'text':
        return this.#isEnum && type === 'text' ? this.#keep(piece) : this.#textPart(piece);
      case 'thinking':
        this.#carrier.addPiece(piece);
        return this.#includesThoughts ? this.#part(thoughtPart(piece)) : KEEP_ALIVE;
      case 'input':
        return this.#keep(piece);
    }
  }

  closeBlock(block: JsonObject): string {
    if (isThinking(block)) this.#carrier.close(block);
    const kept = this.#pieces.join('');
    this.#pieces = [];
    if (block['type'] === 'text' && kept !== '') return this.#textPart(readEnum(kept));
    if (block['type'] !== 'tool_use') return '';
    const args = kept === '' ? (block['input'] ?? {}) : readArguments(kept);
    return args === null ? '' : this.#part(callPart(block, args, this.#carrier));
  }

  finish({ usage, stopReason }: AnswerEnd): string {
    // Google's SDKs drop a turn from their history if a chunk of it has no part.
    const content = { parts: [{ text: '', ...this.#carrier.takeLastMember() }], role: 'model' };
    const end = { content, finishReason: finishReasonOf(stopReason), index: 0 };
    return this.#frame(JSON.stringify({ candidates: [end], usageMetadata: convertUsage(usage), ...this.#identity }));
  }

  fail(error: StreamError): string {
    return this.#frame(geminiStreamError(error));
  }

  keepNative(event: ServerSentEvent): string {
    return this.#isList ? this.#frame(onOneLine(event.text)) : encodeNative(event);
  }

  last(): string {
    if (!this.#isList) return '';
    return this.#isBegun ? ']' : '[]';
  }

  #frame(json: string): string {
    if (!this.#isList) return `${DATA}${escapeSeparators(json)}${EVENT_END}`;
    const begin = this.#isBegun ? ',\n' : '[';
    this.#isBegun = true;
    return begin + json;
  }

  #part(part: JsonObject): string {
    const candidates = [{ content: { parts: [part], role: 'model' }, index: 0 }];
    return this.#frame(JSON.stringify({ candidates, ...this.#usageSoFar, ...this.#identity }));
  }

  #textPart(text: string): string {
    this.#carrier.addText();
    return this.#part({ text });
  }

  #keep(piece: string): string {
    this.#characters += piece.length;
    if (this.#characters <= bounds.upstreamEventBytesMax) this.#pieces.push(piece);
    return KEEP_ALIVE;
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
