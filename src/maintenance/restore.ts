// Restores a backup into an empty data directory: complete and verified, or not at all. The copies are made in a directory
// inside of it and moved to their names in the end. While that directory exists, the service does not start.

import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { syncPath } from '../base/sync-path.ts';
import type { RestoreFiles, RestoreReport } from '../commands/commands.ts';
import type { Config } from '../config/config.ts';
import { checkLedger } from '../ledger/ledger.ts';
import { previousSecretPath, secretPath } from '../secrets/secrets.ts';
import {
  closeForWriting,
  databasePath,
  findFileFaults,
  hashFile,
  lockDirectory,
  openForWriting,
  readStoredVersion,
  signInPath,
  stagingPath,
  sumLedger,
  surveyStore,
} from '../storage/sqlite/sqlite.ts';
import { checksumsPath, signInCopyPath } from './back-up.ts';
import { unopenedCredentials } from './gather-facts.ts';
import { readSecretState } from './secret.ts';

/** Not content: the lock of this command or of a service, the remains of an interrupted restore, and those of a new file system. */
const IGNORED = /^(?:lock(?:-journal)?|restoring|lost\+found)$/;
const FAULTS_SHOWN = 3;

/** Throws an error for the operator; the data directory is as empty as before then. */
export function restore(config: Config, files: RestoreFiles): RestoreReport {
  const file = resolve(files.backup);
  const data = resolve(config.dataDirectory);
  if (config.databaseUrl !== null) throw new Error(POSTGRES);
  refuseFile(file);
  const isNew = !existsSync(data);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  refuseContent(data);
  const lock = lockDirectory(data);
  const staging = stagingPath(data);
  try {
    rmSync(staging, { recursive: true, force: true }); // left by an interrupted restore
    mkdirSync(staging, { mode: 0o700 });
    const report = stage({ ...config, dataDirectory: staging }, { ...files, backup: file });
    publish(data, staging);
    return { data, ...report };
  } catch (cause) {
    rmSync(staging, { recursive: true, force: true });
    if (isNew) rmSync(data, { recursive: true, force: true });
    throw new Error(`nothing was restored from ${file}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  } finally {
    lock.close();
  }
}

const POSTGRES =
  'TURNPIKE_DATABASE_URL is set, and "turnpike restore" is for SQLite: restore a PostgreSQL database with pg_restore or your backup program, then run "turnpike check". See docs/disaster-recovery.md';

function refuseFile(file: string): void {
  if (!existsSync(file)) throw new Error(`there is no file ${file}`);
  if (!statSync(file).isFile()) throw new Error(`${file} is not a file`);
  // A copied data directory: without its log the file lacks changes, and it may have been copied while it was written.
  if (existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0)
    throw new Error(
      `${file} is the database of a service that was killed or runs, not a backup: its changes are partly in ${file}-wal. Back up its data directory with "turnpike backup", which also reads them`,
    );
}

function refuseContent(data: string): void {
  const content = readdirSync(data).filter((name) => !IGNORED.test(name));
  if (content.length > 0)
    throw new Error(`the data directory ${data} is not empty (${content.join(', ')}): nothing in it is overwritten`);
}

/** Copies everything into the directory of `config`, verifies it, and makes it durable. */
function stage(config: Config, { backup, secret, previousSecret }: RestoreFiles): Omit<RestoreReport, 'data'> {
  const directory = config.dataDirectory;
  const path = databasePath(directory);
  copy(backup, path);
  const signInFile = existsSync(signInCopyPath(backup)) ? signInCopyPath(backup) : null;
  if (signInFile !== null) copy(signInFile, signInPath(directory));
  if (secret !== null) copy(secret, secretPath(directory));
  if (previousSecret !== null) copy(previousSecret, previousSecretPath(directory));
  const isChecksumVerified = verifyChecksums(backup, directory, signInFile);
  verifyFile(path, backup, isChecksumVerified);
  if (signInFile !== null) verifyFile(signInPath(directory), signInFile, isChecksumVerified);
  const version = bringUp(path);
  const check = checkLedger(sumLedger(path));
  if (!check.ok)
    throw new Error(`the ledger in it is inconsistent: ${check.faults.slice(0, FAULTS_SHOWN).join('; ')}${PLACE}`);
  const { newestAtMs, lastPaymentAtMs, ...use } = surveyStore(path, Date.now());
  const source = verifySecret(config, use);
  for (const name of readdirSync(directory)) syncPath(join(directory, name));
  syncPath(directory);
  return {
    file: backup,
    sign_in_file: signInFile,
    checksum_verified: isChecksumVerified,
    migrated_from: version.stored === version.known ? null : version.stored,
    newest_at: newestAtMs === null ? null : new Date(newestAtMs).toISOString(),
    has_payments: lastPaymentAtMs !== null,
    check,
    secret: source === 'TURNPIKE_SECRET' || source === null ? source : `file:${resolve(secret ?? '')}`,
  };
}

const PLACE = '. Use an earlier backup; docs/disaster-recovery.md says how to serve this one all the same';

function copy(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
}

/** False without checksums, such as for a file that another program has restored. Throws if one differs. */
function verifyChecksums(backup: string, directory: string, signInFile: string | null): boolean {
  const checksums = checksumsPath(backup);
  if (!existsSync(checksums)) return false;
  const [ofBackup, ofSignIn] = readFileSync(checksums, 'utf8')
    .split('\n')
    .map((line) => /^([0-9a-f]{64}) {2}/.exec(line)?.[1] ?? null);
  if (hashFile(databasePath(directory)) !== ofBackup) throw new Error(differs(backup, checksums));
  if (ofSignIn != null && signInFile === null)
    throw new Error(`${signInCopyPath(backup)} is missing, which ${checksums} lists`);
  if (signInFile !== null && hashFile(signInPath(directory)) !== ofSignIn)
    throw new Error(differs(signInFile, checksums));
  return true;
}

function differs(file: string, checksums: string): string {
  return `${file} is damaged, or of another backup: its SHA-256 is not the one in ${checksums}`;
}

function verifyFile(path: string, name: string, isChecksumVerified: boolean): void {
  const faults = findFileFaults(path, !isChecksumVerified);
  if (faults.length > 0) throw new Error(`${name} is damaged: ${faults.slice(0, FAULTS_SHOWN).join('; ')}`);
}

/** Migrates the tables if necessary, and leaves everything in one file. */
function bringUp(path: string): ReturnType<typeof readStoredVersion> {
  const version = readStoredVersion(path);
  if (version.stored === 0) throw new Error('it has no tables of this service');
  closeForWriting(openForWriting(path));
  const log = `${path}-wal`;
  if (existsSync(log) && statSync(log).size > 0) throw new Error('its log could not be written into the file');
  return version;
}

/** The source of the secret; null for an installation that has none yet. */
function verifySecret(config: Config, use: Parameters<typeof readSecretState>[1]): string | null {
  const { present, isUnder } = readSecretState(config, use);
  if (isUnder === 'none') return null;
  if (present === null)
    throw new Error(
      `the installation's secret is needed: give its file with --secret, or set TURNPIKE_SECRET. Without it no provider credential can be decrypted`,
    );
  if (isUnder === 'another')
    throw new Error(
      `${present === 'TURNPIKE_SECRET' ? present : 'the file given with --secret'} is not the secret of this backup: no provider credential can be decrypted with it. A backup from before a rotation needs the secret of that time`,
    );
  const [unopened] = unopenedCredentials(config, use.documents ?? []) ?? [];
  if (unopened !== undefined)
    throw new Error(
      `credential "${unopened.credential}" of provider ${unopened.provider} cannot be decrypted: it was altered, or encrypted with a previous secret, whose file --previous-secret gives (or TURNPIKE_PREVIOUS_SECRET)`,
    );
  return present;
}

/** Moves the files to their names. A kill in between leaves the staging directory, with which the service does not start. */
function publish(data: string, staging: string): void {
  const owner = statSync(data);
  const names = readdirSync(staging).filter((name) => !/-(?:wal|shm)$/.test(name));
  for (const path of [...names.map((name) => join(staging, name)), join(data, 'lock')]) {
    chmodSync(path, 0o600);
    if (process.getuid?.() === 0) chownSync(path, owner.uid, owner.gid); // root restores for the user of the service
  }
  for (const name of names) renameSync(join(staging, name), join(data, name));
  syncPath(data);
  rmSync(staging, { recursive: true });
  syncPath(data);
}
