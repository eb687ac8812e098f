// Files that a request needs while it runs, on disk instead of in memory: encrypted with keys that exist in memory only. One that is
// not kept is removed with its request; those of an earlier process are removed at the start.

import { createReadStream, rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FairShareQuota } from '../base/fair-share-quota.ts';
import { ChunkSealer, newFileKey, openChunks } from '../base/sealed-chunks.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';

/** A directory that no other process uses. */
export class Spool {
  readonly #directory: string;
  readonly #room = new FairShareQuota(() => bounds.spooledBytesMax);

  /** Removes what an earlier process left. */
  constructor(directory: string) {
    rmSync(directory, { recursive: true, force: true });
    this.#directory = directory;
  }

  /** Bytes of all files together. */
  get bytes(): number {
    return this.#room.taken;
  }

  /** An empty file. Its bytes count as the owner's. Rejects with store_unavailable. */
  async create(owner: number): Promise<SpooledFile> {
    const path = join(this.#directory, crypto.randomUUID());
    await onDisk(mkdir(this.#directory, { recursive: true, mode: 0o700 }));
    const handle = await onDisk(open(path, 'wx', 0o600));
    return new SpooledFile(path, handle, owner, this.#room);
  }
}

/** One file. Written once, then read. Its scope disposes of it. */
export class SpooledFile implements AsyncDisposable {
  readonly path: string;
  readonly key = newFileKey();
  /** Bytes of the content. */
  bytes = 0;
  readonly #handle: FileHandle;
  readonly #owner: number;
  readonly #room: FairShareQuota;
  /** null: all is written, and its memory is free. */
  #sealer: ChunkSealer | null = new ChunkSealer(this.key);
  #isOpen = true;
  #isKept = false;

  constructor(path: string, handle: FileHandle, owner: number, room: FairShareQuota) {
    this.path = path;
    this.#handle = handle;
    this.#owner = owner;
    this.#room = room;
  }

  /** Rejects with overloaded if there is no room left, store_unavailable. */
  async write(piece: Uint8Array): Promise<void> {
    if (this.#room.take(this.#owner, piece.byteLength, this.bytes) !== null)
      throw overloaded('The service is receiving more files than it can store for a moment. Try again later.');
    this.bytes += piece.byteLength;
    for (const sealed of this.#writing().take(piece)) await onDisk(writeAll(this.#handle, sealed));
  }

  /** Writes the end, durably. */
  async finish(): Promise<void> {
    await onDisk(writeAll(this.#handle, this.#writing().end()));
    this.#sealer = null;
    await onDisk(this.#handle.sync());
    await this.#close();
  }

  /** The content of a finished file. */
  read(): AsyncGenerator<Uint8Array> {
    return openChunks(this.key, createReadStream(this.path));
  }

  /** Moves a finished file, encrypted as it is, to where it is kept. */
  async keep(path: string): Promise<void> {
    await onDisk(rename(this.path, path));
    this.#isKept = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#room.giveBack(this.#owner, this.bytes);
    this.bytes = 0;
    await this.#close();
    if (!this.#isKept) await rm(this.path, { force: true });
  }

  #writing(): ChunkSealer {
    if (this.#sealer === null) throw new Error('the file has been finished');
    return this.#sealer;
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#handle.close();
  }
}

/** A write may take only the beginning. */
async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.byteLength; )
    written += (await handle.write(bytes, written, bytes.byteLength - written)).bytesWritten;
}

async function onDisk<Value>(working: Promise<Value>): Promise<Value> {
  try {
    return await working;
  } catch (cause) {
    throw new TurnpikeError('store_unavailable', 'The service cannot store files at the moment.', { cause });
  }
}
