// The ledger's store in PostgreSQL, as one lane of a node: a connection with one batch at a time, in two round trips. The first locks
// the accounts and reads, the second writes and commits; between them the node decides. Nothing is remembered between batches.

import { BrokenInvariant } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { bounds } from '../../config.ts';
import type { Bundle, Changes, HoldRow, LedgerStore, Rows } from '../../ledger/ledger.ts';
import { readHoldRow } from '../row-codec.ts';
import { type CheckedAsk, writeAlongside } from './alongside.ts';
import { dropAnswers, SUM_ANSWERS } from './answer-writes.ts';
import {
  type Answered,
  type Asked,
  BEGIN,
  COMMIT,
  Connection,
  type ConnectionLimits,
  ConnectionLost,
  ROLLBACK,
} from './connection.ts';
import { type LoadedRows, loadRows } from './load-rows.ts';
import { type Needs, readNeeds } from './needs.ts';
import * as statements from './statements.ts';
import { makeMonthText } from './usage-partitions.ts';
import { writeChanges } from './write-changes.ts';

const OUTCOME_REST_MS = 200;
const AGAIN_REST_MS = 5;

export interface LaneOptions {
  /** For tests, whose time is not the database's. */
  clock?: Clock;
  limits?: ConnectionLimits;
}

export class PostgresLedgerStore implements LedgerStore {
  /** Told of the database's time, with each batch. */
  onTime: (nowMs: number) => void = () => {};
  readonly #connection: Connection;
  readonly #clock: Clock | null;

  constructor(url: string, { clock, limits }: LaneOptions = {}) {
    this.#connection = new Connection(url, statements.warmUp, limits);
    this.#clock = clock ?? null;
  }

  async transact(bundles: readonly Bundle[], decide: (rows: Rows) => Changes): Promise<void> {
    const needs = readNeeds(bundles);
    for (let tries = 1; ; tries++) {
      const batch = new Batch(this.#connection, needs, this.#clock?.nowMs() ?? null);
      try {
        await batch.run(decide, this.onTime);
        return;
      } catch (failure) {
        if (failure instanceof ConnectionLost) {
          // Cut off before it asked for a commit, it was not made; a connection that rested may have been cut long ago.
          if (failure.isSilent || batch.isCommitAsked || tries > 1) throw failure;
          continue;
        }
        await this.#connection.ask(ROLLBACK).catch(() => {}); // lost: it was rolled back with its connection
        if (tries >= bounds.batchTriesMax || !isToBeginAgain(failure)) throw asOfBundleOrStore(failure);
        const month = missingMonth(failure);
        if (month !== null) await this.#makeMonth(month);
        await Bun.sleep(Math.random() * AGAIN_REST_MS * tries);
      }
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #makeMonth(month: number): Promise<void> {
    await this.#connection.ask({ text: makeMonthText(month), values: [] });
  }
}

/** One try of a batch. */
class Batch {
  /** From then on it may have been made although nothing was heard of it. */
  isCommitAsked = false;
  readonly #connection: Connection;
  readonly #needs: Needs;
  readonly #nowMs: number | null;

  constructor(connection: Connection, needs: Needs, nowMs: number | null) {
    this.#connection = connection;
    this.#needs = needs;
    this.#nowMs = nowMs;
  }

  async run(decide: (rows: Rows) => Changes, onTime: (nowMs: number) => void): Promise<void> {
    const loaded = this.#needs.expires ? await this.#loadWithLapsed() : await this.#load(this.#needs, [BEGIN]);
    onTime(loaded.rows.nowMs);
    const changes = decide(loaded.rows);
    if (changes.isEmpty) {
      await this.#connection.ask(ROLLBACK);
      return;
    }
    const asked = [...writeChanges(changes, loaded), ...writeAlongside(changes)];
    if (!changes.alongside.some(isAnswer)) {
      await this.#commit(asked, loaded.transaction);
      return;
    }
    const answers = await this.#commit([...asked, SUM_ANSWERS], loaded.transaction);
    await this.#boundAnswers(answers.at(-1));
  }

  async #load(needs: Needs, first: readonly Asked[]): Promise<LoadedRows> {
    const { asked, read } = loadRows(needs, this.#nowMs);
    const answers = await this.#connection.ask(...first, ...asked);
    return read(answers.slice(first.length));
  }

  /** Leases before accounts, here and everywhere. Whose holds have lapsed is known only then, and looked at again under their locks. */
  async #loadWithLapsed(): Promise<LoadedRows> {
    const values = [this.#nowMs, bounds.holdsExpiredAtOnce];
    const [, , found] = await this.#connection.ask(
      BEGIN,
      { text: statements.LOCK_LEASES, values: [] },
      { text: statements.FIND_LAPSED, values },
    );
    const lapsed = (found as unknown as { document: string }[]).map(readHoldRow);
    return await this.#load(withHolds(this.#needs, lapsed), []);
  }

  /** What may refuse a bundle is looked at before the commit is asked for, all else goes with it. Gives the answers that were had. */
  async #commit(asked: readonly CheckedAsk[], transaction: string): Promise<Answered[]> {
    const { timeline } = this.#connection;
    const isChecked = asked.some(({ check }) => check !== undefined);
    const before = isChecked ? await this.#connection.ask(...asked) : [];
    if (isChecked) for (const [at, { check }] of asked.entries()) check?.(before[at] as Answered);
    this.isCommitAsked = true;
    try {
      const answers = await this.#connection.ask(...(isChecked ? [] : asked), COMMIT);
      if (answers.pop()?.command !== 'COMMIT') throw new Error('the database did not commit');
      return isChecked ? before : answers;
    } catch (failure) {
      if (!(failure instanceof ConnectionLost)) throw failure;
      this.isCommitAsked = await this.#wasMade(transaction, timeline);
      if (!this.isCommitAsked) throw failure;
      return [];
    }
  }

