// The ledger of a node: remembered refusals, bounded queues, and endings that outlast an outage of the store.

import { expect, test } from 'bun:test';
import { BrokenInvariant } from '../../../src/base/assert.ts';
import { machineTimers, type Timers } from '../../../src/base/timers.ts';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import {
  type Answer,
  type Bundle,
  type LedgerGate,
  LockedForLong,
  NodeLedger,
  NothingTaken,
} from '../../../src/ledger/ledger.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryStores, sumMemory } from '../../support/memory-store/memory-store.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { failureOf, openWorkbench, START_MS, type Workbench } from './workbench.ts';

/** A store with outages that counts the bundles it receives. */
class FlakyGate implements LedgerGate {
  /**
   * `lossy` applies each bundle and loses the answer. `losing-admissions` does so for admissions only, and endings
   * fail. `refusing` applies nothing and returns an error. `locked` applies nothing because of another transaction's
   * locks.
   */
  state: 'up' | 'gone' | 'hung' | 'lossy' | 'losing-admissions' | 'refusing' | 'locked' = 'up';
  asked = 0;
  admissions = 0;
  /** Released messages. */
  readonly released: string[] = [];
  readonly #gate: LedgerGate;
  #hung: (() => void)[] = [];

  constructor(gate: LedgerGate) {
    this.#gate = gate;
  }

  batches(): number {
    return this.#gate.batches();
  }

  async submit(bundle: Bundle): Promise<Answer[]> {
    this.asked++;
    const isAdmission = bundle.operations[0]?.kind === 'admit';
    if (isAdmission) this.admissions++;
    if (this.state === 'losing-admissions' && !isAdmission) throw new TurnpikeError('store_unavailable', 'gone');
    if (this.state === 'refusing') throw new NothingTaken('refused');
    if (this.state === 'locked') throw new LockedForLong('locked');
    if (this.state === 'gone') throw new TurnpikeError('store_unavailable', 'gone');
    if (this.state === 'hung') await new Promise<void>((resolve) => this.#hung.push(resolve));
    const answers = await this.#gate.submit(bundle);
    for (const operation of bundle.operations)
      if (operation.kind === 'release') this.released.push(operation.requestId);
    if (this.state === 'lossy' || this.state === 'losing-admissions')
      throw new TurnpikeError('store_unavailable', 'the answer is lost');
    return answers;
  }

  /** Lets the calls that hang continue. */
  recover(): void {
    this.state = 'up';
    for (const resolve of this.#hung.splice(0)) resolve();
  }
}

const LOWER = { ledgerQueueMax: 2_048, ledgerQueuePerAccountMax: 512, doubtfulAdmissionsMax: 2_500 };

/** Timers that fire when the test says so. */
class HandTimers implements Timers {
  /** Delays of the timers set with `after`. */
  readonly waiting = new Map<() => void, number>();
  readonly #repeating = new Set<() => void>();

  after(ms: number, callback: () => void): () => void {
    this.waiting.set(callback, ms);
    return () => this.waiting.delete(callback);
  }

  every(_: number, callback: () => void): () => void {
    this.#repeating.add(callback);
    return () => this.#repeating.delete(callback);
  }

  soon(callback: () => void): void {
    machineTimers.soon(callback);
  }

  /** Fires the timers with this delay. */
  fire(ms: number): void {
    for (const [callback, lastsMs] of this.waiting) {
      if (lastsMs !== ms) continue;
      this.waiting.delete(callback);
      callback();
    }
  }

  /** Runs each repeating timer once and waits for it. */
  async turn(): Promise<void> {
    for (const callback of this.#repeating) callback();
    await Bun.sleep(20);
  }
}

interface Node extends AsyncDisposable {
  bench: Workbench;
  gate: FlakyGate;
  ledger: NodeLedger;
}

/** A node over an in-memory store, with an account of this balance. */
async function openNode(balance: number, timers: Timers = machineTimers): Promise<Node> {
  let gate: FlakyGate | undefined;
  const bench = await openWorkbench((clock) => {
    const stores = memoryStores(clock, (commit) => (gate = new FlakyGate(commit)));
    return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
  }, balance);
  if (gate === undefined) throw new Error('there is no gate');
  const ledger = new NodeLedger(gate, bench.clock, 'node-1', timers);
  await ledger.open();
  bench.owner = ledger.owner;
  const dispose = async () => {
    ledger.close();
    await bench[Symbol.asyncDispose]();
  };
  return { bench, gate, ledger, [Symbol.asyncDispose]: dispose };
}

function settlement(bench: Workbench, requestId: string, cost: number) {
  return { kind: 'settle', requestId, record: bench.record(requestId, { cost }) } as const;
}

test('a remembered refusal is returned without asking the store', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  expect(await ledger.admit(bench.admission(101))).toMatchObject({ ok: false, meter: 'wallet' });
  const { asked } = gate;
  for (let turn = 0; turn < 100; turn++) {
    expect(await ledger.admit(bench.admission(101))).toMatchObject({ ok: false, meter: 'wallet' });
  }
  expect(gate.asked).toBe(asked);
  bench.clock.advance(bounds.refusalRememberedMs);
  await ledger.admit(bench.admission(101));
  expect(gate.asked).toBe(asked + 1);
});

test('50,000 refusals cause few batches, and commit nothing', async () => {
  await using node = await openNode(100);
  const { bench, ledger } = node;
  const before = ledger.batches();
  for (let burst = 0; burst < 10; burst++) {
    const admission = bench.admission(101);
    const answers = await Promise.all(Array.from({ length: 5000 }, () => ledger.admit(admission)));
    expect(answers.every((answer) => !answer.ok)).toBe(true);
  }
  expect(ledger.batches() - before).toBeLessThan(10);
});

test('a credit, a settlement, changed terms and a disconnect each take effect at once', async () => {
  await using node = await openNode(100);
  const { bench, ledger } = node;
  const credit = { kind: 'credit', account: bench.account, source: 'payment', reference: null, note: null } as const;
  expect(await ledger.admit(bench.admission(101))).toMatchObject({ ok: false });
  await ledger.submit({ operations: [{ ...credit, amount: 1 }] });
  const first = bench.admission(101);
  expect(await ledger.admit(first)).toMatchObject({ ok: true });
  expect(await ledger.admit(bench.admission(50))).toMatchObject({ ok: false, behindHolds: true });
  await ledger.end(settlement(bench, first.requestId, 1), 1000);
  expect(await ledger.admit(bench.admission(50))).toMatchObject({ ok: true });

  const terms = { status: 'enabled', expiresAtMs: null, quota: null, quotaPeriod: 'total' } as const;
  const limits = { requestsPerMinute: null, inputTokensPerMinute: null, outputTokensPerMinute: null, concurrency: 2 };
  const setKey = { kind: 'set-key', key: bench.key, account: bench.account } as const;
  await ledger.submit({ operations: [{ ...setKey, terms: { ...terms, ...limits } }] });
  const second = bench.admission(1);
  expect(await ledger.admit(second)).toMatchObject({ ok: true });
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: false, reason: 'concurrency' });
  await ledger.leave({ kind: 'leave', requestId: second.requestId }, bench.account, bench.key, 'default');
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: true });
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: false, reason: 'concurrency' });
  await ledger.submit({ operations: [{ ...setKey, terms: { ...terms, ...limits, concurrency: 3 } }] });
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: true });
});

