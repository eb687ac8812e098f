// Users and groups that a company's directory writes by SCIM (RFC 7643), as it wrote them. A user is not a person: one without a
// place waits, and has no person.

import type { AuditContext } from '../audit/audit.ts';

export interface ScimEmail {
  value: string;
  type: string | null;
  primary: boolean | null;
}

export interface ScimName {
  formatted: string | null;
  familyName: string | null;
  givenName: string | null;
}

/** The attributes that a directory writes. */
export interface ScimAttributes {
  userName: string;
  externalId: string | null;
  active: boolean;
  displayName: string | null;
  name: ScimName | null;
  emails: readonly ScimEmail[];
}

export interface ScimUser extends ScimAttributes {
  id: number;
  /** With which the person signs in; in lower case. */
  email: string;
  /** The person that was made of the user; null: none yet. */
  personId: number | null;
  createdAtMs: number;
  updatedAtMs: number;
}

export interface ScimGroup {
  id: number;
  displayName: string;
  externalId: string | null;
  createdAtMs: number;
  updatedAtMs: number;
}

/** A filter: texts are equal to those of an index. `nothing` matches none. */
export type ScimFilter<Member extends string> =
  | { every: readonly ScimFilter<Member>[] }
  | { some: readonly ScimFilter<Member>[] }
  | { member: Member; equals: string | number }
  | 'nothing';

export type ScimUserMember = 'id' | 'userName' | 'externalId' | 'email' | 'group' | 'person';
export type ScimGroupMember = 'id' | 'displayName' | 'externalId' | 'user';

export interface ScimPage<Member extends string> {
  filter: ScimFilter<Member> | null;
  /** Rows to skip. */
  offset: number;
  limit: number;
}

/** One change of what the directory wrote. */
export type ScimChange =
  | { user: ScimUser }
  /** Also ends its memberships. */
  | { removedUser: number }
  | { group: ScimGroup }
  /** Also ends its memberships. */
  | { removedGroup: number }
  | { members: { group: number; add: readonly number[]; remove: readonly number[] } };

export interface ScimStore {
  getScimUser(id: number): Promise<ScimUser | null>;
  getScimGroup(id: number): Promise<ScimGroup | null>;
  /** Oldest first. Names and email addresses are compared in lower case. */
  listScimUsers(page: ScimPage<ScimUserMember>): Promise<ScimUser[]>;
  countScimUsers(filter: ScimFilter<ScimUserMember> | null): Promise<number>;
  listScimGroups(page: ScimPage<ScimGroupMember>): Promise<ScimGroup[]>;
  countScimGroups(filter: ScimFilter<ScimGroupMember> | null): Promise<number>;
  /** Ids of the members of these groups, in order; at most `limit`. */
  listScimMembers(groups: readonly number[], limit: number): Promise<{ group: number; user: number }[]>;
  /** The groups of these users. */
  listScimMemberships(users: readonly number[]): Promise<{ user: number; group: ScimGroup }[]>;
  countScimMembers(group: number): Promise<number>;
  /** In one transaction. */
  writeScim(changes: readonly ScimChange[], auditContext: AuditContext): Promise<void>;
  /** The changes as rows of another transaction. */
  scimRows(changes: readonly ScimChange[]): unknown[];
}
