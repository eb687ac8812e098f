// The ledger that decides in memory: random operations against the store that decides on disk, with writes that fail
// or are in doubt, and the disk checked after each write. Then each rule by itself.

import type { Database, Statement } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { BrokenInvariant } from '../../../src/base/assert.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { machineTimers, type Timers } from '../../../src/base/timers.ts';
import { bounds } from '../../../src/config/config.ts';
import {
  type Answer,
  type Bundle,
  checkLedger,
  NodeLedger,
  NothingTaken,
  type Operation,
  ResidentLedger,
} from '../../../src/ledger/ledger.ts';
import type { LedgerWriter } from '../../../src/storage/sqlite/ledger-writer.ts';
import {
  ConnectionWriter,
  databasePath,
  openForReading,
  type RowCommit,
  SqliteLedgerStore,
  sqliteStores,
} from '../../../src/storage/sqlite/sqlite.ts';
import { sumDatabase } from '../../../src/storage/sqlite/survey-store.ts';
import { openEmpty } from '../../storage/open-sqlite.ts';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';
import { makeRandom } from '../../support/random.ts';
import { sqliteRows } from '../../verify/simulation/stored-rows.ts';
import { type OpenStore, simulate } from './simulation/simulate.ts';
import { ask, failureOf, NO_LIMITS, openWorkbench, type Workbench } from './workbench.ts';

const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 6);
const FIRST_SEED = Number(process.env['SIMULATION_SEED'] ?? 1);
const FASTER = 100; // Pauses before a repetition are this much shorter.

const timers: Timers = {
  ...machineTimers,
  after: (ms, callback) => machineTimers.after(ms / FASTER, callback),
};

type Moment = 'before' | 'at the commit' | 'after the commit' | 'after';

/** The real writer, on a database whose commits fail where `at` throws. */
class FaultyWriter implements LedgerWriter {
  /** Called at each moment of a commit. */
  at: (moment: Moment, commit: RowCommit) => void | Promise<void> = () => {};
  readonly #writer: ConnectionWriter;
  #commit: RowCommit = { name: null, rows: [], coCommitted: [] };

  constructor(database: Database) {
    const prepare = database.prepare.bind(database) as (text: string) => Statement;
    database.prepare = ((text: string) => {
      const statement = prepare(text);
      if (text !== 'COMMIT') return statement;
      const run = statement.run.bind(statement);
      statement.run = () => {
        void this.at('at the commit', this.#commit);
        const changes = run();
        void this.at('after the commit', this.#commit);
        return changes;
      };
      return statement;
    }) as typeof database.prepare;
    this.#writer = new ConnectionWriter(database);
  }

  async write(commit: RowCommit): Promise<void> {
    this.#commit = commit;
    await this.at('before', commit);
    this.#writer.write(commit);
    await this.at('after', commit);
  }
}

function fail(cause: unknown): never {
  throw new Error(`the disk refused what was decided: ${cause}`);
}

function openResident(clock: Clock) {
  const directory = temporaryDirectory();
  const path = databasePath(directory.path);
  const database = openEmpty(path);
  database.run('PRAGMA synchronous = OFF');
  const writer = new FaultyWriter(database);
  const start = () => new ResidentLedger(new SqliteLedgerStore(openForReading(path), clock, writer), fail, timers);
  const reader = openForSums(path);
  const close = () => {
    reader.close();
    database.close();
    directory[Symbol.dispose]();
  };
  return { path, database, writer, start, sums: () => sumDatabase(reader), close };
}

/** A connection that prepares each statement once: the sums are read after each write, and take less time than their statements. */
function openForSums(path: string): Database {
  const reader = openForReading(path, { exact: true });
  const prepare = reader.prepare.bind(reader) as (text: string) => Statement;
  const statements = new Map<string, Statement>();
  reader.prepare = ((text: string) => {
    const statement = statements.get(text) ?? prepare(text);
    statements.set(text, statement);
    return statement;
  }) as typeof reader.prepare;
  return reader;
}

const answered = new Map<string, number>();
const failures = new Map<string, number>();

describe('decisions in memory are those of the disk, whatever write fails', () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++)
    test(`seed ${seed}`, () => simulate(seed, openUnderFaults, answered), 60_000);
  afterAll(() => {
    if (SEEDS >= 10) expect([...failures.keys()].sort()).toEqual(['after the commit', 'at the commit', 'before']);
  });
});

