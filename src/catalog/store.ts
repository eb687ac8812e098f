// The store interface of the catalog: named documents, replaced together.

import type { AuditContext } from '../audit/audit.ts';
import { type JsonObject, objectOf } from '../wire/wire.ts';
import {
  agentPolicyInput,
  DEFAULT_CREDENTIAL,
  groupInput,
  planInput,
  storedModel,
  storedProvider,
} from './document.ts';
import { storedSettings } from './settings.ts';

/** `price_list` is a list newer than that of this version. */
export type DocumentKind = 'provider' | 'model' | 'group' | 'plan' | 'agent_policy' | 'settings' | 'price_list';

/** One catalog object as stored: as applied, with credentials sealed. */
export interface CatalogDocument {
  kind: DocumentKind;
  name: string;
  /** Its origin: `--prune` removes only what a file created. */
  origin: 'start' | 'file' | 'api';
  document: JsonObject;
}

/** The shapes of stored documents, but for price lists. */
export const storedSchemas = {
  provider: storedProvider,
  model: storedModel,
  group: groupInput,
  plan: planInput,
  agent_policy: agentPolicyInput,
  settings: storedSettings,
};

export interface CatalogStore {
  loadCatalog(): Promise<CatalogDocument[]>;
  /** All in one transaction. */
  saveCatalog(
    put: readonly CatalogDocument[],
    remove: readonly { kind: DocumentKind; name: string }[],
    auditContext: AuditContext,
  ): Promise<void>;
}

interface Seals {
  open(sealed: string, context: string): string;
  seal(text: string, context: string): string;
}

/** The context that binds a sealed credential to its provider, and to its name unless it is `api_key`. */
export function credentialContext(provider: string, credential: string = DEFAULT_CREDENTIAL): string {
  return credential === DEFAULT_CREDENTIAL ? `provider:${provider}` : `provider:${provider}:${credential}`;
}

/**
 * A provider's credentials, first its own, then others by name; empty for other documents. `sealed` is null for one that
 * has `auth` alone.
 */
export function storedCredentials({ kind, name: provider, document }: CatalogDocument) {
  if (kind !== 'provider') return [];
  const further = Object.entries(objectOf(document['credentials'])).sort(([one], [other]) => (one < other ? -1 : 1));
  return [[DEFAULT_CREDENTIAL, document] as const, ...further].flatMap(([name, holder]) => {
    const { api_key_sealed: text, auth } = objectOf(holder);
    const sealed = typeof text === 'string' ? text : null;
    return sealed === null && auth === undefined ? [] : [{ name, sealed, context: credentialContext(provider, name) }];
  });
}

/** Those that are sealed. */
export function sealedCredentials(entry: CatalogDocument) {
  return storedCredentials(entry).flatMap(({ sealed, ...one }) => (sealed === null ? [] : [{ ...one, sealed }]));
}

/** The document with its credentials resealed; null without any. Throws what `open` throws. */
export function resealDocument(entry: CatalogDocument, { open, seal }: Seals): CatalogDocument | null {
  const credentials = sealedCredentials(entry);
  if (credentials.length === 0) return null;
  const anew = new Map(credentials.map(({ name, sealed, context }) => [name, seal(open(sealed, context), context)]));
  const { api_key_sealed = null, credentials: further, ...others } = entry.document;
  const resealed = Object.entries(objectOf(further)).map(([name, one]) => {
    return [name, { ...objectOf(one), api_key_sealed: anew.get(name) ?? null }];
  });
  const document: JsonObject = {
    ...others,
    api_key_sealed: anew.get(DEFAULT_CREDENTIAL) ?? api_key_sealed,
    ...(further === undefined ? {} : { credentials: Object.fromEntries(resealed) }),
  };
  return { ...entry, document };
}
