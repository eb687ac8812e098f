// The door of files: what clients upload and batches make. Each has a row in the store and its bytes elsewhere, encrypted under a key of
// its own. The row is written first and removed last, so that a crash leaves no bytes that nothing knows, and shows no file without bytes.

import { formatId, newNumber, parseId } from '../base/ids.ts';
import { ChunkBroken, openChunks } from '../base/sealed-chunks.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { SealBroken, type Vault } from '../secrets/secrets.ts';
import type { SpooledFile } from '../spool/spool.ts';
import {
  type FilePage,
  type FileReader,
  type FileStore,
  type FileSum,
  HIDDEN_PURPOSES,
  type StoredFile,
} from './file.ts';
import { type FileBytes, isMissing } from './file-bytes.ts';

export type { FilePage, FileReader, FileStatus, FileStore, FileSum, StoredFile } from './file.ts';
export { HIDDEN_PURPOSES } from './file.ts';
export { type FileBytes, openFileBytes } from './file-bytes.ts';

/** A file to be stored. */
export interface NewFile
  extends Pick<StoredFile, 'accountId' | 'companyId' | 'keyId' | 'onlyKeyId' | 'name' | 'mediaType' | 'purpose'> {
  nowMs: number;
  expiresAtMs: number | null;
  /** Made by this service of what is paid for already: stored whatever the account has. */
  isResult?: true;
}

export interface FileParts {
  store: FileStore;
  /** null: no place is set, and files are not offered. */
  bytes: FileBytes | null;
  /** Seals the keys of files under a secret of their own, so that a rotation of the installation secret leaves them as they are. */
  vault: Pick<Vault, 'seal' | 'open'>;
  /** The most that a company may have. */
  limits(): FileSum;
  nowMs(): number;
}

export class Files {
  readonly #parts: FileParts;
  readonly #bytes: FileBytes | null;

  constructor(parts: FileParts) {
    this.#parts = parts;
    this.#bytes = parts.bytes;
  }

  /**
   * Throws feature_unavailable if no place is set, and file_quota_exceeded if as many bytes more than the company has would be too many.
   * Called before an upload is received, and by `create`.
   */
  async requireRoom(companyId: number, bytes: number, files = 1): Promise<void> {
    this.#require();
    const sum = await this.#parts.store.sumFiles(companyId);
    this.#refuseBeyond({ files: sum.files + files, bytes: sum.bytes + bytes });
  }

  /**
   * Stores a spooled file. Throws feature_unavailable, file_quota_exceeded, store_unavailable. Two that are stored at the same moment may both
   * be refused, but never both exceed the limits.
   */
  async create(file: NewFile, content: SpooledFile): Promise<StoredFile> {
    const bytes = this.#require();
    const { store, vault } = this.#parts;
    const { nowMs, expiresAtMs, isResult = false, ...known } = file;
    const id = newNumber();
    const pending: StoredFile = {
      ...known,
      id,
      status: 'pending',
      createdAtMs: nowMs,
      dueAtMs: nowMs + bounds.filePendingMsMax,
      bytes: content.bytes,
      keySealed: vault.seal(content.key.toString('base64'), sealContext(id)),
    };
    await store.createFile(pending);
    try {
      if (!isResult) this.#refuseBeyond(await store.sumFiles(file.companyId));
      await onPlace(bytes.put(objectName(id), content), bounds.filePutMsMax);
      await store.keepFile(id, expiresAtMs);
    } catch (failure) {
      await this.#remove(id).catch(() => {}); // the sweep tries again
      throw failure;
    }
    return { ...pending, status: 'stored', dueAtMs: expiresAtMs };
  }

  /** The file of an id of either form ("file_…", "file-…"), if the caller may read it. Throws object_not_found. */
  async find(id: string, { accountId, keyId, nowMs }: FileReader): Promise<StoredFile> {
    const number = parseFileId(id);
    const file = number === null ? null : await this.#parts.store.getFile(number);
    if (
      file === null ||
      file.accountId !== accountId ||
      file.status !== 'stored' ||
      HIDDEN_PURPOSES.some((purpose) => purpose === file.purpose) ||
      (file.dueAtMs !== null && file.dueAtMs <= nowMs) ||
      (file.onlyKeyId !== null && file.onlyKeyId !== keyId)
    )
      throw notFound();
    return file;
  }

  /** A file of any account, for what was made with it earlier; null if its bytes are not there any more. */
  async findOwn(id: number): Promise<StoredFile | null> {
    const file = await this.#parts.store.getFile(id);
    return file?.status === 'stored' ? file : null;
  }

