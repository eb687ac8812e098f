// Which tests `TEST_STORE=postgres npm test` runs once more: all whose services have their store from test/support/test-store.ts,
// but for those of the list below.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import { rootDirectory } from './check.ts';

const STORE = 'test/support/test-store.ts';

/** Files, and folders with all that is in them, that are not run once more, and why. */
export const leftOut: Readonly<Record<string, string>> = {
  'test/build/': 'the executable, and what is in front of it, are run with stores of their own',
  'test/faults/': 'a disk fails under the file of SQLite',
  'test/maintenance/': 'works on the files of a data directory, or has a database of its own',
  'test/nodes/': 'several nodes have a database of their own in every run',
  'test/start/over-postgres.test.ts': 'has a database of its own in every run',
  'test/start/store-gone.test.ts': 'the disk under the file of SQLite is full',
  'test/start/two-nodes.test.ts': 'has a database of its own in every run',
};

/** The files of tests that are run over both stores, in order. */
export function filesOfBothStores(): string[] {
  const without = Object.keys(leftOut);
  return candidates().filter((file) => !without.some((one) => isOrHolds(one, file)));
}

/** The files of tests from which the store of a test can be reached by imports. */
export function candidates(): string[] {
  const importers = readImporters();
  const reached = new Set([STORE]);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return [...reached].filter((file) => file.endsWith('.test.ts')).sort();
}

export function isOrHolds(fileOrFolder: string, file: string): boolean {
  return fileOrFolder.endsWith('/') ? file.startsWith(fileOrFolder) : file === fileOrFolder;
}

/** By each file of test/: the files that import it. */
function readImporters(): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const file of new Glob('test/**/*.{ts,tsx}').scanSync(rootDirectory)) {
    if (file.includes('node_modules')) continue;
    const text = readFileSync(join(rootDirectory, file), 'utf8');
    for (const [, imported = ''] of text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)) {
      const name = join(dirname(file), imported);
      importers.set(name, [...(importers.get(name) ?? []), file]);
    }
  }
  return importers;
}
