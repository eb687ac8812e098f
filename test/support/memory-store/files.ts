// Files in memory.

import { HIDDEN_PURPOSES, type StoredFile } from '../../../src/files/files.ts';
import type { FileReads, FileRow } from '../../../src/storage/file-rows.ts';
import type { MemoryTables } from './tables.ts';

export function isFileOutpaced({ files }: MemoryTables, row: FileRow): boolean {
  return 'kept' in row && files.get(row.kept.id)?.status !== 'pending';
}

export function writeFile({ files }: MemoryTables, row: FileRow): void {
  if ('created' in row) files.set(row.created.id, row.created);
  else if ('kept' in row) change(files, { ...row.kept, status: 'stored' });
  else if ('dropped' in row) change(files, { ...row.dropped, status: 'deleted' });
  else if (files.get(row.forgotten)?.status === 'deleted') files.delete(row.forgotten);
}

function change(files: MemoryTables['files'], changes: Pick<StoredFile, 'id' | 'status' | 'dueAtMs'>): void {
  const before = files.get(changes.id);
  if (before !== undefined && before.status !== 'deleted') files.set(before.id, { ...before, ...changes });
}

export function fileReads({ files }: MemoryTables): FileReads {
  const byAge = (one: Pick<StoredFile, 'createdAtMs' | 'id'>, other: Pick<StoredFile, 'createdAtMs' | 'id'>) =>
    one.createdAtMs - other.createdAtMs || one.id - other.id;
  return {
    getFile: async (id) => files.get(id) ?? null,
    async listFiles({ accountId, keyId, nowMs, purpose, order, after, limit }) {
      const sign = order === 'asc' ? 1 : -1;
      return [...files.values()]
        .filter((file) => file.accountId === accountId && file.status === 'stored')
        .filter(({ dueAtMs, onlyKeyId }) => (dueAtMs ?? nowMs + 1) > nowMs && (onlyKeyId ?? keyId) === keyId)
        .filter((file) => !HIDDEN_PURPOSES.some((hidden) => hidden === file.purpose))
        .filter((file) => purpose === null || file.purpose === purpose)
        .filter((file) => after === null || sign * byAge(file, after) > 0)
        .sort((one, other) => sign * byAge(one, other))
        .slice(0, limit);
    },
    async sumFiles(companyId) {
      const all = [...files.values()].filter((file) => file.companyId === companyId && file.status !== 'deleted');
      return { files: all.length, bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
    },
    listDueFiles: async (nowMs, limit) =>
      [...files.values()]
        .filter(({ dueAtMs }) => dueAtMs !== null && dueAtMs <= nowMs)
        .sort((one, other) => (one.dueAtMs ?? 0) - (other.dueAtMs ?? 0))
        .slice(0, limit),
  };
}
