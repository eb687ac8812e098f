// Money that is set aside for messages of later: what takes it, what they get of it, and what never ends it.

import { expect, test } from 'bun:test';
import { newRequestId } from '../../../src/base/ids.ts';
import type { Admit, GiveBack, Operation, PlanTerms, Reserve } from '../../../src/ledger/ledger.ts';
import {
  failureOf,
  NO_LIMITS,
  type OpenStores,
  openWorkbench,
  START_MS,
  type Workbench,
} from '../../money/ledger/workbench.ts';

const RESERVE = 'rsv_1';
const person = 77;
const LEASE_MS = 15_000;
const draft = { model: 'sandbox-echo', stream: false };
const TERMS = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;

function reserve({ account, key }: Workbench, amount: number, requestId = RESERVE): Reserve {
  return { kind: 'reserve', requestId, account, key, group: 'default', limits: NO_LIMITS, amount, draft };
}
const giveBack = (requestId = RESERVE): GiveBack => ({ kind: 'give-back', requestId });

/** A message of the reserve. Each has an idempotency key. */
function admission(bench: Workbench, amount: number, facts: Partial<Admit> = {}): Admit {
  const admit = bench.admission(amount, { reserve: RESERVE, ...facts });
  return { claim: { name: admit.requestId, requestHash: 'hash' }, ...admit };
}

const admitFrom = (bench: Workbench, amount: number, facts: Partial<Admit> = {}) =>
  bench.ask(admission(bench, amount, facts));

/** The open holds with their amounts. */
async function holdsOf({ stores, account }: Workbench): Promise<Record<string, number>> {
  const holds = await stores.ledger.listHolds({ account, after: null, limit: 100 });
  return Object.fromEntries(holds.map(({ requestId, amount }) => [requestId, amount]));
}

/** Every sum is checked as the test ends. */
export function reserveConformance(open: OpenStores): void {
  holdTests(open);
  takingTests(open);
  amountTests(open);
  refusalTests(open);
  keepingTests(open);
  changeTests(open);
  doneTests(open);
  movingTests(open);
}

function doneTests(open: OpenStores): void {
  test('and pays for work that was done already, whatever may be used now', async () => {
    const rates = { ...NO_LIMITS, requestsPerMinute: 1, outputTokensPerMinute: 5, concurrency: 1 };
    await using bench = await openWorkbench(open, 200, { quota: 200, ...rates });
    const { account } = bench;
    await bench.ask({ kind: 'set-person', person, account, enabled: true });
    await bench.setKey({ person, quota: 200 });
    await bench.ask(reserve(bench, 100));
    expect(await bench.admit(5, { limits: rates })).toMatchObject({ ok: true }); // the slot, and the request of the minute
    await bench.setKey({ person, quota: 1, status: 'disabled' });
    await bench.ask({ kind: 'set-person', person, account, enabled: false });
    await bench.setAccount({ enabled: false, allowance: 1 });
    const ids: string[] = [];
    for (const amount of [60, 30, 30]) {
      const admit = admission(bench, amount, { isDone: true, limits: rates });
      ids.push(admit.requestId);
      const given = amount === 30 && ids.length === 3 ? 10 : amount;
      expect(await bench.ask(admit)).toMatchObject({ ok: true, amount: given, available: 0 });
      expect(await bench.submit(admit)).toMatchObject({ ok: true, amount: given }); // repeated
    }
    expect((await holdsOf(bench))[RESERVE]).toBe(0);
    for (const requestId of ids) {
      const record = bench.record(requestId, { cost: 10, outputTokens: 1_000 });
      expect(await bench.ask({ kind: 'settle', requestId, record, isAnswer: true, isDone: true })).toMatchObject({
        ok: true,
        writtenOff: 0,
      });
    }
    expect(await bench.wallet()).toEqual({ balance: 170, held: 5 });
    await bench.release('req_1');
    await bench.setAccount({});
    await bench.setKey({ status: 'enabled' });
    await bench.ask({ kind: 'set-person', person, account, enabled: true });
    bench.clock.advance(60_000);
    expect(await bench.admit(5, { limits: rates })).toMatchObject({ ok: true }); // no tokens counted
    await bench.setKey({ person, quota: 1, status: 'disabled' });
    const [levels] = [await bench.stores.ledger.keyMeters(bench.key, START_MS)];
    expect(levels).toMatchObject({ quotaUsed: 30, quotaHeld: 5 });
    const admit = admission(bench, 1, { isDone: true, reserve: 'rsv_never' });
    expect(await bench.ask(admit)).toMatchObject({ ok: false, reason: 'key_disabled' });
  });

  test('and pays for it from the accounts that it was set aside in', async () => {
    await using bench = await openWorkbench(open, 100);
    const { account } = bench;
    const [before, after] = [await bench.addAccount(100), await bench.addAccount(0)];
    const below = (parent: number) =>
      bench.ask({ kind: 'set-account', account, terms: { ...TERMS, company: { parent, paysFrom: 'parent' } } });
    await below(before);
    await bench.ask(reserve(bench, 80));
    await below(after);
    const admit = admission(bench, 30, { isDone: true });
    expect(await bench.ask(admit)).toMatchObject({ ok: true, amount: 30 });
    const record = bench.record(admit.requestId, { cost: 20 });
    expect(await bench.ask({ kind: 'settle', requestId: admit.requestId, record, isDone: true })).toMatchObject({
      payer: before,
      writtenOff: 0,
    });
    const metersOf = async (id: number) => {
      const meters = await bench.stores.ledger.accountMeters(id, START_MS);
      return [meters?.balance, meters?.held];
    };
    expect(await Promise.all([before, after].map(metersOf))).toEqual([
      [80, 50],
      [0, 0],
    ]);
    await bench.ask(giveBack());
  });
}