test('a refusal that was decided before a credit is not remembered after it', async () => {
  await using node = await openNode(100);
  const { bench, ledger } = node;
  const credit = { kind: 'credit', account: bench.account, source: 'payment', reference: null, note: null } as const;
  const refused = ledger.admit(bench.admission(101));
  const credited = ledger.submit({ operations: [{ ...credit, amount: 1 }] });
  expect(await refused).toMatchObject({ ok: false });
  await credited;
  expect(await ledger.admit(bench.admission(101))).toMatchObject({ ok: true });
});

test('an extension keeps remembered refusals', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  const admission = bench.admission(10);
  await ledger.admit(admission);
  await ledger.admit(bench.admission(101));
  await ledger.submit({
    operations: [{ kind: 'extend', requestId: admission.requestId, amount: 20, checkpoint: null }],
  });
  const { asked } = gate;
  expect(await ledger.admit(bench.admission(101))).toMatchObject({ ok: false });
  expect(gate.asked).toBe(asked);
});

test('one account cannot fill the queue: beyond its fair share it gets overloaded', async () => {
  await using node = await openNode(1_000_000);
  const { bench, gate, ledger } = node;
  gate.state = 'hung';
  const share = Array.from({ length: bounds.ledgerQueuePerAccountMax }, () => ledger.admit(bench.admission(1)));
  expect(await failureOf(ledger.admit(bench.admission(1)))).toMatchObject({ code: 'overloaded', status: 529 });
  const other = failureOf(ledger.admit(bench.admission(1, { account: 7 })));
  gate.recover();
  expect((await Promise.all(share)).every((answer) => answer.ok)).toBe(true);
  expect(await other).toMatchObject({ code: 'key_invalid' });
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: true });
});

