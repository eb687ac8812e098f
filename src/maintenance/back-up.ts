// Takes a backup: a verified copy of the database under its final name, or nothing. The secret that it needs is named,
// never copied.

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { syncPath } from '../base/sync-path.ts';
import type { BackupReport } from '../commands/commands.ts';
import type { Config } from '../config/config.ts';
import { nameDatabase } from '../storage/postgres/postgres.ts';
import { type Copied, databasePath, type FromBackup, signInPath, type ToBackup } from '../storage/sqlite/sqlite.ts';
import { workerScript } from '../threads/threads.ts';
import { withLoss } from './check-database.ts';
import { isPreviousNeeded, readSecretState, secretUseOf } from './secret.ts';

/** Copies the store to `file`, which must not exist. Rejects and leaves no file if `signal` is aborted. */
export async function backUp(config: Config, file: string, signal: AbortSignal): Promise<BackupReport> {
  if (config.databaseUrl !== null) throw new Error(postgresAdvice(config.databaseUrl));
  const path = databasePath(config.dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  const target = resolve(file);
  const signInTarget = signInCopyPath(target);
  const signIn = signInPath(config.dataDirectory);
  const hasSignIn = existsSync(signIn);
  refuseTarget(target);
  refuseTarget(signInTarget);
  // A directory of its own: an unfinished copy is never mistaken for a backup, and no journal remains.
  const partial = mkdtempSync(`${target}.partial-`);
  try {
    const takenAtMs = Date.now();
    const copyOf = (name: string) => join(partial, name);
    const order = { path: signIn, target: copyOf('sign-in.db') };
    const copying = { path, target: copyOf('turnpike.db'), signIn: hasSignIn ? order : null };
    const copied = await copyInThread(copying, signal);
    for (const one of [target, signInTarget]) refuseTarget(one);
    // The backup file comes last, so that it never exists without the others.
    if (hasSignIn) renameSync(order.target, signInTarget);
    const checksums = checksumsPath(target);
    writeDurably(copyOf('sha256'), checksumLines(copied, target, signInTarget));
    renameSync(copyOf('sha256'), checksums); // replaces that of a former backup, which is removed without it
    renameSync(copying.target, target);
    syncPath(dirname(target));
    const { size } = statSync(target);
    return {
      file: target,
      sign_in_file: hasSignIn ? signInTarget : null,
      checksum_file: checksums,
      bytes: size,
      taken_at: new Date(takenAtMs).toISOString(),
      check: copied.check && withLoss(path, copied.check),
      ...neededSecrets(config, target),
    };
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** A PostgreSQL server is backed up by its own programs. */
function postgresAdvice(url: string): string {
  const name = nameDatabase(url);
  return `the database ${name} is a PostgreSQL database: back it up with the tools of PostgreSQL. "pg_dump --format=custom --file=FILE URL" writes a consistent snapshot while nodes run; pg_basebackup with continuous archiving (archive_command) allows recovery up to the last commit. Back up TURNPIKE_SECRET too, in another place: without it a backup cannot be used. See docs/operating.md, "Backup and restore"`;
}

function refuseTarget(target: string): void {
  if (existsSync(target)) throw new Error(`${target} already exists: a backup never overwrites a file`);
  if (!existsSync(dirname(target))) throw new Error(`there is no directory ${dirname(target)}`);
}

/** The copy of the sign-in database that belongs to a backup. */
export function signInCopyPath(file: string): string {
  return `${file}-sign-in`;
}

/** The file with the checksums of a backup, as `sha256sum` writes it. */
export function checksumsPath(file: string): string {
  return `${file}.sha256`;
}

function checksumLines({ sha256, signInSha256 }: Copied, file: string, signInFile: string): string {
  const lines = [`${sha256}  ${basename(file)}`];
  if (signInSha256 !== null) lines.push(`${signInSha256}  ${basename(signInFile)}`);
  return `${lines.join('\n')}\n`;
}

async function copyInThread(order: ToBackup, signal: AbortSignal): Promise<Copied> {
  const worker = new Worker(workerScript('backup-worker').href, { smol: true });
  try {
    const answer = await new Promise<FromBackup>((resolveAnswer, reject) => {
      worker.onmessage = ({ data }) => resolveAnswer(JSON.parse(data));
      worker.onerror = ({ message }) => reject(new Error(message));
      signal.addEventListener('abort', () => reject(new Error('stopped: no backup was made')));
      if (signal.aborted) reject(new Error('stopped: no backup was made'));
      worker.postMessage(JSON.stringify(order));
    });
    if ('failed' in answer) throw new Error(`no backup was made: ${answer.failed}`);
    return answer.copied;
  } finally {
    worker.terminate();
  }
}

/** Where the secrets are that the copy needs. Read from the copy, because the store may have changed since. */
function neededSecrets(config: Config, copy: string): Pick<BackupReport, 'secret' | 'previous_secret'> {
  try {
    const state = readSecretState(config, secretUseOf(copy, Date.now()));
    const isHere = state.isUnder === 'present' || state.isUnder === 'previous';
    return { secret: isHere ? state.present : null, previous_secret: isPreviousNeeded(state) ? state.previous : null };
  } catch {
    return { secret: null, previous_secret: null }; // the copy is made and verified; a file without a secret counts as none
  }
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