function movingTests(open: OpenStores): void {
  test('beside a message alone, which sees holds that another account pays for', async () => {
    await using bench = await openWorkbench(open, 100);
    const { account } = bench;
    expect(await bench.admit(10)).toMatchObject({ ok: true });
    const terms = { ...TERMS, company: { parent: await bench.addAccount(100), paysFrom: 'parent' } } as const;
    await bench.ask({ kind: 'set-account', account, terms });
    const alone = bench.admission(200, { least: 1, isAloneIfShort: true });
    expect(await bench.ask(alone)).toMatchObject({ ok: false, reason: 'insufficient', behindHolds: true });
    await bench.release('req_1');
  });

  test('and an attempt that is reversed returns its cost to the account that paid', async () => {
    await using bench = await openWorkbench(open, 100);
    const { account } = bench;
    const [before, after] = [await bench.addAccount(100), await bench.addAccount(100)];
    const below = (parent: number) =>
      bench.ask({ kind: 'set-account', account, terms: { ...TERMS, company: { parent, paysFrom: 'parent' } } });
    const claim = { name: 'order-18', requestHash: 'hash' };
    const attempt = async (outcome: 'service_cut' | 'completed') => {
      const admit = bench.admission(30, { claim });
      expect(await bench.ask(admit)).toMatchObject({ ok: true });
      const record = bench.record(admit.requestId, { cost: 20, outcome });
      await bench.ask({ kind: 'settle', requestId: admit.requestId, record, isAnswer: outcome === 'completed' });
    };
    await below(before);
    await attempt('service_cut');
    await below(after);
    await attempt('completed');
    const balanceOf = async (id: number) => (await bench.stores.ledger.accountMeters(id, START_MS))?.balance;
    expect(await Promise.all([before, after].map(balanceOf))).toEqual([100, 80]);
  });
}

function holdTests(open: OpenStores): void {
  test('with what a hold has, in the name of no node', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.ask(reserve(bench, 80));
    const { account, key } = bench;
    const [hold] = await bench.stores.ledger.listHolds({ account, after: null, limit: 100 });
    const known = { requestId: RESERVE, account, key, group: 'default', amount: 80, draft };
    expect(hold).toEqual({ ...known, openedAtMs: bench.clock.nowMs(), left: false });
    for (const amount of [-1, Number.NaN, 0.5])
      expect(await failureOf(bench.ask(reserve(bench, amount, 'rsv_2')))).toBeInstanceOf(Error);
  });

  test('and gets back what a message held that costs nothing, if it says so and has the same key', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.ask(reserve(bench, 100));
    const release = async (into?: string) => {
      const admit = admission(bench, 30);
      await bench.ask(admit);
      const record = bench.record(admit.requestId, { outcome: 'failed', status: 502, usageSource: 'none' });
      await bench.ask({
        kind: 'release',
        requestId: admit.requestId,
        record,
        ...(into !== undefined && { reserve: into }),
      });
      return (await holdsOf(bench))[RESERVE];
    };
    expect(await release(RESERVE)).toBe(100);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
    expect(await release('rsv_2')).toBe(70);
    expect(await release()).toBe(40);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 40 });
  });
}