const openUnderFaults: OpenStore = (clock, seed) => {
  const { database, writer, start, sums, close } = openResident(clock);
  const random = makeRandom(seed);
  const happens = (name: Moment) => {
    if (random() > 0.1) return false;
    failures.set(name, (failures.get(name) ?? 0) + 1);
    return true;
  };
  writer.at = (moment, { name }) => {
    if (moment === 'after') expect(checkLedger(sums())).toMatchObject({ ok: true, faults: [] });
    // A bundle that fails is not repeated.
    else if (name !== null && happens(moment)) throw new Error(`the disk failed ${moment}`);
  };
  let ledger = start();
  const begun = new Set<string>();
  return {
    async submit(bundles) {
      const answers: Promise<Answer[]>[] = [];
      for (const operations of bundles) {
        // Endings are decided at once. An admission may be refused meanwhile, and a bundle is decided later.
        if (!isEnding(operations)) await Promise.all(answers);
        answers.push(askAtLast(ledger, operations, begun));
        if (!isEnding(operations)) await Promise.all(answers);
      }
      return Promise.all(answers);
    },
    async crash() {
      await flushAtLast(ledger);
      ledger = start();
    },
    submitInVain: async () => [],
    async rows() {
      await flushAtLast(ledger);
      return sqliteRows(database);
    },
    async sums() {
      await flushAtLast(ledger);
      return sums();
    },
    close,
  };
};

interface Bench extends AsyncDisposable {
  bench: Workbench;
  ledger: ResidentLedger;
  writer: FaultyWriter;
  /** The ledger that a restart would open, over what is on the disk now. */
  afterCrash(): ResidentLedger;
  holdsOnDisk(): string[];
  /** Amounts of holds by their request ids. */
  amountsOnDisk(): Record<string, number>;
}

async function openBench(): Promise<Bench> {
  const opened: Partial<Bench> = {};
  const bench = await openWorkbench((clock) => {
    const { path, database, writer, start, sums, close } = openResident(clock);
    const ledger = start();
    opened.ledger = ledger;
    opened.writer = writer;
    opened.afterCrash = start;
    opened.amountsOnDisk = () => {
      const rows = database.query('SELECT request_id, amount FROM holds').all();
      return Object.fromEntries(
        (rows as { request_id: string; amount: number }[]).map((row) => [row.request_id, row.amount]),
      );
    };
    opened.holdsOnDisk = () => Object.keys(opened.amountsOnDisk?.() ?? {});
    const stores = sqliteStores(path, ledger);
    const flushedSums = async () => {
      await flushAtLast(ledger);
      return sums();
    };
    return { stores, sums: flushedSums, close };
  }, 100);
  return { ...(opened as Bench), bench, [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose]() };
}

/** Until the next write has ended. */
async function nextWrite(writer: FaultyWriter): Promise<void> {
  const { at } = writer;
  const written = Promise.withResolvers<void>();
  writer.at = (moment, commit) => {
    if (moment === 'after') written.resolve();
    return at(moment, commit);
  };
  await written.promise;
  writer.at = at;
  await Bun.sleep(0);
}

