// Who shows a token of the admin API: looked up for each request, so that a revoked one opens
// nothing from that moment on.

import { type AccessToken, hasTokenShape, type TokenStore } from './access-token.ts';
import { type FormerHashes, findUnderEither } from './former-hash.ts';

/**
 * The token whose secret this is, or null when it opens nothing: unknown, revoked or expired. `hash` is the
 * installation's keyed hash, `former` that of the secret before it, if it is accepted. Rejects with
 * store_unavailable when the store cannot tell.
 */
export async function verifyToken(
  text: string,
  store: Pick<TokenStore, 'findTokenBySecretHash'>,
  { hash, former }: { hash(text: string): string; former: FormerHashes | null },
  nowMs: number,
): Promise<AccessToken | null> {
  if (!hasTokenShape(text)) return null;
  const [present, formerHash] = [hash(text), former?.hash(text) ?? null];
  const { found: token, isFormer } = await findUnderEither(present, formerHash, (one, other) =>
    store.findTokenBySecretHash(one, other),
  );
  // Not awaited: whoever asks has its token. A move that fails is made when the token is shown again.
  if (isFormer && formerHash !== null) former?.move(formerHash, present).catch(() => {});
  if (token === null || token.status !== 'enabled') return null;
  return token.expiresAtMs !== null && token.expiresAtMs <= nowMs ? null : token;
}
