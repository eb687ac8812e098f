// A file that a client has uploaded, or that was made for it, and the store of its row. Its bytes are elsewhere, encrypted.

/**
 * `pending`: its bytes may be incomplete. `stored`: clients see it. `deleted`: its bytes may still be there. A row is written before its
 * bytes and removed after them, so that none are forgotten.
 */
export type FileStatus = 'pending' | 'stored' | 'deleted';

/** Purposes of files that the service keeps for batches: clients neither list nor read them as files. */
export const HIDDEN_PURPOSES = ['batch_requests', 'batch_results'] as const;

export interface StoredFile {
  id: number;
  accountId: number;
  /** The topmost account above, when it was made: what a company stores is limited together. */
  companyId: number;
  /** The key that made it. */
  keyId: number;
  /** The only key that may read it; null: every key of the account. */
  onlyKeyId: number | null;
  status: FileStatus;
  createdAtMs: number;
  /** When it expires; for another status than `stored`: when its bytes and its row are removed. null: never. */
  dueAtMs: number | null;
  bytes: number;
  name: string;
  mediaType: string;
  purpose: string;
  /** The key of its bytes, sealed under the secret of files. */
  keySealed: string;
}

/** The caller who lists or reads. */
export interface FileReader {
  accountId: number;
  keyId: number;
  nowMs: number;
}

export interface FilePage extends FileReader {
  /** null: all. */
  purpose: string | null;
  /** By age. */
  order: 'asc' | 'desc';
  /** The file before the page; null: from the beginning. */
  after: Pick<StoredFile, 'createdAtMs' | 'id'> | null;
  limit: number;
}

export interface FileStore {
  /** In any status. */
  getFile(id: number): Promise<StoredFile | null>;
  /** Those that are stored and have not expired, and that the key may read. */
  listFiles(page: FilePage): Promise<StoredFile[]>;
  /** The sum of what a company has, without deleted files. */
  sumFiles(companyId: number): Promise<FileSum>;
  /** The longest due first. */
  listDueFiles(nowMs: number, limit: number): Promise<StoredFile[]>;
  createFile(file: StoredFile): Promise<void>;
  /** From `pending` to `stored`. Rejects if it is not pending any more. */
  keepFile(id: number, expiresAtMs: number | null): Promise<void>;
  /** To `deleted`. */
  dropFile(id: number, nowMs: number): Promise<void>;
  /** Removes the row of a deleted file. */
  forgetFile(id: number): Promise<void>;
}

export interface FileSum {
  files: number;
  bytes: number;
}
