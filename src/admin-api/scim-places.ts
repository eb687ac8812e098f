// Users of SCIM follow their groups: when a membership changes, and when an operator maps a group to another place.

import {
  type DirectoryGroup,
  EVERYONE,
  groupsOfSource,
  type Place,
  placeOf,
  SCIM_SOURCE,
  type ScimGroup,
  type ScimUser,
} from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Call } from './route.ts';
import { needsPlacing, storeUser } from './scim-people.ts';

/** The mapping of groups that SCIM provisions. */
export async function loadScimMapping({ directoryGroups }: Pick<Call, 'directoryGroups'>): Promise<DirectoryGroup[]> {
  const groups = await directoryGroups.listDirectoryGroups({ after: null, limit: bounds.directoryGroupsMax });
  return groupsOfSource(groups, SCIM_SOURCE);
}

/** A group as users are in it; without a name they are not. */
interface PlacingGroup {
  id: ScimGroup['id'];
  displayName: string | null;
}

/** The place of a user, with this group instead of the stored one. */
export async function placeOfUser(
  { scim }: Pick<Call, 'scim'>,
  id: number,
  mapping: readonly DirectoryGroup[],
  instead: PlacingGroup | null = null,
): Promise<Place | null> {
  const memberships = await scim.listScimMemberships([id]);
  const groups: PlacingGroup[] = memberships.map(({ group }) => group).filter((group) => group.id !== instead?.id);
  if (instead !== null) groups.push(instead);
  return placeOf(
    groups.flatMap(({ displayName }) => (displayName === null ? [] : [displayName])),
    mapping,
  );
}

/**
 * Gives each user the place that their groups give, with this group instead of the stored one. One change for each: a refused one stops no
 * other. Returns the first refusal; null: none.
 */
export async function placeUsers(
  call: Call,
  users: readonly number[],
  instead: PlacingGroup | null,
): Promise<TurnpikeError | null> {
  if (users.length === 0) return null;
  let refusal: TurnpikeError | null = null;
  const mapping = await loadScimMapping(call);
  for (const id of users) {
    const user = await call.scim.getScimUser(id);
    if (user === null || !(await needsPlacing(call, user, await placeOfUser(call, id, mapping, instead)))) continue;
    try {
      await call.changeInTurn(() => placeAgain(call, id, instead));
    } catch (failure) {
      if (!(failure instanceof TurnpikeError) || failure.code !== 'conflict') throw failure;
      refusal ??= failure;
    }
  }
  return refusal;
}

/** Under the change lock, by what is stored then. */
async function placeAgain(call: Call, id: number, instead: PlacingGroup | null): Promise<void> {
  const user: ScimUser | null = await call.scim.getScimUser(id);
  if (user === null) return;
  await storeUser(call, user, await placeOfUser(call, id, await loadScimMapping(call), instead), null);
}

/**
 * Users in groups with these names follow after an operator mapped them to another place; all users for the group of everybody. Those whose
 * place is refused stay as they are, until the directory changes them and gets the refusal.
 */
export async function placeMapped(call: Call, names: readonly string[]): Promise<void> {
  const { scim } = call;
  if (names.includes(EVERYONE)) return placeEverybody(call);
  for (const name of new Set(names)) {
    const filter = { member: 'displayName' as const, equals: name.toLowerCase() };
    const groups = await scim.listScimGroups({ filter, offset: 0, limit: 1 });
    const ids = groups.map(({ id }) => id);
    const members = await scim.listScimMembers(ids, bounds.scimMembersPerGroupMax);
    await placeUsers(
      call,
      members.map(({ user }) => user),
      null,
    );
  }
}

async function placeEverybody(call: Call): Promise<void> {
  const limit = bounds.scimPageMax;
  for (let offset = 0; offset < bounds.scimUsersMax; offset += limit) {
    const users = await call.scim.listScimUsers({ filter: null, offset, limit });
    await placeUsers(
      call,
      users.map(({ id }) => id),
      null,
    );
    if (users.length < limit) return;
  }
}