  /** Of a commit that had no answer: the connection that asked for it is ended first, so that it is made by now, or never. */
  async #wasMade(transaction: string, timeline: string | null): Promise<boolean> {
    const untilMs = performance.now() + bounds.commitOutcomeWaitMsMax;
    for (; performance.now() < untilMs; await Bun.sleep(OUTCOME_REST_MS)) {
      const outcome = await this.#readOutcome(transaction);
      if (outcome === null) continue;
      // In another history the number may be another transaction's.
      if (this.#connection.timeline !== timeline) break;
      if (outcome === 'committed' || outcome === 'aborted') return outcome === 'committed';
      if (outcome !== 'in progress') break;
    }
    throw new ConnectionLost('whether it was committed cannot be told', { isSilent: true });
  }

  /** Null where the database cannot be asked. */
  async #readOutcome(transaction: string): Promise<string | null> {
    try {
      const [[row] = []] = await this.#connection.ask({ text: statements.READ_OUTCOME, values: [transaction] });
      return String(row?.['outcome']);
    } catch (failure) {
      return failure instanceof ConnectionLost ? null : String(failure);
    }
  }

  /** After the batch, which does not fail for it: whoever stores the next answer looks again. */
  async #boundAnswers(first: Answered | undefined): Promise<void> {
    try {
      let sum = first;
      for (let drops = 0; drops < bounds.batchTriesMax; drops++) {
        const excessBytes = Number(sum?.[0]?.['bytes'] ?? 0) - bounds.answersStoredBytesMax;
        if (excessBytes <= 0) return;
        await this.#connection.ask(dropAnswers(excessBytes));
        [sum] = await this.#connection.ask(SUM_ANSWERS);
      }
    } catch {
      // As it says above.
    }
  }
}

function withHolds(needs: Needs, holds: readonly HoldRow[]): Needs {
  const join = <Id>(ids: readonly Id[], more: Id[]) => [...new Set([...ids, ...more])];
  const requestIds = holds.map(({ requestId }) => requestId);
  return {
    ...needs,
    accounts: join(
      needs.accounts,
      holds.map(({ account }) => account),
    ).sort((one, other) => one - other),
    keys: join(
      needs.keys,
      holds.map(({ key }) => key),
    ),
    holds: join(needs.holds, requestIds),
    endings: join(needs.endings, requestIds),
  };
}

function isAnswer(row: unknown): boolean {
  return (row as { table: string }).table === 'answers' && 'answer' in (row as object);
}

interface ServerError {
  errno?: unknown;
  constraint?: unknown;
  detail?: unknown;
  message?: unknown;
}

const AGAIN = ['40001', '40P01', '55P03']; // serialization failure, deadlock, a lock not had in time

/** Others were at the same rows, made one of them meanwhile, or nobody has made the month yet. */
function isToBeginAgain(failure: unknown): boolean {
  const { errno, constraint } = failure as ServerError;
  const isMadeMeanwhile = errno === '23505' && /^(?:account_meters|key_meters|leases)_pkey$/.test(String(constraint));
  return AGAIN.includes(String(errno)) || isMadeMeanwhile || missingMonth(failure) !== null;
}

/** The month of a usage record that has no partition yet. */
function missingMonth(failure: unknown): number | null {
  const { errno, message, detail } = failure as ServerError;
  if (errno !== '23514' || !String(message).startsWith('no partition of relation')) return null;
  const month = /\(month\) = \((\d+)\)/.exec(String(detail))?.[1];
  return month === undefined ? null : Number(month);
}

/** A row that was refused for what it is is its bundle's fault; all else that the server says is the store's. */
function asOfBundleOrStore(failure: unknown): unknown {
  const { errno } = failure as ServerError;
  return /^2[23]/.test(String(errno)) ? new BrokenInvariant(String(failure), { cause: failure }) : failure;
}