test('the queue is bounded', async () => {
  using _ = setBounds(LOWER);
  await using node = await openNode(1_000_000);
  const { bench, gate, ledger } = node;
  gate.state = 'hung';
  const asked: Promise<unknown>[] = [];
  for (let turn = 0; turn < bounds.ledgerQueueMax; turn++) {
    asked.push(failureOf(ledger.admit(bench.admission(1, { account: turn % 8 }))));
  }
  expect(await failureOf(ledger.admit(bench.admission(1)))).toMatchObject({ code: 'overloaded' });
  gate.recover();
  await Promise.all(asked);
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: true });
});

test('after an outage of the store the ending is retried and billed once', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  const admission = bench.admission(50);
  await ledger.admit(admission);
  gate.state = 'gone';
  const ending = ledger.end(settlement(bench, admission.requestId, 30), 5000);
  await Bun.sleep(60);
  expect(ledger.isAvailable).toBe(false);
  expect(await failureOf(ledger.admit(bench.admission(1)))).toMatchObject({ code: 'store_unavailable', status: 503 });
  gate.recover();
  expect(await ending).toMatchObject({ ok: true, cost: 30, writtenOff: 0 });
  expect(ledger.isAvailable).toBe(true);
  expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
  expect(await bench.entries()).toHaveLength(2);
});

test('a failed store counts as recovered after a write, not after a read', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  const told: unknown[] = [];
  ledger.onStoreChange = (failure) => told.push(failure instanceof TurnpikeError ? failure.code : failure);
  gate.state = 'gone';
  await failureOf(ledger.admit(bench.admission(1)));
  await failureOf(ledger.admit(bench.admission(1)));
  expect(ledger.isAvailable).toBe(false);
  gate.recover();
  expect(await ledger.admit(bench.admission(101))).toMatchObject({ ok: false, meter: 'wallet' });
  await ledger.leave({ kind: 'leave', requestId: 'req_unknown' }, bench.account, bench.key, 'default');
  await Bun.sleep(200); // Admissions in doubt are released in the background, which has not succeeded yet.
  expect(ledger.isAvailable).toBe(false);
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: true });
  expect(ledger.isAvailable).toBe(true);
  expect(told).toEqual(['store_unavailable', null]);
});

test('an account whose rows stay locked is refused, and the store counts as available', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  const changes: unknown[] = [];
  ledger.onStoreChange = (failure) => changes.push(failure);
  gate.state = 'locked';
  expect(await failureOf(ledger.admit(bench.admission(1)))).toMatchObject({ code: 'store_unavailable' });
  expect(ledger.isAvailable).toBe(true);
  expect(changes).toEqual([]);
});

for (const state of ['gone', 'hung'] as const) {
  test(`after the wait a store that is still ${state} causes store_unavailable, and the ending is billed later, once`, async () => {
    await using node = await openNode(100);
    const { bench, gate, ledger } = node;
    const admission = bench.admission(50);
    await ledger.admit(admission);
    gate.state = state;
    const startedMs = performance.now();
    const failure = await failureOf(ledger.end(settlement(bench, admission.requestId, 30), 100));
    expect(failure).toMatchObject({ code: 'store_unavailable' });
    expect(performance.now() - startedMs).toBeGreaterThan(95);
    expect(performance.now() - startedMs).toBeLessThan(1000);
    expect(await bench.stores.ledger.accountMeters(bench.account, START_MS)).toMatchObject({ held: 50 });
    gate.recover();
    for (let turn = 0; turn < 100 && (await bench.wallet()).held > 0; turn++) await Bun.sleep(20);
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    const again = await ledger.end(settlement(bench, admission.requestId, 30), 100);
    expect(again).toMatchObject({ ok: true, cost: 30, writtenOff: 0 });
    expect(await bench.entries()).toHaveLength(2);
  });
}

test('an ending of a hold that was ended elsewhere is rejected', async () => {
  await using node = await openNode(100);
  const { bench, ledger } = node;
  const admission = bench.admission(50);
  await ledger.admit(admission);
  bench.clock.advance(bounds.leaseMs);
  await bench.ask({ kind: 'expire' });
  expect(await ledger.end(settlement(bench, admission.requestId, 30), 100)).toEqual({ ok: false, reason: 'ended' });
  expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
});

