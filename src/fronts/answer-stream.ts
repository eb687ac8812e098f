// The one reader of an answer's events for all fronts: what arrives is handed, step by step, to the writer of a protocol.

import {
  type DeltaKind,
  encodeNative,
  exactBody,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  laterCounts,
  objectOf,
  PlainDeltas,
  type ServerSentEvent,
  type StreamEvent,
  type StreamPiece,
  textOf,
} from '../wire/wire.ts';
import type { AnswerTranslator } from './front.ts';
import { type Origins, withClientPath } from './origins.ts';

/** Writes an answer in another protocol, without I/O. Each method returns the text to send, possibly none. */
export interface AnswerWriter {
  ping(): string;
  begin(message: JsonObject): string;
  /** `block` is the writer's own. A text that it begins with follows as a piece. */
  openBlock(block: JsonObject): string;
  /** Never empty. Returns an error if the answer cannot go on. */
  grow(kind: DeltaKind, piece: string, block: JsonObject): string | StreamError;
  /** A piece of spoken output, as Chat Completions has it. Absent: requests of the front get none. */
  sound?(piece: JsonObject): string;
  /** With the signature, if the block got one. */
  closeBlock(block: JsonObject): string;
  /** The stop reason is known, and no block follows. */
  stop?(stopReason: string): string;
  finish(end: AnswerEnd): string;
  fail(error: StreamError, end: AnswerEnd): string;
  /** An event of the front's own protocol. Absent: it is sent as it came. */
  keepNative?(event: ServerSentEvent): string;
  /** The text after the last event, also of an answer that broke off. */
  last?(): string;
}

/** The end of an answer as far as it is known: `usage` in the form of a message's, and '' without a stop reason. */
export interface AnswerEnd {
  usage: JsonObject;
  stopReason: string;
}

/** An error within a stream. Until the answer begins, its message has the paths of the client's request. */
export interface StreamError {
  message: string;
  type: string | null;
  code: string | null;
  requestId: string;
}

export class AnswerStream {
  readonly #writer: AnswerWriter;
  /** Needed until the answer begins; then released, because the request may be long. */
  #origins: Origins | null;
  readonly end: AnswerEnd = { usage: {}, stopReason: '' };
  #open: JsonObject = {};
  #isOver = false;

  constructor(answer: Pick<AnswerTranslator, 'origins' | 'writer'>) {
    this.#writer = answer.writer();
    this.#origins = answer.origins;
  }

  /** The text for these events. Those after the end or an error are ignored. */
  take(piece: StreamPiece): string {
    let written = '';
    if (piece instanceof PlainDeltas) {
      for (const text of piece.texts) if (!this.#isOver) written += this.#grow(text.kind, piece.textOf(text));
    } else for (const event of piece) if (!this.#isOver) written += this.#takeEvent(event);
    return written;
  }

  /** The text after the last event. */
  last(): string {
    return this.#writer.last?.() ?? '';
  }

  #takeEvent(event: StreamEvent): string {
    const { native, value } = event;
    if (native !== undefined) return this.#keepNative(native);
    switch (value['type']) {
      case 'ping':
        return this.#writer.ping();
      case 'message_start':
        return this.#begin(objectOf(value['message']));
      case 'content_block_start':
        return this.#openBlock(objectOf(exactBody({ text: event.json, body: value })['content_block']));
      case 'content_block_delta':
        return this.#takeDelta(objectOf(value['delta']));
      case 'content_block_stop': {
        const block = this.#open;
        this.#open = {};
        return this.#writer.closeBlock(block);
      }
      case 'message_delta':
        this.end.stopReason = textOf(objectOf(value['delta'])['stop_reason']);
        addCounts(this.end.usage, value['usage']);
        return this.#writer.stop?.(this.end.stopReason) ?? '';
      case 'message_stop':
        this.#isOver = true;
        return this.#writer.finish(this.end);
      case 'error':
        return this.#fail(this.#errorOf(value));
      default:
        return '';
    }
  }

  #keepNative(events: readonly ServerSentEvent[]): string {
    if (events.length > 0) this.#origins = null;
    return events.map((event) => this.#writer.keepNative?.(event) ?? encodeNative(event)).join('');
  }

  #begin(message: JsonObject): string {
    this.#origins = null;
    addCounts(this.end.usage, message['usage']);
    return this.#writer.begin({ ...message, usage: this.end.usage });
  }

  #openBlock(block: JsonObject): string {
    this.#open = { ...block };
    const opened = this.#writer.openBlock(this.#open);
    const { type } = block;
    return type === 'text' || type === 'thinking' ? opened + this.#grow(type, block[type]) : opened;
  }

  #takeDelta(delta: JsonObject): string {
    switch (delta['type']) {
      case 'text_delta':
        return this.#grow('text', delta['text']);
      case 'thinking_delta':
        return this.#grow('thinking', delta['thinking']);
      case 'input_json_delta':
        return this.#grow('input', delta['partial_json']);
      case 'audio_delta':
        return this.#writer.sound?.(objectOf(delta['audio'])) ?? '';
      case 'signature_delta':
        this.#open['signature'] = delta['signature'] ?? '';
        return '';
      default:
        return '';
    }
  }

  #grow(kind: DeltaKind, piece: JsonValue | undefined): string {
    if (typeof piece !== 'string' || piece === '') return '';
    const written = this.#writer.grow(kind, piece, this.#open);
    return typeof written === 'string' ? written : this.#fail(written);
  }

  #fail(error: StreamError): string {
    this.#isOver = true;
    return this.#writer.fail(error, this.end);
  }

  #errorOf(value: JsonObject): StreamError {
    const { message, type = null, code = null } = objectOf(value['error']);
    const said = textOf(message);
    return {
      message: this.#origins === null ? said : withClientPath(said, this.#origins),
      type: typeof type === 'string' ? type : null,
      code: typeof code === 'string' ? code : null,
      requestId: textOf(value['request_id']),
    };
  }
}

/** Adds later counts of a stream, which are cumulative. A stream may begin with estimates. */
function addCounts(usage: JsonObject, counts: JsonValue | undefined): void {
  if (isJsonObject(counts)) Object.assign(usage, laterCounts(usage, counts, true));
}
