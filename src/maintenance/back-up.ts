// Takes a backup: a verified copy of the database under its final name, or nothing at all. The secret
// beside which it is of use is named, and never copied.

import { closeSync, existsSync, fsyncSync, mkdtempSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { BackupReport } from '../commands/commands.ts';
import type { Config } from '../config.ts';
import { nameDatabase } from '../storage/postgres/postgres.ts';
import {
  databasePath,
  type FromBackup,
  readProof,
  readStoredVersion,
  signInPath,
  surveyStore,
  type ToBackup,
} from '../storage/sqlite/sqlite.ts';
import { workerScript } from '../worker-scripts.ts';
import { isPreviousNeeded, readSecretState } from './secret-state.ts';

/** Copies the store as of now to `file`, which must not be there yet. Rejects when `signal` stops it; nothing is left then. */
export async function backUp(config: Config, file: string, signal: AbortSignal): Promise<BackupReport> {
  if (config.databaseUrl !== null) throw new Error(howElse(config.databaseUrl));
  const path = databasePath(config.dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  const target = resolve(file);
  const signInTarget = `${target}-sign-in`;
  const signIn = signInPath(config.dataDirectory);
  const hasSignIn = existsSync(signIn);
  refuseTarget(target);
  refuseTarget(signInTarget);
  // In a directory of its own, where what is unfinished is never taken for a backup, nor its journal left behind.
  const workplace = mkdtempSync(`${target}.partial-`);
  try {
    const takenAtMs = Date.now();
    const copyOf = (name: string) => join(workplace, name);
    const order = { path: signIn, target: copyOf('sign-in.db') };
    const copying = { path, target: copyOf('turnpike.db'), signIn: hasSignIn ? order : null };
    const { check } = await copyInThread(copying, signal);
    for (const one of [target, signInTarget]) refuseTarget(one);
    if (hasSignIn) renameSync(order.target, signInTarget); // first: who finds the other has both
    renameSync(copying.target, target);
    syncDirectory(dirname(target));
    const { size } = statSync(target);
    return {
      file: target,
      sign_in_file: hasSignIn ? signInTarget : null,
      bytes: size,
      taken_at: new Date(takenAtMs).toISOString(),
      check,
      ...neededSecrets(config, target),
    };
  } finally {
    rmSync(workplace, { recursive: true, force: true });
  }
}

/** A server that others write to is copied by its own programs, which know what is in its log. */
function howElse(url: string): string {
  const name = nameDatabase(url);
  return `the database ${name} is PostgreSQL's, which is backed up by its own programs: "pg_dump --format=custom --file=FILE URL" writes its state of one moment, while nodes serve; pg_basebackup with continuous archiving (archive_command) loses nothing up to the last moment. Keep TURNPIKE_SECRET too, in another place: without it no backup is of any use. See docs/operating.md, "Backup and restore"`;
}

function refuseTarget(target: string): void {
  if (existsSync(target)) throw new Error(`${target} is there already: a backup replaces nothing`);
  if (!existsSync(dirname(target))) throw new Error(`there is no directory ${dirname(target)}`);
}

async function copyInThread(order: ToBackup, signal: AbortSignal): Promise<{ check: BackupReport['check'] }> {
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

/** Where the secrets are that the copy needs: judged by the copy itself, since the store may have changed since. */
function neededSecrets(config: Config, copy: string): Pick<BackupReport, 'secret' | 'previous_secret'> {
  try {
    const { stored, known } = readStoredVersion(copy);
    const isOfThisVersion = stored === known;
    const use = isOfThisVersion ? surveyStore(copy, Date.now()) : { proof: readProof(copy), hashedUnder: [] };
    const state = readSecretState(config, use);
    const isHere = state.isUnder === 'present' || state.isUnder === 'previous';
    // What tables of another version depend on is not known: then both are named.
    const needsPrevious = isPreviousNeeded(state) || !isOfThisVersion;
    return { secret: isHere ? state.present : null, previous_secret: needsPrevious ? state.previous : null };
  } catch {
    return { secret: null, previous_secret: null }; // the copy is made and verified; a file that holds no secret is none
  }
}

function syncDirectory(directory: string): void {
  const file = openSync(directory, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
