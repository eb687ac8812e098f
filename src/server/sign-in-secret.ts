// The secret of sign-in: what cookies are signed and second factors are sealed with. Made once, kept sealed like a provider's
// credential, so that it outlives a change of the installation's secret: people stay signed in.

import { randomBytes } from 'node:crypto';
import type { InstallationStore, Vault } from '../secrets/secrets.ts';

export const SIGN_IN_SECRET = 'sign_in_secret';
export const SIGN_IN_CONTEXT = `installation:${SIGN_IN_SECRET}`;
const BYTES = 32;

/** Makes it at the first start. One node at a time may ask. Throws store_unavailable, SealBroken. */
export async function openSignInSecret(store: InstallationStore, vault: Vault): Promise<string> {
  const kept = await store.readInstallation(SIGN_IN_SECRET);
  if (kept !== null) return vault.open(kept, SIGN_IN_CONTEXT);
  const made = randomBytes(BYTES).toString('base64url');
  await store.writeInstallation(SIGN_IN_SECRET, vault.seal(made, SIGN_IN_CONTEXT));
  return made;
}
