// Tokens of coding agents. An access token is a JWT (HS256) that names its grant; a refresh token is derived from the grant and its
// generation. Both need the installation secret, so nothing of them is stored.

import { timingSafeEqual } from 'node:crypto';
import { AGENT_CLIENTS, type AgentCaller, type AgentTokenReader } from '../accounts/accounts.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { formatId, parseId } from '../base/ids.ts';
import { TurnpikeError } from '../errors.ts';
import type { Vault } from '../secrets/secrets.ts';
import type { AgentGrant } from './grant.ts';

/** The audience of access tokens. */
const AUDIENCE = 'turnpike-agent';
const HEADER = encode({ alg: 'HS256', typ: 'JWT' });
const REFRESH_MARK = 'tk-ar-';
const TOKEN_CHARACTERS_MAX = 8_192;

type Signer = Pick<Vault, 'sign'> & { previous: Pick<Vault, 'sign'> | null };

export interface AccessTokenTerms {
  caller: AgentCaller;
  generation: number;
  issuer: string;
  issuedAtMs: number;
  expiresAtMs: number;
}

/** The claims that Claude Code reads (`sub`, `email`, `groups`, `exp`), and those that this service checks. */
export function signAccessToken(vault: Signer, terms: AccessTokenTerms): string {
  const { caller, generation, issuer, issuedAtMs, expiresAtMs } = terms;
  const grant = formatId('agent', caller.grant);
  const claims = {
    iss: issuer,
    aud: AUDIENCE,
    sub: formatId('person', caller.person),
    ...(caller.email !== null && { email: caller.email }),
    name: caller.name,
    groups: caller.groups,
    sid: grant,
    jti: `${grant}.${generation}`,
    client: caller.client,
    iat: Math.floor(issuedAtMs / 1_000),
    exp: Math.floor(expiresAtMs / 1_000),
  };
  const signed = `${HEADER}.${encode(claims)}`;
  return `${signed}.${vault.sign(signed)}`;
}

export function agentTokenReader(vault: Signer): AgentTokenReader {
  return {
    read(text, nowMs) {
      // Before anything is computed: any client can send any text.
      if (!text.startsWith(`${HEADER}.`) || text.length > TOKEN_CHARACTERS_MAX) return null;
      const end = text.lastIndexOf('.');
      const signed = text.slice(0, end);
      if (!isSigned(vault, signed, text.slice(end + 1))) return null;
      const claims = JSON.parse(Buffer.from(signed.slice(HEADER.length + 1), 'base64url').toString()) as Claims;
      const grant = parseId('agent', claims.sid);
      const person = parseId('person', claims.sub);
      const client = AGENT_CLIENTS.find((known) => known === claims.client);
      if (claims.aud !== AUDIENCE || grant === null || person === null || client === undefined) return null;
      if (claims.exp * 1_000 <= nowMs)
        return new TurnpikeError('key_expired', 'This sign-in has expired. Sign in again.');
      const { email = null, name, groups } = claims;
      return { grant, person, client, email, name, groups };
    },
  };
}

interface Claims {
  aud: string;
  sub: string;
  sid: string;
  client: string;
  email?: string;
  name: string;
  groups: string[];
  exp: number;
}

/** The refresh token of a grant's generation. */
export function refreshTokenOf(
  vault: Pick<Vault, 'sign'>,
  { id, nonce }: Pick<AgentGrant, 'id' | 'nonce'>,
  at: number,
) {
  return `${REFRESH_MARK}${formatId('agent', id)}.${at}.${vault.sign(`refresh ${id} ${at} ${nonce}`)}`;
}

/** The grant and generation in a refresh token, unverified; null for other text. */
export function namedByRefreshToken(text: string): { grant: number; generation: number } | null {
  if (text.length > TOKEN_CHARACTERS_MAX || !text.startsWith(REFRESH_MARK)) return null;
  const [id = '', generation = ''] = text.slice(REFRESH_MARK.length).split('.');
  const grant = parseId('agent', id);
  const number = parseWholeNumber(generation);
  return grant === null || number === null ? null : { grant, generation: number };
}

/** Whether the text is the refresh token of this generation, under the present or the former secret. */
export function isRefreshTokenOf(vault: Signer, grant: AgentGrant, generation: number, text: string): boolean {
  return [vault, vault.previous].some(
    (signer) => signer !== null && isSame(refreshTokenOf(signer, grant, generation), text),
  );
}

function isSigned(vault: Signer, signed: string, signature: string): boolean {
  return (
    isSame(vault.sign(signed), signature) || (vault.previous !== null && isSame(vault.previous.sign(signed), signature))
  );
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
