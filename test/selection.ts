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

/** Reasons why `TEST_STORE=postgres npm test` leaves tests out, with the files and folders. */
export const leftOutBy: Readonly<Record<string, readonly string[]>> = {
  'only passes rows through, and storage/conformance compares the stores': [
    'test/console/',
    'test/contract/admin-api/admin-page.test.ts',
    'test/contract/admin-api/another-account.test.ts',
    'test/contract/admin-api/failures.test.ts',
    'test/contract/commands/',
    'test/contract/events/mails.test.ts',
    'test/contract/self-service/developer-page.test.ts',
  ],
  'the request is refused before it reaches the store, or its store is not noticed': [
    'test/contract/attacks/broken-requests.test.ts',
    'test/contract/attacks/costly-bodies.test.ts',
    'test/contract/attacks/framing.test.ts',
    'test/contract/attacks/lengths.test.ts',
    'test/contract/attacks/slow-readers.test.ts',
    'test/contract/known-failures/robustness.test.ts',
    'test/contract/post-messages/400-invalid-json.test.ts',
    'test/contract/post-messages/400-invalid-request.test.ts',
    'test/contract/post-messages/400-thread.test.ts',
    'test/contract/post-messages/403-browser.test.ts',
    'test/contract/post-messages/404-route.test.ts',
    'test/contract/post-messages/405-method.test.ts',
    'test/contract/post-messages/408-body.test.ts',
    'test/contract/post-messages/413-body.test.ts',
    'test/contract/post-messages/415-content-type.test.ts',
    'test/contract/post-messages/429-failures.test.ts',
    'test/contract/post-messages/529-flood.test.ts',
    'test/contract/post-messages/529-loop.test.ts',
    'test/contract/post-messages/529-overloaded.test.ts',
    'test/contract/post-messages/backpressure.test.ts',
    'test/contract/post-messages/cors.test.ts',
    'test/contract/post-messages/forwarded.test.ts',
    'test/contract/post-messages/pings.test.ts',
    'test/contract/post-messages/trace-context.test.ts',
    'test/contract/public-api/security-headers.test.ts',
  ],
  'happens before and after the message, which runs over both stores': [
    'test/contract/fronts/',
    'test/contract/post-embeddings/',
    'test/contract/routes/',
    'test/money/rolling-holds/leaving-midway.test.ts',
    'test/unit/gateway/buffered-beginning.test.ts',
    'test/unit/gateway/discarded-attempts.test.ts',
    'test/unit/observability/',
    'test/unit/providers/',
    'test/verify/clients/',
  ],
  'sign-in.test.ts and two-nodes.test.ts read and write the same tables over both stores': [
    'test/contract/sign-in/cross-site.test.ts',
    'test/contract/sign-in/forged-tokens.test.ts',
    'test/contract/sign-in/limits.test.ts',
    'test/contract/sign-in/mail.test.ts',
    'test/contract/sign-in/passwords.test.ts',
    'test/contract/sign-in/second-factor.test.ts',
    'test/contract/sign-in/single-sign-on.test.ts',
  ],
  'starts, listens and reads settings before the store is used': [
    'test/contract/start/admin-listen.test.ts',
    'test/contract/start/first-providers.test.ts',
    'test/contract/start/open-files.test.ts',
    'test/contract/start/setting-references.test.ts',
    'test/contract/start/tls.test.ts',
  ],
  'has stores of its own in every run': [
    'test/contract/attacks/late-node.test.ts',
    'test/contract/sign-in/two-nodes.test.ts',
    'test/contract/start/database-wait.test.ts',
    'test/contract/start/over-postgres.test.ts',
    'test/contract/start/store-unavailable.test.ts',
    'test/contract/start/two-nodes.test.ts',
    'test/money/auto-recharge-nodes.test.ts',
    'test/storage/maintenance/',
    'test/verify/backups/',
    'test/verify/build/',
    'test/verify/compatibility/',
    'test/verify/events/killed-nodes.test.ts',
    'test/verify/faults/',
    'test/verify/nodes/',
  ],
};

/** The same by file or folder. */
export const leftOut: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(leftOutBy).flatMap(([reason, names]) => names.map((name) => [name, reason])),
);

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