  /** Seals a text under the secret of files. */
  sealText(text: string, context: string): string {
    return this.#parts.vault.seal(text, context);
  }

  /** Throws SealBroken. */
  openText(sealed: string, context: string): string {
    return this.#parts.vault.open(sealed, context);
  }

  list(page: FilePage): Promise<StoredFile[]> {
    return this.#parts.store.listFiles(page);
  }

  /** The content, once its beginning was read. Throws object_not_found if the bytes are missing, ChunkBroken and SealBroken if they cannot be decrypted, store_unavailable. */
  async read({ id, keySealed }: StoredFile): Promise<AsyncGenerator<Uint8Array>> {
    const key = Buffer.from(this.#parts.vault.open(keySealed, sealContext(id)), 'base64');
    const pieces = openChunks(key, this.#require().read(objectName(id)));
    const reading = pieces.next().catch((cause) => {
      throw isMissing(cause) ? notFound(cause) : cause;
    });
    const first = await onPlace(reading, bounds.fileAnswerMsMax);
    return begunWith(first, pieces);
  }

  /** Resolves when the bytes are removed. Throws store_unavailable. */
  async delete({ id }: Pick<StoredFile, 'id'>): Promise<void> {
    await this.#remove(id);
  }

  /** Removes what is due: expired files, and what interrupted uploads and deletions left. Resolves to the number of files. */
  async sweep(signal: AbortSignal): Promise<number> {
    const { store, nowMs } = this.#parts;
    let removed = 0;
    for (;;) {
      const due = this.#bytes === null ? [] : await store.listDueFiles(nowMs(), bounds.filesSweptAtOnce);
      for (const { id, status } of due) {
        if (signal.aborted) return removed;
        await this.#remove(id, status);
        removed++;
      }
      if (due.length < bounds.filesSweptAtOnce) return removed;
    }
  }

  async #remove(id: number, status: StoredFile['status'] = 'stored'): Promise<void> {
    const { store, nowMs } = this.#parts;
    const bytes = this.#require();
    if (status !== 'deleted') await store.dropFile(id, nowMs());
    await onPlace(bytes.remove(objectName(id)), bounds.fileAnswerMsMax);
    await store.forgetFile(id);
  }

  #require(): FileBytes {
    if (this.#bytes !== null) return this.#bytes;
    throw new TurnpikeError(
      'feature_unavailable',
      'Files are not offered by this server: its operator must set TURNPIKE_FILES.',
    );
  }

  #refuseBeyond({ files, bytes }: FileSum): void {
    const most = this.#parts.limits();
    if (files > most.files)
      throw new TurnpikeError('file_quota_exceeded', `The account has its limit of ${most.files} files. Delete some.`);
    if (bytes > most.bytes)
      throw new TurnpikeError(
        'file_quota_exceeded',
        `With this file, the account would store more than its limit of ${most.bytes} bytes. Delete some files.`,
      );
  }
}

/** Whether what was stored is missing, was altered, or has another secret: waiting brings nothing back. */
export function isLost(failure: unknown): boolean {
  if (failure instanceof TurnpikeError) return failure.code === 'object_not_found';
  return failure instanceof ChunkBroken || failure instanceof SealBroken;
}

/** As Anthropic's clients know it. */
export function formatFileId(id: number): string {
  return formatId('file', id);
}

/** As OpenAI's clients know it. */
export function formatOpenAiFileId(id: number): string {
  return formatFileId(id).replace('_', '-');
}

/** The number of an id of either form; null for ids of providers. */
export function parseFileId(id: string): number | null {
  return parseId('file', id.replace(/^file-/, 'file_'));
}

function objectName(id: number): string {
  return formatFileId(id);
}

function sealContext(id: number): string {
  return `file:${id}`;
}

function notFound(cause?: unknown): TurnpikeError {
  return new TurnpikeError('object_not_found', 'No such file.', cause === undefined ? {} : { cause });
}

const PLACE_FAILED = 'The place of files does not answer.';

/** Whether the place of files failed, and not the database. */
export function isPlaceFailure(failure: unknown): boolean {
  return failure instanceof TurnpikeError && failure.message === PLACE_FAILED;
}

async function onPlace<Value>(working: Promise<Value>, msMax: number): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${msMax} ms`)), msMax);
  try {
    return await Promise.race([working, late]);
  } catch (cause) {
    if (cause instanceof TurnpikeError || cause instanceof ChunkBroken) throw cause;
    throw new TurnpikeError('store_unavailable', PLACE_FAILED, { cause });
  } finally {
    clearTimeout(timer);
  }
}

async function* begunWith(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    if (first.done !== true) yield first.value;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}
