// The store that all nodes share, with rows in memory: one transaction at a time, decided by the real core,
// committed wholly or not at all. Nodes, connections and the store itself fail around each commit.

import { BrokenInvariant } from '../../../src/base/assert.ts';
import { systemClock } from '../../../src/base/clock.ts';
import {
  type Answer,
  applyBatch,
  type Bundle,
  type Changes,
  InDoubt,
  type LedgerStore,
  type Rows,
} from '../../../src/ledger/ledger.ts';
import { MemoryLedgerStore, type MemoryTables } from '../../support/memory-store/memory-store.ts';
import type { Auditor } from './auditor.ts';
import type { Chance } from './chance.ts';
import { Process, type Scheduler } from './scheduler.ts';
import type { Trace } from './trace.ts';

const CLIENT_WAIT_MS = 3_000;

type Decide = (rows: Rows) => Changes;

/** How often each thing goes wrong at a commit, of 1. */
export interface StoreFaults {
  crashBefore: number;
  crashAfter: number;
  crashTold: number;
  cutBefore: number;
  cutAfter: number;
}

export interface Connection {
  process: Process;
  /** Ends the node that is connected. */
  crash(cause: string): void;
}

/** One batch that was committed, with all by which another store can be asked the same. */
export interface Commit {
  /** The node that it came from. */
  process: Process;
  nowMs: number;
  bundles: readonly Bundle[];
  answers: Answer[][];
  changes: Changes;
}

interface Transaction {
  connection: Connection;
  bundles: readonly Bundle[];
  decide: Decide;
  /** Waits for its turn: its client may still give it up. */
  isWaiting: boolean;
  done(failure: unknown): void;
}

export class Database {
  readonly #store: MemoryLedgerStore;
  readonly #scheduler: Scheduler;
  readonly #chance: Chance;
  readonly #trace: Trace;
  readonly #process = new Process();
  readonly #queue: Transaction[] = [];
  readonly #clock: () => number;
  #isBusy = false;
  /** The time of the transaction under way. */
  #nowMs = 0;
  auditor: Auditor | null = null;
  /** Told of each commit; null where nobody wants to know what was answered. */
  onCommit: ((commit: Commit) => void) | null = null;
  /** The reason for which the batch is not committed; null: there is none. */
  refuses: ((batch: readonly Bundle[]) => Error | null) | null = null;
  faults: StoreFaults | null = null;
  /** How far the clock was set away from the true time. */
  offsetMs = 0;
  refusesUntilMs = 0;
  slowUntilMs = 0;

  constructor(scheduler: Scheduler, chance: Chance, trace: Trace, startMs: number) {
    const clock = systemClock(
      () => startMs + scheduler.nowMs + this.offsetMs,
      () => scheduler.nowMs,
    );
    this.#clock = () => clock.nowMs();
    this.#scheduler = scheduler;
    this.#chance = chance;
    this.#trace = trace;
    this.#store = new MemoryLedgerStore({ nowMs: () => this.#nowMs });
  }

  get tables(): MemoryTables {
    return this.#store.tables;
  }

  nowMs(): number {
    return this.#clock();
  }