describe('a hold', () => {
  test('is in memory only while it is young, and on the disk afterwards', async () => {
    await using opened = await openBench();
    const { bench, writer, holdsOnDisk } = opened;
    const requestId = await bench.begin(60);
    await nextWrite(writer);
    expect(holdsOnDisk()).toEqual([]);
    bench.clock.advance(bounds.holdUnwrittenMs);
    await nextWrite(writer);
    expect(holdsOnDisk()).toEqual([requestId]);
    await bench.settle(requestId, 10);
    expect(holdsOnDisk()).toEqual([]);
  });

  test('that is young is forgotten by a crash, with all that it held', async () => {
    await using opened = await openBench();
    const { bench, ledger, afterCrash } = opened;
    const requestId = await bench.begin(60);
    const restarted = afterCrash();
    expect(await ask(restarted, { kind: 'expire' })).toMatchObject({ holds: 0 });
    expect(await ask(restarted, bench.admission(100))).toMatchObject({ ok: true, amount: 100 });
    expect(await ask(ledger, bench.admission(100))).toMatchObject({ ok: false, available: 40 });
    await bench.settle(requestId, 0);
  });

  test('with an idempotency key or a checkpoint is on the disk with the next write', async () => {
    await using opened = await openBench();
    const { bench, writer, holdsOnDisk } = opened;
    const claim = { name: 'order-17', requestHash: 'hash' };
    const claimed = await bench.begin(10, { claim });
    const streamed = await bench.begin(10);
    const checkpoint = bench.record(streamed, { cost: 5 });
    await ask(opened.ledger, { kind: 'extend', requestId: streamed, amount: 'same', checkpoint });
    await bench.begin(10);
    await nextWrite(writer);
    expect(holdsOnDisk().sort()).toEqual([claimed, streamed].sort());
  });
});

describe('a reserve', () => {
  const draft = { model: 'sandbox-echo', stream: false };
  const openReserve = async (amount: number) => {
    const opened = await openBench();
    const { account, key } = opened.bench;
    const of = { requestId: 'rsv_1', account, key, group: 'default', limits: NO_LIMITS };
    expect(await opened.bench.ask({ kind: 'reserve', ...of, amount, draft })).toMatchObject({ ok: true, amount });
    return opened;
  };
  const message = (bench: Workbench, amount: number) =>
    bench.admission(amount, { reserve: 'rsv_1', claim: { name: 'item-1', requestHash: 'hash' } });

  test('is on the disk once it is answered, and no start ends it', async () => {
    await using opened = await openReserve(60);
    const { bench, afterCrash, amountsOnDisk } = opened;
    expect(amountsOnDisk()).toEqual({ rsv_1: 60 });
    const restarted = afterCrash();
    expect(await ask(restarted, { kind: 'renew', node: 'node-1', epoch: null, leaseMs: 1 })).toMatchObject({
      ok: true,
    });
    expect(await ask(restarted, { kind: 'expire' })).toMatchObject({ kind: 'expired', holds: 0 });
    expect(await ask(restarted, bench.admission(41))).toMatchObject({ ok: false });
    expect(amountsOnDisk()).toEqual({ rsv_1: 60 });
  });

  test('and a message of it are written in one commit: a crash before it loses both, one after it none', async () => {
    await using opened = await openReserve(100);
    const { bench, writer, afterCrash, amountsOnDisk } = opened;
    const commits: unknown[] = [];
    writer.at = (moment) => {
      if (moment === 'after') commits.push(amountsOnDisk());
    };
    const young = await bench.begin(0);
    expect(await bench.ask(message(bench, 70))).toMatchObject({ ok: true, amount: 70, available: 70 });
    expect(await bench.admit(1)).toMatchObject({ ok: false, available: 0 });
    expect(amountsOnDisk()).toEqual({ rsv_1: 100 });
    expect(await ask(afterCrash(), message(bench, 101))).toMatchObject({ reason: 'insufficient', available: 100 });
    await nextWrite(writer);
    expect(commits).toEqual([{ rsv_1: 30, req_2: 70 }]);
    const restarted = afterCrash();
    expect(await ask(restarted, message(bench, 30))).toMatchObject({ reason: 'claim_running' });
    const claim = { name: 'item-2', requestHash: 'hash' };
    expect(await ask(restarted, { ...message(bench, 31), claim })).toMatchObject({ ok: false, available: 30 });
    await bench.release(young);
    await bench.settle('req_2', 20);
    expect(amountsOnDisk()).toEqual({ rsv_1: 30 });
    expect(await bench.wallet()).toEqual({ balance: 80, held: 30 });
  });

  test('is as it was before after a message of it that ended before it was written', async () => {
    await using opened = await openReserve(100);
    const { bench, amountsOnDisk } = opened;
    await bench.ask(message(bench, 70));
    await bench.settle('req_1', 20);
    expect(amountsOnDisk()).toEqual({ rsv_1: 30 });
    expect(await bench.wallet()).toEqual({ balance: 80, held: 30 });
    expect(await bench.ask({ kind: 'give-back', requestId: 'rsv_1' })).toMatchObject({ ok: true });
    expect(amountsOnDisk()).toEqual({});
  });

  for (const broken of ['before', 'at the commit', 'after the commit'] as const)
    test(`whose bundle fails ${broken} is set aside wholly or not at all`, async () => {
      await using opened = await openBench();
      const { bench, writer, amountsOnDisk } = opened;
      const { account, key } = bench;
      const of = { requestId: 'rsv_1', account, key, group: 'default', limits: NO_LIMITS };
      writer.at = (moment, { name }) => {
        if (name === null && moment === broken) throw new Error('the disk is full');
      };
      expect(await failureOf(bench.ask({ kind: 'reserve', ...of, amount: 60, draft }))).toMatchObject({
        code: 'store_unavailable',
      });
      writer.at = () => {};
      const held = broken === 'after the commit' ? 60 : 0;
      expect(amountsOnDisk()).toEqual(held === 0 ? {} : { rsv_1: 60 });
      expect(await bench.admit(100)).toMatchObject(held === 0 ? { ok: true } : { ok: false, available: 40 });
    });
});

