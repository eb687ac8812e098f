// Which tests each command runs: `npm test` the quick ones, `npm run verify` the others, and `TEST_STORE=postgres npm test` those whose
// service takes its store from test/support/test-store.ts.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import { rootDirectory } from './check.ts';

const STORE = 'test/support/test-store.ts';

/** Tests that import one of these belong to `npm run verify`: they drive Chromium or start PostgreSQL. */
const slowImports = [
  'test/console/open-console.ts',
  'test/console/walk-pages.ts',
  'test/storage/open-postgres.ts',
  'test/support/start-postgres.ts',
];

/** Other tests of `npm run verify`: files, and folders with all files in them, each with its reason. */
export const slowTests: Readonly<Record<string, string>> = {
  'test/verify/': 'browsers, executables, failing disks, several nodes and long simulations',
  'test/contract/attacks/slow-readers.test.ts': 'waits in real time for slow clients',
  'test/contract/idempotency/after-crash.test.ts': 'kills and restarts service processes',
  'test/contract/known-failures/robustness.test.ts': 'measures the memory of service processes under large streams',
  'test/contract/sign-in/persistence.test.ts': 'restarts service processes',
  'test/contract/start/creations-after-kill.test.ts': 'kills and restarts service processes',
  'test/contract/start/store-unavailable.test.ts': 'fills a disk under a service process',
  'test/money/crash.test.ts': 'kills and restarts service processes under load',
  'test/money/flood.test.ts': 'thousands of requests at once',
  'test/money/rolling-holds/leaving-midway.test.ts': 'thousands of streams',
  'test/money/soak.test.ts': 'sustained load',
  'test/storage/maintenance/backup.test.ts': 'starts service and command processes for each case',
  'test/storage/maintenance/damaged-page.test.ts': 'starts service processes for each case',
  'test/storage/maintenance/doctor.test.ts': 'starts service and command processes for each case',
  'test/storage/maintenance/lost-commits.test.ts': 'starts service and command processes for each case',
  'test/storage/maintenance/restore-command.test.ts': 'starts service and command processes for each case',
  'test/storage/maintenance/restored-payments.test.ts': 'starts service and command processes',
  'test/storage/maintenance/restore.test.ts': 'starts service and command processes for each case',
  'test/storage/maintenance/secret-rotation.test.ts': 'starts service and command processes for each case',
};

/** Tests of `npm test` all the same. */
const quickTests = ['test/verify/simulation/simulation.test.ts'];

/** Tests that `TEST_STORE=postgres npm test` leaves out: files and folders, each with its reason. */
export const leftOut: Readonly<Record<string, string>> = {
  'test/console/': 'the console uses only the API, whose own tests run over both stores',
  'test/verify/backups/': 'each set-up has a store of its own',
  'test/verify/build/': 'the executable and its proxies have stores of their own',
  'test/verify/compatibility/': 'each kept state has a store of its own',
  'test/verify/faults/': 'a disk fails under the SQLite file',
  'test/storage/maintenance/': 'reads files of a data directory, or has a database of its own',
  'test/verify/nodes/': 'several nodes have a database of their own in every run',
  'test/contract/attacks/slow-readers.test.ts': 'waits for slow clients, which do not notice the store',
  'test/contract/commands/migrate.test.ts': 'has a database of its own in every run',
  'test/contract/fronts/': 'a front translates before and after the message, which runs over both stores',
  'test/contract/known-failures/robustness.test.ts': 'measures the memory of the process, not of its store',
  'test/contract/post-embeddings/': 'a front translates before and after the message, which runs over both stores',
  'test/contract/routes/':
    'routes are chosen in memory, and failover with its bill runs over both stores in post-messages/',
  'test/contract/start/over-postgres.test.ts': 'has a database of its own in every run',
  'test/contract/start/store-unavailable.test.ts': 'the disk under the SQLite file is full',
  'test/contract/start/two-nodes.test.ts': 'has a database of its own in every run',
  'test/money/rolling-holds/leaving-midway.test.ts': 'estimates of tokens are the same over either store',
  'test/unit/gateway/buffered-beginning.test.ts': 'the events are buffered before anything is written',
  'test/unit/gateway/discarded-attempts.test.ts': 'an attempt is discarded before anything is written',
  'test/unit/observability/': 'observers see the same facts of either store',
  'test/unit/providers/': 'providers do not use the store',
  'test/verify/clients/': 'clients run against messages, which run over both stores',
};

/** The test files that `npm test` runs, or those that `npm run verify` runs, in order. */
export function testFiles(command: 'test' | 'verify'): string[] {
  const importers = readImporters();
  const slow = new Set(slowImports.flatMap((file) => importers.get(file) ?? []));
  const isSlow = (file: string) => !quickTests.includes(file) && (slow.has(file) || isListed(slowTests, file));
  return allTestFiles().filter((file) => isSlow(file) === (command === 'verify'));
}

export function allTestFiles(): string[] {
  const files = [...new Glob('test/**/*.test.{ts,tsx}').scanSync(rootDirectory)];
  return files.filter((file) => !file.includes('node_modules')).sort();
}

/** The test files that run over both stores, in order. */
export function filesOfBothStores(): string[] {
  return candidates().filter((file) => !isListed(leftOut, file));
}

/** The test files that import the test store, directly or through others. */
export function candidates(): string[] {
  const importers = readImporters();
  const reached = new Set([STORE]);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return [...reached].filter((file) => file.endsWith('.test.ts')).sort();
}

export function isListed(list: Readonly<Record<string, string>>, file: string): boolean {
  return Object.keys(list).some((name) => isOrHolds(name, file));
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
