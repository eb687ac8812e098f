// Encrypts a file in chunks, so that it is read and written without having all of it in memory: the STREAM construction with
// AES-256-GCM, as in age (https://age-encryption.org/v1). A key is used for one file, so nonces are the numbers of the chunks. The
// last chunk is marked: a file whose end is missing cannot be read.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CHUNK_BYTES = 64 * 1024;
const SEALED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES;

export function newFileKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

/** Parts of the file were altered, are missing, or have another key. */
export class ChunkBroken extends Error {
  override name = 'ChunkBroken';
}

function nonceOf(place: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(place, NONCE_BYTES - 7, 6);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

/** Frees the memory of bytes that nothing uses any more: the runtime would collect it late, because it hardly counts it. */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0);
}

/** Bytes that come in pieces of any length, as chunks of one length. */
class Chunks {
  readonly #chunk: Buffer;
  #filled = 0;

  constructor(bytes: number) {
    this.#chunk = Buffer.alloc(bytes);
  }

  /** Chunks that are certainly not the last. Each is valid until the next is asked for. */
  *take(piece: Uint8Array): Generator<Uint8Array> {
    for (let from = 0; from < piece.byteLength; ) {
      if (this.#filled === this.#chunk.byteLength) {
        yield this.#chunk;
        this.#filled = 0;
      }
      const upTo = Math.min(piece.byteLength, from + this.#chunk.byteLength - this.#filled);
      this.#chunk.set(piece.subarray(from, upTo), this.#filled);
      this.#filled += upTo - from;
      from = upTo;
    }
  }

  last(): Uint8Array {
    return this.#chunk.subarray(0, this.#filled);
  }
}

/** Encrypts the pieces of one file. What it returns is valid until it is asked for the next, because garbage of this size would add up. */
export class ChunkSealer {
  readonly #key: Buffer;
  readonly #chunks = new Chunks(CHUNK_BYTES);
  readonly #sealed = Buffer.alloc(SEALED_CHUNK_BYTES);
  #place = 0;

  constructor(key: Buffer) {
    this.#key = key;
  }

  *take(piece: Uint8Array): Generator<Uint8Array> {
    for (const chunk of this.#chunks.take(piece)) yield this.#seal(chunk, false);
  }

  /** Called once. */
  end(): Uint8Array {
    return this.#seal(this.#chunks.last(), true);
  }

  #seal(chunk: Uint8Array, isLast: boolean): Uint8Array {
    const cipher = createCipheriv(CIPHER, this.#key, nonceOf(this.#place++, isLast));
    const sealed = cipher.update(chunk);
    cipher.final(); // this mode has no rest
    this.#sealed.set(sealed);
    this.#sealed.set(cipher.getAuthTag(), chunk.byteLength);
    freeBytes(sealed);
    return this.#sealed.subarray(0, chunk.byteLength + TAG_BYTES);
  }
}

/** The content of an encrypted file, in pieces. Frees those of `sealed`. Throws ChunkBroken; what came before is right. */
export async function* openChunks(key: Buffer, sealed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = new Chunks(SEALED_CHUNK_BYTES);
  let place = 0;
  for await (const piece of sealed) {
    for (const chunk of chunks.take(piece)) yield openChunk(key, chunk, place++, false);
    freeBytes(piece);
  }
  yield openChunk(key, chunks.last(), place, true);
}

function openChunk(key: Buffer, sealed: Uint8Array, place: number, isLast: boolean): Uint8Array {
  const end = sealed.byteLength - TAG_BYTES;
  if (end < 0) throw new ChunkBroken('the end of a file is missing');
  const decipher = createDecipheriv(CIPHER, key, nonceOf(place, isLast));
  decipher.setAuthTag(sealed.subarray(end));
  try {
    const opened = decipher.update(sealed.subarray(0, end));
    decipher.final(); // this mode has no rest
    return opened;
  } catch (cause) {
    throw new ChunkBroken('a part of a file was altered', { cause });
  }
}