describe('an ending', () => {
  test('is answered once it is durable, and counts for admissions at once', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    const requestId = await bench.begin(100);
    await flushAtLast(ledger);
    const released = Promise.withResolvers<void>();
    writer.at = (moment) => (moment === 'before' ? released.promise : undefined);
    let isAnswered = false;
    const ending = bench.settle(requestId, 40).then(() => {
      isAnswered = true;
    });
    expect(await ask(ledger, bench.admission(61))).toMatchObject({ ok: false, available: 60 });
    expect(await ask(ledger, bench.admission(60))).toMatchObject({ ok: true });
    await Bun.sleep(5);
    expect(isAnswered).toBe(false);
    released.resolve();
    await ending;
  });

  for (const broken of ['before', 'at the commit', 'after the commit'] as const)
    test(`whose write fails ${broken} is written once, and nothing is admitted meanwhile`, async () => {
      await using opened = await openBench();
      const { bench, writer, ledger } = opened;
      const seen: unknown[] = [];
      ledger.onFailure = (failure) => seen.push(failure);
      const requestId = await bench.begin(100);
      await flushAtLast(ledger);
      const repeated = Promise.withResolvers<void>();
      const failed = Promise.withResolvers<void>();
      let isFirst = true;
      writer.at = (moment) => {
        if (isFirst && moment === broken) {
          isFirst = false;
          failed.resolve();
          throw new Error('the disk is full');
        }
        return !isFirst && moment === 'before' ? repeated.promise : undefined;
      };
      const ending = bench.settle(requestId, 40);
      await failed.promise;
      await Bun.sleep(0);
      expect(await failureOf(ask(ledger, bench.admission(1)))).toBeInstanceOf(NothingTaken);
      const credited = bench.credit(5); // waits for the repetition
      repeated.resolve();
      expect(await ending).toMatchObject({ ok: true, cost: 40 });
      expect(seen).toMatchObject([{ code: 'store_unavailable' }, null]);
      expect(await credited).toMatchObject({ ok: true });
      expect(await bench.wallet()).toEqual({ balance: 65, held: 0 });
    });
});