function takingTests(open: OpenStores): void {
  test('all of an amount, or nothing, without a slot and without a request of the rates', async () => {
    await using bench = await openWorkbench(open, 100, { concurrency: 1, requestsPerMinute: 1 });
    expect(await bench.ask(reserve(bench, 101))).toMatchObject({ ok: false, meter: 'wallet', available: 100 });
    expect(await bench.ask(reserve(bench, 80))).toMatchObject({ ok: true, kind: 'admitted', amount: 80 });
    expect(await bench.ask(reserve(bench, 10, 'rsv_2'))).toMatchObject({ ok: true, amount: 10 });
    expect(await bench.ask(reserve(bench, 50))).toMatchObject({ ok: true, amount: 80, available: 90 }); // repeated
    expect(await bench.wallet()).toEqual({ balance: 100, held: 90 });
    expect(await bench.admit(11)).toMatchObject({ ok: false, meter: 'wallet', available: 10, behindHolds: true });
    expect(await bench.admit(10)).toMatchObject({ ok: true });
  });

  test('for messages, each of which moves what it holds', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.ask(reserve(bench, 100));
    const first = admission(bench, 30);
    expect(await bench.ask(first)).toMatchObject({ ok: true, amount: 30, available: 30 });
    expect(await admitFrom(bench, 50)).toMatchObject({ ok: true, amount: 50 });
    expect(await holdsOf(bench)).toEqual({ [RESERVE]: 20, req_1: 30, req_2: 50 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
    expect(await bench.submit(first)).toMatchObject({ ok: true, amount: 30 }); // repeated
    expect(await bench.settle('req_1', 10)).toMatchObject({ ok: true, cost: 10, writtenOff: 0 });
    expect(await bench.submit(first)).toMatchObject({ ok: false, reason: 'ended' });
    expect(await holdsOf(bench)).toEqual({ [RESERVE]: 20, req_2: 50 });
    expect(await bench.wallet()).toEqual({ balance: 90, held: 70 });
    await bench.release('req_2');
  });

  test('until it is given back, which repeats without an effect', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.ask(reserve(bench, 100));
    expect(await admitFrom(bench, 30)).toMatchObject({ ok: true });
    for (let again = 0; again < 2; again++) expect(await bench.ask(giveBack())).toEqual({ ok: true, kind: 'done' });
    expect(await holdsOf(bench)).toEqual({ req_1: 30 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 30 });
    expect(await bench.entries()).toHaveLength(1);
    expect(await bench.stores.usage.getUsage(RESERVE)).toBeNull();
  });
}

function amountTests(open: OpenStores): void {
  test('as far as it goes: the wallet pays for the rest, and for all of it without a reserve', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.ask(reserve(bench, 40));
    expect(await admitFrom(bench, 60)).toMatchObject({ ok: true, amount: 60, available: 100 });
    expect(await holdsOf(bench)).toEqual({ [RESERVE]: 0, req_1: 60 });
    expect(await admitFrom(bench, 41)).toMatchObject({ ok: false, meter: 'wallet', available: 40 });
    await bench.ask(giveBack());
    expect(await admitFrom(bench, 30)).toMatchObject({ ok: true, amount: 30 });
    expect(await admitFrom(bench, 10, { reserve: 'rsv_never' })).toMatchObject({ ok: true, amount: 10 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
  });

  test('and is raised as far as there is more, and lowered', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.ask(reserve(bench, 40));
    expect(await bench.submit({ kind: 'extend', requestId: RESERVE, amount: 150, checkpoint: null })).toMatchObject({
      amount: 100,
    });
    expect(await bench.submit({ kind: 'extend', requestId: RESERVE, amount: 70, checkpoint: null })).toMatchObject({
      amount: 70,
    });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 70 });
    await bench.ask(giveBack());
    expect(await bench.submit({ kind: 'extend', requestId: RESERVE, amount: 10, checkpoint: null })).toEqual({
      ok: false,
      reason: 'ended',
    });
  });

  test('in one bundle with what else is set aside, or with none of it', async () => {
    await using bench = await openWorkbench(open, 100);
    const both = (more: number) => [reserve(bench, 60), reserve(bench, more, 'rsv_2')];
    const submit = (operations: Operation[]) => bench.stores.gate.submit({ operations });
    expect(await submit(both(41))).toMatchObject([{ reason: 'bundle_refused' }, { meter: 'wallet' }]);
    expect(await holdsOf(bench)).toEqual({});
    expect(await submit([...both(40), giveBack()])).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
    expect(await holdsOf(bench)).toEqual({ rsv_2: 40 });
  });
}

