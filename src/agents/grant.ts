// Stored sign-ins of coding agents: device codes that wait for a person, and grants, to which tokens belong.

import { randomBytes, randomInt } from 'node:crypto';
import type { AgentClient, Key, KeyTerms } from '../accounts/accounts.ts';
import type { AuditContext } from '../audit/audit.ts';
import { newNumber } from '../base/ids.ts';
import { hashSecret } from '../secrets/secrets.ts';

/** One sign-in of a person with a coding agent. Its tokens use the key. */
export interface AgentGrant {
  id: number;
  accountId: number;
  personId: number;
  keyId: number;
  client: AgentClient;
  status: 'enabled' | 'revoked';
  /** Raised by each refresh. Tokens of earlier generations end. */
  generation: number;
  /** Part of what refresh tokens are derived from. */
  nonce: string;
  /** The address of the device that asked. */
  address: string;
  createdAtMs: number;
  refreshedAtMs: number;
  /** When the person must sign in again, or when it was revoked. */
  expiresAtMs: number;
}

/** A device that waits until a person types its code. */
export interface DeviceCode {
  /** The hash of the code that the device polls with. */
  hash: string;
  /** Eight letters, as "BCDF-GHJK". */
  userCode: string;
  client: AgentClient;
  status: 'pending' | 'approved' | 'denied';
  address: string;
  createdAtMs: number;
  expiresAtMs: number;
  /** Set by the approval. */
  grantId: number | null;
}

/** A grant, with the key that the approval creates. */
export interface NewGrant {
  code: DeviceCode;
  grant: AgentGrant;
  /** null: the person has one for this client. */
  key: { key: Key; terms: KeyTerms } | null;
}

export interface GrantPage {
  accountId: number | null;
  personId: number | null;
  /** Cursor: the id of the last grant seen. */
  before: number | null;
  limit: number;
}

/** Stores sign-ins of coding agents. Writes are durable when they resolve, and throw Outpaced if another change came first. */
export interface AgentStore {
  findDeviceCode(hash: string): Promise<DeviceCode | null>;
  findDeviceCodeByUserCode(userCode: string): Promise<DeviceCode | null>;
  /** Codes that have not expired. */
  countDeviceCodes(nowMs: number): Promise<number>;
  getAgentGrant(id: number): Promise<AgentGrant | null>;
  /** Newest first. */
  listAgentGrants(page: GrantPage): Promise<AgentGrant[]>;
  /** Grants of a person that are neither revoked nor expired. */
  countAgentGrants(personId: number, nowMs: number): Promise<number>;
  findAgentKey(personId: number, client: AgentClient): Promise<number | null>;
  /** Also deletes codes that expired before that time. */
  createDeviceCode(code: DeviceCode, forgetUntilMs: number): Promise<void>;
  denyDeviceCode(code: DeviceCode, auditContext: AuditContext): Promise<void>;
  /** The code becomes approved. Also deletes grants that ended before that time. */
  createAgentGrant(made: NewGrant, forgetUntilMs: number, auditContext: AuditContext): Promise<void>;
  /** The device has its tokens: the code ends. */
  takeDeviceCode(code: DeviceCode): Promise<void>;
  /** From the generation before it. */
  refreshAgentGrant(grant: AgentGrant): Promise<void>;
  revokeAgentGrant(grant: AgentGrant, auditContext: AuditContext): Promise<void>;
}

const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'; // no vowels: no words, and nothing that looks like a digit
const USER_CODE_CHARACTERS = 8;

/** A new device code: its text, for the device alone, and its row. */
export function makeDeviceCode(client: AgentClient, address: string, nowMs: number, lifeMs: number) {
  const secret = randomBytes(32).toString('base64url');
  const letters = Array.from({ length: USER_CODE_CHARACTERS }, () => USER_CODE_LETTERS[randomInt(20)]).join('');
  const code: DeviceCode = {
    hash: hashSecret(secret),
    userCode: `${letters.slice(0, 4)}-${letters.slice(4)}`,
    client,
    status: 'pending',
    address,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + lifeMs,
    grantId: null,
  };
  return { secret, code };
}

/** A code as a person types it: with or without hyphen and spaces, in any case. null for other text. */
export function readUserCode(text: string): string | null {
  const letters = text.replaceAll(/[\s-]/g, '').toUpperCase();
  if (letters.length !== USER_CODE_CHARACTERS) return null;
  if ([...letters].some((letter) => !USER_CODE_LETTERS.includes(letter))) return null;
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

export function makeGrant(
  code: DeviceCode,
  holder: Pick<AgentGrant, 'accountId' | 'personId' | 'keyId'>,
  nowMs: number,
  lifeMs: number,
): AgentGrant {
  return {
    id: newNumber(),
    ...holder,
    client: code.client,
    status: 'enabled',
    generation: 1,
    nonce: randomBytes(16).toString('base64url'),
    address: code.address,
    createdAtMs: nowMs,
    refreshedAtMs: nowMs,
    expiresAtMs: nowMs + lifeMs,
  };
}

/** Names of the keys that approvals create, as people see them. */
export const CLIENT_NAMES: Readonly<Record<AgentClient, string>> = { 'claude-code': 'Claude Code', codex: 'Codex' };
