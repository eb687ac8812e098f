// People who sign in: who may operate the installation, or hold one account of it. What each role may do is the admin API's, and
// how somebody proves to be a person is not known here: they are found by their e-mail.

import { randomBytes } from 'node:crypto';
import type { Trail } from '../audit/audit.ts';
import type { Secret } from '../secrets/secrets.ts';
import type { Role } from './access-token.ts';
import { hasSecretShape, makeSecret } from './key-secret.ts';

export type PersonStatus = 'invited' | 'enabled' | 'disabled';

export interface Person {
  id: number;
  /** Null: of the installation. */
  accountId: number | null;
  role: Role;
  /** In lower case, and nobody else's. Null where whoever accepts the invitation is to say it. */
  email: string | null;
  name: string;
  status: PersonStatus;
  /** When the one-time link ends that was made last; null where there is none to accept. */
  linkExpiresAtMs: number | null;
  /** The actor that invited them. */
  madeBy: string;
  createdAtMs: number;
}

/** What is kept of a one-time link: the hash of its secret, null for none, or whatever is kept already. */
export type KeptLink = { hash: string | null } | 'as it is';

export interface PersonStore {
  findPersonByEmail(email: string): Promise<Person | null>;
  /** Also where the link has ended. */
  findPersonByLinkHash(linkHash: string): Promise<Person | null>;
  getPerson(id: number): Promise<Person | null>;
  /** Oldest first; `after` is the id of the last one seen. */
  listPeople(page: { accountId: number | null; after: number | null; limit: number }): Promise<Person[]>;
  /** Of one account, of every status. */
  countPeople(accountId: number): Promise<number>;
  countInRole(role: Role, status: PersonStatus): Promise<number>;
  /** `former` gives up its e-mail for this person, and its link: they are as they are from now on. */
  createPerson(person: Person, linkHash: string | null, trail: Trail, former?: Person | null): Promise<void>;
  updatePerson(person: Person, link: KeptLink, trail: Trail): Promise<void>;
}

const MARK = 'tk-inv-';

/** The secret of a new one-time link, to be shown once. */
export function makeLinkSecret(): Secret {
  return makeSecret(MARK, randomBytes(32)).secret;
}

/** Whether the text can be the secret of a link at all. No look-up. */
export function hasLinkShape(text: string): boolean {
  return hasSecretShape(MARK, text);
}
