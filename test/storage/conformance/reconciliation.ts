// Records, journal and balance of an account agree to the nanodollar after any sequence of operations: messages above
// and below their hold, exhausted quotas, crashes and late corrections, refunds, idempotent retries, credits and
// written-off debts.

import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { newRequestId } from '../../../src/base/ids.ts';
import { type Entry, type PlanTerms, type StoredUsageRecord, systemAccounts } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { makeRandom } from '../../support/random.ts';

const STEPS = 200;

const plan: PlanTerms = {
  name: 'basic',
  windows: [{ length: 'day', limit: 2_000 }],
  groups: null,
  anchorMs: START_MS,
  paidUntilMs: null,
  endsAtMs: null,
  overflow: true,
};

export function reconciliationConformance(open: OpenStores): void {
  for (const seed of [1, 2])
    test(`after ${STEPS} random steps, seed ${seed}`, async () => {
      await using bench = await openWorkbench(open, 2_000);
      await bench.setAccount({ creditLine: 9_000 });
      if (seed === 2) await bench.submit({ kind: 'set-plan', account: bench.account, plan });
      const traffic = new Traffic(bench, makeRandom(seed));
      for (let step = 0; step < STEPS; step++) await traffic.step();
      await traffic.end();
      await expectReconciled(bench);
      const kinds = new Set((await entriesOf(bench)).map(({ kind }) => kind));
      expect([...kinds].sort()).toEqual([
        'adjustment',
        'correction',
        'debt_write_off',
        'payment',
        'refund',
        'usage',
        'write_off',
      ]);
    });
}

/** Random operations of clients, operators and crashes on one account. */
class Traffic {
  readonly #bench: Workbench;
  readonly #random: () => number;
  readonly #open: string[] = [];
  readonly #ended: string[] = [];

  constructor(bench: Workbench, random: () => number) {
    this.#bench = bench;
    this.#random = random;
  }

