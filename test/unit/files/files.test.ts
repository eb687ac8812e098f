// Files in a directory and in a store that speaks S3: what a crash or a failure of either leaves, and that content is never readable there.

import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilesPlace } from '../../../src/config/config.ts';
import { Files, formatFileId, formatOpenAiFileId, type NewFile, openFileBytes } from '../../../src/files/files.ts';
import { openVault } from '../../../src/secrets/secrets.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';
import { memoryStores, sumMemory } from '../../support/memory-store/memory-store.ts';
import { BucketServer } from './bucket-server.ts';

const temporary = temporaryDirectory();
const bucket = new BucketServer();
afterAll(async () => {
  await bucket[Symbol.asyncDispose]();
  temporary[Symbol.dispose]();
});
const spool = new Spool(join(temporary.path, 'spool'));
const directory = join(temporary.path, 'files');

const openMemory: OpenStores = (clock) => {
  const stores = memoryStores(clock);
  return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
};

interface Place {
  place: FilesPlace;
  /** Its bytes, by the name of each file. */
  kept(): ReadonlyMap<string, Uint8Array>;
  lose(name: string): void;
  fail<Value>(work: () => Promise<Value>): Promise<Value>;
}

const places: Readonly<Record<string, Place>> = {
  directory: {
    place: { directory },
    kept: () =>
      new Map(
        (existsSync(directory) ? readdirSync(directory) : []).map((name) => [
          name,
          readFileSync(join(directory, name)),
        ]),
      ),
    lose: (name) => rmSync(join(directory, name)),
    async fail(work) {
      rmSync(directory, { recursive: true, force: true });
      writeFileSync(directory, 'in place of the directory');
      try {
        return await work();
      } finally {
        rmSync(directory);
        mkdirSync(directory);
      }
    },
  },
  'a store that speaks S3': {
    place: {
      endpoint: bucket.url,
      region: 'eu-central-1',
      bucket: 'files',
      prefix: 'turnpike/here',
      accessKeyId: 'AKID',
      secretAccessKey: 's/e+c=ret',
    },
    kept: () => new Map([...bucket.objects].map(([name, bytes]) => [name.replace('/files/turnpike/here/', ''), bytes])),
    lose: (name) => bucket.objects.delete(`/files/turnpike/here/${name}`),
    async fail(work) {
      bucket.isFailing = true;
      try {
        return await work();
      } finally {
        bucket.isFailing = false;
      }
    },
  },
};

