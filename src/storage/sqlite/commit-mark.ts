// The number of commits that the ledger has acknowledged, in a file beside the database. SQLite opens a database without its log as if
// the commits in it had never been; the number shows that they are missing.

import type { Database } from 'bun:sqlite';
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseWholeNumber } from '../../base/checked-number.ts';

/** Name of the database's own number of commits, written in the same transactions. */
export const COMMITS = 'ledger_commits';

const NUMBER_DIGITS = 16;

interface Mark {
  commits: number;
  atMs: number;
}

function markPath(path: string): string {
  return join(dirname(path), 'last-commit');
}

/** The mark beside the database at `path`; null without one, or if it is not one: a crash of the machine can leave it empty. */
export function readMark(path: string): Mark | null {
  let text: string;
  try {
    text = readFileSync(markPath(path), 'utf8');
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw failure;
  }
  const [commits, atMs] = text.trim().split(/\s+/).map(parseWholeNumber);
  return commits == null || atMs == null ? null : { commits, atMs };
}

/** Acknowledged commits that a database does not have. */
export interface CommitLoss {
  commits: number;
  /** When the last commit was acknowledged. */
  untilMs: number;
  markPath: string;
}

export function describeLoss({ commits, untilMs, markPath: file }: CommitLoss): { fault: string; remedy: string } {
  const until = new Date(untilMs).toISOString();
  return {
    fault: `turnpike.db lacks the last ${commits === 1 ? 'commit' : `${commits} commits`} of the ledger, acknowledged until ${until}: after a crash its turnpike.db-wal was removed, or an earlier copy has taken its place`,
    remedy: `Put the missing file back. If it is lost, or turnpike.db is a restored backup, remove ${file} to accept the loss.`,
  };
}

/** The commits that a database at `path` with this number of them lacks by its mark; null if none. */
export function lossOf(path: string, mark: Mark, commits: number): CommitLoss | null {
  const lost = mark.commits - commits;
  return lost <= 0 ? null : { commits: lost, untilMs: mark.atMs, markPath: markPath(path) };
}

/** 0 for tables of a version that did not count. */
export function readCommits(database: Database): number {
  const isMade = database.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'installation'").get();
  if (isMade === null) return 0;
  const row = database.query('SELECT value FROM installation WHERE name = ?').get(COMMITS);
  return parseWholeNumber((row as { value: string } | null)?.value ?? '0') ?? 0;
}

/** Writes the mark, without a sync: it survives the process, and never names a commit that is not durable. */
export class CommitMark {
  readonly #file: number;
  #commits: number;

  constructor(path: string, commits: number) {
    this.#commits = commits;
    this.#file = openSync(markPath(path), existsSync(markPath(path)) ? 'r+' : 'wx+', 0o600);
    this.#write();
  }

  set(commits: number): void {
    if (commits === this.#commits) return;
    this.#commits = commits;
    try {
      this.#write();
    } catch {
      // The commit is durable. An earlier number only hides the loss of it.
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(): void {
    writeSync(this.#file, `${String(this.#commits).padStart(NUMBER_DIGITS)} ${Date.now()}\n`, 0);
  }
}
