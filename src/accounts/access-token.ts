// Tokens of the admin API. A token belongs to the installation or to one account. The admin API defines what each
// role may do.

import { randomBytes } from 'node:crypto';
import type { AuditContext } from '../audit/audit.ts';
import { parseId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import type { Secret, SecretHashes } from '../secrets/secrets.ts';
import type { AccountStore } from './account.ts';
import { hasSecretShape, makeSecret } from './key-secret.ts';
import type { Person, PersonStore } from './person.ts';

/** Operators and viewers belong to the installation, owners and members to one account. */
export type Role = 'operator' | 'viewer' | 'owner' | 'member';

/** Tokens with the role `scim` belong to the installation. They write people and groups by SCIM, and do nothing else. */
export type TokenRole = Role | 'scim';

export interface AccessToken {
  id: number;
  /** null: the installation's. */
  accountId: number | null;
  role: TokenRole;
  name: string;
  /** First characters of the secret, for recognition. */
  prefix: string;
  status: 'enabled' | 'revoked';
  expiresAtMs: number | null;
  /** The person that it belongs to: it works while they may make it. null: it is a service's. Absent in older documents: `madeBy`. */
  personId?: number | null;
  /** The actor that created it. */
  madeBy: string;
  createdAtMs: number;
}

export interface TokenStore {
  /** The token with one of these hashes, at most three. */
  findTokenBySecretHash(hashes: readonly string[]): Promise<AccessToken | null>;
  getToken(id: number): Promise<AccessToken | null>;
  /** Oldest first; `after` is the id of the last token seen. */
  listTokens(page: { accountId: number | null; after: number | null; limit: number }): Promise<AccessToken[]>;
  /** Tokens of one account, of every status. */
  countTokens(accountId: number): Promise<number>;
  createToken(token: AccessToken, secretHash: string, auditContext: AuditContext): Promise<void>;
  updateToken(token: AccessToken, auditContext: AuditContext): Promise<void>;
}

const MARK = 'tk-tp-';

/** A new token's secret, to be shown once, and the prefix that may always be shown. */
export function makeTokenSecret(): { secret: Secret; prefix: string } {
  return makeSecret(MARK, randomBytes(32));
}

/** Whether the text has the format of a token. No query. */
function hasTokenShape(text: string): boolean {
  return hasSecretShape(MARK, text);
}

/** The person that the token belongs to; null: it is a service's. */
export function personOfToken({ personId, madeBy }: Pick<AccessToken, 'personId' | 'madeBy'>): number | null {
  return personId === undefined ? parseId('person', madeBy) : personId;
}

/** Whether the person may make such a token now: owners do for their account and for those below it. */
export async function mayHold(
  { status, role, accountId }: Person,
  token: Pick<AccessToken, 'accountId'>,
  accounts: Pick<AccountStore, 'getAccount'>,
): Promise<boolean> {
  if (status !== 'enabled') return false;
  if (role !== 'owner') return role === 'operator';
  let at = token.accountId;
  for (let level = 1; at !== null && at !== accountId && level < bounds.accountLevelsMax; level++)
    at = (await accounts.getAccount(at))?.parentId ?? null;
  return at !== null && at === accountId;
}

interface TokenReads {
  tokens: Pick<TokenStore, 'findTokenBySecretHash'>;
  people: Pick<PersonStore, 'getPerson'>;
  accounts: Pick<AccountStore, 'getAccount'>;
}

/**
 * The token with one of these hashes of its secret, or null if it is unknown, revoked or expired, or if it is a person's who may not
 * make it now. Each request queries the store, so that a revoked token, and a disabled person's, stop working at once. Rejects with
 * store_unavailable.
 */
export async function verifyToken(
  text: string,
  { tokens, people, accounts }: TokenReads,
  hashesOf: SecretHashes,
  nowMs: number,
): Promise<AccessToken | null> {
  if (!hasTokenShape(text)) return null;
  const token = await tokens.findTokenBySecretHash(hashesOf(text));
  if (token === null || token.status !== 'enabled') return null;
  if (token.expiresAtMs !== null && token.expiresAtMs <= nowMs) return null;
  const id = personOfToken(token);
  if (id === null) return token;
  const person = await people.getPerson(id);
  return person !== null && (await mayHold(person, token, accounts)) ? token : null;
}
