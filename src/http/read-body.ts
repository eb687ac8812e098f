// Reads a request body: bounded in bytes, time and the memory of all bodies together.

import { parseWholeNumber } from '../base/checked-number.ts';
import { collectBytes } from '../base/collect-bytes.ts';
import { FairShareQuota } from '../base/fair-share-quota.ts';
import { type EqualWait, EqualWaits } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type { Connection } from './serve-http.ts';

/** The declared bytes; null without a length. Throws invalid_request and has the connection closed. */
function declaredLength(headers: Headers): number | null {
  const text = headers.get('content-length');
  if (text === null) return null;
  const bytes = parseWholeNumber(text);
  if (bytes !== null) return bytes;
  // The end of the body is uncertain, so nothing after it may be read as another request.
  throw new TurnpikeError('invalid_request', 'content-length: must be one whole number of bytes, sent once', {
    headers: { connection: 'close' },
  });
}

/** Smaller bodies are read at once; larger ones are timed chunk by chunk. */
const SMALL_BODY_BYTES = 128 * 1024;
const WATCH_INTERVAL_MS = 1_000;
const STALL_MS = bounds.requestHeadSecondsMax * 1_000;

/** Bytes of all bodies in memory, by owner. */
export class BodiesInFlight {
  readonly #room: FairShareQuota;
  /** Number of requests whose body is in memory or still to come. */
  open = 0;
  /** How long a body may send nothing, and a small one may take. */
  readonly stallMs: number;
  /** Waits for small bodies. */
  readonly waits: EqualWaits;

  /** `bytesMax` is read on each call, because the setting may change. */
  constructor(bytesMax: () => number, stallMs: number = STALL_MS) {
    this.#room = new FairShareQuota(bytesMax);
    this.stallMs = stallMs;
    this.waits = new EqualWaits(stallMs);
  }

  get bytes(): number {
    return this.#room.taken;
  }

  /** Throws overloaded if the bytes do not fit. Takes nothing. */
  requireRoom(bytes: number): void {
    if (!this.#room.hasRoomFor(bytes)) throw noRoom();
  }

  /**
   * Throws overloaded, without taking anything, if there is no memory left or the owner has used its fair share. `begun`:
   * bytes already taken for the same body.
   */
  take(owner: number, bytes: number, begun: number): void {
    const shortage = this.#room.take(owner, bytes, begun);
    if (shortage === 'full') throw noRoom();
    if (shortage === 'share')
      throw overloaded(
        "The request bodies of this account exceed its share of the service's memory. Try again in a moment.",
      );
  }

  giveBack(owner: number, bytes: number): void {
    this.#room.giveBack(owner, bytes);
  }
}

/** The body of one request. Its scope calls `giveBack`, however it ends. */
export class RequestBody implements EqualWait {
  /** The end of the wait for a small body. */
  endMs = 0;
  #reject: ((fault: TurnpikeError) => void) | null = null;
  readonly #request: Request;
  readonly #connection: Connection;
  readonly #inFlight: BodiesInFlight;
  /** The declared length; null without one. */
  readonly bytesDeclared: number | null;
  #owner = 0;
  #bytesTaken = 0;
  #isOpen = true;

  /** Throws invalid_request for an invalid length; then there is nothing to release. */
  constructor(request: Request, connection: Connection, inFlight: BodiesInFlight) {
    this.#request = request;
    this.#connection = connection;
    this.#inFlight = inFlight;
    this.bytesDeclared = declaredLength(request.headers);
    inFlight.open++; // last, because a failed constructor has nothing to release
  }

  /**
   * The body, at most `bytesMax` bytes, counted as the owner's. Throws or rejects with body_too_large (at once if the length is
   * declared), content_type_unsupported (compressed), overloaded, request_timeout (the upload stalls, or the client disconnects).
   * `times` gets the milliseconds that this took. Called once.
   */
  read(bytesMax: number, owner: number, times: { bodyMs: number }): Promise<Uint8Array | Blob> {
    this.#owner = owner;
    this.#requirePlain();
    const { bytesDeclared } = this;
    if (bytesDeclared !== null && bytesDeclared > bytesMax) throw tooLarge(bytesMax);
    if (bytesDeclared !== null) this.#take(bytesDeclared);
    const isSmall = bytesDeclared !== null && bytesDeclared <= SMALL_BODY_BYTES;
    return isSmall ? this.#readSmall(times) : this.#readLarge(bytesDeclared, bytesMax, times);
  }

  /**
   * Passes the body on in pieces of at most about a megabyte, each when `accept` has taken the one before. Throws as `read`, but the memory
   * of other bodies does not matter. Called once, instead of `read`.
   */
  async pass(bytesMax: number, times: { bodyMs: number }, accept: (piece: Uint8Array) => Promise<void>): Promise<void> {
    this.#requirePlain();
    if ((this.bytesDeclared ?? 0) > bytesMax) throw tooLarge(bytesMax);
    if (this.#request.body === null) return;
    const startMs = performance.now();
    let received = 0;
    try {
      await this.#receive((piece) => {
        received += piece.byteLength;
        if (received > bytesMax) throw tooLarge(bytesMax);
        return accept(piece);
      });
    } catch (thrown) {
      throw thrown instanceof TurnpikeError ? thrown : lost(thrown);
    } finally {
      times.bodyMs = performance.now() - startMs;
    }
  }

  /** Counts memory that the request needs besides what it sent. Throws overloaded. */
  grow(bytes: number, owner: number): void {
    this.#owner = owner;
    this.#take(bytes);
  }

