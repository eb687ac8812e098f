// A start during a rotation of the installation secret: reseals what the former secret sealed and makes the present
// secret current.

import { randomBytes } from 'node:crypto';
import { type AuditContext, creationContext, type RememberedCreation, theService } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { type BillSource, billSourceContext } from '../bills/bills.ts';
import { type CatalogDocument, resealDocument, sealedCredentials } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { type Destination, destinationContext, mailContext, type QueuedMail } from '../delivery/delivery.ts';
import { type ExportSchedule, exportContext } from '../exports/exports.ts';
import { Outpaced } from '../ledger/ledger.ts';
import type { LogWriter } from '../observability/observability.ts';
import { type InstallationStore, isUnderPreviousSecret, SECRET_PROOF, type Vault } from '../secrets/secrets.ts';
import { type SecretChange, writeSecretChange } from '../storage/storage.ts';
import type { OpenStore } from './open-store.ts';

/** Secrets of the installation that are sealed with its present one: what is under them stays as it is when that changes. */
const INNER_SECRETS = ['sign_in_secret', 'files_secret'] as const;
const BYTES = 32;

function contextOf(name: string): string {
  return `installation:${name}`;
}

/** Creates it at the first start. Must not run on two nodes at once. Throws store_unavailable, SealBroken. */
export async function openInnerSecret(
  store: InstallationStore,
  vault: Vault,
  name: (typeof INNER_SECRETS)[number],
): Promise<string> {
  const kept = await store.readInstallation(name);
  if (kept !== null) return vault.open(kept, contextOf(name));
  const made = randomBytes(BYTES).toString('base64url');
  await store.writeInstallation(name, vault.seal(made, contextOf(name)));
  return made;
}

/**
 * Changes the installation to the vault's present secret and reseals everything sealed with the former one; a node that was
 * not yet restarted may have sealed more since. Throws InstallationSecretMissing, and SealBroken for a credential that
 * opens under neither.
 */
export async function adoptSecret(store: OpenStore, clock: Clock, log: LogWriter): Promise<void> {
  const isUnderPrevious = await isUnderPreviousSecret(store.stores.installation, store.vault);
  const { previous } = store.vault;
  if (previous === null) return;
  for (let tries = 1; ; tries++) {
    try {
      await resealAll(store, previous, isUnderPrevious, clock, log);
      return;
    } catch (failure) {
      // Other nodes run meanwhile and may change what is sealed.
      if (!(failure instanceof Outpaced) || tries >= bounds.changeTriesMax) throw failure;
      await Bun.sleep(Math.random() * bounds.changeRestMsMax);
    }
  }
}

type Previous = NonNullable<Vault['previous']>;

/** In one transaction: everything with the proof, or what is still sealed with the former secret. */
async function resealAll(
  { vault, stores, ledger, feed }: OpenStore,
  previous: Previous,
  isUnderPrevious: boolean,
  clock: Clock,
  log: LogWriter,
): Promise<void> {
  const epoch = (await feed?.readEpoch()) ?? null; // before everything the change is based on
  const isLeft = (sealed: string, context: string) => isUnderPrevious || opens(previous, sealed, context);
  const stored = await stores.catalog.loadCatalog();
  const lost = stored.find(({ document }) => 'unreadable' in document);
  if (lost !== undefined)
    throw new Error(`the stored ${lost.kind} "${lost.name}" cannot be read: its credentials cannot be encrypted again`);
  const documents = stored.filter((entry) =>
    sealedCredentials(entry).some(({ sealed, context }) => isLeft(sealed, context)),
  );
  const creations = (await stores.audit.listSealedCreations()).filter((creation) =>
    isLeft(creation.secretSealed ?? '', creationContext(creation)),
  );
  const mails = (await stores.mails.listSealedMails()).filter((mail) =>
    isLeft(mail.secretSealed ?? '', mailContext(mail)),
  );
  const destinations = (await stores.destinations.listSealedDestinations()).filter((destination) =>
    destination.secrets.some((secret) => isLeft(secret.sealed, destinationContext(destination))),
  );
  const exports = (await stores.exports.listSealedExports()).filter((schedule) =>
    isLeft(schedule.secretSealed ?? '', exportContext(schedule)),
  );
  const billSources = (await stores.bills.listBillSources()).filter(
    (source) => source.sealed !== null && isLeft(source.sealed, billSourceContext(source)),
  );
  const inner: FormerSeals['inner'] = [];
  for (const name of INNER_SECRETS) {
    const kept = await stores.installation.readInstallation(name);
    if (kept !== null && isLeft(kept, contextOf(name))) inner.push({ name, kept });
  }
  if (
    !isUnderPrevious &&
    [documents, creations, mails, destinations, exports, billSources, inner].every((left) => left.length === 0)
  )
    return;
  const replaces = isUnderPrevious ? previous.proof : vault.proof;
  const change = sealed(vault, { documents, creations, mails, destinations, exports, billSources, inner }, replaces);
  const since = epoch === null ? null : ({ epoch, account: 'any' } as const);
  await writeSecretChange(ledger, change, {
    ...auditContextOf(vault, previous, isUnderPrevious, clock.nowMs()),
    since,
  });
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

interface FormerSeals {
  documents: readonly CatalogDocument[];
  creations: readonly RememberedCreation[];
  mails: readonly QueuedMail[];
  destinations: readonly Destination[];
  exports: readonly ExportSchedule[];
  billSources: readonly BillSource[];
  inner: { name: string; kept: string }[];
}

function sealed(
  vault: Vault,
  { documents, creations, mails, destinations, exports, billSources, inner }: FormerSeals,
  replaces: string,
): SecretChange {
  const reseal = (text: string, context: string) => vault.seal(vault.open(text, context), context);
  return {
    resealed: inner.map(({ name, kept }) => ({ name, value: reseal(kept, contextOf(name)), replaces: kept })),
    documents: documents.map((entry) => resealDocument(entry, vault)).filter((entry) => entry !== null),
    creations: creations.map((creation) => {
      return { ...creation, secretSealed: reseal(creation.secretSealed ?? '', creationContext(creation)) };
    }),
    mails: mails.map((mail) => ({ id: mail.id, secretSealed: reseal(mail.secretSealed ?? '', mailContext(mail)) })),
    destinations: destinations.map((destination) => resealDestination(destination, reseal)),
    exports: exports.map((schedule) => {
      return { ...schedule, secretSealed: reseal(schedule.secretSealed ?? '', exportContext(schedule)) };
    }),
    billSources: billSources.map((source) => ({
      ...source,
      sealed: source.sealed && reseal(source.sealed, billSourceContext(source)),
    })),
    proof: { name: SECRET_PROOF, value: vault.proof, replaces },
  };
}

function resealDestination(destination: Destination, reseal: (text: string, context: string) => string): Destination {
  const context = destinationContext(destination);
  const secrets = destination.secrets.map((secret) => ({ ...secret, sealed: reseal(secret.sealed, context) }));
  return { ...destination, secrets };
}

/** The audit context of the secret's change only: resealed objects have not changed. */
function auditContextOf({ id }: Vault, previous: Previous, isUnderPrevious: boolean, atMs: number): AuditContext {
  if (!isUnderPrevious) return { audit: [], creation: null };
  const record = {
    atMs,
    actor: theService,
    action: 'secret.rotate',
    object: 'installation',
    account: null,
    before: { id: previous.id },
    after: { id },
  };
  return { audit: [record], creation: null };
}
