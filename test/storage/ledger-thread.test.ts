// The ledger's thread, seen from the main thread: order, bundles that fail alone, shutdown and death.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { bounds } from '../../src/config.ts';
import type { Answer, BatchFacts } from '../../src/ledger/ledger.ts';
import { databasePath, LedgerThread, openForReading, sqliteStores } from '../../src/storage/sqlite/sqlite.ts';
import { ask, failureOf } from '../money/ledger/workbench.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const script = new URL('../../src/ledger-worker.ts', import.meta.url);
const renewal = { kind: 'renew', node: 'node-1', epoch: null, leaseMs: 1000 } as const;
const badExtension = { kind: 'extend', requestId: 'req_1', amount: -1, checkpoint: null } as const;

function fail(cause: unknown): never {
  throw new Error(`the thread died: ${cause}`);
}

test('thousands of concurrent bundles are answered in order, each with its own answer', async () => {
  using directory = temporaryDirectory();
  const thread = await LedgerThread.start(script, databasePath(directory.path), fail);
  const count = 3 * bounds.batchOperationsMax;
  const epochs: number[] = [];
  const committed: BatchFacts[] = [];
  thread.onCommitted = (facts) => committed.push(facts);
  const keep = (answer: Answer) => {
    if (answer.ok && answer.kind === 'lease') epochs.push(answer.epoch);
  };
  await Promise.all(Array.from({ length: count }, () => ask(thread, renewal).then(keep)));
  expect(epochs).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  expect(thread.batches()).toBeGreaterThanOrEqual(3);
  expect(thread.batches()).toBeLessThan(100);
  expect(committed).toHaveLength(thread.batches());
  expect(committed.reduce((sum, { bundles }) => sum + bundles, 0)).toBe(count);
  expect(committed.every(({ ms }) => ms > 0 && ms < 10_000)).toBe(true);
  await thread.close();
});

test('a faulty bundle fails alone, with an error that is not retryable', async () => {
  using directory = temporaryDirectory();
  const thread = await LedgerThread.start(script, databasePath(directory.path), fail);
  const [first, bad, second] = await Promise.all([
    ask(thread, renewal),
    failureOf(ask(thread, badExtension)),
    ask(thread, renewal),
  ]);
  expect([first, second]).toMatchObject([{ epoch: 1 }, { epoch: 2 }]);
  expect(bad).toMatchObject({ code: 'internal' });
  await thread.close();
});

test('requests before a close are answered and on the disk', async () => {
  using directory = temporaryDirectory();
  const path = databasePath(directory.path);
  const thread = await LedgerThread.start(script, path, fail);
  const asked = Promise.all(Array.from({ length: 100 }, () => ask(thread, renewal)));
  await thread.close();
  expect((await asked).at(-1)).toMatchObject({ epoch: 100 });
  const database = openForReading(path);
  expect(database.query('SELECT epoch FROM leases').all()).toEqual([{ epoch: 100 }]);
  database.close();
});

test('the death of the thread is reported, since its last operations are unknown', async () => {
  const dying = new URL('./dying-worker.ts', import.meta.url);
  const death = Promise.withResolvers<unknown>();
  const thread = await LedgerThread.start(dying, 'nowhere', death.resolve);
  thread.submit({ operations: [renewal] }).catch(() => {});
  expect(String(await death.promise)).not.toBe('');
});

test('a database that cannot be opened is named', async () => {
  const path = join('/nonexistent', 'turnpike.db');
  expect(String(await failureOf(LedgerThread.start(script, path, () => {})))).toContain(path);
});

test('a read of an unavailable store is store_unavailable, never an absence', async () => {
  using directory = temporaryDirectory();
  const path = databasePath(directory.path);
  const thread = await LedgerThread.start(script, path, fail);
  const stores = sqliteStores(path, thread);
  expect(await stores.accounts.findKeyBySecretHash(['hash'])).toBeNull();
  const other = new Database(path);
  for (const table of ['keys', 'accounts', 'catalog', 'account_meters', 'usage_records'])
    other.run(`DROP TABLE ${table}`);
  other.close();
  const reads = [
    () => stores.accounts.findKeyBySecretHash(['hash']),
    () => stores.accounts.getAccount(1),
    () => stores.catalog.loadCatalog(),
    () => stores.ledger.accountMeters(1, 0),
    () => stores.usage.getUsage('req_1'),
  ];
  for (const read of reads) expect(await failureOf(read())).toMatchObject({ code: 'store_unavailable', status: 503 });
  stores.close();
  await thread.close();
});
