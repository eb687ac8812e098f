// The loader of each type of `auth`.

import type { Auth } from '../catalog/catalog.ts';
import type { Load } from './live-secret.ts';

/** `text` is the opened `api_key`; `kind` is the provider's, which says what the text of a reference may be. */
export function loaderOf(auth: Auth, text: string | null, kind: string): Load {
  void text;
  void kind;
  return () => Promise.reject(new Error(`auth of the type ${auth.type} is not supported yet`));
}
