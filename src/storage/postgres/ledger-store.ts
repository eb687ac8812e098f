// The ledger's store in PostgreSQL, as one lane of a node: a connection with one batch at a time, in two round trips. The first locks
// the accounts and reads, the second writes and commits; between them the node decides. Nothing is remembered between batches.

import { BrokenInvariant } from '../../base/assert.ts';
import { integerOf } from '../../base/checked-number.ts';
import type { Clock } from '../../base/clock.ts';
import { bounds } from '../../config/config.ts';
import {
  type Bundle,
  type Changes,
  type HoldRow,
  InDoubt,
  type LedgerStore,
  Outpaced,
  type Rows,
  RowsLocked,
} from '../../ledger/ledger.ts';
import { isAnswerRow } from '../co-committed.ts';
import { type HoldsTable, readHold } from '../stored-hold.ts';
import { raiseEpoch } from './change-feed.ts';
import { type CheckedAsk, dropAnswers, SUM_ANSWERS, writeCoCommitted } from './co-committed.ts';
import { arrayOf, makeMonthText } from './columns.ts';
import {
  type Answered,
  BEGIN,
  COMMIT,
  Connection,
  type ConnectionLimits,
  ConnectionLost,
  ROLLBACK,
  type Statement,
} from './connection.ts';
import { KnownChains, RowsMissing, withRows } from './known-chains.ts';
import { BRIEF_LOCKS, findLocked, type LoadedRows, loadRows, type Needs, readNeeds } from './load-rows.ts';
import * as statements from './statements.ts';
import { writeChanges } from './write-changes.ts';

const OUTCOME_REST_MS = 200;
const AGAIN_REST_MS = 5;

export interface LaneOptions {
  /** For tests with their own time. */
  clock?: Clock;
  limits?: ConnectionLimits;
  /** How long the outcome of a commit without an answer is looked up. */
  outcomeMsMax?: number;
}

export class PostgresLedgerStore implements LedgerStore {
  /** Called with the database's time, with each batch. */
  onTime: (nowMs: number) => void = () => {};
  readonly #connection: Connection;
  readonly #chains = new KnownChains();
  readonly #clock: Clock | null;
  readonly #outcomeMsMax: number;

  constructor(url: string, { clock, limits, outcomeMsMax = bounds.commitOutcomeWaitMsMax }: LaneOptions = {}) {
    this.#connection = new Connection(url, statements.warmUp, limits);
    this.#clock = clock ?? null;
    this.#outcomeMsMax = outcomeMsMax;
  }

