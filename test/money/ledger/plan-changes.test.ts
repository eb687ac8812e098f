// Windows of plans over changes of plans: sequences of purchases, changes, ends, time and spending, played by an account that
// wants more than one plan gives. The oracle knows no windows: it adds up what was spent in each stretch of time.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { PlanTerms, WindowLength } from '../../../src/ledger/ledger.ts';
import { memoryStores, sumMemory } from '../../support/memory-store/memory-store.ts';
import { type OpenStores, openWorkbench, type Workbench } from './workbench.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The least time of each length. */
const LENGTHS: Readonly<Record<WindowLength, number>> = {
  '5h': 5 * HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 28 * DAY_MS,
};
const LIMIT = 10;

type Step =
  | { kind: 'plan'; lengths: WindowLength[]; limit: number; anchor: 'now' | 'same' | number; paidMs: number | null }
  | { kind: 'end' }
  | { kind: 'windows'; lengths: WindowLength[]; limit: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'spend'; isClaimed: boolean }
  | { kind: 'begin' }
  | { kind: 'finish'; cost: number }
  | { kind: 'refund'; which: number }
  | { kind: 'answer' };

const lengths = fc.subarray(Object.keys(LENGTHS) as WindowLength[], { minLength: 1, maxLength: 2 });
const limit = fc.constantFrom(LIMIT, LIMIT, LIMIT / 2);
const ms = fc.oneof(
  fc.constantFrom(1, MINUTE_MS, HOUR_MS, ...Object.values(LENGTHS), 31 * DAY_MS),
  fc.integer({ min: 0, max: 5 * HOUR_MS }),
  fc.integer({ min: 0, max: 8 * DAY_MS }),
);
const anchor = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('now' as const, 'same' as const) },
  { weight: 1, arbitrary: fc.integer({ min: -10 * DAY_MS, max: 10 * DAY_MS }) },
  // A window that is about to end.
  { weight: 1, arbitrary: fc.constantFrom(...Object.values(LENGTHS)).map((lengthMs) => MINUTE_MS - lengthMs) },
);
const spend: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('spend' as const), isClaimed: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('begin' as const) }) },
);
const change: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('plan' as const),
      lengths,
      limit,
      anchor,
      paidMs: fc.option(fc.oneof(ms, fc.integer({ min: -DAY_MS, max: 0 })), { freq: 2 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('windows' as const), lengths, limit }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('finish' as const), cost: fc.integer({ min: 0, max: LIMIT }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('refund' as const), which: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('answer' as const) }) },
);
/** A change, and what is spent after it. */
const turn = fc.tuple(change, fc.option(spend, { freq: 4 })).map((steps) => steps.filter((step) => step !== null));
/** Moves that give something once are tried again and again. */
const round = fc
  .tuple(fc.array(turn, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 5 }))
  .map(([turns, times]) => Array.from({ length: times }, () => turns.flat()).flat());
const steps = fc.array(round, { minLength: 1, maxLength: 6, size: 'max' }).map((rounds) => rounds.flat());

interface Spent {
  requestId: string;
  atMs: number;
  lengths: readonly WindowLength[];
  amount: number;
}

/** An account without balance, so that the plan pays for everything. */
class Spender {
  readonly spent: Spent[] = [];
  readonly #bench: Workbench;
  readonly #graceMs: number;
  readonly #running: { requestId: string; amount: number; atMs: number; lengths: readonly WindowLength[] }[] = [];
  #lengths: readonly WindowLength[] = [];
  #anchorMs: number;
  /** Idempotency keys that were answered. */
  #answered = 0;

  constructor(bench: Workbench, graceMs: number) {
    this.#bench = bench;
    this.#graceMs = graceMs;
    this.#anchorMs = bench.clock.nowMs();
  }

  async take(step: Step): Promise<void> {
    const { clock, account } = this.#bench;
    switch (step.kind) {
      case 'plan':
        return this.#buy(step);
      case 'end':
        await this.#bench.submit({ kind: 'set-plan', account, plan: null });
        return;
      case 'windows': {
        const windows = windowsOf(step.lengths, step.limit);
        const answer = await this.#bench.submit({ kind: 'change-plan', account, name: 'plan', changes: { windows } });
        if (answer.ok) this.#lengths = step.lengths;
        return;
      }
      case 'wait':
        return clock.advance(step.ms);
      case 'spend': {
        const begun = await this.#begin(step.isClaimed);
        if (begun) await this.#finish(LIMIT, step.isClaimed ? 'upstream_cut' : 'completed');
        return;
      }
      case 'begin':
        await this.#begin(false);
        return;
      case 'finish':
        return this.#finish(step.cost, 'completed');
      case 'refund':
        return this.#refund(step.which);
      case 'answer':
        return this.#answer();
    }
  }

