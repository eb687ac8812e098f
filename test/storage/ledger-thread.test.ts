// The ledger's thread, seen from the main thread: order, bundles that fail alone, shutdown and death.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { BrokenInvariant } from '../../src/base/assert.ts';
import { systemClock } from '../../src/base/clock.ts';
import { bounds } from '../../src/config/config.ts';
import type { Answer, BatchFacts } from '../../src/ledger/ledger.ts';
import {
  databasePath,
  LedgerThread,
  openForReading,
  sqliteLedger,
  sqliteStores,
} from '../../src/storage/sqlite/sqlite.ts';
import { workerScript } from '../../src/threads/threads.ts';
import { ask, failureOf } from '../money/ledger/workbench.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const script = workerScript('ledger-worker');
const renewal = { kind: 'renew', node: 'node-1', epoch: null, leaseMs: 1000 } as const;
const badExtension = { kind: 'extend', requestId: 'req_1', amount: -1, checkpoint: null } as const;

function fail(cause: unknown): never {
  throw new Error(`the thread died: ${cause}`);
}

async function open(path: string) {
  const thread = await LedgerThread.start(script, path, fail);
  const { gate, close } = sqliteLedger(path, systemClock(), thread, fail);
  const closeAll = async () => {
    await close();
    await thread.close();
  };
  return { gate, [Symbol.asyncDispose]: closeAll };
}

test('thousands of concurrent bundles are answered in order, each with its own answer', async () => {
  using directory = temporaryDirectory();
  await using ledger = await open(databasePath(directory.path));
  const { gate } = ledger;
  const count = 3 * bounds.batchOperationsMax;
  const epochs: number[] = [];
  const committed: BatchFacts[] = [];
  gate.onCommitted = (facts) => committed.push(facts);
  const keep = (answer: Answer) => {
    if (answer.ok && answer.kind === 'lease') epochs.push(answer.epoch);
  };
  await Promise.all(Array.from({ length: count }, () => ask(gate, renewal).then(keep)));
  expect(epochs).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  expect(gate.batches()).toBeGreaterThanOrEqual(3);
  expect(gate.batches()).toBeLessThan(100);
  expect(committed.reduce((sum, { bundles }) => sum + bundles, 0)).toBe(count);
  expect(committed.every(({ ms }) => ms >= 0 && ms < 10_000)).toBe(true);
});

test('a faulty bundle fails alone, with an error that is not retryable', async () => {
  using directory = temporaryDirectory();
  await using ledger = await open(databasePath(directory.path));
  const { gate } = ledger;
  const [first, bad, second] = await Promise.all([
    ask(gate, renewal),
    failureOf(gate.submit({ operations: [renewal, badExtension] })),
    ask(gate, renewal),
  ]);
  expect([first, second]).toMatchObject([{ epoch: 1 }, { epoch: 2 }]);
  expect(bad).toBeInstanceOf(BrokenInvariant);
});

test('requests before a close are answered and on the disk', async () => {
  using directory = temporaryDirectory();
  const path = databasePath(directory.path);
  const ledger = await open(path);
  const asked = Promise.all(Array.from({ length: 100 }, () => ask(ledger.gate, renewal)));
  await ledger[Symbol.asyncDispose]();
  expect((await asked).at(-1)).toMatchObject({ epoch: 100 });
  const database = openForReading(path);
  expect(database.query('SELECT epoch FROM leases').all()).toEqual([{ epoch: 100 }]);
  database.close();
});

test('the death of the thread is reported, since its last operations are unknown', async () => {
  const dying = new URL('./dying-worker.ts', import.meta.url);
  const death = Promise.withResolvers<unknown>();
  const thread = await LedgerThread.start(dying, 'nowhere', death.resolve);
  thread.write({ name: 'a', rows: [], coCommitted: [] }).catch(() => {});
  expect(String(await death.promise)).not.toBe('');
});

test('a database that cannot be opened is named', async () => {
  const path = join('/nonexistent', 'turnpike.db');
  expect(String(await failureOf(LedgerThread.start(script, path, () => {})))).toContain(path);
});

test('a read of an unavailable store is store_unavailable, never an absence', async () => {
  using directory = temporaryDirectory();
  const path = databasePath(directory.path);
  await using ledger = await open(path);
  const stores = sqliteStores(path, ledger.gate);
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
});
