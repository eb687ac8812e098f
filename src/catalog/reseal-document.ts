// How a stored document holds credentials: each sealed for its provider and its name, so that none opens
// in the place of another. A document under another secret of the installation is the same, sealed anew.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { DEFAULT_CREDENTIAL } from './document.ts';
import type { CatalogDocument } from './store.ts';

/** What opens and seals credentials. */
export interface Seals {
  open(sealed: string, context: string): string;
  seal(text: string, context: string): string;
}

export interface SealedCredential {
  /** Its name within the provider. */
  name: string;
  sealed: string;
  context: string;
}

/** The context that binds a sealed credential to its provider, and to its name unless it is the one of `api_key`. */
export function credentialContext(provider: string, credential: string = DEFAULT_CREDENTIAL): string {
  return credential === DEFAULT_CREDENTIAL ? `provider:${provider}` : `provider:${provider}:${credential}`;
}

/**
 * The credentials of a stored document as they were sealed: that of `api_key`, then the others by name, so that their
 * order is the same on every node. None of what is no provider.
 */
export function sealedCredentials({ kind, name: provider, document }: CatalogDocument): SealedCredential[] {
  if (kind !== 'provider') return [];
  const further = Object.entries(objectOf(document['credentials'])).sort(([one], [other]) => (one < other ? -1 : 1));
  const sealedTexts: [name: string, sealed: JsonValue | undefined][] = [
    [DEFAULT_CREDENTIAL, document['api_key_sealed']],
    ...further.map(([name, one]): [string, JsonValue | undefined] => [name, objectOf(one)['api_key_sealed']]),
  ];
  return sealedTexts.flatMap(([name, sealed]) =>
    typeof sealed === 'string' ? [{ name, sealed, context: credentialContext(provider, name) }] : [],
  );
}

/** The document with its credentials sealed anew; null where it has none. Throws what `open` throws. */
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

/** The value where it is an object, else an empty one: what is stored is also read where it is broken. */
function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