  async step(): Promise<void> {
    const steps = [
      () => this.#begin(),
      () => this.#begin(),
      () => this.#settle(),
      () => this.#settle(),
      () => this.#crash(),
      () => this.#refund(),
      () => this.#bench.setKey({ quota: this.#random() < 0.5 ? null : this.#below(3_000), quotaPeriod: 'day' }),
      () => this.#bench.credit(this.#below(400) - 200, { source: 'adjustment' }),
      () => this.#bench.credit(1 + this.#below(300), { source: 'write_off' }),
    ];
    await (steps[this.#below(steps.length)] as () => Promise<unknown>)();
    this.#bench.clock.advance(this.#below(DAY_MS / 20));
  }

  /** Ends all open messages. */
  async end(): Promise<void> {
    while (this.#open.length > 0) await this.#settle();
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #take(from: string[]): string | undefined {
    return from.splice(this.#below(from.length), 1)[0];
  }

  /** Also retries under the idempotency key of a failed attempt, which is then reversed. */
  async #begin(): Promise<void> {
    const bench = this.#bench;
    await bench.takeLease('node-1');
    const requestId = newRequestId(bench.clock.nowMs());
    const claim = { name: `claim ${this.#below(5)}`, requestHash: 'the same' };
    const facts = { requestId, least: 1, ...(this.#random() < 0.3 && { claim }) };
    if ((await bench.admit(this.#below(900), facts)).ok) this.#open.push(requestId);
  }

  /** Costs less or more than is held. */
  async #settle(): Promise<void> {
    const requestId = this.#take(this.#open);
    if (requestId === undefined) return;
    const providerCost = this.#random() < 0.5 ? null : this.#below(100);
    const answer = await this.#bench.settle(requestId, this.#below(1_500), { outcome: 'upstream_cut', providerCost });
    if (answer.ok) this.#ended.push(requestId);
  }

  /** A checkpoint is charged, and corrected by the late owner. */
  async #crash(): Promise<void> {
    const [requestId] = this.#open;
    if (requestId === undefined) return;
    await this.#bench.extend(requestId, 500, this.#bench.record(requestId, { cost: this.#below(600) }));
    this.#bench.clock.advance(20_000);
    await this.#bench.ask({ kind: 'expire' });
    for (const late of this.#open.splice(0)) {
      if (this.#random() < 0.7) await this.#bench.settle(late, this.#below(900));
      this.#ended.push(late);
    }
  }

  async #refund(): Promise<void> {
    const requestId = this.#take(this.#ended);
    if (requestId === undefined) return;
    const amount = this.#random() < 0.5 ? 'all' : this.#below(300);
    await this.#bench.ask({ kind: 'refund', requestId, amount, note: null });
    this.#ended.push(requestId);
  }
}

async function entriesOf({ stores, account }: Workbench): Promise<Entry[]> {
  return stores.ledger.listEntries({ account, sinceMs: null, untilMs: null, before: null, limit: 100_000 });
}

async function recordsOf({ stores, account }: Workbench): Promise<StoredUsageRecord[]> {
  const page = { account, key: null, madeBy: null, outcome: null, sinceMs: null, untilMs: null, before: null };
  return stores.usage.listUsage({ ...page, limit: 100_000 });
}

async function expectReconciled(bench: Workbench): Promise<void> {
  const [entries, records] = await Promise.all([entriesOf(bench), recordsOf(bench)]);
  const moved = (to: number, kinds: readonly Entry['kind'][]) =>
    entries
      .filter(({ kind }) => kinds.includes(kind))
      .reduce((sum, { debit, credit, amount }) => sum + (credit === to ? amount : debit === to ? -amount : 0), 0);
  const sum = (value: (record: StoredUsageRecord) => number) => records.reduce((all, record) => all + value(record), 0);
  const change = entries.reduce(
    (all, { debit, credit, amount }) =>
      all + (credit === bench.account ? amount : debit === bench.account ? -amount : 0),
    0,
  );
  expect((await bench.wallet()).balance).toBe(change);
  expect(sum(({ cost, writtenOff }) => cost - writtenOff)).toBe(
    -moved(bench.account, ['usage', 'correction', 'refund']) -
      moved(systemAccounts.plans, ['usage', 'correction', 'refund']),
  );
  await expectCharged(bench, entries, records.length);
  expect(sum(({ writtenOff }) => writtenOff)).toBe(-moved(systemAccounts.writeOffs, ['write_off', 'correction']));
  expect(sum(({ cost }) => cost)).toBe(moved(systemAccounts.revenue, ['usage', 'write_off', 'correction', 'refund']));
  const question = {
    account: bench.account,
    key: null,
    madeBy: null,
    model: null,
    sinceMs: null,
    untilMs: null,
    limit: 1,
  };
  for (const groupBy of ['day', 'account'] as const) {
    const { whole } = await bench.stores.usage.totalUsage({ ...question, groupBy });
    expect({ ...whole, costedRevenue: 0n }).toMatchObject({
      messages: records.length,
      cost: BigInt(sum(({ cost }) => cost)),
      writtenOff: BigInt(sum(({ writtenOff }) => writtenOff)),
      providerCost: BigInt(sum(({ providerCost }) => providerCost ?? 0)),
      costedMessages: records.filter(({ providerCost }) => providerCost !== null).length,
    });
  }
}

/** The parts that paid for each message at its end equal its entries, whatever was given back since. */
async function expectCharged(
  { stores, account }: Workbench,
  entries: readonly Entry[],
  records: number,
): Promise<void> {
  const page = { account, sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER, before: null, limit: 100_000 };
  const charged = await stores.usage.listCharged(page);
  const ends = Map.groupBy(entries, ({ reference }) => reference);
  expect(charged.length).toBe(records);
  expect(charged.map(({ atMs: _, record: { requestId }, seq: _seq, ...parts }) => ({ requestId, ...parts }))).toEqual(
    charged.map(({ record: { requestId } }) => {
      const paidBy = (party: number) =>
        (ends.get(requestId) ?? [])
          .filter(({ kind, debit }) => (kind === 'usage' || kind === 'write_off') && debit === party)
          .reduce((sum, { amount }) => sum + amount, 0);
      const { plans, writeOffs } = systemAccounts;
      return { requestId, balancePaid: paidBy(account), planPaid: paidBy(plans), writtenOff: paidBy(writeOffs) };
    }),
  );
}