  async #buy({ lengths, limit, anchor, paidMs }: Extract<Step, { kind: 'plan' }>): Promise<void> {
    const { clock, account } = this.#bench;
    const nowMs = clock.nowMs();
    if (anchor !== 'same') this.#anchorMs = anchor === 'now' ? nowMs : nowMs + anchor;
    const paidUntilMs = paidMs === null ? null : nowMs + paidMs;
    const terms: PlanTerms = {
      name: 'plan',
      windows: windowsOf(lengths, limit),
      groups: null,
      anchorMs: this.#anchorMs,
      paidUntilMs,
      endsAtMs: paidUntilMs === null ? null : paidUntilMs + this.#graceMs,
      overflow: true,
    };
    await this.#bench.submit({ kind: 'set-plan', account, plan: terms });
    this.#lengths = lengths;
  }

  /** Holds as much as the plan has left. */
  async #begin(isClaimed: boolean): Promise<boolean> {
    const claim = isClaimed ? { claim: { name: `name ${this.#answered}`, requestHash: 'same' } } : {};
    const admission = this.#bench.admission(LIMIT, { least: 1, ...claim });
    const answer = await this.#bench.ask(admission);
    if (!answer.ok || answer.kind !== 'admitted') return false;
    const { requestId } = admission;
    this.#running.push({ requestId, amount: answer.amount, atMs: this.#bench.clock.nowMs(), lengths: this.#lengths });
    return true;
  }

  /** Ends the last message that was begun. */
  async #finish(most: number, outcome: 'completed' | 'upstream_cut', isAnswer = false): Promise<void> {
    const message = this.#running.pop();
    if (message === undefined) return;
    const { requestId, atMs, lengths } = message;
    const cost = Math.min(most, message.amount);
    const record = this.#bench.record(requestId, { cost, outcome });
    const answer = await this.#bench.ask({ kind: 'settle', requestId, record, isAnswer });
    expect(answer).toMatchObject({ ok: true, cost, writtenOff: 0 });
    this.spent.push({ requestId, atMs, lengths, amount: cost });
  }

  async #refund(which: number): Promise<void> {
    const { spent } = this;
    if (spent.length > 0)
      await this.#noteReturns(() =>
        this.#bench.submit({
          kind: 'refund',
          requestId: spent[which % spent.length]?.requestId ?? '',
          amount: 'all',
          note: null,
        }),
      );
  }

  /** A free answer reverses the failed attempts of the idempotency key. */
  async #answer(): Promise<void> {
    await this.#noteReturns(async () => {
      if (await this.#begin(true)) await this.#finish(0, 'completed', true);
    });
    this.#answered++;
  }

  async #noteReturns(change: () => Promise<unknown>): Promise<void> {
    const before = await this.#costs();
    await change();
    const after = await this.#costs();
    for (const { requestId, lengths } of [...this.spent]) {
      const amount = (after.get(requestId) ?? 0) - (before.get(requestId) ?? 0);
      if (amount < 0) this.spent.push({ requestId, atMs: this.#bench.clock.nowMs(), lengths, amount });
    }
  }

  async #costs(): Promise<Map<string, number>> {
    const costs = new Map<string, number>();
    for (const { requestId } of this.spent)
      costs.set(requestId, (await this.#bench.stores.usage.getUsage(requestId))?.cost ?? 0);
    return costs;
  }
}

function windowsOf(lengths: readonly WindowLength[], limit: number): PlanTerms['windows'] {
  return lengths.map((length) => ({ length, limit }));
}

/** Stretches of time in which more was spent than windows of a length can give that follow each other. */
function excesses(spent: readonly Spent[], graceMs: number): string[] {
  const faults: string[] = [];
  for (const [length, leastMs] of Object.entries(LENGTHS) as [WindowLength, number][]) {
    const flows = spent
      .filter(({ lengths }) => lengths.includes(length))
      .toSorted((one, other) => one.atMs - other.atMs);
    for (const [from, { atMs: fromMs }] of flows.entries()) {
      let sum = 0;
      for (const { atMs, amount } of flows.slice(from)) {
        sum += amount;
        // The first window may have begun before, and what is left of one that is no longer paid may be used later.
        const windows = Math.floor((atMs - fromMs) / leastMs) + (graceMs > 0 ? 3 : 2);
        if (sum > windows * LIMIT) faults.push(`${length}: ${sum} in ${(atMs - fromMs) / HOUR_MS} hours`);
      }
    }
  }
  return faults;
}

const openMemory: OpenStores = (clock) => {
  const stores = memoryStores(clock);
  return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
};

async function play(steps: readonly Step[], graceMs: number): Promise<readonly Spent[]> {
  await using bench = await openWorkbench(openMemory, 0);
  const spender = new Spender(bench, graceMs);
  for (const step of steps) await spender.take(step);
  return spender.spent;
}

test('no sequence of changes, time and spending gives more than windows of one plan', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(0, 0, 72 * HOUR_MS), async (steps, graceMs) => {
      expect(excesses(await play(steps, graceMs), graceMs)).toEqual([]);
    }),
    { numRuns: 1000 },
  );
});

test('a message is charged to the windows that held it, although the plan after it ended in the past', async () => {
  const month = { kind: 'plan', lengths: ['month'], limit: LIMIT, anchor: 'now', paidMs: null } as const;
  const turn: Step[] = [
    { ...month, lengths: ['month'] },
    { kind: 'begin' },
    { ...month, lengths: ['month'], anchor: 0, paidMs: -1 },
    { ...month, lengths: ['week'] },
    { kind: 'finish', cost: LIMIT / 2 },
  ];
  const spent = await play(Array.from({ length: 5 }, () => turn).flat(), 0);
  expect(excesses(spent, 0)).toEqual([]);
  expect(spent.length).toBeGreaterThan(1);
});