test('a node without a lease admits nothing', async () => {
  await using node = await openNode(100);
  const { bench, ledger } = node;
  bench.clock.advance(bounds.leaseMs);
  await bench.ask({ kind: 'expire' });
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: false, reason: 'not_owner' });
  expect(() => ledger.owner).toThrow('no lease');
});

test('a refusal under an old lease does not affect the current lease', async () => {
  await using node = await openNode(100);
  const { bench, ledger } = node;
  const owner = { ...ledger.owner, epoch: ledger.owner.epoch - 1 };
  expect(await ledger.admit(bench.admission(1, { owner }))).toMatchObject({ ok: false, reason: 'not_owner' });
  expect(await ledger.admit(bench.admission(1, { owner: ledger.owner }))).toMatchObject({ ok: true });
});

test('an ending that violates an invariant frees its hold, even during an outage of the store', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  const admission = bench.admission(60);
  await ledger.admit(admission);
  const ending = failureOf(ledger.end(settlement(bench, admission.requestId, 0.5), 10_000));
  gate.state = 'gone';
  await Bun.sleep(20);
  expect(await bench.wallet()).toEqual({ balance: 100, held: 60 });
  gate.state = 'up';
  expect(await ending).toBeInstanceOf(BrokenInvariant);
  expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
});

test('opening ends the holds of an earlier run and returns their number', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  await ledger.admit(bench.admission(10));
  await ledger.admit(bench.admission(20));
  const next = new NodeLedger(gate, manualClock(START_MS), 'node-1');
  expect(await next.open()).toBe(2);
  next.close();
  expect(next.owner.epoch).toBe(bench.owner.epoch + 1);
  expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
});

test('an admission whose answer is lost leaves no hold behind', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  gate.state = 'lossy';
  expect(await failureOf(ledger.admit(bench.admission(60)))).toMatchObject({ code: 'store_unavailable' });
  gate.state = 'up';
  await until(async () => (await bench.stores.ledger.accountMeters(bench.account, START_MS))?.held === 0);
  expect(await ledger.admit(bench.admission(100))).toMatchObject({ ok: true });
});

test('a stopping node waits for pending endings', async () => {
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  const admission = bench.admission(60);
  await ledger.admit(admission);
  gate.state = 'gone';
  expect(await failureOf(ledger.end(settlement(bench, admission.requestId, 40), 10))).toMatchObject({
    code: 'store_unavailable',
  });
  expect(await ledger.finishEndings(20)).toBe(1);
  gate.state = 'up';
  expect(await ledger.finishEndings(10_000)).toBe(0);
  expect(await bench.stores.ledger.accountMeters(bench.account, START_MS)).toMatchObject({ balance: 60, held: 0 });
});

test('an admission gives up on a silent store after its bound, and its possible hold is released', async () => {
  const timers = new HandTimers();
  await using node = await openNode(100, timers);
  const { bench, gate, ledger } = node;
  for (let turn = 0; turn < 2; turn++) {
    gate.state = 'hung';
    const admission = failureOf(ledger.admit(bench.admission(60)));
    timers.fire(bounds.admissionWaitMsMax);
    expect(await admission).toMatchObject({ code: 'store_unavailable', status: 503 });
    expect(ledger.isAvailable).toBe(false);
    gate.recover();
    await until(async () => gate.released.length === turn + 1);
    await until(async () => (await bench.wallet()).held === 0);
    expect(ledger.isAvailable).toBe(true);
  }
});

test('no timer is left after a wait, whether it succeeded or failed', async () => {
  const timers = new HandTimers();
  await using node = await openNode(100, timers);
  const { bench, gate, ledger } = node;
  await ledger.admit(bench.admission(10));
  expect(timers.waiting.size).toBe(0);
  gate.state = 'gone';
  await failureOf(ledger.admit(bench.admission(10)));
  expect([...timers.waiting.values()]).not.toContain(bounds.admissionWaitMsMax);
});

