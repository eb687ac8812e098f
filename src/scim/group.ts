// Groups: the attributes of a client's JSON, checked; and the JSON of a stored group.

import type { ScimGroup } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { scimFault } from './faults.ts';
import { isObject, type JsonMembers, listOf, memberOf, optionalText, requiredText } from './read-members.ts';
import { GROUP_SCHEMA } from './schemas.ts';
import { times } from './user.ts';

export type ReadGroup = Pick<ScimGroup, 'displayName' | 'externalId'>;

/** Throws invalidValue. */
export function readGroup(json: JsonMembers): ReadGroup {
  return {
    displayName: requiredText(memberOf(json, 'displayName'), 'displayName'),
    externalId: optionalText(memberOf(json, 'externalId'), 'externalId'),
  };
}

/** The users of a list of members. Throws invalidValue. */
export function readMembers(value: unknown): number[] {
  const users = listOf(value, 'members', bounds.scimMembersPerRequestMax).map((member) => {
    const id = isObject(member) ? memberOf(member, 'value') : member;
    return readMember(id);
  });
  return [...new Set(users)];
}

/** The user of a member's value. Throws invalidValue. */
export function readMember(id: unknown): number {
  const user = typeof id === 'string' ? parseId('scimuser', id) : null;
  if (user === null) throw scimFault('invalidValue', 'members: must have the ids of users; groups cannot be members');
  return user;
}

/** `members`: null leaves them out. */
export function groupJson(group: ScimGroup, members: readonly number[] | null, base: string): JsonMembers {
  const { id, displayName, externalId, createdAtMs, updatedAtMs } = group;
  const shownId = formatId('scimgroup', id);
  return {
    schemas: [GROUP_SCHEMA],
    id: shownId,
    ...(externalId !== null && { externalId }),
    displayName,
    ...(members !== null &&
      members.length > 0 && {
        members: members.map((user) => {
          const value = formatId('scimuser', user);
          return { value, $ref: `${base}/Users/${value}`, type: 'User' };
        }),
      }),
    meta: { resourceType: 'Group', ...times(createdAtMs, updatedAtMs), location: `${base}/Groups/${shownId}` },
  };
}
