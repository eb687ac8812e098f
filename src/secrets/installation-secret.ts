// The installation's secret: given by the environment, else made at the first start and kept in
// the data directory. Without it no key is recognised and no provider credential can be opened.
// While it is being replaced, the one before it is accepted too.

import { resolve } from 'node:path';
import { type Config, decodeSecret } from '../config.ts';
import { InstallationSecretMissing } from './installation-secret-missing.ts';
import { makeSecretFile, previousSecretPath, readSecretFile, secretPath } from './secret-file.ts';
import type { Vault } from './vault.ts';

/** Under this name an installation keeps the proof of its secret. */
export const SECRET_PROOF = 'secret_proof';

/** Facts of the whole installation, each written once; only the proof of its secret is ever replaced. */
export interface InstallationStore {
  readInstallation(name: string): Promise<string | null>;
  writeInstallation(name: string, value: string): Promise<void>;
}

/** A secret, and where it was found: "TURNPIKE_SECRET", or "file:" and its path. */
export interface FoundSecret {
  bytes: Buffer;
  source: string;
}

/** What is given of the secrets, and where their files are. */
export type SecretSettings = Pick<Config, 'dataDirectory' | 'secretBase64' | 'previousSecretBase64'> &
  Partial<Pick<Config, 'databaseUrl'>>;

/** The secrets that are here. The environment wins over the files; with a database of several nodes there are no files. Throws InstallationSecretMissing for a file that holds none. */
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
  // In this order: a rotation that goes on meanwhile writes the second file before the first.
  const present = findSecret(secretBase64, 'TURNPIKE_SECRET', secretPath(dataDirectory));
  const previous = findSecret(previousSecretBase64, 'TURNPIKE_PREVIOUS_SECRET', previousSecretPath(dataDirectory));
  return { present, previous };
}

/**
 * The secrets to serve with. The first is made when `isNew` says that nothing was ever hashed or sealed here;
 * else throws InstallationSecretMissing where it is not there.
 */
export function loadInstallationSecrets(
  settings: SecretSettings,
  isNew: boolean,
): { present: Buffer; previous: Buffer | null } {
  const { present, previous } = findInstallationSecrets(settings);
  if (present !== null) return { present: present.bytes, previous: previous?.bytes ?? null };
  if (settings.databaseUrl != null)
    throw new InstallationSecretMissing(
      'TURNPIKE_SECRET: must be given with a PostgreSQL database, the same on every node: 32 or more random bytes in base64, such as `openssl rand -base64 32` makes',
    );
  if (isNew) return { present: makeSecretFile(settings.dataDirectory), previous: null };
  throw new InstallationSecretMissing(
    `the file ${secretPath(settings.dataDirectory)} is missing, and TURNPIKE_SECRET is not set: keys and provider credentials of this installation cannot be used without it`,
  );
}

/**
 * Keeps an installation from running under another secret than its own: its keys would not be recognised,
 * and new ones would be hashed under a secret of their own. Whether it still is under the vault's previous
 * secret and is to be moved to the present one. Throws InstallationSecretMissing.
 */
export async function isUnderPreviousSecret(store: InstallationStore, vault: Vault): Promise<boolean> {
  const stored = await store.readInstallation(SECRET_PROOF);
  if (stored === null) await store.writeInstallation(SECRET_PROOF, vault.proof);
  if (stored === null || stored === vault.proof) return false;
  if (stored === vault.previous?.proof) return true;
  throw new InstallationSecretMissing(
    'the secret is not the one that this installation is under: its keys and provider credentials cannot be used with it. Set TURNPIKE_SECRET to that one, or leave it out where the data directory has the file "secret"; to replace it by another, give that one as TURNPIKE_PREVIOUS_SECRET',
  );
}

function findSecret(givenBase64: string | null, variable: string, path: string | null): FoundSecret | null {
  const given = givenBase64 === null ? null : decodeSecret(givenBase64);
  if (given !== null) return { bytes: given, source: variable };
  const bytes = path === null ? null : readSecretFile(path);
  return bytes === null || path === null ? null : { bytes, source: `file:${resolve(path)}` };
}
