// People who sign in. A person belongs to the installation or to one account. The admin API defines what each role
// may do; sign-in authenticates them and identifies them by email.

import { randomBytes } from 'node:crypto';
import type { AuditContext } from '../audit/audit.ts';
import type { Secret } from '../secrets/secrets.ts';
import type { Role } from './access-token.ts';
import type { EndedKey, PersonBudgetTerms } from './account.ts';
import { hasSecretShape, makeSecret } from './key-secret.ts';
import type { Tags } from './tags.ts';

type PersonStatus = 'invited' | 'enabled' | 'disabled';

export interface Person {
  id: number;
  /** null: the installation's. */
  accountId: number | null;
  role: Role;
  /** In lower case. Unique only among people who claim theirs. null: entered by the person who accepts the invitation. */
  email: string | null;
  name: string;
  status: PersonStatus;
  /** When the latest one-time link expires; null: no link. */
  linkExpiresAtMs: number | null;
  /**
   * Whether their account, role and status follow from the groups of a directory. Absent in older documents, like the members below:
   * null.
   */
  managedBy?: 'directory' | null;
  /** The source that places them: the id of an issuer, or "scim"; null: the issuer that they sign in at next. */
  directorySource?: string | null;
  /** As which they sign in with OpenID Connect, once they have. */
  identity?: Identity | null;
  /** Names of the groups that the issuer claimed at their last sign-in there: sorted, as `keepGroups` bounds them. null: none yet. */
  claimedGroups?: readonly string[] | null;
  /**
   * Who disabled them: their directory, which enables them again when a group has a place for them; people of their account; or the
   * installation, and nobody places them anywhere until it enables them. null: they are not disabled, or it is not known.
   */
  disabledBy?: 'directory' | 'account' | 'installation' | null;
  /** The actor that invited them, or "directory". */
  madeBy: string;
  /** Tags of the messages of their keys. Absent in older documents. */
  tags?: Tags;
  /** Versions of the terms that they agreed to, the latest last: at most `consentsKeptMax`. Absent in older documents. */
  consents?: readonly Consent[];
  createdAtMs: number;
}

/** Consent to the terms of the installation. */
export interface Consent {
  version: string;
  atMs: number;
  /** The IP address of the request. */
  address: string;
}

/** A person at an issuer of OpenID Connect. */
export interface Identity {
  /** The URL of the issuer, as it is set. */
  issuer: string;
  /** Its `sub`: the same person for as long as the issuer knows them, whatever their email. */
  subject: string;
}

/**
 * Whether the person signs in with their email, so that nobody else can. In an account only enabled people do: who invites or
 * disables somebody there must neither learn who has an address nor keep it from them.
 */
export function claimsEmail({ accountId, status, email }: Pick<Person, 'accountId' | 'status' | 'email'>): boolean {
  return email !== null && (accountId === null || status === 'enabled');
}

/**
 * Whether the person's identity is reserved for them, like the email. People that a directory manages keep it while they are disabled,
 * so that the directory finds them again.
 */
export function claimsIdentity({ accountId, status, managedBy }: Person): boolean {
  return accountId === null || status === 'enabled' || managedBy === 'directory';
}

/** The hash of the one-time link to store; null removes it; 'as it is' keeps the stored one. */
export type LinkChange = { hash: string | null } | 'as it is';

export interface UnclaimedSearch {
  email: string;
  status: 'invited' | 'disabled';
  /** null: any. */
  accountId: number | null;
  limit: number;
}

export interface PersonStore {
  /** The person who claims it. */
  findPersonByEmail(email: string): Promise<Person | null>;
  /** The person who claims this subject of an issuer. */
  findPersonByIdentity(identity: Identity): Promise<Person | null>;
  /** People of accounts, or of one account, who have this email and do not claim it; oldest first. */
  listUnclaimed(search: UnclaimedSearch): Promise<Person[]>;
  /** The person with one of these hashes of a link, at most three. Includes expired links. */
  findPersonByLinkHash(hashes: readonly string[]): Promise<Person | null>;
  getPerson(id: number): Promise<Person | null>;
  /** Oldest first; `after` is the id of the last person seen. */
  listPeople(page: { accountId: number | null; after: number | null; limit: number }): Promise<Person[]>;
  /** People of one account, of every status. */
  countPeople(accountId: number): Promise<number>;
  countInRole(role: Role, status: PersonStatus): Promise<number>;
  /** The email and the link of `former` are transferred to the new person. */
  createPerson(
    person: Person,
    linkHash: string | null,
    auditContext: AuditContext,
    former?: Person | null,
  ): Promise<void>;
  /** With the person, `ended` keys are disabled. */
  updatePerson(
    person: Person,
    link: LinkChange,
    auditContext: AuditContext,
    ended?: readonly EndedKey[],
  ): Promise<void>;
  /**
   * Sets the budget of a person of an account at one account, in the ledger: the next admission sees it. Throws conflict if the
   * person has budgets of their own at too many accounts.
   */
  setBudget(person: Person, budget: PersonBudgetChange, auditContext: AuditContext): Promise<void>;
}

export interface PersonBudgetChange {
  account: number;
  /** null: no limit; 'default': that of the account. */
  terms: PersonBudgetTerms | null | 'default';
}

/** The only open invitation of this email to an account; null if there are several: the person opens the link of one. */
export async function findOnlyInvitation(
  people: Pick<PersonStore, 'listUnclaimed'>,
  email: string,
): Promise<Person | null> {
  const [invited = null, another] = await people.listUnclaimed({ email, status: 'invited', accountId: null, limit: 2 });
  return another === undefined ? invited : null;
}

/** Whether the email belongs to an enabled person of the account. */
export async function isOwnAddress(
  people: Pick<PersonStore, 'findPersonByEmail'>,
  accountId: number,
  email: string,
): Promise<boolean> {
  const person = await people.findPersonByEmail(email);
  return person?.accountId === accountId && person.status === 'enabled';
}

const MARK = 'tk-inv-';

/** The secret of a new one-time link, to be shown once. */
export function makeLinkSecret(): Secret {
  return makeSecret(MARK, randomBytes(32)).secret;
}

/** Whether the text has the format of a link's secret. No query. */
export function hasLinkShape(text: string): boolean {
  return hasSecretShape(MARK, text);
}
