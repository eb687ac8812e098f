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
  const { path, target } = JSON.parse(data) as ToBackup;
  try {
    post(copyChecked(path, target));
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