test('doubtful admissions are bounded: beyond the bound nothing is admitted, and none is forgotten', async () => {
  using _ = setBounds(LOWER);
  await using node = await openNode(1_000_000);
  const { bench, gate, ledger } = node;
  gate.state = 'losing-admissions';
  const failures = new Set<unknown>();
  for (let count = 0; count < bounds.doubtfulAdmissionsMax; ) {
    const many = Math.min(bounds.ledgerQueuePerAccountMax, bounds.doubtfulAdmissionsMax - count);
    count += many;
    const asked = Array.from({ length: many }, () => failureOf(ledger.admit(bench.admission(1))));
    for (const failure of await Promise.all(asked)) failures.add((failure as TurnpikeError).code);
  }
  expect([...failures]).toEqual(['store_unavailable']);
  expect(await bench.stores.ledger.accountMeters(bench.account, START_MS)).toMatchObject({
    held: bounds.doubtfulAdmissionsMax,
  });
  const { admissions } = gate;
  expect(await failureOf(ledger.admit(bench.admission(1)))).toMatchObject({ code: 'store_unavailable' });
  expect(gate.admissions).toBe(admissions);
  gate.state = 'up';
  await until(async () => gate.released.length === admissions);
  expect(await bench.stores.ledger.accountMeters(bench.account, START_MS)).toMatchObject({ held: 0 });
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: true });
});

test('admissions that certainly failed are not retried', async () => {
  using _ = setBounds(LOWER);
  await using node = await openNode(100);
  const { bench, gate, ledger } = node;
  gate.state = 'refusing';
  for (let turn = 0; turn < 5; turn++) {
    const many = Array.from({ length: bounds.ledgerQueuePerAccountMax / 2 }, () =>
      failureOf(ledger.admit(bench.admission(1, { account: turn }))),
    );
    await Promise.all(many);
  }
  const { asked } = gate;
  gate.state = 'up';
  expect(await ledger.admit(bench.admission(1))).toMatchObject({ ok: true });
  expect(gate.released).toEqual([]);
  expect(gate.asked).toBe(asked + 1);
});

test('an idempotency refusal names the message and is not remembered', async () => {
  await using node = await openNode(100);
  const { bench, ledger } = node;
  const claim = { name: 'order-17', requestHash: 'hash' };
  const first = bench.admission(10, { claim });
  await ledger.admit(first);
  const { requestId } = first;
  expect(await ledger.admit(bench.admission(10, { claim }))).toEqual({ ok: false, reason: 'claim_running', requestId });
  await ledger.end(settlement(bench, requestId, 0), 1000);
  expect(await ledger.admit(bench.admission(10, { claim }))).toMatchObject({ ok: true });
});

test('a node suspended past its lease keeps lease, epoch and messages if nobody ended them', async () => {
  const timers = new HandTimers();
  await using node = await openNode(100, timers);
  const { bench, ledger } = node;
  const { epoch } = ledger.owner;
  await ledger.admit(bench.admission(10));
  for (let turn = 0; turn < 2; turn++) {
    bench.clock.advance(bounds.leaseMs + 1);
    await timers.turn();
    expect(ledger.owner.epoch).toBe(epoch);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 10 });
  }
});

test('a node whose lease was ended takes a new one at the next renewal and admits under the new epoch', async () => {
  const timers = new HandTimers();
  await using node = await openNode(100, timers);
  const { bench, ledger } = node;
  const { epoch } = ledger.owner;
  bench.clock.advance(bounds.leaseMs);
  await bench.ask({ kind: 'expire' });
  await timers.turn();
  expect(ledger.owner.epoch).toBeGreaterThan(epoch);
  expect(await ledger.admit(bench.admission(1, { owner: ledger.owner }))).toMatchObject({ ok: true });
  await bench.takeLease('node-1');
  expect(await ledger.admit(bench.admission(1, { owner: ledger.owner }))).toMatchObject({ reason: 'not_owner' });
  expect(() => ledger.owner).toThrow('no lease');
  await timers.turn();
  expect(await ledger.admit(bench.admission(1, { owner: ledger.owner }))).toMatchObject({ ok: true });
});

test('a node ends holds of lapsed nodes, and refusals behind them are forgotten', async () => {
  const timers = new HandTimers();
  await using node = await openNode(100, timers);
  const { bench, ledger } = node;
  const owner = await bench.takeLease('node-2');
  await bench.begin(60, { owner });
  bench.clock.advance(bounds.leaseMs - 1);
  await timers.turn();
  const admission = () => ledger.admit(bench.admission(50, { owner: ledger.owner }));
  expect(await admission()).toMatchObject({ ok: false, behindHolds: true });
  bench.clock.advance(1);
  await timers.turn();
  expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  expect(await admission()).toMatchObject({ ok: true });
});

/** Resolves when the claim is true. Polls for a few seconds. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (await isTrue()) return;
    await Bun.sleep(10);
  }
  throw new Error('it did not become true');
}