  /** Releases the body's memory. Only the first call counts. */
  giveBack(): void {
    this.#inFlight.giveBack(this.#owner, this.#bytesTaken);
    this.#bytesTaken = 0;
    this.#endWait();
    if (this.#isOpen) this.#inFlight.open--;
    this.#isOpen = false;
  }

  #requirePlain(): void {
    const encoding = this.#request.headers.get('content-encoding')?.trim().toLowerCase();
    if (encoding && encoding !== 'identity')
      throw new TurnpikeError('content_type_unsupported', 'content-encoding: send the body uncompressed.');
  }

  #take(bytes: number): void {
    this.#inFlight.take(this.#owner, bytes, this.#bytesTaken);
    this.#bytesTaken += bytes;
  }

  #readSmall(times: { bodyMs: number }): Promise<Blob> {
    const { promise, resolve, reject } = Promise.withResolvers<Blob>();
    this.#reject = reject;
    this.#inFlight.waits.begin(this);
    const startMs = performance.now();
    this.#request.blob().then(
      (blob) => {
        this.#endWait();
        times.bodyMs = performance.now() - startMs;
        resolve(blob);
      },
      (cause) => reject(lost(cause)),
    );
    return promise;
  }

  /** The wait for a small body is over: the body did not arrive. */
  onEnd(): void {
    this.#reject?.(stalled());
  }

  /** Its promise has the body, which must not stay in memory as long as the request. */
  #endWait(): void {
    if (this.#reject === null) return;
    this.#reject = null;
    this.#inFlight.waits.cancel(this);
  }

  async #readLarge(bytesDeclared: number | null, bytesMax: number, times: { bodyMs: number }): Promise<Uint8Array> {
    const startMs = performance.now();
    try {
      return bytesDeclared === null ? await this.#readUnknown(bytesMax) : await this.#readDeclared(bytesDeclared);
    } catch (thrown) {
      throw thrown instanceof TurnpikeError ? thrown : lost(thrown);
    } finally {
      times.bodyMs = performance.now() - startMs;
    }
  }

  async #readDeclared(bytesDeclared: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(bytesDeclared);
    let received = 0;
    await this.#receive((chunk) => {
      bytes.set(chunk, received); // The runtime ends a body at its declared length.
      received += chunk.byteLength;
    });
    return received === bytesDeclared ? bytes : bytes.subarray(0, received);
  }

  async #readUnknown(bytesMax: number): Promise<Uint8Array> {
    if (this.#request.body === null) return new Uint8Array(0);
    const chunks: Uint8Array[] = [];
    let received = 0;
    await this.#receive((chunk) => {
      received += chunk.byteLength;
      if (received > bytesMax) throw tooLarge(bytesMax);
      this.#take(chunk.byteLength);
      chunks.push(chunk);
    });
    return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, received);
  }

  /** Passes each chunk to `accept` as it arrives, and ends an upload that stalls or is too slow, without the time of `accept`. */
  async #receive(accept: (chunk: Uint8Array) => void | Promise<void>): Promise<void> {
    const reader = (this.#request.body as ReadableStream<Uint8Array>).getReader();
    const { stallMs } = this.#inFlight;
    let startMs = performance.now();
    let latestMs = startMs;
    let received = 0;
    let hasStalled = false;
    let isAccepting = false;
    let isWhole = false;
    const watch = setInterval(
      () => {
        if (isAccepting) return;
        const nowMs = performance.now();
        const allowedMs = stallMs + (received / bounds.uploadBytesPerSecondLeast) * 1_000;
        hasStalled = nowMs - latestMs > stallMs || nowMs - startMs > allowedMs;
        // Not awaited: it ends the pending read below.
        if (hasStalled) reader.cancel().catch(() => {});
      },
      Math.min(WATCH_INTERVAL_MS, stallMs),
    );
    // The runtime limits the whole upload; ours limits its pace.
    this.#connection.setIdleSeconds(0);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (hasStalled) throw stalled();
        isWhole = done;
        if (done) return;
        latestMs = performance.now();
        received += value.byteLength;
        const accepting = accept(value);
        if (accepting === undefined) continue;
        isAccepting = true;
        await accepting;
        isAccepting = false;
        startMs += performance.now() - latestMs;
        latestMs = performance.now();
      }
    } finally {
      clearInterval(watch);
      this.#connection.setIdleSeconds(isWhole ? bounds.keepAliveIdleSecondsMax : bounds.unreadBodySecondsMax);
      // Not awaited: the runtime discards the rest of a refused body.
      reader.cancel().catch(() => {});
    }
  }
}

function noRoom(): TurnpikeError {
  return overloaded('The service is receiving more data than it can buffer. Try again in a moment.');
}

function tooLarge(bytesMax: number): TurnpikeError {
  return new TurnpikeError('body_too_large', `Request exceeds the maximum size of ${bytesMax} bytes.`);
}

function stalled(): TurnpikeError {
  return new TurnpikeError('request_timeout', 'The body did not arrive in time.', {
    headers: { connection: 'close' },
  });
}

function lost(cause: unknown): TurnpikeError {
  return new TurnpikeError('request_timeout', 'The connection was lost before the body was complete.', { cause });
}

/** A body of at most `bytesMax` bytes. Throws body_too_large, at once if the length is declared; invalid_request; request_timeout. */
export async function readBounded(request: Request, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  const refuse = () => new TurnpikeError('body_too_large', `The body must not be larger than ${bytesMax} bytes.`);
  if ((declaredLength(request.headers) ?? 0) > bytesMax) throw refuse();
  try {
    return await collectBytes(request.body, bytesMax, refuse);
  } catch (cause) {
    throw cause instanceof TurnpikeError ? cause : lost(cause);
  }
}

/** Throws invalid_json, and invalid_request for another value than an object. */
export function parseJsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TurnpikeError('invalid_json', 'The body is not valid JSON.', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TurnpikeError('invalid_request', 'The body must be a JSON object.');
  return value as Record<string, unknown>;
}
