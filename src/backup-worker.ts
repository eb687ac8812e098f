// The backup's thread: copies a database and verifies the copy. Each of these is one call that gives
// no way; in a thread of its own it leaves the main one free to hear a signal.

import { setPriority } from 'node:os';
import { checkLedger } from './ledger/ledger.ts';
import {
  copyDatabase,
  type FromBackup,
  findFileFaults,
  readStoredVersion,
  sumLedger,
  type ToBackup,
} from './storage/sqlite/sqlite.ts';

declare const self: Worker;

const NICENESS = 10;

giveWay();

self.onmessage = ({ data }: MessageEvent<string>) => {
  const { path, target, signIn } = JSON.parse(data) as ToBackup;
  try {
    const copied = copyChecked(path, target);
    post(signIn === null || 'failed' in copied ? copied : (copySignIn(signIn) ?? copied));
  } catch (failure) {
    post({ failed: failure instanceof Error ? failure.message : String(failure) });
  }
};

function copyChecked(path: string, target: string): FromBackup {
  copyDatabase(path, target);
  const faults = findFileFaults(target);
  if (faults.length > 0) return { failed: `the copy is broken: ${faults.join('; ')}` };
  const { stored, known } = readStoredVersion(target);
  if (stored > known)
    return { failed: `the database is of version ${stored}, this program knows versions up to ${known}` };
  return { copied: { check: stored < known ? null : checkLedger(sumLedger(target)) } };
}

/** What is wrong with the copy; null where nothing is. */
function copySignIn({ path, target }: NonNullable<ToBackup['signIn']>): FromBackup | null {
  copyDatabase(path, target);
  const faults = findFileFaults(target);
  return faults.length > 0 ? { failed: `the copy of who signs in is broken: ${faults.join('; ')}` } : null;
}

function post(message: FromBackup): void {
  self.postMessage(JSON.stringify(message));
}

/** Messages come before a backup of them. Where the system does not let a thread choose, it is done all the same. */
function giveWay(): void {
  try {
    setPriority(0, NICENESS);
  } catch {
    // Slower messages meanwhile are better than no backup.
  }
}