describe.each(Object.entries(places))('in %s', (_, { place, kept, lose, fail }) => {
  async function open(limits = { files: 10, bytes: 10_000_000 }) {
    const bench = await openWorkbench(openMemory, 0);
    const store = bench.stores.files;
    let nowMs = START_MS;
    const vault = openVault(Buffer.alloc(32, 7));
    const files = new Files({ store, bytes: openFileBytes(place), vault, limits: () => limits, nowMs: () => nowMs });
    const known = { accountId: 7, companyId: 5, keyId: 3, onlyKeyId: null, name: 'a.txt', mediaType: 'text/plain' };
    const create = async (content: Uint8Array | string, change: Partial<NewFile> = {}) => {
      await using spooled = await spool.create(1);
      await spooled.write(Buffer.from(content));
      await spooled.finish();
      return await files.create({ ...known, purpose: 'user_data', nowMs, expiresAtMs: null, ...change }, spooled);
    };
    const reader = { accountId: 7, keyId: 3, nowMs };
    const sweep = (atMs: number) => {
      nowMs = atMs;
      return files.sweep(new AbortController().signal);
    };
    const read = async (file: Awaited<ReturnType<typeof create>>) =>
      Buffer.concat(await Array.fromAsync(await files.read(file)));
    return {
      bench,
      store,
      files,
      create,
      read,
      reader,
      sweep,
      [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
    };
  }

  const codeOf = (working: Promise<unknown>) =>
    working.then(
      () => null,
      (failure) => failure.code ?? String(failure),
    );

  test('content is kept encrypted, read as it was, and removed with its file', async () => {
    await using opened = await open();
    const { files, create, read, reader, store } = opened;
    const long = crypto.getRandomValues(new Uint8Array(65_536));
    const content = Buffer.concat(Array.from({ length: 120 }, () => long)); // more than one part of an upload
    const made = [await create(content), await create('the words of a short file'), await create('')];
    for (const [at, sent] of [content, Buffer.from('the words of a short file'), Buffer.alloc(0)].entries())
      expect((await read(made[at] as never)).equals(sent)).toBe(true);
    expect([...kept().keys()].sort()).toEqual(made.map(({ id }) => formatFileId(id)).sort());
    for (const bytes of kept().values()) {
      expect(Buffer.from(bytes).includes('words')).toBe(false);
      expect(Buffer.from(bytes).includes(long.subarray(0, 40))).toBe(false);
    }
    expect(JSON.stringify(made)).not.toContain('words');
    for (const file of made) {
      expect(await files.find(formatOpenAiFileId(file.id), reader)).toEqual(file);
      await files.delete(file);
      expect(await codeOf(files.find(formatFileId(file.id), reader))).toBe('object_not_found');
      expect(await store.getFile(file.id)).toBeNull();
    }
    expect(kept().size).toBe(0);
    expect(readdirSync(join(temporary.path, 'spool'))).toEqual([]);
  });

  test('a failing place refuses uploads and reads, and is asked again to remove what was deleted', async () => {
    await using opened = await open();
    const { files, create, read, sweep, reader, store } = opened;
    const file = await create('kept');
    const refused = await fail(async () => [
      await codeOf(create('not kept')),
      await codeOf(read(file)),
      await codeOf(files.delete(file)),
    ]);
    expect([refused[0], refused[2]]).toEqual(['store_unavailable', 'store_unavailable']);
    expect(['store_unavailable', 'object_not_found']).toContain(refused[1] ?? ''); // a directory that is missing has no file
    expect(await files.list({ ...reader, purpose: null, order: 'asc', after: null, limit: 9 })).toEqual([]);
    expect(await store.sumFiles(5)).toEqual({ files: 0, bytes: 0 });
    expect(await sweep(START_MS + 1)).toBe(2);
    expect(await sweep(START_MS + 1)).toBe(0);
    expect([kept().size, await store.getFile(file.id)]).toEqual([0, null]);
  });

  test('after a crash, neither bytes without a file nor a file without bytes remain', async () => {
    await using opened = await open();
    const { files, create, read, sweep, store } = opened;
    const [uploading, deleting, whole] = [await create('a'), await create('b'), await create('c')];
    // As if the process had been killed between the bytes and the end of an upload, and between the beginning of a deletion and the bytes.
    await store.dropFile(uploading.id, START_MS);
    await store.forgetFile(uploading.id);
    await store.createFile({ ...uploading, status: 'pending', dueAtMs: START_MS + 3_600_000 });
    await store.dropFile(deleting.id, START_MS);
    expect(kept().size).toBe(3);
    expect(await sweep(START_MS + 1)).toBe(1);
    expect(await sweep(START_MS + 3_600_000)).toBe(1);
    expect([...kept().keys()]).toEqual([formatFileId(whole.id)]);
    lose(formatFileId(whole.id));
    expect(await codeOf(read(whole))).toBe('object_not_found');
    await files.delete(whole); // also without bytes
    expect(await store.getFile(whole.id)).toBeNull();
  });

  test('a file is not found from its expiry on, and the next sweep removes its bytes', async () => {
    await using opened = await open();
    const { files, create, sweep, reader } = opened;
    const file = await create('for a while', { expiresAtMs: START_MS + 100 });
    const findAt = (nowMs: number) => codeOf(files.find(formatFileId(file.id), { ...reader, nowMs }));
    expect([await findAt(START_MS + 99), await findAt(START_MS + 100)]).toEqual([null, 'object_not_found']);
    expect([await sweep(START_MS + 99), kept().size]).toEqual([0, 1]);
    expect([await sweep(START_MS + 100), kept().size]).toEqual([1, 0]);
  });

  test('a company never stores more than its limits, also with uploads at the same moment', async () => {
    await using opened = await open({ files: 3, bytes: 100 });
    const { files, create, store } = opened;
    const made = [await create('x'.repeat(90)), await create('')];
    expect(await codeOf(create('x'.repeat(11)))).toBe('file_quota_exceeded');
    expect(await codeOf(create('x'.repeat(11), { accountId: 8, keyId: 4 }))).toBe('file_quota_exceeded');
    expect(await codeOf(files.requireRoom(5, 11))).toBe('file_quota_exceeded');
    expect(await codeOf(files.requireRoom(6, 11))).toBeNull();
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => codeOf(create('x'))));
    expect(outcomes.filter((code) => code === null).length).toBeLessThanOrEqual(1);
    expect((await store.sumFiles(5)).files).toBeLessThanOrEqual(3);
    made.push(await create('x'.repeat(5)).catch(() => made[0] as never));
    expect(await codeOf(create(''))).toBe('file_quota_exceeded');
    expect(kept().size).toBe((await store.sumFiles(5)).files);
    for (const { id } of await files.list({
      accountId: 7,
      keyId: 3,
      nowMs: START_MS,
      purpose: null,
      order: 'asc',
      after: null,
      limit: 9,
    }))
      await files.delete({ id });
    expect(kept().size).toBe(0);
  });
});

test('without a place, files are refused by the name of the setting', async () => {
  await using bench = await openWorkbench(openMemory, 0);
  const limits = { files: 1, bytes: 1 };
  const vault = openVault(Buffer.alloc(32));
  const files = new Files({ store: bench.stores.files, bytes: null, vault, limits: () => limits, nowMs: () => 0 });
  expect(files.requireRoom(1, 1)).rejects.toThrow('its operator must set TURNPIKE_FILES');
  expect(await files.sweep(new AbortController().signal)).toBe(0);
});
