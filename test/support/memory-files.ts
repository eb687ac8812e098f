// Files in memory: the spool and the place of their bytes, encrypted as on disk.

import { ChunkSealer, newFileKey, openChunks } from '../../src/base/sealed-chunks.ts';
import type { FileBytes } from '../../src/files/files.ts';
import type { Spool, SpooledFile } from '../../src/spool/spool.ts';

export interface MemoryFiles {
  spool: Spool;
  bytes: FileBytes;
  /** Sealed bytes by the name of each file. */
  kept: Map<string, Uint8Array>;
  /** Spooled files that are in use. */
  open: Set<SpooledFile>;
  /** A spool of another process, with its files in use. */
  makeSpool(open: Set<SpooledFile>): Spool;
}

export function memoryFiles(): MemoryFiles {
  const sealed = new Map<string, Uint8Array>();
  const kept = new Map<string, Uint8Array>();
  const bytes: FileBytes = {
    put: async (name, { path }) => void kept.set(name, sealed.get(path) ?? new Uint8Array()),
    async *read(name) {
      const content = kept.get(name);
      if (content === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      yield new Uint8Array(content); // its reader frees the memory
    },
    remove: async (name) => void kept.delete(name),
  };
  const open = new Set<SpooledFile>();
  const makeSpool = (files: Set<SpooledFile>) =>
    ({ bytes: 0, create: async () => spoolFile(sealed, files) }) as unknown as Spool;
  return { spool: makeSpool(open), bytes, kept, open, makeSpool };
}

function spoolFile(sealed: Map<string, Uint8Array>, open: Set<SpooledFile>): SpooledFile {
  const key = newFileKey();
  const path = crypto.randomUUID();
  const sealer = new ChunkSealer(key);
  const chunks: Uint8Array[] = [];
  const file = {
    path,
    key,
    bytes: 0,
    async write(piece: Uint8Array) {
      file.bytes += piece.byteLength;
      for (const chunk of sealer.take(piece)) chunks.push(Buffer.from(chunk));
    },
    async finish() {
      chunks.push(Buffer.from(sealer.end()));
      sealed.set(path, Buffer.concat(chunks));
    },
    async *read() {
      const content = sealed.get(path) ?? new Uint8Array();
      yield* openChunks(
        key,
        (async function* () {
          yield new Uint8Array(content);
        })(),
      );
    },
    async keep() {},
    async [Symbol.asyncDispose]() {
      sealed.delete(path);
      open.delete(spooled);
    },
  };
  const spooled = file as unknown as SpooledFile;
  open.add(spooled);
  return spooled;
}
