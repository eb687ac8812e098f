// Group commit: waiting bundles commit together, a faulty one fails alone, a refusal writes nothing.

import { expect, test } from 'bun:test';
import { BrokenInvariant } from '../../../src/base/assert.ts';
import { bounds } from '../../../src/config/config.ts';
import {
  type Bundle,
  type Changes,
  GroupCommit,
  InDoubt,
  type LedgerStore,
  LockedForLong,
  NothingTaken,
  type Rows,
  RowsLocked,
} from '../../../src/ledger/ledger.ts';
import { type OpenedSqlite, openSqlite } from '../../storage/open-sqlite.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { MemoryLedgerStore } from '../../support/memory-store/memory-store.ts';
import { ask, failureOf, openWorkbench, START_MS } from './workbench.ts';

/** A store whose commits wait until the test completes or fails them. */
class SlowStore implements LedgerStore {
  readonly batches: number[] = [];
  failure: unknown = null;
  #waiting: (() => void)[] = [];
  readonly #store = new MemoryLedgerStore(manualClock(START_MS));

  async transact(bundles: readonly Bundle[], decide: (rows: Rows) => Changes): Promise<void> {
    this.batches.push(bundles.length);
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.failure !== null) throw this.failure;
    this.#store.transact(bundles, decide);
  }

  async letGo(): Promise<void> {
    while (this.#waiting.length === 0) await Bun.sleep(1);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const renewal = (node: string) => ({ kind: 'renew', node, epoch: null, leaseMs: 1 }) as const;
const badExtension = { kind: 'extend', requestId: 'req_1', amount: -1, checkpoint: null } as const;

test('bundles that arrive while a batch commits form the next batch, in order', async () => {
  const store = new SlowStore();
  const gate = new GroupCommit(store);
  const first = ask(gate, renewal('node-1'));
  while (store.batches.length === 0) await Bun.sleep(1);
  const later = Array.from({ length: 20 }, () => ask(gate, renewal('node-1')));
  await Bun.sleep(5);
  expect(store.batches).toEqual([1]);
  await store.letGo();
  expect(await first).toEqual({ ok: true, kind: 'lease', epoch: 1 });
  await store.letGo();
  expect((await Promise.all(later)).map((answer) => 'epoch' in answer && answer.epoch)).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 2),
  );
  expect(store.batches).toEqual([1, 20]);
  expect(gate.batches()).toBe(2);
});

test('a batch is bounded', async () => {
  const store = new SlowStore();
  const gate = new GroupCommit(store);
  const asked = Array.from({ length: bounds.batchOperationsMax + 1 }, () => ask(gate, renewal('node-1')));
  await store.letGo();
  await store.letGo();
  await Promise.all(asked);
  expect(store.batches).toEqual([bounds.batchOperationsMax, 1]);
});

test('a bundle that breaks an invariant fails alone, and the others are applied once', async () => {
  await using bench = await openWorkbench((clock) => openSqlite(clock), 100);
  const asked = await Promise.allSettled([
    bench.credit(1),
    bench.ask(badExtension),
    bench.credit(2),
    bench.stores.gate.submit({ operations: [renewal('node-7'), badExtension] }),
    bench.credit(4),
  ]);
  expect(asked).toMatchObject([
    { value: { balance: 101 } },
    { reason: { name: 'BrokenInvariant' } },
    { value: { balance: 103 } },
    { reason: { name: 'BrokenInvariant' } },
    { value: { balance: 107 } },
  ]);
  expect(await bench.entries()).toHaveLength(4);
  expect(await bench.ask(renewal('node-7'))).toMatchObject({ epoch: 1 });
});

test('an unknown operation fails alone', async () => {
  await using bench = await openWorkbench((clock) => openSqlite(clock), 100);
  const asked = await Promise.allSettled([
    bench.credit(1),
    bench.ask({ kind: 'set-account', account: bench.account } as never),
    bench.ask({ kind: 'nonsense' } as never),
    bench.credit(2),
  ]);
  expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
});

test('a batch that only refuses commits nothing', async () => {
  let opened: OpenedSqlite | undefined;
  await using bench = await openWorkbench((clock) => (opened = openSqlite(clock)), 100);
  const { database } = opened ?? {};
  if (database === undefined) throw new Error('nothing was opened');
  const written = () => database.query('SELECT total_changes() AS changes').get();
  const before = written();
  database.run('PRAGMA query_only = ON'); // A transaction that writes would fail now.
  const asked = [
    bench.admit(101),
    bench.settle('req_unknown', 1),
    bench.extend('req_unknown', 1),
    bench.credit(-101),
    bench.ask({ kind: 'leave', requestId: 'req_unknown' }),
    bench.ask({ ...renewal('node-9'), epoch: 4 }),
    bench.stores.gate.submit({ operations: [renewal('node-8'), { ...renewal('node-9'), epoch: 4 }] }),
  ];
  await Promise.all(asked);
  expect(written()).toEqual(before);
  expect(await failureOf(bench.credit(1))).toMatchObject({ code: 'store_unavailable' });
  database.run('PRAGMA query_only = OFF');
});

test('if the store fails, every bundle of the batch is rejected with store_unavailable, and the next batch runs', async () => {
  const store = new SlowStore();
  const gate = new GroupCommit(store);
  store.failure = new Error('the disk is gone');
  const asked = Promise.allSettled([ask(gate, renewal('a')), ask(gate, renewal('b')), ask(gate, renewal('c'))]);
  await store.letGo();
  for (const answer of await asked) {
    expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'store_unavailable', status: 503 } });
  }
  expect(store.batches).toEqual([3]);
  store.failure = null;
  const again = ask(gate, renewal('a'));
  await store.letGo();
  expect(await again).toMatchObject({ ok: true, epoch: 1 });
});

test('a store failure means that nothing was applied, unless the store cannot tell', async () => {
  const store = new SlowStore();
  const gate = new GroupCommit(store);
  const cause = new Error('the connection was lost');
  for (const [failure, isKnown] of [
    [cause, true],
    [new InDoubt('whether it was made cannot be told', { cause }), false],
  ] as const) {
    store.failure = failure;
    const asked = failureOf(ask(gate, renewal('a')));
    await store.letGo();
    expect(await asked).toMatchObject({ code: 'store_unavailable', cause });
    expect((await asked) instanceof NothingTaken).toBe(isKnown);
  }
});

test('a single bundle that breaks an invariant is not retried', async () => {
  const store = new SlowStore();
  const gate = new GroupCommit(store);
  store.failure = new BrokenInvariant('a mistake');
  const asked = failureOf(ask(gate, renewal('a')));
  await store.letGo();
  expect(await asked).toBe(store.failure);
  expect(store.batches).toEqual([1]);
});

test('a bundle whose locked row nobody can name is refused alone', async () => {
  const store = new MemoryLedgerStore(manualClock(START_MS));
  const needsLockedRow = ({ operations: [operation] }: Bundle) =>
    operation?.kind === 'renew' && operation.node === 'bad';
  const gate = new GroupCommit({
    transact(bundles, decide) {
      if (bundles.some(needsLockedRow)) throw new RowsLocked(() => null, {});
      store.transact(bundles, decide);
    },
  });
  const answers = await Promise.allSettled(['a', 'bad', 'c', 'd'].map((node) => ask(gate, renewal(node))));
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(answers[1]).toMatchObject({ reason: expect.any(LockedForLong) });
});