  /** The store as one process sees it, over a connection of its own. */
  connect(connection: Connection): LedgerStore {
    return { transact: (bundles, decide) => this.#ask(connection, bundles, decide) };
  }

  /** Writes at once, before anything can go wrong. */
  write(bundles: Bundle[]): void {
    this.#nowMs = this.#clock();
    this.#commit(this.#process, bundles, (rows) => applyBatch(rows, bundles).changes);
  }

  #ask(connection: Connection, bundles: readonly Bundle[], decide: Decide): Promise<void> {
    const { process } = connection;
    return new Promise((resolve, reject) => {
      const isRefused = this.refusesUntilMs > this.#scheduler.nowMs;
      if (isRefused) {
        this.#trace.count('store refused');
        this.#scheduler.after(this.#chance.between(0, 5), process, () => reject(new Error('the store refuses')));
        return;
      }
      const stopWaiting = this.#scheduler.after(CLIENT_WAIT_MS, process, () => {
        this.#trace.count('store was too slow');
        // One that has not begun never will.
        reject(transaction.isWaiting ? new Error('the store does not answer') : inDoubt());
        transaction.isWaiting = false;
      });
      const done = (failure: unknown) => {
        stopWaiting();
        if (failure === null) resolve();
        else reject(failure);
      };
      const transaction: Transaction = { connection, bundles, decide, isWaiting: true, done };
      this.#queue.push(transaction);
      this.#begin();
    });
  }

  /** The next transaction locks the rows and reads them, at this time. */
  #begin(): void {
    if (this.#isBusy) return;
    let next = this.#queue.shift();
    while (next !== undefined && !(next.isWaiting && next.connection.process.isAlive)) next = this.#queue.shift();
    if (next === undefined) return;
    const transaction = next;
    transaction.isWaiting = false;
    this.#isBusy = true;
    this.#nowMs = this.#clock();
    const isSlow = this.slowUntilMs > this.#scheduler.nowMs;
    const lastsMs = isSlow ? this.#chance.between(100, 1_500) : this.#chance.between(0, 4);
    if (isSlow) this.#trace.count('commit was slow');
    this.#scheduler.after(lastsMs, this.#process, () => {
      this.#end(transaction);
      this.#isBusy = false;
      this.#begin();
    });
  }

  #end(transaction: Transaction): void {
    const { connection, done } = transaction;
    const { process } = connection;
    const answer = (failure: unknown) =>
      this.#scheduler.after(this.#chance.between(0, 3), process, () => done(failure));
    // Its node died meanwhile: its word to commit was on its way already, or never will be.
    if (!process.isAlive) {
      this.#trace.count('node was gone at its commit');
      if (this.#chance.is(0.5)) this.#commit(process, transaction.bundles, transaction.decide);
      return;
    }
    const fate = this.#fate();
    if (fate !== 'committed') this.#trace.count(`commit: ${fate}`);
    if (fate === 'crashBefore') {
      connection.crash('before its commit');
    } else if (fate === 'cutBefore') {
      // Nothing was committed; the node may or may not learn that.
      answer(this.#chance.is(0.5) ? new Error('the connection broke') : inDoubt());
    } else {
      const failure = this.#commit(process, transaction.bundles, transaction.decide);
      if (fate === 'crashAfter') connection.crash('after its commit');
      else answer(fate === 'cutAfter' ? inDoubt() : failure);
      // Behind its answer: the node has heard it, and done little more.
      if (fate === 'crashTold') this.#scheduler.after(4, process, () => connection.crash('after it was told'));
    }
  }

  #fate(): keyof StoreFaults | 'committed' {
    if (this.faults === null) return 'committed';
    for (const fate of ['crashBefore', 'crashAfter', 'crashTold', 'cutBefore', 'cutAfter'] as const)
      if (this.#chance.is(this.faults[fate])) return fate;
    return 'committed';
  }

  /** Decides over the rows and writes what was decided. Null, or why nothing was written. */
  #commit(process: Process, bundles: readonly Bundle[], decide: Decide): unknown {
    const refusal = this.refuses?.(bundles) ?? null;
    if (refusal !== null) return refusal;
    let changes: Changes | undefined;
    let answers: Answer[][] = [];
    try {
      this.#store.transact(bundles, (rows) => {
        if (this.onCommit !== null) answers = applyBatch(rows, bundles).answers;
        changes = decide(rows);
        return changes;
      });
    } catch (failure) {
      const sentence = failure instanceof BrokenInvariant ? failure.message : String((failure as Error).stack);
      this.#trace.fail(`the core broke: ${sentence}: ${JSON.stringify(bundles)}`);
      return failure;
    }
    if (changes === undefined) return null;
    this.auditor?.committed(bundles, changes, this.#nowMs);
    this.onCommit?.({ process, nowMs: this.#nowMs, bundles, answers, changes });
    return null;
  }
}

function inDoubt(): InDoubt {
  return new InDoubt('the connection broke');
}
