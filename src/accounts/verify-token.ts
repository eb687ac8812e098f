// Who shows a token of the admin API: looked up for each request, so that a revoked one opens
// nothing from that moment on.

import { type AccessToken, hasTokenShape, type TokenStore } from './access-token.ts';

/**
 * The token whose secret this is, or null when it opens nothing: unknown, revoked or expired. `hash` is the
 * installation's keyed hash. Rejects with store_unavailable when the store cannot tell.
 */
export async function verifyToken(
  text: string,
  store: Pick<TokenStore, 'findTokenBySecretHash'>,
  hash: (text: string) => string,
  nowMs: number,
): Promise<AccessToken | null> {
  if (!hasTokenShape(text)) return null;
  const token = await store.findTokenBySecretHash(hash(text));
  if (token === null || token.status !== 'enabled') return null;
  return token.expiresAtMs !== null && token.expiresAtMs <= nowMs ? null : token;
}
