// Splits AWS's binary event stream into events. Frames may be cut anywhere; both of their checksums are verified.

import { crc32 } from 'node:zlib';
import type { EventStreamCodec } from '@smithy/eventstream-codec';
import { bounds } from '../../config/config.ts';
import type { ServerSentEvent } from '../../wire/wire.ts';
import { ProviderFault } from '../provider.ts';
import type { EventParser } from '../pull-stream.ts';
import { mapException, readErrorMessage } from './map-error.ts';

export const FRAMES_TYPE = 'application/vnd.amazon.eventstream';

// A frame: total length, length of the headers, checksum of both; headers; payload; checksum of everything.
const PRELUDE_BYTES = 12;
const PRELUDE_CHECKED_BYTES = 8;
const FRAME_BYTES_LEAST = PRELUDE_BYTES + 4;
const BUFFER_BYTES_LEAST = 4 * 1024;

const decoder = new TextDecoder();
let loading: Promise<EventStreamCodec> | null = null;

/** The decoder of frames, loaded for the first stream. */
export function loadCodec(): Promise<EventStreamCodec> {
  loading ??= import('@smithy/eventstream-codec').then(
    ({ EventStreamCodec: Codec }) =>
      new Codec(
        (bytes) => (typeof bytes === 'string' ? bytes : decoder.decode(bytes)),
        (text) => Buffer.from(text),
      ),
  );
  return loading;
}

/**
 * Each event has its type as its name, and its payload as text. Throws ProviderFault for an exception in the stream and
 * for a frame that is damaged or too long, after the events before it; the parser is unusable afterwards.
 */
export class FrameParser implements EventParser {
  readonly #codec: EventStreamCodec;
  readonly #upstreamRequestId: string | null;
  #buffer = new Uint8Array(0); // the incomplete frame
  #length = 0;

  constructor(codec: EventStreamCodec, upstreamRequestId: string | null) {
    this.#codec = codec;
    this.#upstreamRequestId = upstreamRequestId;
  }

  *push(bytes: Uint8Array): Generator<ServerSentEvent> {
    let at = 0;
    while (at < bytes.length) {
      if (this.#length === 0) {
        const rest = bytes.subarray(at);
        const frameBytes = this.#frameBytes(rest);
        if (frameBytes !== null && frameBytes <= rest.length) {
          at += frameBytes;
          yield* this.#read(rest.subarray(0, frameBytes));
          continue;
        }
      }
      const needed = (this.#frameBytes(this.#buffer.subarray(0, this.#length)) ?? PRELUDE_BYTES) - this.#length;
      const taken = bytes.subarray(at, at + needed);
      this.#hold(taken);
      at += taken.length;
      const held = this.#buffer.subarray(0, this.#length);
      if (this.#frameBytes(held) !== held.length) continue;
      this.#buffer = new Uint8Array(0);
      this.#length = 0;
      yield* this.#read(held);
    }
  }

  /** The length of the frame that begins here; null if its prelude is incomplete. */
  #frameBytes(bytes: Uint8Array): number | null {
    if (bytes.length < PRELUDE_BYTES) return null;
    const view = new DataView(bytes.buffer, bytes.byteOffset, PRELUDE_BYTES);
    const frameBytes = view.getUint32(0);
    const headerBytes = view.getUint32(4);
    if (view.getUint32(PRELUDE_CHECKED_BYTES) !== crc32(bytes.subarray(0, PRELUDE_CHECKED_BYTES)))
      throw this.#fault('a damaged frame');
    if (frameBytes > bounds.upstreamFrameBytesMax || headerBytes > bounds.upstreamFrameHeaderBytesMax)
      throw this.#fault('a frame that is too long');
    if (frameBytes < FRAME_BYTES_LEAST + headerBytes) throw this.#fault('a damaged frame');
    return frameBytes;
  }

  /** The buffer doubles up to the length of its frame, so that a provider's word alone reserves no memory. */
  #hold(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(BUFFER_BYTES_LEAST, length, this.#buffer.length * 2));
      grown.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }

  *#read(frame: Uint8Array): Generator<ServerSentEvent> {
    let message: ReturnType<EventStreamCodec['decode']>;
    try {
      message = this.#codec.decode(frame);
    } catch (cause) {
      throw this.#fault('a damaged frame', cause);
    }
    const header = (name: string): string | null => {
      const found = Object.hasOwn(message.headers, name) ? message.headers[name] : undefined;
      return found?.type === 'string' ? found.value : null;
    };
    const text = () => decoder.decode(message.body);
    const upstreamRequestId = this.#upstreamRequestId;
    switch (header(':message-type')) {
      case 'event':
        yield { name: header(':event-type') ?? '', text: text() };
        return;
      case 'exception':
        throw mapException(header(':exception-type'), readErrorMessage(text()), upstreamRequestId);
      case 'error':
        throw mapException(header(':error-code'), header(':error-message'), upstreamRequestId);
      default:
        throw this.#fault('a frame of an unknown type');
    }
  }

  #fault(what: string, cause?: unknown): ProviderFault {
    const upstreamRequestId = this.#upstreamRequestId;
    return new ProviderFault('failed', `the provider sent ${what}`, { upstreamRequestId, cause });
  }
}
