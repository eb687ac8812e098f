// A stored shape changes only with a new version, and documents of every version can be read. test/storage/stored-shapes has the
// versions; CONTRIBUTING.md says what a change needs.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { Glob } from 'bun';
import { migrations } from '../src/storage/migrations/migrations.ts';
import { rootDirectory } from './check.ts';
import { presentDocuments, readRecorded } from './storage/stored-shapes/shapes.ts';

const HOW =
  'run "sh bin/with-bun all test/storage/stored-shapes/record.ts", which records it as the next version, and let the reader convert documents of the versions before (CONTRIBUTING.md, "Changing what is stored")';

const present = presentDocuments();
const recorded = readRecorded();
const all = Object.entries(recorded).flatMap(([table, documents]) =>
  Object.entries(documents).map(([name, versions]) => ({ title: `${table}, ${name}`, table, name, versions })),
);
const ajv = new Ajv2020({ strict: false });

test('every stored document has the shape of its last recorded version', () => {
  const faults = present.flatMap(({ table, name, shape }) => {
    const last = recorded[table]?.[name]?.at(-1);
    if (last === undefined) return [`${table}, ${name} is not recorded: ${HOW}`];
    if (Bun.deepEquals(last.shape, JSON.parse(JSON.stringify(shape)), true)) return [];
    return [`${table}, ${name} differs from its version ${last.version}: ${HOW}`];
  });
  expect(faults).toEqual([]);
});

test('what was once stored still has a reader', () => {
  const known = new Set(present.map(({ table, name }) => `${table}, ${name}`));
  expect(all.map(({ title }) => title).filter((title) => !known.has(title))).toEqual([]);
});

describe.each(all)('$title', ({ table, name, versions }) => {
  const read = present.find((document) => document.table === table && document.name === name)?.read ?? String;

  test.each(versions)('version $version has its samples, which are read', ({ version, shape, samples }) => {
    const at = versions.findIndex((one) => one.version === version);
    expect(version).toBe((versions[0]?.version ?? 0) + at);
    expect(samples.length, 'add a document of this version to its samples').toBeGreaterThan(0);
    const isOfShape = ajv.compile(shape);
    for (const sample of samples) {
      expect(isOfShape(sample.stored) || ajv.errorsText(isOfShape.errors)).toBe(true);
      const { stored, read: value = stored } = sample;
      const result = read(typeof stored === 'string' ? stored : JSON.stringify(stored));
      expect(JSON.parse(JSON.stringify(result))).toEqual(value);
    }
  });
});

/** Files of storage that parse what is no stored document. */
const parsers: Readonly<Record<string, string>> = {
  'document-shape.ts': 'reads the documents',
  'timeline-reads.ts': 'a list that the query makes',
  'postgres/columns.ts': 'a document that is about to be written',
  'postgres/month-reads.ts': 'an object that the query makes',
  'sqlite/ledger-thread.ts': 'messages of the thread',
  'sqlite/report-thread.ts': 'messages of the thread',
};

test('storage parses JSON only through src/storage/stored-documents.ts', () => {
  const directory = join(rootDirectory, 'src/storage');
  const files = [...new Glob('**/*.ts').scanSync(directory)].filter((file) =>
    readFileSync(join(directory, file), 'utf8').includes('JSON.parse('),
  );
  expect(files.sort()).toEqual(Object.keys(parsers).sort());
});

/** Hashes of the statements of each migration, for both databases, by version. */
const released: Readonly<Record<number, string>> = {
  9: '8db1ccd1a94e94e3',
  10: 'a06f66d6f6cc72ec',
  11: '2eeb9ceaa484e7a5',
  12: 'c92baaa7608f67fd',
  14: 'd2f3f8b80af48d75',
  15: '0a109838f012f73b',
  16: 'b844de53ec2cf6ae',
  17: 'a0623c48a80db4b1',
  18: '1ecaa7ed8793c032',
  19: '23c9405bae8824a3',
  20: '41e053a6a926165e',
  21: 'fbbbaa65b7abb2fb',
  22: '53f7964198760686',
  23: '5ca54e708b072a49',
  24: '0b9ff13f242284ba',
  25: 'c4a8019f3bcf988f',
  26: 'fc5b54505d2b1c51',
  27: 'be6db24612e60ada',
  28: '213d2fd513daa9bd',
  29: '23714fa3343d7a0d',
  30: 'b8355d336ebcf235',
  31: 'b19243f471616068',
  32: '28cc1b952dddc03d',
  33: '0a8606086f6adda8',
  34: '112f8325552e4f13',
  35: 'c5a962480376cb31',
  36: '9d20d1a533fd7012',
  37: '07144595b57d35f4',
  38: '7cbb465c2a9d4da1',
  39: 'e2c470e82b1bec2f',
  40: 'cfd8226e39c7936c',
};

test('a migration never changes', () => {
  const hashes = migrations.map(({ version, sqlite, postgres }): [number, string] => [
    version,
    new Bun.CryptoHasher('sha256').update(`${sqlite}\n${postgres}`.replaceAll(/\s+/g, ' ')).digest('hex').slice(0, 16),
  ]);
  expect(Object.fromEntries(hashes), 'add a new migration instead').toEqual(released);
});
