// People who sign in. A person belongs to the installation or to one account. The admin API defines what each role
// may do; sign-in authenticates them and identifies them by email.

import { randomBytes } from 'node:crypto';
import type { AuditContext } from '../audit/audit.ts';
import type { Secret } from '../secrets/secrets.ts';
import type { Role } from './access-token.ts';
import type { PersonBudgetTerms } from './account.ts';
import { hasSecretShape, makeSecret } from './key-secret.ts';

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
  /** The actor that invited them. */
  madeBy: string;
  createdAtMs: number;
}

/**
 * Whether the person signs in with their email, so that nobody else can. In an account only enabled people do: who invites or
 * disables somebody there must neither learn who has an address nor keep it from them.
 */
export function claimsEmail({ accountId, status, email }: Pick<Person, 'accountId' | 'status' | 'email'>): boolean {
  return email !== null && (accountId === null || status === 'enabled');
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
  updatePerson(person: Person, link: LinkChange, auditContext: AuditContext): Promise<void>;
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
