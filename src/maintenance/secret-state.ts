// Under which secret an installation is, and what depends on which: the secrets that are here against
// the store's proof and hashes.

import { type CatalogDocument, sealedCredentials } from '../catalog/catalog.ts';
import { findInstallationSecrets, openVault, type SecretSettings, type Vault } from '../secrets/secrets.ts';
import type { StoreSurvey } from '../storage/storage.ts';

/** How many keys and tokens, of those that still open something. */
export interface Dependents {
  keys: number;
  tokens: number;
}

export interface SecretState {
  /** Where it is: "file:…" or "TURNPIKE_SECRET"; null where it is not. */
  present: string | null;
  /** The one before it; null where it is not, or is the same. */
  previous: string | null;
  /** Which of them the installation is under; `none` while it is under none yet. */
  isUnder: 'present' | 'previous' | 'another' | 'none';
  /** The first characters of the proof of the previous one; null without it. */
  previousId: string | null;
  onPrevious: Dependents;
  /** Of providers, sealed under the previous one: a node that was not restarted yet seals what it is given under that. */
  credentialsOnPrevious: number;
  /** Hashed under a secret that is not here. */
  lost: Dependents;
}

/** What is known of a store's use of secrets; documents only where its tables are of this version. */
export type SecretUse = Pick<StoreSurvey, 'proof' | 'hashedUnder'> & Partial<Pick<StoreSurvey, 'documents'>>;

/** Throws InstallationSecretMissing for a file that holds no secret. */
export function readSecretState(
  settings: SecretSettings,
  { proof, hashedUnder, documents = [] }: SecretUse,
): SecretState {
  const found = findInstallationSecrets(settings);
  const vault = found.present && openVault(found.present.bytes, found.previous?.bytes ?? null);
  const former = vault === null ? found.previous && openVault(found.previous.bytes) : vault.previous;
  const sum = (isOne: (secretId: string) => boolean): Dependents => {
    const those = hashedUnder.filter(({ secretId }) => isOne(secretId));
    return {
      keys: those.reduce((total, { keys }) => total + keys, 0),
      tokens: those.reduce((total, { tokens }) => total + tokens, 0),
    };
  };
  return {
    present: found.present?.source ?? null,
    previous: former === null ? null : (found.previous?.source ?? null),
    isUnder: whichOf(proof, vault?.proof ?? null, former?.proof ?? null),
    previousId: former?.id ?? null,
    onPrevious: sum((id) => id === former?.id),
    credentialsOnPrevious: former === null ? 0 : countSealed(documents, former),
    lost: sum((id) => id !== vault?.id && id !== former?.id),
  };
}

/** Whether the previous secret is needed beside the present one. */
export function isPreviousNeeded({ isUnder, onPrevious, credentialsOnPrevious }: SecretState): boolean {
  return isUnder === 'previous' || onPrevious.keys + onPrevious.tokens + credentialsOnPrevious > 0;
}

/** "3 keys and 1 token". */
export function countsInWords({ keys, tokens }: Dependents): string {
  const parts = [keys > 0 && countOf(keys, 'key'), tokens > 0 && countOf(tokens, 'token')].filter((part) => part);
  return parts.length === 0 ? 'no key and no token' : parts.join(' and ');
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function countSealed(documents: readonly CatalogDocument[], { open }: Pick<Vault, 'open'>): number {
  return documents.flatMap(sealedCredentials).filter(({ sealed, context }) => {
    try {
      open(sealed, context);
      return true;
    } catch {
      return false;
    }
  }).length;
}

function whichOf(proof: string | null, present: string | null, previous: string | null): SecretState['isUnder'] {
  if (proof === null) return 'none';
  if (proof === present) return 'present';
  return proof === previous ? 'previous' : 'another';
}
