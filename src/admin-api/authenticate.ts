// Checks the token of a request. Loaded without the routes, which need much memory.

import { TurnpikeError } from '../errors.ts';
import { type AdminDependencies, installation, type Principal, roleRefusal } from './dependencies.ts';

/**
 * Throws token_missing, token_invalid, too_many_failures or role_not_allowed unless the request has a token of the
 * installation.
 */
export async function requireInstallation(
  dependencies: AdminDependencies,
  request: Request,
  address: string,
): Promise<void> {
  const principal = await authenticate(dependencies, request.headers.get('authorization') ?? undefined, address);
  if (!installation.some((role) => role === principal.role)) throw roleRefusal(principal, installation);
}

/** A wrong token slows down guessing by its response; a valid one is never refused. */
export async function authenticate(
  dependencies: AdminDependencies,
  authorization: string | undefined,
  address: string,
): Promise<Principal> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined)
    throw new TurnpikeError('token_missing', 'The header "authorization: Bearer <token>" is required.');
  const principal = await dependencies.verifyToken(token);
  if (principal !== null) return principal;
  throw (
    dependencies.countFailure(address) ??
    new TurnpikeError('token_invalid', 'The token is unknown, expired or revoked.')
  );
}
