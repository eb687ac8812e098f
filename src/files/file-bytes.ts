// Where the bytes of files are: a directory, or a store that speaks S3. They are written and read as they are: encrypted.

import { constants, createReadStream } from 'node:fs';
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bounds, type FilesPlace } from '../config/config.ts';
import type { SpooledFile } from '../spool/spool.ts';

export interface FileBytes {
  /** Durable when it resolves. */
  put(name: string, content: SpooledFile): Promise<void>;
  /** Throws while it is read; with isMissing, if there is no such file. */
  read(name: string): AsyncIterable<Uint8Array>;
  /** Resolves also if there is no such file. */
  remove(name: string): Promise<void>;
}

export function openFileBytes(place: FilesPlace): FileBytes {
  return 'directory' in place ? inDirectory(place.directory) : inS3(place);
}

export function isMissing(failure: unknown): boolean {
  return ['ENOENT', 'NoSuchKey'].includes((failure as NodeJS.ErrnoException | null)?.code ?? '');
}

function inDirectory(directory: string): FileBytes {
  const pathOf = (name: string) => join(directory, name);
  return {
    async put(name, content) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await moveFile(content, pathOf(name));
      await syncPath(directory);
    },
    read: (name) => createReadStream(pathOf(name)),
    remove: (name) => rm(pathOf(name), { force: true }),
  };
}

/** The directory may be on another disk than the spool. */
async function moveFile(content: SpooledFile, path: string): Promise<void> {
  try {
    await content.keep(path);
  } catch (failure) {
    if (((failure as Error).cause as NodeJS.ErrnoException | undefined)?.code !== 'EXDEV') throw failure;
    const copy = `${path}.part`;
    await copyFile(content.path, copy, constants.COPYFILE_FICLONE);
    await syncPath(copy);
    await rename(copy, path);
  }
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function inS3({ prefix, ...access }: Extract<FilesPlace, { bucket: string }>): FileBytes {
  const client = new Bun.S3Client(access);
  const objectOf = (name: string) => (prefix === '' ? name : `${prefix}/${name}`);
  return {
    async put(name, content) {
      const writer = client.file(objectOf(name)).writer({ partSize: bounds.filePartBytes, queueSize: 1 });
      let waiting = 0;
      for await (const piece of createReadStream(content.path)) {
        writer.write(piece);
        waiting += piece.byteLength;
        if (waiting < bounds.filePartBytes) continue;
        await writer.flush(); // otherwise the runtime would read ahead without bound
        waiting = 0;
      }
      await writer.end();
    },
    read: (name) => client.file(objectOf(name)).stream(),
    remove: (name) => client.delete(objectOf(name)),
  };
}
