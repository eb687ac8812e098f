// Rows of files in every store: their order, who finds them, and the order of their changes.

import { expect, test } from 'bun:test';
import type { StoredFile } from '../../../src/files/files.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';

const file = (id: number, change: Partial<StoredFile> = {}): StoredFile => ({
  ...{ id, accountId: 7, companyId: 5, keyId: 3, onlyKeyId: null, status: 'pending', createdAtMs: START_MS + id },
  ...{ dueAtMs: START_MS + 1_000, bytes: 2 ** 40, name: `größe ${id}.pdf`, mediaType: 'application/pdf' },
  ...{ purpose: 'user_data', keySealed: 'sealed', ...change },
});

export function fileConformance(open: OpenStores): void {
  test('a file is listed from the end of its upload to its expiry or deletion, by the keys that may read it', async () => {
    await using bench = await openWorkbench(open, 0);
    const { files } = bench.stores;
    const all = [file(1), file(2), file(3, { onlyKeyId: 4 }), file(4, { purpose: 'batch' }), file(5, { accountId: 8 })];
    for (const one of all) await files.createFile(one);
    expect(await files.getFile(1)).toEqual(file(1));
    expect(await files.getFile(9)).toBeNull();
    const page = {
      accountId: 7,
      keyId: 3,
      nowMs: START_MS,
      purpose: null,
      order: 'desc',
      after: null,
      limit: 9,
    } as const;
    const list = async (change: object = {}) => (await files.listFiles({ ...page, ...change })).map(({ id }) => id);
    expect(await list()).toEqual([]);
    expect(await files.sumFiles(5)).toEqual({ files: 5, bytes: 5 * 2 ** 40 });
    expect(await files.sumFiles(7)).toEqual({ files: 0, bytes: 0 });
    for (const { id } of all) await files.keepFile(id, id === 2 ? START_MS + 50 : null);
    expect(await files.getFile(2)).toEqual(file(2, { status: 'stored', dueAtMs: START_MS + 50 }));
    expect(await list()).toEqual([4, 2, 1]);
    expect(await list({ keyId: 4 })).toEqual([4, 3, 2, 1]);
    expect(await list({ order: 'asc' })).toEqual([1, 2, 4]);
    expect(await list({ limit: 2 })).toEqual([4, 2]);
    expect(await list({ after: file(2) })).toEqual([1]);
    expect(await list({ after: file(2), order: 'asc' })).toEqual([4]);
    expect(await list({ purpose: 'batch' })).toEqual([4]);
    expect(await list({ purpose: '%' })).toEqual([]);
    expect(await list({ nowMs: START_MS + 50 })).toEqual([4, 1]);
    expect(await list({ accountId: 8 })).toEqual([5]);
    await files.dropFile(4, START_MS + 9);
    expect(await list()).toEqual([2, 1]);
    expect(await files.sumFiles(5)).toEqual({ files: 4, bytes: 4 * 2 ** 40 });
    const due = async (limit: number) =>
      (await files.listDueFiles(START_MS + 50, limit)).map(({ id, status, dueAtMs }): unknown[] => [
        id,
        status,
        dueAtMs,
      ]);
    const dropped: (string | number)[] = [4, 'deleted', START_MS + 9];
    expect(await due(9)).toEqual([dropped, [2, 'stored', START_MS + 50]]);
    expect(await due(1)).toEqual([dropped]);
    await files.forgetFile(1); // not deleted before
    await files.forgetFile(4);
    expect(await files.getFile(4)).toBeNull();
    expect(await list()).toEqual([2, 1]);
  });

  test('an upload that was given up in the meantime is not stored, and a deletion is repeatable', async () => {
    await using bench = await openWorkbench(open, 0);
    const { files } = bench.stores;
    await files.createFile(file(1));
    await files.dropFile(1, START_MS + 1);
    await files.dropFile(1, START_MS + 2);
    expect(await files.getFile(1)).toEqual(file(1, { status: 'deleted', dueAtMs: START_MS + 1 }));
    expect(files.keepFile(1, null)).rejects.toThrow('removed meanwhile');
    await files.forgetFile(1);
    await files.forgetFile(1);
    expect(files.keepFile(1, null)).rejects.toThrow('removed meanwhile');
    expect(await files.listDueFiles(START_MS * 2, 9)).toEqual([]);
  });
}
