// Three nodes on one database under concurrent load: limits are as exact as on one node, and holds of a dead node end
// once.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../src/config/config.ts';
import type { Admit, Answer, Operation, RateLimits } from '../../src/ledger/ledger.ts';
import { PostgresGate } from '../../src/storage/postgres/postgres.ts';
import { ask, NO_LIMITS, openWorkbench, START_MS, type Workbench } from '../money/ledger/workbench.ts';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { type OpenedPostgres, openPostgresLanes } from './open-postgres.ts';

const ASKED_AT_ONCE = 5_000;
const ENOUGH_FOR = 250;
const PRICE = 40;

interface Nodes extends AsyncDisposable {
  bench: Workbench;
  gates: readonly PostgresGate[];
  /** Sends each request to the next node, all concurrently; returns the answers in order. */
  askAll(operations: readonly Operation[]): Promise<Answer[]>;
}

async function openNodes(balance: number, terms = {}): Promise<Nodes> {
  let opened: OpenedPostgres | undefined;
  const bench = await openWorkbench(async (clock) => (opened = await openPostgresLanes(clock)), balance, terms);
  const url = (opened as OpenedPostgres | undefined)?.url as string;
  const gates = Array.from({ length: 3 }, () => new PostgresGate(url, { clock: bench.clock }));
  // Opens the connections of each node first, so that they really work concurrently.
  for (const gate of gates) {
    await ask(gate, bench.admission(0, { owner: { node: 'none', epoch: 0 } })); // Refused.
    await ask(gate, { kind: 'expire' });
  }
  return {
    bench,
    gates,
    askAll: (operations) =>
      Promise.all(operations.map((operation, at) => ask(gates[at % gates.length] as PostgresGate, operation))),
    async [Symbol.asyncDispose]() {
      await Promise.all(gates.map((gate) => gate.close()));
      await bench[Symbol.asyncDispose]();
    },
  };
}

const settlement = (bench: Workbench, { requestId, key }: Admit, cost: number) =>
  ({ kind: 'settle', requestId, record: bench.record(requestId, { cost, key }) }) as const;

