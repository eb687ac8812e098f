// Writes commits of the ledger: rows as the values of prepared statements, in one transaction.

import type { Database } from 'bun:sqlite';
import { BrokenInvariant } from '../../base/assert.ts';
import { InDoubt } from '../../ledger/ledger.ts';
import type { Cell } from '../tables.ts';
import { writeCoCommitted } from './co-committed.ts';
import { COMMITS, readCommits } from './commit-mark.ts';
import { type LedgerWrites, prepareLedgerWrites, prepareText } from './statements.ts';

/** The name of a statement, and the parameters of each row that it writes. */
export type RowWrites = [statement: keyof LedgerWrites, rows: Cell[][]];

/** Plain JSON values, because commits cross a thread boundary. */
export interface RowCommit {
  /** Unique among all commits. null: never repeated. */
  name: string | null;
  rows: RowWrites[];
  coCommitted: readonly unknown[];
}

export interface LedgerWriter {
  /**
   * Writes one durable transaction; a commit that was written before under its name is not written again. Throws
   * BrokenInvariant if a row violates a constraint, InDoubt if the outcome is unknown. After any other failure nothing
   * was written.
   */
  write(commit: RowCommit): void | Promise<void>;
}

const LAST_COMMIT = 'last_ledger_commit';

/** Writes on a connection of this thread. */
export class ConnectionWriter implements LedgerWriter {
  readonly #database: Database;
  readonly #writes: LedgerWrites;
  readonly #control: ReturnType<typeof prepareControl>;
  /** A commit failed, and may be on the disk. */
  #isDoubtful = false;
  #commits: number;

  constructor(database: Database) {
    this.#database = database;
    this.#commits = readCommits(database);
    this.#writes = prepareLedgerWrites(database);
    this.#control = prepareControl(database);
  }

  /** The number of commits that the database is known to have. */
  get commits(): number {
    return this.#commits;
  }

  write({ name, rows, coCommitted }: RowCommit): void {
    const { begin, commit, setLast, count } = this.#control;
    let isCommitAsked = false;
    try {
      if (this.#isDoubtful && name !== null && this.#isWritten(name)) return;
      begin.run();
      for (const [statement, each] of rows) {
        const write = this.#writes[statement];
        for (const cells of each) write.run(cells);
      }
      for (const row of coCommitted) writeCoCommitted(this.#database, row);
      if (name !== null) setLast.run(LAST_COMMIT, name);
      const { commits } = count.get(COMMITS) as { commits: number };
      isCommitAsked = true;
      commit.run();
      this.#commits = commits;
      this.#isDoubtful = false;
    } catch (failure) {
      this.#isDoubtful = true;
      if (this.#database.inTransaction) this.#control.rollback.run();
      if (isRowAtFault(failure)) throw new BrokenInvariant(String(failure), { cause: failure });
      throw isCommitAsked ? new InDoubt('the commit failed', { cause: failure }) : failure;
    }
  }

  #isWritten(name: string): boolean {
    return (this.#control.readLast.get(LAST_COMMIT) as { value: string } | null)?.value === name;
  }
}

function prepareControl(database: Database) {
  return {
    count: prepareText(
      database,
      `INSERT INTO installation (name, value) VALUES ($1, '1')
       ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1 RETURNING CAST(value AS INTEGER) AS commits`,
    ),
    begin: prepareText(database, 'BEGIN IMMEDIATE'),
    commit: prepareText(database, 'COMMIT'),
    rollback: prepareText(database, 'ROLLBACK'),
    readLast: prepareText(database, 'SELECT value FROM installation WHERE name = $1'),
    setLast: prepareText(
      database,
      'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    ),
  };
}

/** Whether a row violated a constraint, so that its bundle is at fault and not the store. */
function isRowAtFault(failure: unknown): boolean {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  return /^SQLITE_(?:CONSTRAINT|MISMATCH|TOOBIG)/.test(code);
}
