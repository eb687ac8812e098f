// Groups of SCIM and their members. What a group gives is mapped by operators (directory-groups.ts); people follow before the
// membership is stored, so that a request that was interrupted can be repeated.

import type { DirectoryGroup, ScimGroup, ScimUser } from '../accounts/accounts.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import {
  type GroupPatch,
  groupCondition,
  groupJson,
  isSelected,
  type JsonMembers,
  memberOf,
  patchGroup,
  readGroup,
  readMembers,
  readOperations,
  scimFault,
} from '../scim/scim.ts';
import { findObject } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import type { ScimCall, ScimResources } from './scim-app.ts';
import { loadScimMapping, needsPerson, scimPlaceOf, writeUser } from './scim-people.ts';

export const groupResources: ScimResources = {
  async list(call) {
    const { scim, query } = call;
    const filter = query.filter === null ? null : groupCondition(query.filter);
    const total = await scim.countScimGroups(filter);
    const page = { filter, offset: query.offset, limit: query.count };
    const groups = query.count === 0 ? [] : await scim.listScimGroups(page);
    return { rows: await shownGroups(call, groups), total };
  },
  async create(call) {
    const patch = wholeGroup(call.body);
    return shownGroup(call, await createGroup(call, patch));
  },
  async show(call, id) {
    return shownGroup(call, await findGroup(call, id));
  },
  async replace(call, id) {
    return shownGroup(call, await changeGroup(call, id, () => wholeGroup(call.body)));
  },
  async patch(call, id) {
    const operations = readOperations(call.body);
    const changed = await changeGroup(call, id, (before) => patchGroup(writtenOf(before), operations));
    // A group may be large, and directories do not read the answer (RFC 7644, section 3.5.2).
    return call.query.isSelective ? shownGroup(call, changed) : null;
  },
  async remove(call, id) {
    const group = await findGroup(call, id);
    const members = await membersOf(call, group);
    await moveMembers(call, group, null, members);
    await call.changeInTurn(async () => {
      const note = changeNote('scim-group.delete', id, null, noteOf(await findGroup(call, id)), null);
      await call.scim.writeScim([{ removedGroup: group.id }], recordAudit(call, [note]));
    });
    await moveMembers(call, group, null, members); // whom another change moved in the meantime
  },
};

/** Throws object_not_found. */
function findGroup({ scim }: ScimCall, id: string): Promise<ScimGroup> {
  return findObject('scimgroup', 'group', id, scim.getScimGroup);
}

async function membersOf({ scim }: ScimCall, { id }: ScimGroup): Promise<number[]> {
  return (await scim.listScimMembers([id], bounds.scimMembersPerGroupMax)).map(({ user }) => user);
}

function writtenOf({ displayName, externalId }: ScimGroup): JsonMembers {
  return { displayName, ...(externalId !== null && { externalId }) };
}

function noteOf({ displayName, externalId }: ScimGroup): JsonMembers {
  return { display_name: displayName, external_id: externalId };
}

/** Those that fit into one answer; a directory that reads the members of many groups reads them page by page. */
async function shownGroups({ scim, query, base }: ScimCall, groups: readonly ScimGroup[]): Promise<JsonMembers[]> {
  if (!isSelected(query.selection, 'members')) return groups.map((group) => groupJson(group, null, base));
  const ids = groups.map(({ id }) => id);
  const found = await scim.listScimMembers(ids, bounds.scimMembersPageMax + 1);
  const members = Map.groupBy(found, ({ group }) => group);
  let left = bounds.scimMembersPageMax;
  const shown: JsonMembers[] = [];
  for (const group of groups) {
    const own = members.get(group.id)?.map(({ user }) => user) ?? [];
    left -= own.length;
    if (left < 0 && shown.length > 0) break;
    shown.push(groupJson(group, own, base));
  }
  return shown;
}

async function shownGroup(call: ScimCall, group: ScimGroup): Promise<JsonMembers> {
  const [shown = {}] = await shownGroups(call, [group]);
  return shown;
}

/** A whole group as a change of all. */
function wholeGroup(body: JsonMembers): GroupPatch {
  return { attributes: body, isEmptied: true, add: readMembers(memberOf(body, 'members')), remove: [] };
}

async function createGroup(call: ScimCall, patch: GroupPatch): Promise<ScimGroup> {
  const { scim, clock } = call;
  const read = readGroup(patch.attributes);
  const group = await call.changeInTurn(async () => {
    if ((await scim.countScimGroups(null)) >= bounds.scimGroupsMax)
      throw scimFault('tooMany', `There are ${bounds.scimGroupsMax} groups, which is the most.`);
    const nowMs = clock.nowMs();
    const made: ScimGroup = { id: newNumber(), ...read, createdAtMs: nowMs, updatedAtMs: nowMs };
    await refuseTaken(call, made);
    await refuseUnknown(call, patch.add);
    const note = changeNote('scim-group.create', formatId('scimgroup', made.id), null, null, noteOf(made));
    await scim.writeScim([{ group: made }], recordAudit(call, [note]));
    return made;
  });
  if (patch.add.length > 0) await writeMembers(call, group, group, { ...patch, isEmptied: false });
  return group;
}