/** Lets the next write wait. Resolves when it begins, to what lets it go on. */
async function holdWrite(writer: FaultyWriter, ledger: ResidentLedger): Promise<() => void> {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  writer.at = (moment) => {
    if (moment !== 'before') return;
    begun.resolve();
    return released.promise;
  };
  void ledger.flush();
  await begun.promise;
  return released.resolve;
}

describe('while rows are written', () => {
  test('a message that ended gets its first answer again', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    const requestId = await bench.begin(50);
    const first = bench.settle(requestId, 10);
    const again = bench.settle(requestId, 20);
    const release = await holdWrite(writer, ledger);
    const late = bench.settle(requestId, 30);
    release();
    expect(await Promise.all([first, again, late])).toMatchObject([{ cost: 10 }, { cost: 10 }, { cost: 10 }]);
    expect(await bench.wallet()).toEqual({ balance: 90, held: 0 });
  });

  test('an idempotency key is bound to its message', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    const claim = { name: 'order-17', requestHash: 'hash' };
    const requestId = await bench.begin(10, { claim });
    const repeated = { ok: false, reason: 'claim_running', requestId };
    expect(await ask(ledger, bench.admission(10, { claim }))).toMatchObject(repeated);
    const release = await holdWrite(writer, ledger);
    expect(await ask(ledger, bench.admission(10, { claim }))).toMatchObject(repeated);
    release();
    await flushAtLast(ledger);
    expect(await ask(ledger, bench.admission(10, { claim }))).toMatchObject(repeated);
  });
});

test('the last ending of a message frees its hold, even if it cannot be decided', async () => {
  await using opened = await openBench();
  const { bench, ledger } = opened;
  const requestId = await bench.begin(50);
  const record = bench.record(requestId, { cost: -1 });
  expect(await failureOf(ledger.end({ kind: 'settle', requestId, record }, 5_000, []))).toBeInstanceOf(BrokenInvariant);
  await flushAtLast(ledger);
  expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
});

test('an ending is written with its answer', async () => {
  await using opened = await openBench();
  const { bench, ledger } = opened;
  const requestId = await bench.begin(50);
  const record = bench.record(requestId, { cost: 10 });
  const { answers } = bench.stores;
  const row = answers.answerRow({ requestId, atMs: bench.clock.nowMs(), bytes: 6, sealed: 'sealed' });
  await ledger.end({ kind: 'settle', requestId, record }, 5_000, [row]);
  expect(await answers.findAnswer(requestId)).toMatchObject({ sealed: 'sealed' });
});