  async transact(bundles: readonly Bundle[], decide: (rows: Rows) => Changes, isBrief = false): Promise<void> {
    let needs = this.#chains.fill(readNeeds(bundles));
    for (let tries = 1, misses = 0, isLocked = false; ; tries++) {
      const options = { nowMs: this.#clock?.nowMs() ?? null, outcomeMsMax: this.#outcomeMsMax, isBrief, isLocked };
      const batch = new Batch(this.#connection, needs, this.#chains, options);
      try {
        await batch.run(decide, this.onTime);
        return;
      } catch (failure) {
        if (failure instanceof ConnectionLost) {
          // Not committed if the connection was lost before the commit was requested; an idle connection may have
          // been lost long ago.
          if (batch.isCommitAsked) throw inDoubt(batch.transaction, failure);
          if (failure.isSilent || tries > 1) throw failure;
          continue;
        }
        await this.#connection.ask(ROLLBACK).catch(() => {}); // lost: rolled back with its connection
        if (failure instanceof RowsMissing && ++misses <= bounds.accountChainMax) {
          needs = this.#chains.fill(withRows(needs, failure.rows));
          tries--;
          continue;
        }
        isLocked = [LOCK_NOT_HAD, TOO_LONG].includes(String((failure as ServerError).errno));
        if (isLocked && !needs.expires) {
          const neededBy = isBrief ? () => null : await findLocked(this.#connection, needs, this.#chains);
          if (neededBy !== null) throw new RowsLocked(neededBy, { cause: failure });
        }
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

interface BatchOptions {
  nowMs: number | null;
  outcomeMsMax: number;
  /** Wait only briefly for locked accounts. */
  isBrief: boolean;
  /** The previous attempt waited too long. */
  isLocked: boolean;
}

/** One attempt of a batch. */
class Batch {
  /** From then on it may have been committed, even without an answer. */
  isCommitAsked = false;
  /** The database's transaction number, once its rows are loaded. */
  transaction: string | null = null;
  readonly #connection: Connection;
  readonly #needs: Needs;
  readonly #chains: KnownChains;
  readonly #options: BatchOptions;

  constructor(connection: Connection, needs: Needs, chains: KnownChains, options: BatchOptions) {
    this.#connection = connection;
    this.#needs = needs;
    this.#chains = chains;
    this.#options = options;
  }

  async run(decide: (rows: Rows) => Changes, onTime: (nowMs: number) => void): Promise<void> {
    const first = this.#options.isBrief ? [BEGIN, BRIEF_LOCKS] : [BEGIN];
    const loaded = this.#needs.expires ? await this.#loadWithLapsed() : await this.#load(this.#needs, first);
    this.transaction = loaded.transaction;
    onTime(loaded.rows.nowMs);
    const changes = decide(loaded.rows);
    if (changes.isEmpty) {
      await this.#connection.ask(ROLLBACK);
      return;
    }
    const asked = [
      ...writeChanges(changes, loaded, this.#needs.told),
      ...writeCoCommitted(changes),
      ...raiseEpoch(this.#needs.told, changes, loaded.rows.nowMs),
    ];
    if (!changes.coCommitted.some(isAnswerRow)) {
      await this.#commit(asked, loaded.transaction);
      return;
    }
    const answers = await this.#commit([...asked, SUM_ANSWERS], loaded.transaction);
    await this.#boundAnswers(answers.at(-1));
  }

  async #load(needs: Needs, first: readonly Statement[]): Promise<LoadedRows> {
    const { asked, read } = loadRows(needs, this.#options.nowMs);
    const answers = await this.#connection.ask(...first, ...asked);
    const loaded = read(answers.slice(first.length));
    const missing = this.#chains.findMissing(loaded, needs);
    if (missing !== null) throw new RowsMissing(this.#chains.withoutKnown(missing, needs));
    return loaded;
  }

  /**
   * Leases are locked before accounts, everywhere. Which holds have lapsed is known only then, and checked again
   * under their locks.
   */
  async #loadWithLapsed(): Promise<LoadedRows> {
    const { moved, spared } = this.#needs;
    const values = [this.#options.nowMs, bounds.holdsExpiredAtOnce, arrayOf(moved), arrayOf(spared)];
    const [, , found] = await this.#connection.ask(
      BEGIN,
      { text: statements.LOCK_LEASES, values: [] },
      { text: statements.FIND_LAPSED, values },
    );
    const lapsed = (found as unknown as HoldsTable[]).map(readHold);
    return await this.#load(this.#needsOfHolds(this.#needs, await this.#havable(lapsed)), [BRIEF_LOCKS]);
  }

  /**
   * Holds of accounts that stay locked are left for a later attempt: leases are locked, and every node waits for
   * them.
   */
  async #havable(lapsed: HoldRow[]): Promise<HoldRow[]> {
    if (!this.#options.isLocked || lapsed.length === 0) return lapsed;
    const accountsOf = (holds: HoldRow[]) => this.#needsOfHolds(readNeeds([]), holds).accounts;
    const values = [arrayOf(accountsOf(lapsed))];
    const [rows = []] = await this.#connection.ask({ text: statements.LOCK_FREE_ACCOUNTS, values });
    const free = new Set(rows.map(({ id }) => id));
    return lapsed.filter((hold) => accountsOf([hold]).every((account) => free.has(account)));
  }

  /** Also the accounts that are above now, and the person's: a hold names those of its admission. */
  #needsOfHolds(needs: Needs, holds: readonly HoldRow[]): Needs {
    return this.#chains.fill(withHolds(needs, holds));
  }

  /**
   * Statements that may refuse a bundle are checked before the commit is requested; all others go with it. Returns
   * the results.
   */
  async #commit(asked: readonly CheckedAsk[], transaction: string): Promise<Answered[]> {
    const { timeline, life } = this.#connection;
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
      this.isCommitAsked = await this.#wasMade(transaction, { timeline, life });
      if (!this.isCommitAsked) throw failure;
      return [];
    }
  }

  /** After a commit without an answer: the connection is ended first, so that the outcome is final. */
  async #wasMade(transaction: string, before: Pick<Connection, 'timeline' | 'life'>): Promise<boolean> {
    const untilMs = performance.now() + this.#options.outcomeMsMax;
    for (; performance.now() < untilMs; await Bun.sleep(OUTCOME_REST_MS)) {
      const outcome = await this.#readOutcome(transaction);
      if (outcome === null) continue;
      // In another timeline the number may belong to another transaction.
      if (this.#connection.timeline !== before.timeline) break;
      if (outcome === 'aborted') return false;
      // Also after a crash if the commit was never on disk: otherwise it would be committed.
      if (outcome === 'committed' && this.#connection.life === before.life) return true;
      if (outcome !== 'in progress') break;
    }
    throw new ConnectionLost('it is unknown whether the transaction was committed', { isSilent: true });
  }

  /** null if the database cannot be queried. */
  async #readOutcome(transaction: string): Promise<string | null> {
    try {
      const [[row] = []] = await this.#connection.ask({ text: statements.READ_OUTCOME, values: [transaction] });
      return String(row?.['outcome']);
    } catch (failure) {
      return failure instanceof ConnectionLost ? null : String(failure);
    }
  }

  /** After the batch, which does not fail for it: the next stored response checks again. */
  async #boundAnswers(first: Answered | undefined): Promise<void> {
    try {
      let sum = first;
      for (let drops = 0; drops < bounds.answerDropsMax; drops++) {
        if (integerOf(sum?.[0]?.['bytes'] ?? 0) <= bounds.answersStoredBytesMax) return;
        [, sum] = await this.#connection.ask(dropAnswers(bounds.answersStoredBytesMax), SUM_ANSWERS);
      }
    } catch {
      // As described above.
    }
  }
}

/** The number lets an operator ask later: `SELECT pg_xact_status('…')`. */
function inDoubt(transaction: string | null, cause: ConnectionLost): InDoubt {
  return new InDoubt(`it is unknown whether transaction ${transaction} was committed`, { transaction, cause });
}

function withHolds(needs: Needs, holds: readonly HoldRow[]): Needs {
  const join = <Id>(ids: readonly Id[], more: Id[]) => [...new Set([...ids, ...more])];
  const requestIds = holds.map(({ requestId }) => requestId);
  return {
    ...needs,
    accounts: join(
      needs.accounts,
      holds.flatMap(({ account, above }) => [account, ...above]),
    ),
    people: join(
      needs.people,
      holds.flatMap(({ person }) => (person === null ? [] : [person])),
    ),
    keys: join(
      needs.keys,
      holds.map(({ key }) => key),
    ),
    holds: join(needs.holds, requestIds),
    endings: join(needs.endings, requestIds),
  };
}

interface ServerError {
  errno?: unknown;
  constraint?: unknown;
  detail?: unknown;
  message?: unknown;
}

const LOCK_NOT_HAD = '55P03';
const TOO_LONG = '57014'; // a wait behind other waiting transactions may take several lock timeouts
const AGAIN = ['40001', '40P01', LOCK_NOT_HAD]; // serialization failure, deadlock, lock not available

/** Others locked the same rows or inserted one meanwhile, or the month's partition does not exist yet. */
function isToBeginAgain(failure: unknown): boolean {
  const { errno, constraint } = failure as ServerError;
  const isMadeMeanwhile =
    errno === '23505' && /^(?:account_meters|key_meters|person_meters|leases)_pkey$/.test(String(constraint));
  return AGAIN.includes(String(errno)) || isMadeMeanwhile || missingMonth(failure) !== null;
}

/** The month of a usage record that has no partition yet. */
function missingMonth(failure: unknown): number | null {
  const { errno, message, detail } = failure as ServerError;
  if (errno !== '23514' || !String(message).startsWith('no partition of relation')) return null;
  const month = /\(month\) = \((\d+)\)/.exec(String(detail))?.[1];
  return month === undefined ? null : integerOf(month);
}

/** Inserted by another node, with the same idempotency key, email, identity or name: a retry finds it. */
const RACED = [
  'creations_pkey',
  'people_email_key',
  'people_by_identity',
  'directory_groups_by_name',
  'scim_users_by_name',
  'scim_users_by_email',
  'scim_users_by_person',
  'scim_groups_by_name',
];

/** A refused row is its bundle's fault; every other error is the store's. */
function asOfBundleOrStore(failure: unknown): unknown {
  const { errno, constraint } = failure as ServerError;
  if (RACED.includes(String(constraint))) return new Outpaced(String(failure), { cause: failure });
  return /^2[23]/.test(String(errno)) ? new BrokenInvariant(String(failure), { cause: failure }) : failure;
}