async function changeGroup(call: ScimCall, id: string, change: (before: ScimGroup) => GroupPatch): Promise<ScimGroup> {
  const before = await findGroup(call, id);
  const patch = change(before);
  const read = readGroup(patch.attributes);
  const isSame = read.displayName === before.displayName && read.externalId === before.externalId;
  const after: ScimGroup = isSame ? before : { ...before, ...read, updatedAtMs: call.clock.nowMs() };
  await refuseTaken(call, after);
  await refuseUnknown(call, patch.add);
  await writeMembers(call, before, after, patch);
  return after;
}

/** Throws conflict if another group has the name. */
async function refuseTaken({ scim }: ScimCall, { id, displayName }: ScimGroup): Promise<void> {
  const filter = { member: 'displayName' as const, equals: displayName.toLowerCase() };
  const [found] = await scim.listScimGroups({ filter, offset: 0, limit: 1 });
  if (found !== undefined && found.id !== id)
    throw scimFault(
      'uniqueness',
      `displayName: the group "${formatId('scimgroup', found.id)}" has the same.`,
      'conflict',
    );
}

/** Throws invalidValue if a user does not exist. */
async function refuseUnknown({ scim }: ScimCall, users: readonly number[]): Promise<void> {
  for (const id of users)
    if ((await scim.getScimUser(id)) === null)
      throw scimFault('invalidValue', `members: there is no user "${formatId('scimuser', id)}"`);
}

/** First the people, then the group with its members. */
async function writeMembers(call: ScimCall, before: ScimGroup, after: ScimGroup, patch: GroupPatch): Promise<void> {
  const { scim } = call;
  const isRenamed = before.displayName !== after.displayName;
  const stored = new Set(patch.isEmptied || isRenamed || patch.remove.length > 0 ? await membersOf(call, before) : []);
  const kept = new Set(patch.isEmptied ? [] : stored);
  for (const user of patch.add) kept.add(user);
  for (const user of patch.remove) kept.delete(user);
  const removed = [...stored].filter((user) => !kept.has(user));
  const added = patch.add.filter((user) => !stored.has(user));
  await refuseTooMany(call, before, added.length - removed.length);
  await moveMembers(call, before, null, removed);
  await moveMembers(call, before, after.displayName, isRenamed ? [...kept] : added);
  if (added.length === 0 && removed.length === 0 && before === after) return;
  await call.changeInTurn(async () => {
    const id = formatId('scimgroup', after.id);
    const note = changeNote(
      'scim-group.update',
      id,
      null,
      { ...noteOf(before), removed_members: [], added_members: [] },
      { ...noteOf(after), removed_members: listed(removed), added_members: listed(added) },
    );
    const changes = [{ group: after }, { members: { group: after.id, add: added, remove: removed } }];
    await scim.writeScim(changes, recordAudit(call, [note]));
  });
  // Again, for those whom another change moved before the membership was stored.
  await moveMembers(call, after, null, removed);
  await moveMembers(call, after, after.displayName, isRenamed ? [...kept] : added);
}

/** The audit log has the first of many. */
function listed(users: readonly number[]): string[] {
  const shown = users.slice(0, bounds.listMembersMax).map((user) => formatId('scimuser', user));
  return users.length > shown.length ? [...shown, `and ${users.length - shown.length} more`] : shown;
}

async function refuseTooMany({ scim }: ScimCall, { id }: ScimGroup, more: number): Promise<void> {
  if (more <= 0 || (await scim.countScimMembers(id)) + more <= bounds.scimMembersPerGroupMax) return;
  throw scimFault('tooMany', `members: a group can have at most ${bounds.scimMembersPerGroupMax} members`);
}

/** Gives users the place that they have when the group has this name for them; null: they are not in it any more. */
async function moveMembers(
  call: ScimCall,
  group: ScimGroup,
  name: string | null,
  users: readonly number[],
): Promise<void> {
  if (users.length === 0) return;
  const mapping = await loadScimMapping(call);
  for (const id of users) {
    const next = await placeWith(call, group, name, id, mapping);
    if (next === null || !(await needsPerson(call, next.user, next.place))) continue;
    await call.changeInTurn(async () => {
      const again = await placeWith(call, group, name, id, await loadScimMapping(call));
      if (again !== null) await writeUser(call, again.user, again.place, null);
    });
  }
}

async function placeWith(
  { scim }: ScimCall,
  group: ScimGroup,
  name: string | null,
  id: number,
  mapping: readonly DirectoryGroup[],
) {
  const user: ScimUser | null = await scim.getScimUser(id);
  if (user === null) return null;
  const groups = (await scim.listScimMemberships([id])).map((membership) => membership.group);
  const names = groups.filter((one) => one.id !== group.id).map(({ displayName }) => displayName);
  return { user, place: scimPlaceOf(name === null ? names : [...names, name], mapping) };
}

/** Gives the members of all groups with these names their places, after an operator mapped them otherwise. */
export async function placeMembersOf(call: ScimCall, names: readonly string[]): Promise<void> {
  for (const displayName of names) {
    const filter = { member: 'displayName' as const, equals: displayName.toLowerCase() };
    for (const group of await call.scim.listScimGroups({ filter, offset: 0, limit: 1 }))
      await moveMembers(call, group, group.displayName, await membersOf(call, group));
  }
}
