// The installation's secret: given by the environment, else made at the first start and kept in
// the data directory. Without it no key is recognised and no provider credential can be opened.

import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Vault } from './vault.ts';

const SECRET_BYTES = 32;
const FILE_NAME = 'secret';
const PROOF_NAME = 'secret_proof';
const PROOF_TEXT = 'turnpike installation';

/** Facts of the whole installation, each written once. */
export interface InstallationStore {
  readInstallation(name: string): Promise<string | null>;
  writeInstallation(name: string, value: string): Promise<void>;
}

export class InstallationSecretMissing extends Error {
  override name = 'InstallationSecretMissing';
}

/**
 * The secret's bytes. `given` is the decoded setting, or null: then the file in the data directory
 * is read, and made (mode 0600) when `isNew` says that nothing was ever hashed or sealed here.
 */
export function loadInstallationSecret(dataDirectory: string, given: Buffer | null, isNew: boolean): Buffer {
  if (given !== null) return given;
  const path = join(dataDirectory, FILE_NAME);
  if (existsSync(path)) return readSecret(path);
  if (!isNew) {
    throw new InstallationSecretMissing(
      `the file ${path} is missing, and TURNPIKE_SECRET is not set: keys and provider credentials of this installation cannot be used without it`,
    );
  }
  const secret = randomBytes(SECRET_BYTES);
  writeFileSync(path, `${secret.toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  chmodSync(path, 0o600);
  return secret;
}

/**
 * Keeps an installation from running under another secret than the one it began with: its keys would not be
 * recognised, and new ones would be hashed under a secret of their own. Throws InstallationSecretMissing.
 */
export async function requireSameSecret(store: InstallationStore, vault: Vault): Promise<void> {
  const proof = vault.hash(PROOF_TEXT);
  const stored = await store.readInstallation(PROOF_NAME);
  if (stored === null) await store.writeInstallation(PROOF_NAME, proof);
  else if (stored !== proof) {
    throw new InstallationSecretMissing(
      'the secret is not the one that this installation began with: its keys and provider credentials cannot be used with it. Set TURNPIKE_SECRET to that one, or leave it out where the data directory has the file "secret"',
    );
  }
}

function readSecret(path: string): Buffer {
  const secret = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64');
  if (secret.length < SECRET_BYTES)
    throw new InstallationSecretMissing(`the file ${path} holds no secret of ${SECRET_BYTES} bytes in base64`);
  return secret;
}
