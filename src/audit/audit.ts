// The door of the audit log: records of changes, written in the transaction of the change. Credentials and secrets
// are masked here.

import { isDeepStrictEqual } from 'node:util';
import type { Requester } from '../base/timers.ts';

/** The actor of a change, and its IP address. */
export interface Actor {
  /**
   * "tok_…" for a token, "person_…" for a person, "local" for the operator of this machine, "start" for the service
   * itself at its start, "stripe" for changes that follow from Stripe's state, "anyone" for a refused webhook request,
   * "recipient" for who used the link of a mail, "directory" for what follows from the groups of a person at an issuer.
   */
  id: string;
  role: 'operator' | 'viewer' | 'owner' | 'member' | 'scim' | 'service';
  /** Through trusted proxies; empty without a request. */
  address: string;
  requestId: string | null;
}

/** Changes that the service makes at its start. */
export const theService: Actor = Object.freeze({ id: 'start', role: 'service', address: '', requestId: null });

/** One change. Committed with the change, and never altered. */
export interface AuditRecord {
  atMs: number;
  actor: Actor;
  /** Resource and verb: "key.create". */
  action: string;
  /** The changed object: "key_…", "acct_…", or kind and name of a catalog object: "model claude-…". */
  object: string;
  /** The object's account; null: the installation. */
  account: number | null;
  /** Changed members before and after; null: created or deleted. */
  before: JsonMembers | null;
  after: JsonMembers | null;
}

export interface StoredAuditRecord extends AuditRecord {
  seq: number;
}

/** The response of a creation, kept for a day under the idempotency key. */
export interface RememberedCreation {
  /** The actor of the idempotency key. */
  principal: string;
  idempotencyKey: string;
  atMs: number;
  /** Hash of route and body: a different request with the same key is refused. */
  requestHash: string;
  /** Id of the created object, for the repeated response. */
  object: string;
  /** The secret that was shown, sealed; null without one. */
  secretSealed: string | null;
}

/** The context in which the secret of a creation is sealed. */
export function creationContext({
  principal,
  idempotencyKey,
}: Pick<RememberedCreation, 'principal' | 'idempotencyKey'>): string {
  return `creation:${principal}:${idempotencyKey}`;
}

/** Written in the transaction of a change. */
export interface AuditContext {
  audit: readonly AuditRecord[];
  creation: RememberedCreation | null;
  /**
   * Refuses the change with Outpaced if its basis was changed meanwhile. Absent or null: not needed, with a single
   * process or under a lock.
   */
  since?: DecidedAt | null;
  /** More rows of the same transaction, such as mails. */
  rows?: readonly unknown[];
}

/** The basis of a change: the state at an epoch of the store. */
export interface DecidedAt {
  /** Read before everything else. */
  epoch: number;
  /**
   * The account whose objects the decision read, in addition to the installation's: one account, none (null), or any.
   */
  account: number | null | 'any';
}

export interface AuditPage {
  account: number | null;
  object: string | null;
  actor: string | null;
  sinceMs: number | null;
  untilMs: number | null;
  /** Cursor: the seq of the last record seen. */
  before: number | null;
  limit: number;
}

export interface AuditStore {
  /** Newest first. */
  listAudit(page: AuditPage, requester?: Requester): Promise<StoredAuditRecord[]>;
  findCreation(principal: string, idempotencyKey: string): Promise<RememberedCreation | null>;
  /** All creations with a secret; they are kept for a day. */
  listSealedCreations(): Promise<RememberedCreation[]>;
}

export type JsonMembers = Record<string, unknown>;

const SECRET_NAME = /secret|sealed|api_key|password|credential|^token$|^key$/i;
/** A member that says where a credential is stored, not what it is: the audit shows it. */
const REFERENCE_NAME = 'auth';
const MASK = '[secret]';
const OTHER_MASK = '[another secret]';

/** Members that differ, before and after. A changed credential is shown as changed, never its value. */
export function describeChange(
  before: JsonMembers | null,
  after: JsonMembers | null,
): { before: JsonMembers | null; after: JsonMembers | null } {
  if (before === null || after === null) return { before: masked(before, MASK), after: masked(after, MASK) };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  );
  const pick = (from: JsonMembers) =>
    Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
  return { before: masked(pick(before), MASK), after: masked(pick(after), OTHER_MASK, before) };
}

/** A deep copy with every credential masked. A credential equal to the one in the same place of `before` gets the mask for unchanged. */
function masked(members: JsonMembers | null, mask: string, before: unknown = null): JsonMembers | null {
  if (members === null) return null;
  const stood = new Map(Object.entries(before ?? {}));
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, maskValue(name, value, mask, stood.get(name))]),
  );
}

function maskValue(name: string, value: unknown, mask: string, before: unknown): unknown {
  if (name === REFERENCE_NAME) return value;
  if (typeof value === 'string' && SECRET_NAME.test(name)) return value === before ? MASK : mask;
  if (Array.isArray(value)) return value.map((member) => maskValue('', member, mask, null));
  if (typeof value === 'object' && value !== null) return masked(value as JsonMembers, mask, before);
  return value;
}
