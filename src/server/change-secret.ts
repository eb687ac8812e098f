// A start with the secret before the present one at hand: what was sealed under that one is sealed anew, at once, and the
// installation is under the present one. What was hashed follows as it is shown.

import type { FormerHashes } from '../accounts/accounts.ts';
import { creationContext, type RememberedCreation, type Trail } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { type CatalogDocument, resealDocument, sealedCredentials } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { Outpaced } from '../ledger/ledger.ts';
import type { LogWriter } from '../observability/observability.ts';
import { isUnderPreviousSecret, SECRET_PROOF, type Vault } from '../secrets/secrets.ts';
import { moveHash, type SecretChange, writeSecretChange } from '../storage/storage.ts';
import type { OpenStore } from './open-store.ts';
import { SIGN_IN_CONTEXT, SIGN_IN_SECRET } from './sign-in-secret.ts';

const ACTOR = { id: 'start', role: 'service', address: '', requestId: null } as const;

/**
 * Sees to it that the installation is under the vault's present secret, and that nothing stays sealed under the previous one: a node
 * that had not yet been restarted may have sealed more since. Throws InstallationSecretMissing, and SealBroken for a credential that
 * opens under neither.
 */
export async function comeUnderSecret(store: OpenStore, clock: Clock, log: LogWriter): Promise<void> {
  const isUnderPrevious = await isUnderPreviousSecret(store.stores.installation, store.vault);
  const { previous } = store.vault;
  if (previous === null) return;
  for (let tries = 1; ; tries++) {
    try {
      await sealAnew(store, previous, isUnderPrevious, clock, log);
      return;
    } catch (failure) {
      // Other nodes serve meanwhile, and may change what is sealed.
      if (!(failure instanceof Outpaced) || tries >= bounds.changeTriesMax) throw failure;
      await Bun.sleep(Math.random() * bounds.changeRestMsMax);
    }
  }
}

type Previous = NonNullable<Vault['previous']>;

/** In one transaction: all of it, with the proof, or what is left under the previous secret. */
async function sealAnew(
  { vault, stores, ledger, feed }: OpenStore,
  previous: Previous,
  isUnderPrevious: boolean,
  clock: Clock,
  log: LogWriter,
): Promise<void> {
  const epoch = (await feed?.readEpoch()) ?? null; // before anything is read that is decided by
  const isLeft = (sealed: string, context: string) => isUnderPrevious || opens(previous, sealed, context);
  const documents = (await stores.catalog.loadCatalog()).filter((entry) =>
    sealedCredentials(entry).some(({ sealed, context }) => isLeft(sealed, context)),
  );
  const creations = (await stores.audit.listSealedCreations()).filter((creation) =>
    isLeft(creation.secretSealed ?? '', creationContext(creation)),
  );
  const kept = await stores.installation.readInstallation(SIGN_IN_SECRET);
  const signIn = kept !== null && isLeft(kept, SIGN_IN_CONTEXT) ? kept : null;
  if (!isUnderPrevious && documents.length + creations.length === 0 && signIn === null) return;
  const replaces = isUnderPrevious ? previous.proof : vault.proof;
  const change = sealed(vault, { documents, creations, signIn }, replaces);
  const since = epoch === null ? null : ({ epoch, account: 'any' } as const);
  await writeSecretChange(ledger, change, { ...trailOf(vault, previous, isUnderPrevious, clock.nowMs()), since });
  log.write({
    at: new Date(clock.nowMs()).toISOString(),
    event: isUnderPrevious ? 'secret_rotated' : 'credentials_sealed_anew',
    credentials: documents.flatMap(sealedCredentials).length,
  });
}

function opens(previous: Previous, sealed: string, context: string): boolean {
  try {
    previous.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}

interface Left {
  documents: readonly CatalogDocument[];
  creations: readonly RememberedCreation[];
  /** The secret of sign-in, as it was sealed; null where that is under the present one, or there is none. */
  signIn: string | null;
}

function sealed(vault: Vault, { documents, creations, signIn }: Left, replaces: string): SecretChange {
  const sealAnew = (text: string, context: string) => vault.seal(vault.open(text, context), context);
  return {
    resealed:
      signIn === null ? [] : [{ name: SIGN_IN_SECRET, value: sealAnew(signIn, SIGN_IN_CONTEXT), replaces: signIn }],
    documents: documents.map((entry) => resealDocument(entry, vault)).filter((entry) => entry !== null),
    creations: creations.map((creation) => {
      return { ...creation, secretSealed: sealAnew(creation.secretSealed ?? '', creationContext(creation)) };
    }),
    proof: { name: SECRET_PROOF, value: vault.proof, replaces },
  };
}

/** Of a change of the secret alone: what is sealed anew besides stays what it was. */
function trailOf({ id }: Vault, previous: Previous, isUnderPrevious: boolean, atMs: number): Trail {
  if (!isUnderPrevious) return { audit: [], creation: null };
  const record = {
    atMs,
    actor: ACTOR,
    action: 'secret.rotate',
    object: 'installation',
    account: null,
    before: { id: previous.id },
    after: { id },
  };
  return { audit: [record], creation: null };
}

/** The hashes of keys' or tokens' secrets under the vault's previous secret; null where there is none. */
export function formerHashes({ vault, ledger }: OpenStore, table: 'key_secrets' | 'tokens'): FormerHashes | null {
  const { previous } = vault;
  return previous && { hash: previous.hash, move: (from, to) => moveHash(ledger, table, from, to) };
}
