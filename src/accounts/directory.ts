// Groups of a company's directory: which account and role they give to the people in them. Names come from claims of an issuer or
// from SCIM; only operators map them.

import type { AuditContext } from '../audit/audit.ts';
import { bounds } from '../config/config.ts';
import type { Role } from './access-token.ts';

export interface DirectoryGroup {
  id: number;
  /** As the claims of an issuer, or SCIM, name it; `everyone` is every person of the directory. Compared exactly. */
  name: string;
  /** The only source whose groups count: the id of an issuer ("oidc", "oidc-2"), or "scim". null: any. */
  source: string | null;
  /** null: the installation. */
  accountId: number | null;
  role: Role;
  /** The account is that of the group with the lowest number. */
  priority: number;
  /** A disabled group gives nothing. */
  status: 'enabled' | 'disabled';
  /** The actor that created it. */
  madeBy: string;
  createdAtMs: number;
}

/** The name of a group that everybody of a directory is in. */
export const EVERYONE = '*';

/** The source of groups that SCIM provisions. */
export const SCIM_SOURCE = 'scim';

/** Where a person belongs, and what they may do there. */
export interface Place {
  /** null: the installation. */
  accountId: number | null;
  role: Role;
}

export interface DirectoryGroupStore {
  getDirectoryGroup(id: number): Promise<DirectoryGroup | null>;
  findDirectoryGroup(name: string, source: string | null): Promise<DirectoryGroup | null>;
  /** Oldest first; `after` is the id of the last group seen. */
  listDirectoryGroups(page: { after: number | null; limit: number }): Promise<DirectoryGroup[]>;
  /** Groups of every status. */
  countDirectoryGroups(): Promise<number>;
  /** A new group, or a changed one. */
  saveDirectoryGroup(group: DirectoryGroup, auditContext: AuditContext): Promise<void>;
}

/**
 * The names to keep of those in which a directory has a person: sorted, each once, and bounded, because they are stored with the person
 * and in tokens. If there are more, those that policies name come first.
 */
export function keepGroups(names: Iterable<string>, named: ReadonlySet<string>): string[] {
  const sorted = [...new Set(names)].sort();
  const inOrder = [...sorted.filter((name) => named.has(name)), ...sorted.filter((name) => !named.has(name))];
  const kept: string[] = [];
  let bytes = 0;
  for (const name of inOrder) {
    bytes += Buffer.byteLength(JSON.stringify(name)) + 1;
    if (kept.length === bounds.keptGroupsMax || bytes > bounds.keptGroupsBytesMax) break;
    kept.push(name);
  }
  return kept.sort();
}

const RANK: Readonly<Record<Role, number>> = { operator: 0, viewer: 1, owner: 2, member: 3 };

/** The groups that count for names from this source: the id of an issuer, or "scim". */
export function groupsOfSource(groups: readonly DirectoryGroup[], source: string): DirectoryGroup[] {
  return groups.filter((group) => group.source === null || group.source === source);
}

/**
 * The place of a person who is in the groups with these names; null: they have none. A role of the installation comes before any
 * account, the highest first. Otherwise the account is that of the group with the lowest priority number, the oldest first, and the
 * role is the highest that their groups give in this account. A group named "*" counts for everybody, after all others.
 */
export function placeOf(groupNames: Iterable<string>, groups: readonly DirectoryGroup[]): Place | null {
  const names = new Set(groupNames);
  names.delete(EVERYONE);
  const enabled = groups.filter(({ status }) => status === 'enabled');
  const found = enabled.filter(({ name }) => names.has(name));
  const matching = found.length > 0 ? found : enabled.filter(({ name }) => name === EVERYONE);
  const ofInstallation = matching.filter(({ accountId }) => accountId === null);
  if (ofInstallation.length > 0) return { accountId: null, role: highestRole(ofInstallation) };
  const [first] = matching.toSorted(
    (one, other) => one.priority - other.priority || one.createdAtMs - other.createdAtMs || one.id - other.id,
  );
  if (first === undefined) return null;
  const { accountId } = first;
  return { accountId, role: highestRole(matching.filter((group) => group.accountId === accountId)) };
}

function highestRole(groups: readonly DirectoryGroup[]): Role {
  const [highest] = groups.map(({ role }) => role).toSorted((one, other) => RANK[one] - RANK[other]);
  return highest ?? 'member';
}
