// The backup thread: copies a database and verifies the copy. These calls block, so a thread of its own keeps the main
// thread free to handle signals.

import { setPriority } from 'node:os';
import { checkLedger } from '../ledger/ledger.ts';
import {
  copyDatabase,
  type FromBackup,
  findFileFaults,
  hashFile,
  readStoredVersion,
  sumLedger,
  type ToBackup,
} from '../storage/sqlite/sqlite.ts';

declare const self: Worker;

const NICENESS = 10;

giveWay();

self.onmessage = ({ data }: MessageEvent<string>) => {
  const { path, target, signIn } = JSON.parse(data) as ToBackup;
  try {
    post(copyAll(path, target, signIn));
  } catch (failure) {
    post({ failed: failure instanceof Error ? failure.message : String(failure) });
  }
};

function copyAll(path: string, target: string, signIn: ToBackup['signIn']): FromBackup {
  copyDatabase(path, target);
  const faults = findFileFaults(target);
  if (faults.length > 0) return { failed: `the copy is corrupt: ${faults.join('; ')}` };
  const { stored, known } = readStoredVersion(target);
  if (stored > known)
    return { failed: `the database has version ${stored}; this release supports versions up to ${known}` };
  if (signIn !== null) {
    copyDatabase(signIn.path, signIn.target);
    const signInFaults = findFileFaults(signIn.target);
    if (signInFaults.length > 0)
      return { failed: `the copy of the sign-in database is corrupt: ${signInFaults.join('; ')}` };
  }
  const check = stored < known ? null : checkLedger(sumLedger(target));
  return {
    copied: { check, sha256: hashFile(target), signInSha256: signIn === null ? null : hashFile(signIn.target) },
  };
}

function post(message: FromBackup): void {
  self.postMessage(JSON.stringify(message));
}

/** Gives messages precedence over the backup. */
function giveWay(): void {
  try {
    setPriority(0, NICENESS);
  } catch {
    // Not allowed here: the backup then competes with messages.
  }
}
