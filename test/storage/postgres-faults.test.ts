// Faults of the connection to PostgreSQL at the worst moments: a commit that was made is reported as made, one that
// was not is not made later, and an unknown outcome is reported as unknown. Afterwards all sums hold, no transaction
// is open, and the lane recovers by itself.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { BrokenInvariant } from '../../src/base/assert.ts';
import { type Answer, NothingTaken, type Settle } from '../../src/ledger/ledger.ts';
import { ask, failureOf, type Workbench } from '../money/ledger/workbench.ts';
import { askingToCommit, type Fault, tellingOfCommit } from '../support/fault-proxy.ts';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../support/start-postgres.ts';
import { IMPATIENT, openFaulty, PATIENT, SHORT } from './open-faulty.ts';

const UNAVAILABLE = { code: 'store_unavailable', status: 503 };
const ADMITTED = { ok: true, kind: 'admitted' };

/** An open message, and its settlement. */
async function beginMessage(bench: Workbench): Promise<Settle> {
  const requestId = await bench.begin(60);
  return { kind: 'settle', requestId, record: bench.record(requestId, { cost: 40 }) };
}

describe.skipIf(cannotStartPostgres)('a node whose database', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres({ fsync: 'off', full_page_writes: 'off' });
  });
  afterAll(() => server.remove());

  /** For an account with a balance of 100. */
  const open = (options = SHORT) => openFaulty(server, 100, options);

  const MADE: readonly (readonly [string, Fault])[] = [
    ['loses the answer to a commit', 'lose-answer'],
    ['is cut off right behind a commit', 'cut-after'],
  ];
  for (const [what, fault] of MADE) {
    test(`${what} reports the commit as made`, async () => {
      await using faulty = await open();
      const { bench, gate, proxy } = faulty;
      const admission = bench.admission(60);
      const first = proxy.at('toServer', askingToCommit, fault);
      expect(await ask(gate, admission)).toMatchObject({ ...ADMITTED, amount: 60 });
      await first;
      expect(await faulty.isHeld(admission.requestId)).toBe(true);
      const second = proxy.at('toServer', askingToCommit, fault);
      const record = bench.record(admission.requestId, { cost: 40 });
      const settled = await ask(gate, { kind: 'settle', requestId: admission.requestId, record });
      await second;
      expect(settled).toMatchObject({ ok: true, kind: 'ended', cost: 40, writtenOff: 0 });
      expect(await faulty.costOf(admission.requestId)).toBe(40);
      expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
    });
  }

  test('disconnects before the answer to a commit arrives reports it as made', async () => {
    await using faulty = await open();
    const { bench, gate, proxy } = faulty;
    const settle = await beginMessage(bench);
    const met = proxy.at('toClient', tellingOfCommit, 'cut-before');
    expect(await ask(gate, settle)).toMatchObject({ ok: true, kind: 'ended', cost: 40, writtenOff: 0 });
    await met;
    expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
  });

  test('disconnects before a commit arrives repeats the batch, which is applied once', async () => {
    await using faulty = await open();
    const { bench, gate, proxy } = faulty;
    const settle = await beginMessage(bench);
    const met = proxy.at('toServer', askingToCommit, 'cut-before');
    expect(await ask(gate, settle)).toMatchObject({ ok: true, kind: 'ended', cost: 40, writtenOff: 0 });
    await met;
    expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
    expect(await bench.entries()).toHaveLength(2);
  });

  test('never receives a commit reports that nothing was applied', async () => {
    await using faulty = await open(IMPATIENT);
    const { bench, gate, proxy } = faulty;
    const settle = await beginMessage(bench);
    const met = proxy.at('toServer', askingToCommit, 'lose');
    expect(await failureOf(ask(gate, settle))).toBeInstanceOf(NothingTaken);
    await met;
    expect(await faulty.costOf(settle.requestId)).toBeNull();
    expect(await bench.wallet()).toEqual({ balance: 100, held: 60 });
    expect(await ask(gate, settle)).toMatchObject({ ok: true, cost: 40 });
  });

  test('receives a commit too late does not apply it', async () => {
    await using faulty = await open(IMPATIENT);
    const { bench, gate, proxy } = faulty;
    const admission = bench.admission(60);
    const met = proxy.at('toServer', askingToCommit, 'hold');
    expect(await failureOf(ask(gate, admission))).toBeInstanceOf(NothingTaken);
    await met;
    proxy.pass();
    await Bun.sleep(300); // The delayed request has arrived by now.
    expect(await faulty.isHeld(admission.requestId)).toBe(false);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
    expect(await ask(gate, bench.admission(100))).toMatchObject(ADMITTED);
  });

  for (const direction of ['toServer', 'toClient'] as const) {
    test(`is silent ${direction === 'toServer' ? 'to what it is asked' : 'with its answers'} fails what is asked, and goes on when it is heard again`, async () => {
      await using faulty = await open();
      const { bench, gate, proxy } = faulty;
      const settle = await beginMessage(bench);
      const admission = bench.admission(10);
      proxy.hold(direction);
      const failures = [settle, admission].map((operation) => failureOf(ask(gate, operation)));
      for (const failure of await Promise.all(failures)) expect(failure).toBeInstanceOf(NothingTaken);
      proxy.pass();
      await Bun.sleep(300);
      expect(await faulty.isHeld(admission.requestId)).toBe(false);
      expect(await faulty.costOf(settle.requestId)).toBeNull();
      expect(await ask(gate, settle)).toMatchObject({ ok: true, cost: 40 });
      expect(await ask(gate, admission)).toMatchObject(ADMITTED);
    });
  }

  for (const welcome of ['refuse', 'ignore'] as const) {
    test(`refuses connections (${welcome}) fails requests, and accepts them when it recovers`, async () => {
      await using faulty = await open();
      const { bench, gate, proxy } = faulty;
      proxy.welcome(welcome);
      proxy.cut('reset');
      const admission = bench.admission(60);
      expect(await failureOf(ask(gate, admission))).toBeInstanceOf(NothingTaken);
      proxy.welcome('accept');
      expect(await faulty.isHeld(admission.requestId)).toBe(false);
      expect(await ask(gate, admission)).toMatchObject(ADMITTED);
    });
  }

  test('stays unavailable after a commit reports an unknown outcome, and a retry is applied once', async () => {
    await using faulty = await open({ ...SHORT, outcomeMsMax: 500 });
    const { bench, gate, proxy } = faulty;
    const settle = await beginMessage(bench);
    const met = proxy.at('toServer', askingToCommit, 'cut-after').then(() => proxy.welcome('refuse'));
    const failure = await failureOf(ask(gate, settle));
    expect(failure).toMatchObject(UNAVAILABLE);
    expect(failure).not.toBeInstanceOf(NothingTaken);
    await met;
    proxy.welcome('accept');
    expect(await faulty.costOf(settle.requestId)).toBe(40);
    expect(await ask(gate, settle)).toMatchObject({ ok: true, kind: 'ended', cost: 40, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
    expect(await bench.entries()).toHaveLength(2);
  });

  test('is killed during a transaction recognizes it despite a reused number, and applies it once', async () => {
    await using faulty = await open(PATIENT);
    const { bench, gate, proxy } = faulty;
    const settle = await beginMessage(bench);
    const met = proxy.at('toServer', askingToCommit, 'hold');
    const settled = ask(gate, settle).catch((failure: unknown) => failure); // it may fail before the server runs again
    await met;
    await server.restart('immediate');
    proxy.pass();
    const told = await settled;
    // If its transaction number reached the disk, the transaction is known to have failed and is retried. Otherwise
    // the number belongs to another transaction by now.
    const isMade = (await faulty.costOf(settle.requestId)) !== null;
    expect(told).toMatchObject(isMade ? { ok: true, cost: 40 } : UNAVAILABLE);
    expect(await ask(gate, settle)).toMatchObject({ ok: true, cost: 40 });
    expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
    expect(await bench.entries()).toHaveLength(2);
  });

  test('is killed and disconnected under load answers each of 400 messages as its rows say', async () => {
    await using faulty = await openFaulty(server, 1_000_000);
    const { bench, gate, proxy } = faulty;
    const admissions = Array.from({ length: 400 }, () => bench.admission(10));
    const asked = admissions.map(async (admission, index) => {
      await Bun.sleep(index * 5);
      return ask(gate, admission).catch((failure: unknown) => failure as Error);
    });
    for (const how of ['end', 'reset'] as const) {
      await Bun.sleep(300);
      proxy.cut(how);
    }
    await Bun.sleep(300);
    await server.restart('immediate');
    const answers = await Promise.all(asked);
    const rows = await runOn(faulty.url, 'SELECT request_id FROM holds');
    const held = new Set(rows.map((row) => row['request_id']));
    const wrong = admissions.filter(({ requestId }, at) => isAdmitted(answers[at]) !== held.has(requestId));
    expect(wrong).toEqual([]);
    expect(held.size).toBeGreaterThan(0);
  });

  test('loses a node during a transaction releases the node’s accounts', async () => {
    await using faulty = await open({ outcomeMsMax: 500 });
    const { bench, gate, proxy } = faulty;
    const admission = bench.admission(60);
    const met = proxy.at('toServer', askingToCommit, 'hold');
    const stopped = ask(gate, admission).catch((failure: unknown) => failure as Error);
    await met;
    proxy.hold('toClient'); // The node gets no notice that the connection ended.
    const other = faulty.openGate({});
    expect(await ask(other, bench.admission(100))).toMatchObject(ADMITTED);
    proxy.heal();
    expect(isAdmitted(await stopped)).toBe(false);
    expect(await faulty.isHeld(admission.requestId)).toBe(false);
  });

  test('refuses a row of one bundle applies the others of its batch', async () => {
    await using faulty = await open();
    const { bench, gate } = faulty;
    const secret = { table: 'key_secrets', keyId: bench.key, secretHash: 'taken', othersEndAtMs: null };
    await gate.submit({ operations: [], coCommitted: [secret] });
    const settle = await beginMessage(bench);
    const impossible = { ...bench.admission(10), amount: 0.5 };
    const [settled, notWhole, refused, admitted] = await Promise.all([
      ask(gate, settle),
      failureOf(ask(gate, impossible)),
      failureOf(gate.submit({ operations: [], coCommitted: [secret] })),
      ask(gate, bench.admission(10)),
    ]);
    expect(settled).toMatchObject({ ok: true, cost: 40 });
    expect(notWhole).toBeInstanceOf(BrokenInvariant);
    expect(refused).toBeInstanceOf(BrokenInvariant);
    expect(admitted).toMatchObject(ADMITTED);
  });
});

function isAdmitted(answer: Answer | Error | undefined): boolean {
  return !(answer instanceof Error) && answer?.ok === true;
}