function refusalTests(open: OpenStores): void {
  test('and keeps it when a message is refused', async () => {
    const limits = { ...NO_LIMITS, requestsPerMinute: 3 };
    await using bench = await openWorkbench(open, 100, { concurrency: 1 });
    await bench.ask(reserve(bench, 100));
    const claim = { name: 'order-17', requestHash: 'hash' };
    const first = admission(bench, 10, { claim, limits });
    expect(await bench.ask(first)).toMatchObject({ ok: true });
    const refused = async (facts: Partial<Admit>, reason: string) => {
      expect(await admitFrom(bench, 10, { limits, ...facts })).toMatchObject({ ok: false, reason });
      expect(await holdsOf(bench)).toMatchObject({ [RESERVE]: 90 });
    };
    await refused({}, 'concurrency');
    await refused({ claim }, 'claim_running');
    await refused({ claim: { ...claim, requestHash: 'other' } }, 'claim_mismatch');
    await refused({ owner: { node: 'node-1', epoch: 99 } }, 'not_owner');
    const record = bench.record(first.requestId, { cost: 10 });
    await bench.ask({ kind: 'settle', requestId: first.requestId, record, isAnswer: true });
    await refused({ claim }, 'claim_answered'); // each takes a request from the rates
    await refused({ claim }, 'claim_answered');
    await refused({ claim }, 'requests_rate');
    await refused({}, 'requests_rate');
    await bench.setKey({ status: 'disabled' });
    await refused({}, 'key_disabled');
    expect(await bench.ask(reserve(bench, 1, 'rsv_2'))).toMatchObject({ reason: 'key_disabled' });
    expect(await bench.wallet()).toEqual({ balance: 90, held: 90 });
    expect(await bench.ask(giveBack())).toMatchObject({ ok: true });
    expect(await bench.wallet()).toEqual({ balance: 90, held: 0 });
  });

  test('of quota, allowance and budget, in whose place nothing else is held', async () => {
    await using bench = await openWorkbench(open, 1_000, { quota: 100 });
    const { account } = bench;
    const personBudget = { limits: [{ length: 'day', limit: 100 } as const], stops: true };
    await bench.ask({ kind: 'set-person', person, account, enabled: true });
    await bench.setAccount({ allowance: 100, company: { personBudget } });
    await bench.setKey({ person, quota: 100 });
    await bench.ask(reserve(bench, 100));
    for (const amount of [60, 40])
      expect(await admitFrom(bench, amount)).toMatchObject({ ok: true, available: amount });
    expect(await admitFrom(bench, 1)).toMatchObject({ ok: false, reason: 'insufficient', available: 0 });
    expect(await bench.stores.ledger.keyMeters(bench.key, START_MS)).toMatchObject({ quotaHeld: 100 });
  });
}

