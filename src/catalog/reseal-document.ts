// A stored document under another secret of the installation: the same, its credential sealed anew.

import { credentialContext } from './plan-apply.ts';
import type { CatalogDocument } from './store.ts';

/** What opens and seals credentials. */
export interface Seals {
  open(sealed: string, context: string): string;
  seal(text: string, context: string): string;
}

/** The credential of a stored document as it was sealed, and its context; null where it has none. */
export function sealedCredential(entry: CatalogDocument): { sealed: string; context: string } | null {
  const sealed = entry.document['api_key_sealed'];
  if (entry.kind !== 'provider' || typeof sealed !== 'string') return null;
  return { sealed, context: credentialContext(entry.name) };
}

/** The document with its credential sealed anew; null where it has none. Throws what `open` throws. */
export function resealDocument(entry: CatalogDocument, { open, seal }: Seals): CatalogDocument | null {
  const credential = sealedCredential(entry);
  if (credential === null) return null;
  const { sealed, context } = credential;
  return { ...entry, document: { ...entry.document, api_key_sealed: seal(open(sealed, context), context) } };
}
