// A start under a new secret of the installation, with the one before it at hand: what was sealed is
// sealed anew, at once. What was hashed follows as it is shown.

import type { FormerHashes } from '../accounts/accounts.ts';
import { creationContext } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { resealDocument, sealedCredentials } from '../catalog/catalog.ts';
import type { LogWriter } from '../observability/observability.ts';
import { SECRET_PROOF } from '../secrets/secrets.ts';
import { moveHash, writeSecretChange } from '../storage/sqlite/sqlite.ts';
import type { OpenStore } from './open-store.ts';

const ACTOR = { id: 'start', role: 'service', address: '', requestId: null } as const;

/** Puts the installation under the vault's present secret, in one transaction. Throws SealBroken for a credential that opens under neither. */
export async function changeSecret({ vault, stores, ledger }: OpenStore, clock: Clock, log: LogWriter): Promise<void> {
  const { proof, id, previous } = vault;
  if (previous === null) return;
  const documents = await stores.catalog.loadCatalog();
  const creations = await stores.audit.listSealedCreations();
  const change = {
    documents: documents.map((entry) => resealDocument(entry, vault)).filter((entry) => entry !== null),
    creations: creations.map((creation) => {
      const context = creationContext(creation);
      return { ...creation, secretSealed: vault.seal(vault.open(creation.secretSealed ?? '', context), context) };
    }),
    proof: { name: SECRET_PROOF, value: proof, replaces: previous.proof },
  };
  const record = {
    atMs: clock.nowMs(),
    actor: ACTOR,
    action: 'secret.rotate',
    object: 'installation',
    account: null,
    before: { id: previous.id },
    after: { id },
  };
  await writeSecretChange(ledger, change, { audit: [record], creation: null });
  log.write({
    at: new Date(record.atMs).toISOString(),
    event: 'secret_rotated',
    credentials: change.documents.flatMap(sealedCredentials).length,
  });
}

/** The hashes of keys' or tokens' secrets under the vault's previous secret; null where there is none. */
export function formerHashes({ vault, ledger }: OpenStore, table: 'key_secrets' | 'tokens'): FormerHashes | null {
  const { previous } = vault;
  return previous && { hash: previous.hash, move: (from, to) => moveHash(ledger, table, from, to) };
}