function keepingTests(open: OpenStores): void {
  test('whatever leases lapse', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.ask(reserve(bench, 100));
    const message = admission(bench, 30);
    await bench.ask(message);
    expect(await bench.ask({ kind: 'expire', lost: [RESERVE] })).toMatchObject({ kind: 'expired', holds: 0 });
    await bench.takeLease('node-1'); // another run
    expect(await bench.ask({ kind: 'expire' })).toMatchObject({ kind: 'expired', holds: 1 });
    expect(await holdsOf(bench)).toEqual({ [RESERVE]: 70 });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 70 });
    expect(await bench.ask(giveBack())).toMatchObject({ ok: true });
  });

  test('and counts it as held, but never as the oldest hold', async () => {
    await using bench = await openWorkbench(open, 100);
    const { ledger } = bench.stores;
    await bench.ask(reserve(bench, 50, 'rsv_7_0'));
    expect(await ledger.openHolds()).toEqual({ count: 1, held: 50, oldestAtMs: null });
    bench.clock.advance(LEASE_MS - 1);
    const requestId = newRequestId(bench.clock.nowMs());
    expect(await admitFrom(bench, 20, { requestId, reserve: 'rsv_7_0' })).toMatchObject({ ok: true });
    await ledger.listHolds({ account: bench.account, after: null, limit: 1 }); // writes what is in memory only
    expect(await ledger.openHolds()).toEqual({ count: 2, held: 50, oldestAtMs: bench.clock.nowMs() });
    const page = { account: bench.account, limit: 1 };
    expect(await ledger.listHolds({ ...page, after: null })).toMatchObject([{ requestId, left: false }]);
    expect(await ledger.listHolds({ ...page, after: requestId })).toMatchObject([
      { requestId: 'rsv_7_0', amount: 30, left: false },
    ]);
    expect(await ledger.listHolds({ ...page, after: 'rsv_7_0' })).toEqual([]);
  });
}

function changeTests(open: OpenStores): void {
  test('of the plan first, which pays for no message that is admitted once it has ended', async () => {
    await using bench = await openWorkbench(open, 100);
    const { account } = bench;
    const windows = [{ length: 'month', limit: 50 }] as const;
    const times = { anchorMs: START_MS, paidUntilMs: null, endsAtMs: null };
    const plan: PlanTerms = { name: 'basic', windows, groups: null, ...times, overflow: true };
    await bench.submit({ kind: 'set-plan', account, plan });
    await bench.ask(reserve(bench, 150));
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
    expect(await admitFrom(bench, 120)).toMatchObject({ ok: true, available: 120 });
    expect(await bench.submit({ kind: 'set-plan', account, plan: null })).toMatchObject({ ok: true });
    expect(await admitFrom(bench, 20)).toMatchObject({ ok: false, meter: 'wallet', available: 0 });
    expect(await holdsOf(bench)).toEqual({ [RESERVE]: 30, req_1: 120 });
    await bench.ask(giveBack());
    expect(await bench.settle('req_1', 120)).toMatchObject({ ok: true, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
  });

  test('of the accounts above and of the person at that time, while messages take from those of now', async () => {
    await using bench = await openWorkbench(open, 100);
    const { account } = bench;
    const [before, after] = [await bench.addAccount(100), await bench.addAccount(100)];
    const below = (parent: number) =>
      bench.ask({ kind: 'set-account', account, terms: { ...TERMS, company: { parent, paysFrom: 'parent' } } });
    const heldBy = async (id: number) => (await bench.stores.ledger.accountMeters(id, START_MS))?.held;
    await bench.ask({ kind: 'set-person', person, account, enabled: true });
    await bench.ask({ kind: 'set-person', person: person + 1, account, enabled: true });
    await bench.setKey({ person });
    expect(await below(before)).toMatchObject({ ok: true });
    expect(await bench.ask(reserve(bench, 80))).toMatchObject({ ok: true });
    expect(await below(after)).toMatchObject({ ok: true });
    await bench.setKey({ person: person + 1 });
    expect(await admitFrom(bench, 30)).toMatchObject({ ok: true, available: 100 });
    expect(await Promise.all([before, after, account].map(heldBy))).toEqual([50, 30, 0]);
    const heldOf = async (id: number) => {
      const { rows } = await bench.stores.ledger.listPersonRows({ after: id - 1, limit: 1 });
      return rows[0]?.held;
    };
    expect(await Promise.all([person, person + 1].map(heldOf))).toEqual([50, 30]);
    await bench.ask(giveBack());
    expect(await Promise.all([before, after].map(heldBy))).toEqual([0, 30]);
    bench.clock.advance(LEASE_MS + 1);
    expect(await bench.ask({ kind: 'expire' })).toMatchObject({ ok: true });
  });
}