describe('a bundle of changes', () => {
  test('delays what comes after it until its outcome is known', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    writer.at = (moment) => {
      if (moment !== 'before') return;
      begun.resolve();
      return released.promise;
    };
    const credit = bench.credit(50);
    await begun.promise;
    const admission = ask(ledger, bench.admission(150));
    released.resolve();
    expect(await Promise.all([credit, admission])).toMatchObject([{ ok: true }, { ok: true, amount: 150 }]);
  });

  test('that cannot be written changes nothing, in memory either', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    writer.at = (moment, { name }) => {
      if (name === null && moment === 'at the commit') throw new Error('the disk is full');
    };
    expect(await failureOf(bench.credit(50))).toMatchObject({ code: 'store_unavailable' });
    writer.at = () => {};
    expect(await ask(ledger, bench.admission(101))).toMatchObject({ ok: false, available: 100 });
  });

  test('that was written although its commit seemed to fail counts afterwards', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    writer.at = (moment, { name }) => {
      if (name === null && moment === 'after the commit') throw new Error('the disk is gone');
    };
    expect(await failureOf(bench.credit(50))).toMatchObject({ code: 'store_unavailable' });
    writer.at = () => {};
    // The next change of the account must not undo it.
    const requestId = await bench.begin(120);
    await bench.settle(requestId, 120);
    expect(await bench.wallet()).toEqual({ balance: 30, held: 0 });
    expect(await ask(ledger, bench.admission(31))).toMatchObject({ ok: false, available: 30 });
  });

  test('that waits for a write fails with it', async () => {
    await using opened = await openBench();
    const { bench, writer } = opened;
    const requestId = await bench.begin(100);
    let isBroken = true;
    writer.at = (moment) => {
      if (isBroken && moment === 'before') throw new Error('the disk is full');
    };
    const ending = bench.settle(requestId, 10);
    expect(await failureOf(bench.credit(5))).toBeInstanceOf(NothingTaken);
    isBroken = false;
    expect(await ending).toMatchObject({ ok: true });
    expect(await bench.wallet()).toEqual({ balance: 90, held: 0 });
  });

  test('that hangs lets an admission be given up, which then takes nothing', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    const { begun, released } = hangBundle(writer);
    const credit = bench.credit(50);
    await begun.promise;
    expect(ledger.queued).toBe(0);
    const admission = ledger.admit(bench.admission(100));
    expect(ledger.queued).toBe(1);
    expect(await failureOf(admission)).toMatchObject({ code: 'store_unavailable' });
    released.resolve();
    await credit;
    expect(await bench.wallet()).toEqual({ balance: 150, held: 0 });
  });

  test('delays endings, which are decided in order after it', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    const requestId = await bench.begin(100);
    const { begun, released } = hangBundle(writer);
    const credit = bench.credit(50);
    await begun.promise;
    const ending = bench.settle(requestId, 120);
    expect(ledger.unfinished).toBe(1);
    released.resolve();
    expect(await Promise.all([credit, ending])).toMatchObject([{ ok: true }, { ok: true, cost: 120, writtenOff: 0 }]);
    expect(await bench.wallet()).toEqual({ balance: 30, held: 0 });
  });
});

describe('a write that does not return', () => {
  test('stops admissions after a while, and the wait of each ending after its time', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    const seen: unknown[] = [];
    ledger.onFailure = (failure) => seen.push(failure);
    const requestId = await bench.begin(60);
    const released = Promise.withResolvers<void>();
    writer.at = (moment) => (moment === 'before' ? released.promise : undefined);
    const settle = { kind: 'settle', requestId, record: bench.record(requestId, { cost: 10 }) } as const;
    expect(await failureOf(ledger.end(settle, 10, []))).toMatchObject({ code: 'store_unavailable' });
    expect(ledger.unfinished).toBe(1);
    expect(await ask(ledger, bench.admission(1))).toMatchObject({ ok: true });
    const now = performance.now;
    performance.now = () => now.call(performance) + bounds.admissionWaitMsMax + 1_000;
    try {
      while (seen.length === 0) await Bun.sleep(1);
      expect(await failureOf(ask(ledger, bench.admission(1)))).toBeInstanceOf(NothingTaken);
    } finally {
      performance.now = now;
    }
    released.resolve();
    await flushAtLast(ledger);
    expect(seen).toMatchObject([{ code: 'store_unavailable' }, null]);
    expect(ledger.unfinished).toBe(0);
    expect(await bench.wallet()).toMatchObject({ balance: 90 });
  });

  test('bounds the endings that wait for it, of all accounts and of each', async () => {
    await using opened = await openBench();
    const { bench, writer, ledger } = opened;
    const account = await bench.addAccount(0);
    const key = await bench.addKey({}, account);
    const ids: string[] = [];
    for (let count = 0; count < bounds.ledgerQueuePerAccountMax; count++) ids.push(await bench.begin(0));
    const released = Promise.withResolvers<void>();
    writer.at = (moment) => (moment === 'before' ? released.promise : undefined);
    const endings = ids.map((requestId) => bench.settle(requestId, 0));
    expect(() => ledger.admit(bench.admission(0))).toThrow('overloaded');
    expect(ledger.admit(bench.admission(0, { account, key }))).toMatchObject({ ok: true });
    const { ledgerQueueMax } = bounds;
    Object.assign(bounds, { ledgerQueueMax: bounds.ledgerQueuePerAccountMax });
    expect(() => ledger.admit(bench.admission(0, { account, key }))).toThrow('overloaded');
    Object.assign(bounds, { ledgerQueueMax });
    released.resolve();
    await Promise.all(endings);
    expect(await ask(ledger, bench.admission(1))).toMatchObject({ ok: true });
  });
});

