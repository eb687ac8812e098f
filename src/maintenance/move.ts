// Moves an installation from its data directory into PostgreSQL: all of it or nothing. The directory is marked as moved before
// PostgreSQL commits, so that an interruption at any point never leaves two stores that bill messages.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { MoveReport } from '../commands/commands.ts';
import type { Config } from '../config/config.ts';
import { type CheckReport, checkLedger } from '../ledger/ledger.ts';
import {
  commitMove,
  describeDatabaseFailure,
  type Filled,
  fillDatabase,
  findMove,
  MoveCut,
  type MoveSession,
  nameDatabase,
  openMoveSession,
  prepareDatabase,
  refuseRows,
  sumLedger,
} from '../storage/postgres/postgres.ts';
import {
  closeForWriting,
  DirectoryLocked,
  databasePath,
  describeMark,
  lockDirectory,
  type MoveMark,
  openForWriting,
  openTables,
  readMoveMark,
  readStoredVersion,
  removeMoveMark,
  sumLedger as sumFile,
  writeMoveMark,
} from '../storage/sqlite/sqlite.ts';
import { secretsToMove } from './secret.ts';

type MoveConfig = Config & { databaseUrl: string };

/** `say` is called with the progress. Throws an error for the operator; the target is empty then, unless the error says otherwise. */
export async function move(config: MoveConfig, say: (line: string) => void): Promise<MoveReport> {
  const path = requireDatabase(config);
  using _lock = lockStopped(config.dataDirectory);
  const mark = readMoveMark(path);
  if (mark?.isDone) throw new Error(describeMark(mark));
  refuseLaterVersion(path);
  secretsToMove(config, path);
  const to = nameDatabase(config.databaseUrl);
  await using session = await openMoveSession(config.databaseUrl).catch((failure) => cannotMove(to, failure));
  if (mark !== null && (await isCommitted(session, mark, to))) return await endMove(config, path, mark);
  await refuseRows(session).catch((failure) => cannotMove(to, failure));
  if (mark !== null) removeMoveMark(path); // the earlier move was not committed
  bringUp(path, say);
  verify(checkLedger(sumFile(path)), `the ledger in ${path}`, say);
  return await fill(config, path, session, say);
}

/** Allows a moved directory to be served again. False if it was not moved. */
export function takeBack(config: Config): { taken_back: boolean } {
  const path = requireDatabase(config);
  using _lock = lockStopped(config.dataDirectory);
  if (readMoveMark(path) === null) return { taken_back: false };
  removeMoveMark(path);
  return { taken_back: true };
}

async function fill(
  config: MoveConfig,
  path: string,
  session: MoveSession,
  say: (line: string) => void,
): Promise<MoveReport> {
  const url = config.databaseUrl;
  const to = nameDatabase(url);
  const filled = await copy(path, session, url, say).catch((failure) => cannotMove(to, failure));
  const check = verify(checkLedger(filled.sums), `the ledger in the database ${to}`, say);
  const mark: MoveMark = { id: crypto.randomUUID(), atMs: Date.now(), to, isDone: false };
  writeMoveMark(path, mark);
  await commit(path, session, mark);
  noteDone(path, mark);
  return report(config, path, mark, check, filled);
}

async function copy(path: string, session: MoveSession, url: string, say: (line: string) => void): Promise<Filled> {
  await prepareDatabase(url).catch((failure) => throwWords(url, failure));
  using source = openTables(path);
  return await fillDatabase(session, source, (table, rows) => {
    if (rows > 0) say(`${table}: ${rows}`);
  });
}

/** If the outcome is unknown, the mark stays. */
async function commit(path: string, session: MoveSession, mark: MoveMark): Promise<void> {
  try {
    await commitMove(session, mark.id);
  } catch (failure) {
    if (!(failure instanceof MoveCut)) removeMoveMark(path);
    else throw new Error(`${failure.message}: ${describeMark(mark)}`, { cause: failure });
    return cannotMove(mark.to, failure);
  }
}

/** Whether an interrupted move was committed. Its session has ended, because this session holds the lock. */
async function isCommitted(session: MoveSession, mark: MoveMark, to: string): Promise<boolean> {
  if ((await findMove(session)) === mark.id) return true;
  if (mark.to !== to) throw new Error(describeMark(mark));
  return false;
}

async function endMove(config: MoveConfig, path: string, mark: MoveMark): Promise<MoveReport> {
  const sums = await sumLedger(config.databaseUrl).catch((failure) => throwWords(config.databaseUrl, failure));
  noteDone(path, mark);
  return report(config, path, mark, checkLedger(sums), null);
}

function noteDone(path: string, mark: MoveMark): void {
  try {
    writeMoveMark(path, { ...mark, isDone: true });
  } catch {
    // The mark for an unknown outcome stays: another move reports that one was made.
  }
}

function report(
  config: MoveConfig,
  path: string,
  mark: MoveMark,
  check: CheckReport,
  filled: Filled | null,
): MoveReport {
  return {
    from: resolve(config.dataDirectory),
    to: mark.to,
    moved_at: new Date(mark.atMs).toISOString(),
    rows: filled?.rows ?? null,
    replaced: filled?.replaced ?? [],
    check,
    ...secretsToMove(config, path),
  };
}

function verify(check: CheckReport, what: string, say: (line: string) => void): CheckReport {
  if (!check.ok) throw new Error([`${what} is inconsistent, so nothing was moved:`, ...check.faults].join('\n'));
  say(`verified ${what}`);
  return check;
}

function bringUp(path: string, say: (line: string) => void): void {
  const { stored, known } = readStoredVersion(path);
  if (stored === known) return;
  closeForWriting(openForWriting(path));
  say(`migrated the tables from version ${stored} to version ${known}`);
}

function refuseLaterVersion(path: string): void {
  const { stored, known } = readStoredVersion(path);
  if (stored <= known) return;
  throw new Error(
    `the tables of ${path} have version ${stored}; this release supports versions up to ${known}: move them with the release that wrote them`,
  );
}

function lockStopped(directory: string): Disposable {
  try {
    const lock = lockDirectory(directory);
    return { [Symbol.dispose]: () => lock.close() };
  } catch (cause) {
    if (!(cause instanceof DirectoryLocked)) throw cause;
    throw new Error(`a service or another move is running on the data directory ${directory}: stop it first`, {
      cause,
    });
  }
}

function requireDatabase({ dataDirectory }: Config): string {
  const path = databasePath(dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  return path;
}

function throwWords(url: string, failure: unknown): never {
  throw new Error(describeDatabaseFailure(failure, url).words, { cause: failure });
}

function cannotMove(to: string, failure: unknown): never {
  const words = failure instanceof Error ? failure.message : String(failure);
  throw new Error(`nothing was moved to the database ${to}: ${words}`, { cause: failure });
}