describe.skipIf(cannotStartPostgres)('three nodes on one database', () => {
  test('admit as many of 5,000 concurrent messages as an account can pay for, and bill each once', async () => {
    await using nodes = await openNodes(ENOUGH_FOR * PRICE);
    const { bench } = nodes;
    const admissions = Array.from({ length: ASKED_AT_ONCE }, () => bench.admission(PRICE));
    const answers = await nodes.askAll(admissions);
    const admitted = admissions.filter((_, at) => answers[at]?.ok);
    expect(admitted).toHaveLength(ENOUGH_FOR);
    expect(await bench.wallet()).toEqual({ balance: ENOUGH_FOR * PRICE, held: ENOUGH_FOR * PRICE });
    // Each is settled at all three nodes.
    const settlements = admitted.flatMap((one) => [1, 2, 3].map(() => settlement(bench, one, PRICE)));
    for (const answer of await nodes.askAll(settlements))
      expect(answer).toMatchObject({ ok: true, kind: 'ended', cost: PRICE, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
  });

  test('admit as many of 5,000 concurrent messages as the quota of a key allows', async () => {
    await using nodes = await openNodes(1_000_000, { quota: ENOUGH_FOR * PRICE });
    const { bench } = nodes;
    const answers = await nodes.askAll(Array.from({ length: ASKED_AT_ONCE }, () => bench.admission(PRICE)));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(ENOUGH_FOR);
    expect(answers.filter((answer) => 'meter' in answer && answer.meter === 'quota')).toHaveLength(
      ASKED_AT_ONCE - ENOUGH_FOR,
    );
    const meters = await bench.stores.ledger.keyMeters(bench.key, START_MS);
    expect(meters).toMatchObject({ quotaUsed: 0, quotaHeld: ENOUGH_FOR * PRICE });
  });

  test('run no more concurrent messages than a key may, whichever node frees the slots', async () => {
    const limits: RateLimits = { ...NO_LIMITS, concurrency: 10 };
    await using nodes = await openNodes(1_000_000, limits);
    const { bench } = nodes;
    let running: Admit[] = [];
    for (let round = 0; round < 3; round++) {
      const admissions = Array.from({ length: 100 }, () => bench.admission(PRICE));
      const answers = await nodes.askAll(admissions);
      const admitted = admissions.filter((_, at) => answers[at]?.ok);
      expect(admitted).toHaveLength(10);
      running = admitted.toReversed(); // Makes each go to another node than before.
      const givenBack = running.map((one, at): Operation => {
        return at % 2 === 0 ? settlement(bench, one, PRICE) : { kind: 'leave', requestId: one.requestId };
      });
      for (const answer of await nodes.askAll(givenBack)) expect(answer).toMatchObject({ ok: true });
    }
  });

  test('admit as many concurrent messages as a reserve pays for, and no node ends it', async () => {
    const reserved = 50 * PRICE;
    await using nodes = await openNodes(reserved);
    const { bench, gates } = nodes;
    const { account, key } = bench;
    const draft = { model: 'sandbox-echo', stream: false };
    const of = { requestId: 'rsv_1', account, key, group: 'default', limits: NO_LIMITS, amount: reserved, draft };
    expect(await bench.ask({ kind: 'reserve', ...of })).toMatchObject({ ok: true, amount: reserved });
    const admissions = Array.from({ length: 300 }, (_, at) =>
      bench.admission(PRICE, { reserve: 'rsv_1', claim: { name: `item-${at}`, requestHash: 'hash' } }),
    );
    // Each goes to two nodes, as after a lost answer.
    const both = await nodes.askAll(admissions.flatMap((one) => [one, one]));
    const admitted = admissions.filter((_, at) => both[2 * at]?.ok);
    expect(admitted).toHaveLength(50);
    expect(admissions.filter((_, at) => both[2 * at + 1]?.ok)).toEqual(admitted);
    expect(await bench.wallet()).toEqual({ balance: reserved, held: reserved });
    const [first, second, third, ...others] = admitted;
    for (const one of [first, second] as Admit[]) await ask(gates[0] as PostgresGate, settlement(bench, one, 10));
    // A lowered hold of a message goes to the wallet, and a raised reserve takes it from there.
    await ask(gates[1] as PostgresGate, {
      kind: 'extend',
      requestId: third?.requestId ?? '',
      amount: 0,
      checkpoint: null,
    });
    const raised = { kind: 'extend', requestId: 'rsv_1', amount: reserved, checkpoint: null } as const;
    const more = 3 * PRICE - 2 * 10;
    for (const answer of await nodes.askAll([raised, raised, raised])) expect(answer).toMatchObject({ amount: more });
    bench.clock.advance(15_001);
    await bench.takeLease('node-1');
    const { holdsExpiredAtOnce } = bounds;
    Object.assign(bounds, { holdsExpiredAtOnce: 10 }); // none of which is the reserve
    const ended = await nodes.askAll([1, 2, 3].map(() => ({ kind: 'expire', lost: ['rsv_1'] }) as const));
    Object.assign(bounds, { holdsExpiredAtOnce });
    const counts = ended.map((answer) => (answer.ok && answer.kind === 'expired' ? answer.holds : -1));
    expect(counts.reduce((sum, count) => sum + count)).toBe(others.length + 1);
    expect(await bench.wallet()).toEqual({ balance: reserved - 2 * 10, held: more });
    for (const answer of await nodes.askAll([1, 2, 3].map(() => ({ kind: 'give-back', requestId: 'rsv_1' }) as const)))
      expect(answer).toEqual({ ok: true, kind: 'done' });
    expect(await bench.wallet()).toEqual({ balance: reserved - 2 * 10, held: 0 });
  });

  test('admit as many messages per minute as the group of an account allows, and as many as have drained since', async () => {
    const limits: RateLimits = { ...NO_LIMITS, requestsPerMinute: 60 };
    await using nodes = await openNodes(1_000_000);
    const { bench } = nodes;
    const count = async () => {
      const answers = await nodes.askAll(Array.from({ length: 300 }, () => bench.admission(1, { limits })));
      return answers.filter(({ ok }) => ok).length;
    };
    expect(await count()).toBe(60);
    bench.clock.advance(10_000);
    expect(await count()).toBe(10);
  });

  test('end the holds of a lapsed node, report that when it returns, and apply its correction once', async () => {
    await using nodes = await openNodes(1_000);
    const { bench, gates } = nodes;
    const left = await bench.takeLease('node-left');
    const admission = bench.admission(100, { owner: left });
    expect(await ask(gates[0] as PostgresGate, admission)).toMatchObject({ ok: true });
    bench.clock.advance(15_001);
    expect(await ask(gates[1] as PostgresGate, { kind: 'expire' })).toMatchObject({ kind: 'expired', holds: 1 });
    expect(await bench.wallet()).toEqual({ balance: 1_000, held: 0 });
    const late = Array.from({ length: 9 }, () => settlement(bench, admission, 70));
    for (const answer of await nodes.askAll(late)) expect(answer).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 930, held: 0 });
    expect((await bench.entries()).map(({ kind }) => kind)).toEqual(['correction', 'payment']);
    const again = await nodes.askAll([1, 2, 3].map(() => bench.admission(1, { owner: left })));
    for (const answer of again) expect(answer).toMatchObject({ ok: false, reason: 'not_owner' });
  });

  test('that concurrently renew and expire a lapsed lease do exactly one of both', async () => {
    await using nodes = await openNodes(1_000_000);
    const { bench, gates } = nodes;
    for (let round = 0; round < 40; round++) {
      const owner = await bench.takeLease('node-left');
      const requestId = await bench.begin(10, { owner });
      bench.clock.advance(15_001);
      const renew = () => ask(gates[0] as PostgresGate, { kind: 'renew', ...owner, leaseMs: 15_000 });
      const expire = () => ask(gates[1] as PostgresGate, { kind: 'expire' });
      const asked = round % 2 === 0 ? [renew(), expire()] : [expire(), renew()];
      const renewed = (await Promise.all(asked))[round % 2] as Answer;
      const next = await ask(gates[2] as PostgresGate, bench.admission(1, { owner }));
      expect([renewed.ok, next.ok, (await bench.stores.ledger.openMessage(requestId)) !== null]).toEqual([
        renewed.ok,
        renewed.ok,
        renewed.ok,
      ]);
    }
  });

  test('that expire holds concurrently end each one once', async () => {
    await using nodes = await openNodes(1_000_000);
    const { bench } = nodes;
    const owner = await bench.takeLease('node-left');
    const holds = bounds.holdsExpiredAtOnce * 2 + 100;
    await nodes.askAll(Array.from({ length: holds }, () => bench.admission(10, { owner })));
    bench.clock.advance(15_001);
    const answers = await nodes.askAll(Array.from({ length: 6 }, () => ({ kind: 'expire' }) as const));
    const ended = answers.map((answer) => (answer.ok && answer.kind === 'expired' ? answer.holds : -1));
    expect(ended.reduce((sum, count) => sum + count)).toBe(holds);
    expect(await bench.wallet()).toEqual({ balance: 1_000_000, held: 0 });
  });

  test('that receive the same idempotency key concurrently run one message', async () => {
    await using nodes = await openNodes(1_000_000);
    const { bench } = nodes;
    for (let round = 0; round < 20; round++) {
      const claim = { name: `order-${round}`, requestHash: 'hash' };
      const admissions = Array.from({ length: 30 }, () => bench.admission(10, { claim }));
      const answers = await nodes.askAll(admissions);
      const [runs, ...more] = admissions.filter((_, at) => answers[at]?.ok);
      expect(more).toEqual([]);
      const others = answers.filter(({ ok }) => !ok);
      for (const answer of others)
        expect(answer).toEqual({ ok: false, reason: 'claim_running', requestId: runs?.requestId as string });
    }
  });
});