describe('rows in memory', () => {
  test('are bounded on the path of messages, and read again when they are needed', async () => {
    await using opened = await openBench();
    const { bench, ledger } = opened;
    const { cachedLedgerRowsMax } = bounds;
    const accounts: number[] = [];
    for (let count = 0; count < 20; count++) accounts.push(await bench.addAccount(100));
    Object.assign(bounds, { cachedLedgerRowsMax: 4 });
    try {
      for (let round = 0; round < 3; round++) {
        for (const account of accounts) {
          const key = await bench.addKey({}, account);
          const requestId = await bench.begin(10, { account, key });
          if (round === 1) await flushAtLast(ledger);
          expect(await bench.settle(requestId, 10, { account, key })).toMatchObject({ ok: true, cost: 10 });
        }
      }
    } finally {
      Object.assign(bounds, { cachedLedgerRowsMax });
    }
    for (const account of accounts)
      expect(await bench.stores.ledger.accountMeters(account, bench.clock.nowMs())).toMatchObject({
        balance: 70,
        held: 0,
      });
  });
});

test('a repeated idempotency key is reported as answered once the answer is durable', async () => {
  await using opened = await openBench();
  const { bench, writer, ledger } = opened;
  const node = new NodeLedger(ledger, bench.clock, 'node-1', timers);
  const claim = { name: 'order-17', requestHash: 'hash' };
  const requestId = await bench.begin(10, { claim });
  await flushAtLast(ledger);
  const written = Promise.withResolvers<void>();
  writer.at = (moment) => (moment === 'before' ? written.promise : undefined);
  const record = bench.record(requestId, { cost: 5 });
  const ending = ask(ledger, { kind: 'settle', requestId, record, isAnswer: true });
  let isTold = false;
  const repeated = Promise.resolve(node.admit(bench.admission(10, { claim }))).then((answer) => {
    isTold = true;
    return answer;
  });
  await Bun.sleep(2);
  expect(isTold).toBe(false);
  written.resolve();
  expect(await repeated).toMatchObject({ reason: 'claim_answered', requestId });
  await ending;
});

/** Asks as messages do, but for ids that were admitted before. */
function askAtLast(ledger: ResidentLedger, operations: Operation[], begun: Set<string>): Promise<Answer[]> {
  const [operation, ...others] = operations;
  const isKnown = operation?.kind === 'admit' && begun.has(operation.requestId);
  for (const each of operations) if (each.kind === 'admit') begun.add(each.requestId);
  if (operation === undefined || others.length > 0 || isKnown) return submitAtLast(ledger, { operations });
  return atLast(async () => [await ask(ledger, operation)]);
}

const submitAtLast = (ledger: ResidentLedger, bundle: Bundle) => atLast(() => ledger.submit(bundle));

/** Repeats while an earlier write fails: nothing was applied. */
async function atLast(submit: () => Promise<Answer[]>): Promise<Answer[]> {
  for (;;) {
    try {
      return await submit();
    } catch (failure) {
      if (!(failure instanceof NothingTaken)) throw failure;
      await Bun.sleep(1);
    }
  }
}

/** The next commit of a bundle resolves `begun`, then hangs until `released` is resolved. */
function hangBundle(writer: FaultyWriter) {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  writer.at = (moment, { name }) => {
    if (moment !== 'before' || name !== null) return;
    begun.resolve();
    return released.promise;
  };
  return { begun, released };
}

function isEnding([operation, ...others]: readonly Operation[]): boolean {
  return others.length === 0 && (operation?.kind === 'settle' || operation?.kind === 'release');
}

const flushAtLast = (ledger: ResidentLedger) => submitAtLast(ledger, { operations: [] });
