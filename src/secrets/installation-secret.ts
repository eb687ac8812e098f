// The installation's secret: given by the environment, else made at the first start and kept in
// the data directory. Without it no key is recognised and no provider credential can be opened.

import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SECRET_BYTES = 32;
const FILE_NAME = 'secret';

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

function readSecret(path: string): Buffer {
  const secret = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64');
  if (secret.length < SECRET_BYTES)
    throw new InstallationSecretMissing(`the file ${path} holds no secret of ${SECRET_BYTES} bytes in base64`);
  return secret;
}
