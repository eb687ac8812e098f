// The door of the audit: what a record of a change says, and what every change leaves in its own
// transaction. Credentials and secrets are masked here, so that no caller can forget to.

export { describeChange, withoutSecrets } from './describe-change.ts';

import type { Asking } from '../base/asking.ts';
import type { JsonMembers } from './describe-change.ts';

export type { JsonMembers } from './describe-change.ts';

/** Who made a change, and from where. */
export interface Actor {
  /** "tok_…" of a token, "person_…" of a person, "local" of this machine's operator, "start" of the service's own start. */
  id: string;
  role: 'operator' | 'viewer' | 'owner' | 'member' | 'service';
  /** Through trusted proxies; empty where no request was made. */
  address: string;
  requestId: string | null;
}

/** What the service does by itself at its start. */
export const theService: Actor = Object.freeze({ id: 'start', role: 'service', address: '', requestId: null });

/** One change. Written with what it changes or not at all, and never altered. */
export interface AuditRecord {
  atMs: number;
  actor: Actor;
  /** Resource and verb: "key.create". */
  action: string;
  /** What was changed: "key_…", "acct_…", or kind and name of an object of the catalogue: "model claude-…". */
  object: string;
  /** Whose object it is; null for the installation's. */
  account: number | null;
  /** The members that changed, as they were and as they are; null where there was, or is, nothing. */
  before: JsonMembers | null;
  after: JsonMembers | null;
}

export interface StoredAuditRecord extends AuditRecord {
  seq: number;
}

/** The answer of a creation, kept for a day under the caller's idempotency key. */
export interface RememberedCreation {
  /** Whose idempotency key it is: an actor's id. */
  principal: string;
  idempotencyKey: string;
  atMs: number;
  /** Of route and body: another request under the same key is refused. */
  requestHash: string;
  /** Names what was made, for its answer to be given again. */
  object: string;
  /** The secret that was shown, sealed; null where none was. */
  secretSealed: string | null;
}

/** The context in which the secret of a creation is sealed. */
export function creationContext({
  principal,
  idempotencyKey,
}: Pick<RememberedCreation, 'principal' | 'idempotencyKey'>): string {
  return `creation:${principal}:${idempotencyKey}`;
}

/** What a change leaves beside itself, in the same transaction. */
export interface Trail {
  audit: readonly AuditRecord[];
  creation: RememberedCreation | null;
  /**
   * Refused as Outpaced where something was changed since by which this was decided. Left out, or null, for what needs none: all
   * changes of a store of one process, and those made under a lock.
   */
  since?: DecidedAt | null;
}

/** What a change was decided by: what stood at an epoch of the store. */
export interface DecidedAt {
  /** Read before anything else was. */
  epoch: number;
  /** Whose objects it was decided by, beside the installation's own: an account's, nobody's, or anybody's. */
  account: number | null | 'any';
}

export interface AuditPage {
  account: number | null;
  object: string | null;
  actor: string | null;
  sinceMs: number | null;
  untilMs: number | null;
  /** The seq of the last one seen. */
  before: number | null;
  limit: number;
}

export interface AuditStore {
  /** Newest first. */
  listAudit(page: AuditPage, asking?: Asking): Promise<StoredAuditRecord[]>;
  findCreation(principal: string, idempotencyKey: string): Promise<RememberedCreation | null>;
  /** All whose answer had a secret: there are those of a day. */
  listSealedCreations(): Promise<RememberedCreation[]>;
}
