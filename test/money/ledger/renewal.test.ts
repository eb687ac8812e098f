// Renewal of a node's lease over a store that is slow, or unavailable for all nodes at once.

import { expect, test } from 'bun:test';
import type { Clock } from '../../../src/base/clock.ts';
import { machineTimers } from '../../../src/base/timers.ts';
import { bounds } from '../../../src/config/config.ts';
import { type Answer, type Bundle, type LedgerGate, NodeLedger } from '../../../src/ledger/ledger.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryStores, sumMemory } from '../../support/memory-store/memory-store.ts';
import { openWorkbench, START_MS, type Workbench } from './workbench.ts';

/** Answers only when the test releases it. */
class SlowGate implements LedgerGate {
  readonly #gate: LedgerGate;
  #held: (() => void)[] | null = null;

  constructor(gate: LedgerGate) {
    this.#gate = gate;
  }

  batches(): number {
    return this.#gate.batches();
  }

  async submit(bundle: Bundle): Promise<Answer[]> {
    const held = this.#held;
    if (held !== null) await new Promise<void>((resolve) => held.push(resolve));
    return this.#gate.submit(bundle);
  }

  hold(): void {
    this.#held = [];
  }

  goOn(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const resolve of held) resolve();
  }
}

test('a node with slow renewals replaces a lost lease once and keeps what it admits under it', async () => {
  let gate: SlowGate | undefined;
  await using bench = await openWorkbench((clock) => {
    const stores = memoryStores(clock, (commit) => (gate = new SlowGate(commit)));
    return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
  }, 100);
  if (gate === undefined) throw new Error('there is no gate');
  let renew = () => {};
  const every = (_ms: number, callback: () => void) => {
    renew = callback;
    return () => {};
  };
  const ledger = new NodeLedger(gate, bench.clock, 'node-1', { ...machineTimers, every });
  await ledger.open();
  const lost = await bench.takeLease('node-1'); // Another run of the node.
  gate.hold();
  renew();
  renew();
  renew();
  gate.goOn();
  while (ledger.owner.epoch <= lost.epoch) await Bun.sleep(1);
  const admission = bench.admission(10, { owner: ledger.owner });
  expect(await ledger.admit(admission)).toMatchObject({ ok: true });
  renew();
  await Bun.sleep(20);
  expect(ledger.owner).toEqual({ node: 'node-1', epoch: lost.epoch + 1 });
  expect(await bench.wallet()).toEqual({ balance: 100, held: 10 });
});

test('a failed renewal is retried soon, but never after close', async () => {
  let renew = () => {};
  const soon: (() => void)[] = [];
  const timers = {
    ...machineTimers,
    every: (_ms: number, callback: () => void) => {
      renew = callback;
      return () => {};
    },
    after: (_ms: number, callback: () => void) => {
      soon.push(callback);
      return () => void soon.splice(soon.indexOf(callback), 1);
    },
  };
  await using bench = await openMemoryBench();
  let failures = 0;
  const gate: LedgerGate = {
    batches: () => bench.stores.gate.batches(),
    submit: (bundle) => (failures-- > 0 ? Promise.reject(new Error('away')) : bench.stores.gate.submit(bundle)),
  };
  const ledger = new NodeLedger(gate, bench.clock, 'node-1', timers, true);
  await ledger.open();
  failures = 2;
  renew();
  renew();
  await Bun.sleep(5);
  renew(); // The timer fires while another renewal is pending: no second one starts.
  await Bun.sleep(5);
  expect(soon.length).toBe(1);
  bench.clock.advance(bounds.leaseMs - 1);
  soon.shift()?.();
  await Bun.sleep(5);
  expect(soon.length).toBe(0);
  bench.clock.advance(2); // The node still has its lease.
  expect(await ledger.admit(bench.admission(10, { owner: ledger.owner }))).toMatchObject({ ok: true });
  expect(await bench.stores.gate.submit({ operations: [{ kind: 'expire' }] })).toMatchObject([{ holds: 0 }]);
  failures = 1;
  renew();
  await Bun.sleep(5);
  ledger.close();
  expect(soon.length).toBe(0);
});

