// Reads a request's body: bounded by bytes that we count ourselves, in time, and within what all
// bodies together may take. What was counted is given back when the request's scope ends.

import { FairRoom } from '../base/fair-room.ts';
import { bounds } from '../config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type { Connection } from './serve-http.ts';

/** Up to here a body is read in one go; beyond it is watched while it comes. */
const SMALL_BODY_BYTES = 128 * 1024;
const WATCH_INTERVAL_MS = 1_000;
const STALL_MS = bounds.requestHeadSecondsMax * 1_000;

/** The bytes of all bodies that are held at the moment, by whom they are held for. */
export class BodiesInFlight {
  readonly #room: FairRoom;
  /** Of how many requests there are bodies that are held, or still to come. */
  open = 0;

  /** `bytesMax` is asked each time: a setting may change. */
  constructor(bytesMax: () => number) {
    this.#room = new FairRoom(bytesMax);
  }

  get bytes(): number {
    return this.#room.taken;
  }

  /** Throws overloaded when so many bytes would not fit beside those that are held. Takes nothing. */
  requireRoom(bytes: number): void {
    if (!this.#room.hasRoomFor(bytes)) throw noRoom();
  }

  /**
   * Throws overloaded when there is no room, or the owner has its share of it; then nothing was taken. `begun` is
   * how much of the same body was taken before.
   */
  take(owner: number, bytes: number, begun: number): void {
    const shortage = this.#room.take(owner, bytes, begun);
    if (shortage === 'full') throw noRoom();
    if (shortage === 'share')
      throw overloaded('This account is sending more at once than its share of a busy service. Try again in a moment.');
  }

  giveBack(owner: number, bytes: number): void {
    this.#room.giveBack(owner, bytes);
  }
}

/** The body of one request. Its scope calls `giveBack`, however it ends. */
export class RequestBody {
  readonly #request: Request;
  readonly #connection: Connection;
  readonly #inFlight: BodiesInFlight;
  readonly #stallMs: number;
  /** What the caller says it will send; null when it does not say. */
  readonly bytesDeclared: number | null;
  #owner = 0;
  #bytesTaken = 0;
  #isOpen = true;

  constructor(request: Request, connection: Connection, inFlight: BodiesInFlight, stallMs: number = STALL_MS) {
    this.#request = request;
    this.#connection = connection;
    this.#inFlight = inFlight;
    inFlight.open++;
    this.#stallMs = stallMs;
    const declared = request.headers.get('content-length');
    this.bytesDeclared = declared === null ? null : Number(declared);
  }

  /**
   * The bytes, at most `bytesMax`, counted as the owner's. Rejects with body_too_large (at once where the length is declared),
   * content_type_unsupported (compressed), overloaded, request_timeout (an upload that stalls, or a caller that left). Called once.
   */
  async read(bytesMax: number, owner: number): Promise<Uint8Array> {
    this.#owner = owner;
    const { headers } = this.#request;
    const encoding = headers.get('content-encoding')?.trim().toLowerCase();
    if (encoding && encoding !== 'identity')
      throw new TurnpikeError('content_type_unsupported', 'content-encoding: send the body uncompressed.');
    const { bytesDeclared } = this;
    if (bytesDeclared !== null && bytesDeclared > bytesMax) throw tooLarge(bytesMax);
    if (bytesDeclared === null && this.#request.body === null) return new Uint8Array(0);
    try {
      if (bytesDeclared === null) return await this.#readUnknown(bytesMax);
      this.#take(bytesDeclared);
      return bytesDeclared <= SMALL_BODY_BYTES ? await this.#readSmall() : await this.#readDeclared(bytesDeclared);
    } catch (thrown) {
      if (thrown instanceof TurnpikeError) throw thrown;
      throw new TurnpikeError('request_timeout', 'The connection was lost before the body was complete.', {
        cause: thrown,
      });
    }
  }

  /** Once, when nothing of the body is held any more. */
  giveBack(): void {
    this.#inFlight.giveBack(this.#owner, this.#bytesTaken);
    this.#bytesTaken = 0;
    if (this.#isOpen) this.#inFlight.open--;
    this.#isOpen = false;
  }

  #take(bytes: number): void {
    this.#inFlight.take(this.#owner, bytes, this.#bytesTaken);
    this.#bytesTaken += bytes;
  }

  #readSmall(): Promise<Uint8Array> {
    const reading = this.#request.bytes();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(stalled()), this.#stallMs);
      reading.then(resolve, reject).finally(() => clearTimeout(timer));
    });
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

  /** Gives every chunk to `accept` as it comes, and ends an upload that stands still or crawls. */
  async #receive(accept: (chunk: Uint8Array) => void): Promise<void> {
    const reader = (this.#request.body as ReadableStream<Uint8Array>).getReader();
    const startMs = performance.now();
    let latestMs = startMs;
    let received = 0;
    let hasStalled = false;
    let isWhole = false;
    const watch = setInterval(
      () => {
        const nowMs = performance.now();
        const allowedMs = this.#stallMs + (received / bounds.uploadBytesPerSecondLeast) * 1_000;
        hasStalled = nowMs - latestMs > this.#stallMs || nowMs - startMs > allowedMs;
        // Not awaited: it ends the pending read below, and has nothing else to say.
        if (hasStalled) reader.cancel().catch(() => {});
      },
      Math.min(WATCH_INTERVAL_MS, this.#stallMs),
    );
    // The runtime's limit is on the whole upload, however steady; ours is on its pace.
    this.#connection.setIdleSeconds(0);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (hasStalled) throw stalled();
        isWhole = done;
        if (done) return;
        latestMs = performance.now();
        received += value.byteLength;
        accept(value);
      }
    } finally {
      clearInterval(watch);
      this.#connection.setIdleSeconds(isWhole ? bounds.keepAliveIdleSecondsMax : bounds.unreadBodySecondsMax);
      // Not awaited: of a body that was refused, the runtime throws away the rest.
      reader.cancel().catch(() => {});
    }
  }
}

function noRoom(): TurnpikeError {
  return overloaded('The service is receiving more than it can hold. Try again in a moment.');
}

function tooLarge(bytesMax: number): TurnpikeError {
  return new TurnpikeError('body_too_large', `Request exceeds the maximum size of ${bytesMax} bytes.`);
}

function stalled(): TurnpikeError {
  return new TurnpikeError('request_timeout', 'The body did not arrive in time.', {
    headers: { connection: 'close' },
  });
}
