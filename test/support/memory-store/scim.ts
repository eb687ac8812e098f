// Users, groups and memberships of SCIM in the in-memory store.

import type { ScimChange, ScimFilter, ScimGroup, ScimUser } from '../../../src/accounts/accounts.ts';
import { BrokenInvariant } from '../../../src/base/assert.ts';
import type { ScimReads } from '../../../src/storage/scim-rows.ts';
import type { MemoryTables } from './tables.ts';

export interface ScimTables {
  scimUsers: Map<number, ScimUser>;
  scimGroups: Map<number, ScimGroup>;
  /** By "group user". */
  scimMembers: Map<string, true>;
}

export function noScim(): ScimTables {
  return { scimUsers: new Map(), scimGroups: new Map(), scimMembers: new Map() };
}

/** Throws BrokenInvariant for a name, address or person that another row has. */
export function refuseTakenScim({ scimUsers: users, scimGroups: groups }: MemoryTables, change: ScimChange): void {
  const isTaken =
    ('user' in change &&
      [...users.values()].some(
        ({ id, userName, email, personId }) =>
          id !== change.user.id &&
          (userName.toLowerCase() === change.user.userName.toLowerCase() ||
            email === change.user.email ||
            (personId !== null && personId === change.user.personId)),
      )) ||
    ('group' in change &&
      [...groups.values()].some(
        ({ id, displayName }) =>
          id !== change.group.id && displayName.toLowerCase() === change.group.displayName.toLowerCase(),
      ));
  if (isTaken) throw new BrokenInvariant('the table cannot take this row');
}

export function writeScim(
  { scimUsers: users, scimGroups: groups, scimMembers: members }: MemoryTables,
  change: ScimChange,
): void {
  if ('user' in change) users.set(change.user.id, change.user);
  else if ('group' in change) groups.set(change.group.id, change.group);
  else if ('members' in change) {
    const { group, add, remove } = change.members;
    for (const user of remove) members.delete(`${group} ${user}`);
    for (const user of add) members.set(`${group} ${user}`, true);
  } else if ('removedUser' in change) {
    users.delete(change.removedUser);
    for (const pair of members.keys()) if (pair.endsWith(` ${change.removedUser}`)) members.delete(pair);
  } else {
    groups.delete(change.removedGroup);
    for (const pair of members.keys()) if (pair.startsWith(`${change.removedGroup} `)) members.delete(pair);
  }
}

export function scimReads({ scimUsers: users, scimGroups: groups, scimMembers: members }: MemoryTables): ScimReads {
  const isMember = (group: unknown, user: unknown) => members.has(`${group} ${user}`);
  const usersIn: ScimReads['listScimUsers'] = async ({ filter, offset, limit }) =>
    sorted(users)
      .filter((user) =>
        matches(filter, (member, equals) =>
          member === 'group'
            ? isMember(equals, user.id)
            : member === 'userName'
              ? user.userName.toLowerCase() === equals
              : user[member === 'person' ? 'personId' : member] === equals,
        ),
      )
      .slice(offset, offset + limit);
  const groupsIn: ScimReads['listScimGroups'] = async ({ filter, offset, limit }) =>
    sorted(groups)
      .filter((group) =>
        matches(filter, (member, equals) =>
          member === 'user'
            ? isMember(group.id, equals)
            : member === 'displayName'
              ? group.displayName.toLowerCase() === equals
              : group[member] === equals,
        ),
      )
      .slice(offset, offset + limit);
  const pairs = () =>
    [...members.keys()]
      .map((pair) => pair.split(' ').map(Number) as [number, number])
      .sort(([g1, u1], [g2, u2]) => g1 - g2 || u1 - u2);
  return {
    getScimUser: async (id) => users.get(id) ?? null,
    getScimGroup: async (id) => groups.get(id) ?? null,
    listScimUsers: usersIn,
    countScimUsers: async (filter) => (await usersIn({ filter, offset: 0, limit: users.size })).length,
    listScimGroups: groupsIn,
    countScimGroups: async (filter) => (await groupsIn({ filter, offset: 0, limit: groups.size })).length,
    listScimMembers: async (wanted, limit) =>
      pairs()
        .filter(([group]) => wanted.includes(group))
        .slice(0, limit)
        .map(([group, user]) => ({ group, user })),
    listScimMemberships: async (wanted) =>
      pairs()
        .filter(([, user]) => wanted.includes(user))
        .map(([group, user]) => ({ user, group: groups.get(group) as ScimGroup })),
    countScimMembers: async (wanted) => pairs().filter(([group]) => group === wanted).length,
  };
}

function sorted<Row extends { id: number; createdAtMs: number }>(rows: Map<number, Row>): Row[] {
  return [...rows.values()].sort((one, other) => one.createdAtMs - other.createdAtMs || one.id - other.id);
}

function matches<Member extends string>(
  filter: ScimFilter<Member> | null,
  isEqual: (member: Member, equals: string | number) => boolean,
): boolean {
  if (filter === null) return true;
  if (filter === 'nothing') return false;
  if ('member' in filter) return isEqual(filter.member, filter.equals);
  return 'every' in filter
    ? filter.every.every((one) => matches(one, isEqual))
    : filter.some.some((one) => matches(one, isEqual));
}
