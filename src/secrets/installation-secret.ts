// The installation secret: from the environment, else created at the first start and kept in the data directory.
// Provider credentials cannot be opened without it; keys are hashed without it. During a rotation, the former secret is
// accepted too.

import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { syncPath } from '../base/sync-path.ts';
import { type Config, decodeSecret } from '../config/config.ts';
import type { Vault } from './vault.ts';

/** Name under which the proof of the secret is stored. */
export const SECRET_PROOF = 'secret_proof';

/** Facts about the whole installation, each written once, or instead of the value that it `replaces`. */
export interface InstallationStore {
  readInstallation(name: string): Promise<string | null>;
  writeInstallation(name: string, value: string, replaces?: string | null): Promise<void>;
}

/** A secret and its source: "TURNPIKE_SECRET", or "file:" and the path. */
export interface FoundSecret {
  bytes: Buffer;
  source: string;
}

/** Configured secrets and the location of their files. */
export type SecretSettings = Pick<Config, 'dataDirectory' | 'secretBase64' | 'previousSecretBase64'> &
  Partial<Pick<Config, 'databaseUrl'>>;

/**
 * The available secrets. The environment takes precedence over files; with a shared database there are no files.
 * Throws InstallationSecretMissing for an empty file.
 */
export function findInstallationSecrets(settings: SecretSettings): {
  present: FoundSecret | null;
  previous: FoundSecret | null;
} {
  const { dataDirectory, secretBase64, previousSecretBase64, databaseUrl = null } = settings;
  if (databaseUrl !== null)
    return {
      present: findSecret(secretBase64, 'TURNPIKE_SECRET', null),
      previous: findSecret(previousSecretBase64, 'TURNPIKE_PREVIOUS_SECRET', null),
    };
  // In this order: a concurrent rotation writes the second file before the first.
  const present = findSecret(secretBase64, 'TURNPIKE_SECRET', secretPath(dataDirectory));
  const previous = findSecret(previousSecretBase64, 'TURNPIKE_PREVIOUS_SECRET', previousSecretPath(dataDirectory));
  return { present, previous };
}

/**
 * The secrets to serve with. Creates the first one if `isNew` says that nothing was hashed or sealed before;
 * otherwise throws InstallationSecretMissing if it is absent.
 */
export function loadInstallationSecrets(
  settings: SecretSettings,
  isNew: boolean,
): { present: Buffer; previous: Buffer | null } {
  const { present, previous } = findInstallationSecrets(settings);
  if (present !== null) return { present: present.bytes, previous: previous?.bytes ?? null };
  if (settings.databaseUrl != null)
    throw new InstallationSecretMissing(
      'TURNPIKE_SECRET: must be set with a PostgreSQL database, to the same value on every node: 32 or more random bytes in base64, for example from `openssl rand -base64 32`',
    );
  if (isNew) {
    const secret = randomBytes(SECRET_BYTES);
    placeFile(secretPath(settings.dataDirectory), secret);
    return { present: secret, previous: null };
  }
  throw new InstallationSecretMissing(
    `the file ${secretPath(settings.dataDirectory)} is missing, and TURNPIKE_SECRET is not set: without the installation's secret the service does not start, because no provider credential can be decrypted`,
  );
}

/**
 * Whether the installation still uses the vault's previous secret and must change to the present one. Throws
 * InstallationSecretMissing under any other secret: nothing that was sealed could be opened.
 */
export async function isUnderPreviousSecret(store: InstallationStore, vault: Vault): Promise<boolean> {
  const stored = await store.readInstallation(SECRET_PROOF);
  if (stored === null) await store.writeInstallation(SECRET_PROOF, vault.proof);
  if (stored === null || stored === vault.proof) return false;
  if (stored === vault.previous?.proof) return true;
  throw new InstallationSecretMissing(
    'this is not the secret of the installation: no provider credential can be decrypted with it. Set TURNPIKE_SECRET to the secret of the installation, or unset it if the data directory has the file "secret". To replace that secret by this one, set TURNPIKE_PREVIOUS_SECRET to that secret',
  );
}

function findSecret(givenBase64: string | null, variable: string, path: string | null): FoundSecret | null {
  const given = givenBase64 === null ? null : decodeSecret(givenBase64);
  if (given !== null) return { bytes: given, source: variable };
  const text = path === null ? null : readText(path);
  if (path === null || text === null) return null;
  const bytes = decodeSecret(text);
  if (bytes !== null) return { bytes, source: `file:${resolve(path)}` };
  throw new InstallationSecretMissing(`the file ${path} does not contain a secret of ${SECRET_BYTES} bytes in base64`);
}

const SECRET_BYTES = 32;

export function secretPath(dataDirectory: string): string {
  return join(dataDirectory, 'secret');
}

export function previousSecretPath(dataDirectory: string): string {
  return join(dataDirectory, 'secret.previous');
}

/**
 * Replaces the secret; the present one becomes the former. The present one is written to the second file before it
 * leaves the first, so that a crash never loses it.
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

/** Writes a temporary file and renames it, both durably: readers see the old or the new file, never a part. */
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

/** The message names the missing secret and where it was looked for. */
export class InstallationSecretMissing extends Error {
  override name = 'InstallationSecretMissing';
}

// Secrets of API keys, tokens and one-time links have 256 random bits, so they are stored under SHA-256 without a key.
// Former versions stored HMACs; those secrets stay valid.

/** Name under which the HMAC keys of former versions are stored. */
const FORMER_HASH_KEYS = 'former_hash_keys';

/** The key of a former hash, which is stored as "ID.HMAC". `id` names the installation secret that the key was derived from. */
export interface FormerHashKey {
  id: string;
  keyBase64: string;
}

/** Every hash under which a secret may be stored; the first is `hashSecret`. */
export type SecretHashes = (secret: string) => readonly [string, ...string[]];

/** "sha256." and 43 base64url characters. */
export function hashSecret(secret: string): string {
  return `sha256.${Bun.SHA256.hash(secret, 'base64url')}`;
}

/**
 * Reads the former keys, which the first start of this version stores. An installation that has no secret yet has
 * none. Call it before the proof of the secret is written.
 */
export async function openSecretHashes(store: InstallationStore, vault: Vault): Promise<SecretHashes> {
  const isNew = (await store.readInstallation(SECRET_PROOF)) === null;
  const stored = await store.readInstallation(FORMER_HASH_KEYS);
  const former = stored === null ? (isNew ? [] : vault.formerHashKeys) : (JSON.parse(stored) as FormerHashKey[]);
  if (stored === null) await store.writeInstallation(FORMER_HASH_KEYS, JSON.stringify(former));
  const keys = former.map(({ id, keyBase64 }) => ({ id, key: Buffer.from(keyBase64, 'base64') }));
  return (secret) => [
    hashSecret(secret),
    ...keys.map(({ id, key }) => `${id}.${createHmac('sha256', key).update(secret).digest('base64url')}`),
  ];
}
