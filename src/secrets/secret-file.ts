// The files of the installation's secret in its data directory: `secret`, and while it is being
// replaced `secret.previous`, the one before it. Each step of a change is on the disk before the next.

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { decodeSecret } from '../config.ts';
import { InstallationSecretMissing } from './installation-secret-missing.ts';

const SECRET_BYTES = 32;

export function secretPath(dataDirectory: string): string {
  return join(dataDirectory, 'secret');
}

export function previousSecretPath(dataDirectory: string): string {
  return join(dataDirectory, 'secret.previous');
}

/** The secret in a file, or null where there is no such file. Throws InstallationSecretMissing for a file that holds none. */
export function readSecretFile(path: string): Buffer | null {
  const text = readText(path);
  if (text === null) return null;
  const secret = decodeSecret(text);
  if (secret !== null) return secret;
  throw new InstallationSecretMissing(`the file ${path} holds no secret of ${SECRET_BYTES} bytes in base64`);
}

/** Makes the first secret of an installation. */
export function makeSecretFile(dataDirectory: string): Buffer {
  const secret = randomBytes(SECRET_BYTES);
  placeFile(secretPath(dataDirectory), secret);
  return secret;
}

/**
 * Puts a new secret in the place of the present one, which becomes the previous one. The present one stands
 * in both files before it leaves its own, so that it is never in none, wherever this is cut short.
 */
export function rotateSecretFiles(dataDirectory: string, present: Buffer): void {
  placeFile(previousSecretPath(dataDirectory), present);
  placeFile(secretPath(dataDirectory), randomBytes(SECRET_BYTES));
}

export function removePreviousSecretFile(dataDirectory: string): void {
  rmSync(previousSecretPath(dataDirectory), { force: true });
  syncPath(dataDirectory);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw failure;
  }
}

/** Writes beside the path, then renames, each of them durable: whoever reads the path sees the old file or the new one, whole. */
function placeFile(path: string, secret: Buffer): void {
  const beside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = openSync(beside, 'wx', 0o600);
    try {
      writeSync(file, `${secret.toString('base64')}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(beside, path);
  } finally {
    rmSync(beside, { force: true });
  }
  syncPath(dirname(path));
}

function syncPath(directory: string): void {
  const file = openSync(directory, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