test('a jump of the store’s clock ends no hold of a healthy node', async () => {
  await using bench = await openMemoryBench();
  const clock = manualClock(START_MS); // Nodes read the store's clock from its answers.
  const [first, second] = [await openPeer(bench, 'node-a', clock), await openPeer(bench, 'node-b', clock)];
  const renewAll = async () => {
    await first.renew();
    await second.renew();
  };
  for (let passedMs = 0; passedMs <= bounds.leaseMs; passedMs += bounds.leaseRenewMs) {
    for (const one of [clock, bench.clock]) one.advance(bounds.leaseRenewMs);
    await renewAll();
  }
  const [left, going] = [bench.admission(10, { owner: { node: 'gone', epoch: 1 } }), bench.admission(10)];
  await bench.takeLease('gone');
  expect(await first.ledger.admit(left)).toMatchObject({ ok: true });
  expect(await second.ledger.admit({ ...going, owner: second.ledger.owner })).toMatchObject({ ok: true });
  bench.clock.advance(10 * bounds.leaseMs);
  await renewAll();
  expect(await bench.stores.ledger.openMessage(going.requestId)).not.toBeNull();
  await renewAll(); // Holds of a dead node end all the same.
  expect(await bench.stores.ledger.openMessage(left.requestId)).toBeNull();
  expect(await bench.stores.ledger.openMessage(going.requestId)).not.toBeNull();
});

interface Peer {
  ledger: NodeLedger;
  /** Fires its timer once. */
  renew(): Promise<void>;
}

async function openPeer(bench: Workbench, name: string, clock: Clock = bench.clock): Promise<Peer> {
  let renew = () => {};
  const every = (_ms: number, callback: () => void) => {
    renew = callback;
    return () => {};
  };
  const ledger = new NodeLedger(bench.stores.gate, clock, name, { ...machineTimers, every }, true);
  await ledger.open();
  return {
    ledger,
    async renew() {
      renew();
      await Bun.sleep(5); // The store is in memory.
    },
  };
}

function openMemoryBench(): Promise<Workbench> {
  return openWorkbench((clock) => {
    const stores = memoryStores(clock);
    return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
  }, 100);
}

test('an outage of the store longer than a lease ends no hold of a surviving node', async () => {
  await using bench = await openMemoryBench();
  const [one, other] = [await openPeer(bench, 'node-1'), await openPeer(bench, 'node-2')];
  for (let turn = 0; turn < 4; turn++) {
    bench.clock.advance(bounds.leaseRenewMs);
    await one.renew();
    await other.renew();
  }
  const admission = bench.admission(10, { owner: other.ledger.owner });
  expect(await other.ledger.admit(admission)).toMatchObject({ ok: true });
  bench.clock.advance(4 * bounds.leaseMs); // No node could renew.
  await one.renew();
  bench.clock.advance(bounds.leaseRenewMs);
  await one.renew();
  await other.renew();
  for (let turn = 0; turn < 4; turn++) {
    bench.clock.advance(bounds.leaseRenewMs);
    await one.renew();
    await other.renew();
  }
  expect(other.ledger.owner).toEqual(admission.owner);
  expect(await bench.wallet()).toEqual({ balance: 100, held: 10 });
  const record = bench.record(admission.requestId, { cost: 3 });
  expect(await other.ledger.end({ kind: 'settle', requestId: admission.requestId, record }, 1_000)).toMatchObject({
    ok: true,
  });
});

test('a starting node ends no hold of peers that could not renew, and soon ends those of dead peers', async () => {
  await using bench = await openMemoryBench();
  const gone = await openPeer(bench, 'node-1');
  await gone.ledger.admit(bench.admission(10, { owner: gone.ledger.owner }));
  bench.clock.advance(4 * bounds.leaseMs);
  const next = await openPeer(bench, 'node-2');
  const told: number[] = [];
  next.ledger.onExpired = (holds) => told.push(holds);
  expect(await bench.wallet()).toEqual({ balance: 100, held: 10 });
  for (let passedMs = 0; passedMs < bounds.leaseMs; passedMs += bounds.leaseRenewMs) {
    expect(await bench.wallet()).toEqual({ balance: 100, held: 10 });
    bench.clock.advance(bounds.leaseRenewMs);
    await next.renew();
  }
  expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  expect(told).toEqual([1]);
});
