// Tokens of the admin API: who may operate the installation, or hold one account of it. What each
// role may do is the admin API's; here a token is only a value, and where it is kept.

import { randomBytes } from 'node:crypto';
import type { Trail } from '../audit/audit.ts';
import type { Secret } from '../secrets/secrets.ts';
import { hasSecretShape, makeSecret } from './key-secret.ts';

/** Operator and viewer are of the installation, owner and member of one account. */
export type Role = 'operator' | 'viewer' | 'owner' | 'member';

export interface AccessToken {
  id: number;
  /** Null: of the installation. */
  accountId: number | null;
  role: Role;
  name: string;
  /** The beginning of the secret, to recognise it by. */
  prefix: string;
  status: 'enabled' | 'revoked';
  expiresAtMs: number | null;
  /** The actor that made it. */
  madeBy: string;
  createdAtMs: number;
}

export interface TokenStore {
  /** The token that has the one hash or the other, in one look. */
  findTokenBySecretHash(secretHash: string, otherHash?: string): Promise<AccessToken | null>;
  getToken(id: number): Promise<AccessToken | null>;
  /** Oldest first; `after` is the id of the last one seen. */
  listTokens(page: { accountId: number | null; after: number | null; limit: number }): Promise<AccessToken[]>;
  /** Of one account, of every status. */
  countTokens(accountId: number): Promise<number>;
  createToken(token: AccessToken, secretHash: string, trail: Trail): Promise<void>;
  updateToken(token: AccessToken, trail: Trail): Promise<void>;
}

const MARK = 'tk-tp-';

/** A new token's secret, to be shown once, and the beginning of it that may be shown forever. */
export function makeTokenSecret(): { secret: Secret; prefix: string } {
  return makeSecret(MARK, randomBytes(32));
}

/** Whether the text can be a token at all. No look-up. */
export function hasTokenShape(text: string): boolean {
  return hasSecretShape(MARK, text);
}
