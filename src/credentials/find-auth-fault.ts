// Finds what `auth` may not read on this host, when a catalog is applied. The loaders check it again whenever they read.

import type { Auth } from '../catalog/catalog.ts';
import type { CredentialSettings } from '../config/config.ts';
import { CredentialFault } from './load-context.ts';
import { checkFilePlace } from './read-file.ts';

export interface AuthFault {
  /** The member of `auth`. */
  member: string;
  message: string;
}

/** Whether a file exists is not told: it may be mounted later. null: no fault. */
export async function findAuthFault(auth: Auth, settings: CredentialSettings): Promise<AuthFault | null> {
  if (auth.type === 'env') {
    const message = variableFault(auth.name, settings);
    return message === null ? null : { member: 'name', message };
  }
  if (auth.type === 'vault' && settings.vault === null)
    return { member: 'type', message: 'needs the environment variable VAULT_ADDR' };
  const path = auth.type === 'file' || auth.type === 'google' ? auth.path : undefined;
  if (path === undefined) return null;
  try {
    await checkFilePlace(path, settings, auth.type === 'google');
    return null;
  } catch (thrown) {
    if (thrown instanceof CredentialFault) return { member: 'path', message: thrown.message };
    throw thrown;
  }
}

/** Why a variable cannot be read; null: it can. */
export function variableFault(name: string, settings: CredentialSettings): string | null {
  if (!settings.isReadable(name))
    return `the environment variable ${name} may not be read: it must match TURNPIKE_CREDENTIAL_VARIABLES, and not be one of the service's own secrets`;
  return (settings.readVariable(name) ?? '') === '' ? `the environment variable ${name} is not set` : null;
}
