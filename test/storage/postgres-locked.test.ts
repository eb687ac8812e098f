// An account locked by another transaction, such as an operator's: its messages wait, and no other account's do.

import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { bounds } from '../../src/config/config.ts';
import { LockedForLong, NodeLedger, type Operation, type Owner } from '../../src/ledger/ledger.ts';
import { PostgresGate } from '../../src/storage/postgres/postgres.ts';
import { ask, failureOf, openWorkbench, type Workbench } from '../money/ledger/workbench.ts';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { type OpenedPostgres, openPostgresLanes } from './open-postgres.ts';

interface Nodes extends AsyncDisposable {
  bench: Workbench;
  gates: readonly [PostgresGate, PostgresGate];
  /** Another account, with its key. */
  otherAccount(): Promise<{ account: number; key: number }>;
  /** A new account above it, from which it pays. */
  addAbove(account: number): Promise<number>;
  /** Holds the lock until it is disposed of. */
  lock(account: number): Promise<AsyncDisposable>;
}

async function openNodes(): Promise<Nodes> {
  let opened: OpenedPostgres | undefined;
  const bench = await openWorkbench(async (clock) => (opened = await openPostgresLanes(clock)), 1_000);
  const url = (opened as OpenedPostgres | undefined)?.url as string;
  const gates = [new PostgresGate(url, { clock: bench.clock }), new PostgresGate(url, { clock: bench.clock })] as const;
  return {
    bench,
    gates,
    async otherAccount() {
      const account = await bench.addAccount(1_000);
      return { account, key: await bench.addKey({}, account) };
    },
    async addAbove(account) {
      const parent = await bench.addAccount(1_000);
      const company = { parent, paysFrom: 'parent' as const };
      const terms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' as const, company };
      expect(await bench.ask({ kind: 'set-account', account, terms })).toMatchObject({ ok: true });
      return parent;
    },
    async lock(account) {
      const client = new SQL({ url, max: 1 });
      const session = await client.reserve();
      await session`BEGIN`;
      await session`SELECT 1 FROM account_meters WHERE id = ${account} FOR UPDATE`;
      return {
        async [Symbol.asyncDispose]() {
          await session`ROLLBACK`; // A reference keeps it from being collected, which would end it.
          await client.close({ timeout: 0 });
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(gates.map((gate) => gate.close()));
      await bench[Symbol.asyncDispose]();
    },
  };
}

const LEASE_MS = 15_000;
const ADMITTED = { ok: true, kind: 'admitted' };
const lengths = bounds as { lockedWaitMsMax: number };
const renewal = ({ node, epoch }: Owner): Operation[] => [
  { kind: 'renew', node, epoch, leaseMs: LEASE_MS },
  { kind: 'expire' },
];

describe.skipIf(cannotStartPostgres)('an account that another transaction has locked', () => {
  test('prevents no node from renewing its lease, even if a dead node left a hold of the account', async () => {
    await using nodes = await openNodes();
    const { bench, gates } = nodes;
    const left = await bench.begin(100);
    const other = await bench.addAccount(1_000);
    const otherKey = await bench.addKey({}, other);
    const otherLeft = await bench.begin(100, { account: other, key: otherKey });
    bench.clock.advance(LEASE_MS + 1);
    const owners = [await bench.takeLease('node-a'), await bench.takeLease('node-b')] as const;
    const lock = await nodes.lock(bench.account);
    const renewals = gates.map((gate, at) => gate.submit({ operations: renewal(owners[at] as Owner) }));
    const answers = await Promise.all(renewals);
    for (const [renewed] of answers) expect(renewed).toMatchObject({ ok: true, kind: 'lease' });
    // Holds of other accounts end now,
    expect(await bench.stores.ledger.openMessage(otherLeft)).toBeNull();
    expect(await bench.stores.ledger.openMessage(left)).not.toBeNull();
    // and the rest when the lock is released.
    await lock[Symbol.asyncDispose]();
    expect(await ask(gates[0], { kind: 'expire' })).toMatchObject({ kind: 'expired', holds: 1 });
    expect(await bench.wallet()).toEqual({ balance: 1_000, held: 0 });
  });

  test('delays no message of another account, and gets its own applied in order when it is unlocked', async () => {
    await using nodes = await openNodes();
    const { bench, gates } = nodes;
    const [gate] = gates;
    const others = await nodes.otherAccount();
    const lock = await nodes.lock(bench.account);
    const admission = bench.admission(100);
    const record = bench.record(admission.requestId, { outcome: 'failed', status: 502, usageSource: 'none' });
    let isAnswered = false;
    const first = ask(gate, admission).finally(() => {
      isAnswered = true;
    });
    expect(await ask(gate, bench.admission(1, others))).toMatchObject(ADMITTED); // In the same batch.
    const release = ask(gate, { kind: 'release', requestId: admission.requestId, record });
    const later = ask(gate, bench.admission(1_000));
    expect(await ask(gate, bench.admission(1, others))).toMatchObject(ADMITTED);
    expect(isAnswered).toBe(false);
    await lock[Symbol.asyncDispose]();
    expect(await first).toMatchObject(ADMITTED);
    expect(await release).toMatchObject({ ok: true, kind: 'ended' });
    expect(await later).toMatchObject(ADMITTED); // Uses the whole balance.
    expect(await bench.wallet()).toEqual({ balance: 1_000, held: 1_000 });
  });

  test('delays no other account at any node, even if nodes queue for it', async () => {
    await using nodes = await openNodes();
    const { bench, gates } = nodes;
    const others = await nodes.otherAccount();
    for (const gate of gates) await ask(gate, bench.admission(1, others)); // Each has its connection.
    const lock = await nodes.lock(bench.account);
    const own = gates.map((gate) => ask(gate, bench.admission(1)));
    const answers = await Promise.all(gates.map((gate) => ask(gate, bench.admission(1, others))));
    for (const answer of answers) expect(answer).toMatchObject(ADMITTED);
    await lock[Symbol.asyncDispose]();
    for (const answer of await Promise.all(own)) expect(answer).toMatchObject(ADMITTED);
  });

  test('does not delay another account that was locked at the same time', async () => {
    await using nodes = await openNodes();
    const { bench, gates } = nodes;
    const [gate] = gates;
    const others = await nodes.otherAccount();
    const longer = await nodes.lock(bench.account);
    const lock = await nodes.lock(others.account);
    const own = ask(gate, bench.admission(1)).catch(() => null); // It may be refused.
    const other = ask(gate, bench.admission(1, others));
    await Bun.sleep(bounds.writeLockMsMax + 500); // Both are set aside by now.
    await lock[Symbol.asyncDispose]();
    expect(await other).toMatchObject(ADMITTED);
    await longer[Symbol.asyncDispose]();
    await own;
  });

  test('delays no message of another account in one batch with a change that finds the account by its message', async () => {
    await using nodes = await openNodes();
    const { bench, gates } = nodes;
    const [gate] = gates;
    const others = await nodes.otherAccount();
    const below = await nodes.otherAccount();
    const parent = await nodes.addAbove(below.account);
    const refunded = await bench.begin(10, below);
    const ended = { ...below, above: [parent], payer: parent, cost: 10 };
    expect(await bench.settle(refunded, 10, ended)).toMatchObject({ ok: true });
    const extended = await bench.begin(10, below);
    const lock = await nodes.lock(parent);
    const changes: Operation[] = [
      { kind: 'extend', requestId: extended, amount: 5, checkpoint: null },
      { kind: 'refund', requestId: refunded, amount: 3, note: null },
    ];
    const waiting = changes.map((operation) => ask(gate, operation));
    let isAnswered = false;
    const all = Promise.all(waiting).finally(() => {
      isAnswered = true;
    });
    expect(await ask(gate, bench.admission(1, others))).toMatchObject(ADMITTED);
    expect(isAnswered).toBe(false);
    await lock[Symbol.asyncDispose]();
    for (const answer of await all) expect(answer).toMatchObject({ ok: true });
  });

  test('prevents no node from renewing its lease if a dead node left a hold of an account that is now below it', async () => {
    await using nodes = await openNodes();
    const { bench, gates } = nodes;
    const left = await bench.begin(100);
    const parent = await nodes.addAbove(bench.account);
    bench.clock.advance(LEASE_MS + 1);
    const owner = await bench.takeLease('node-a');
    const lock = await nodes.lock(parent);
    const [renewed] = await gates[0].submit({ operations: renewal(owner) });
    expect(renewed).toMatchObject({ ok: true, kind: 'lease' });
    expect(await bench.stores.ledger.openMessage(left)).not.toBeNull();
    await lock[Symbol.asyncDispose]();
    expect(await ask(gates[0], { kind: 'expire' })).toMatchObject({ kind: 'expired', holds: 1 });
  });

  test('gets its messages refused after a bound, and the node stays healthy', async () => {
    await using nodes = await openNodes();
    const { bench, gates } = nodes;
    const ledger = new NodeLedger(gates[0], bench.clock, 'node-a');
    await ledger.open();
    const failures: unknown[] = [];
    ledger.onStoreChange = (failure) => failures.push(failure);
    await using _ = await nodes.lock(bench.account);
    const { lockedWaitMsMax } = bounds;
    lengths.lockedWaitMsMax = 1;
    try {
      const failure = await failureOf(ledger.admit(bench.admission(1, { owner: ledger.owner })));
      expect(failure).toBeInstanceOf(LockedForLong);
      expect(failure).toMatchObject({ code: 'store_unavailable' });
      expect([ledger.isAvailable, failures]).toEqual([true, []]);
    } finally {
      lengths.lockedWaitMsMax = lockedWaitMsMax;
      ledger.close();
    }
  });
});
