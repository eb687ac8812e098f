// Groups of SCIM and their members. What a group gives is mapped by operators (directory-groups.ts); people follow before the
// membership is stored, so that a request that was interrupted can be repeated.

import type { ScimGroup } from '../accounts/accounts.ts';
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
import { placeUsers } from './scim-places.ts';

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
    const refusal = await placeUsers(call, members, { id: group.id, displayName: null });
    if (refusal !== null) throw refusal;
    await call.changeInTurn(async () => {
      const note = changeNote('scim-group.delete', id, null, noteOf(await findGroup(call, id)), null);
      await call.scim.writeScim([{ removedGroup: group.id }], recordAudit(call, [note]));
    });
    await placeUsers(call, members, null); // whom another change moved in the meantime
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
  if (patch.add.length > 0) await writeMembers(call, group, group, patch.add, []);
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
  const stored = new Set(await membersOf(call, before));
  const wanted = new Set(patch.add);
  const removed = patch.isEmptied
    ? [...stored].filter((user) => !wanted.has(user))
    : patch.remove.filter((user) => stored.has(user));
  const added = patch.add.filter((user) => !stored.has(user));
  if (added.length > removed.length && stored.size + added.length - removed.length > bounds.scimMembersPerGroupMax)
    throw scimFault('tooMany', `members: a group can have at most ${bounds.scimMembersPerGroupMax} members`);
  await writeMembers(call, before, after, added, removed, [...stored]);
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
  for (let at = 0; at < users.length; at += bounds.scimPageMax) {
    const asked = users.slice(at, at + bounds.scimPageMax);
    const filter = { some: asked.map((id) => ({ member: 'id' as const, equals: id })) };
    const found = new Set((await scim.listScimUsers({ filter, offset: 0, limit: asked.length })).map(({ id }) => id));
    const missing = asked.find((id) => !found.has(id));
    if (missing !== undefined)
      throw scimFault('invalidValue', `members: there is no user "${formatId('scimuser', missing)}"`);
  }
}

/** First the people, then the group with its members, so that a request that was interrupted can be repeated. */
async function writeMembers(
  call: ScimCall,
  before: ScimGroup,
  after: ScimGroup,
  added: readonly number[],
  removed: readonly number[],
  stored: readonly number[] = [],
): Promise<void> {
  const isRenamed = before.displayName !== after.displayName;
  if (added.length === 0 && removed.length === 0 && before === after) return;
  const gone = new Set(removed);
  const kept = stored.filter((user) => !gone.has(user));
  const followers = isRenamed ? [...kept, ...added] : added;
  const refusal =
    (await placeUsers(call, removed, { id: after.id, displayName: null })) ??
    (await placeUsers(call, followers, after));
  if (refusal !== null) throw refusal;
  await call.changeInTurn(async () => {
    const { scim } = call;
    const id = formatId('scimgroup', after.id);
    await findGroup(call, id); // another request may have removed it, or users
    await refuseUnknown(call, added);
    if (isRenamed) await refuseTaken(call, after);
    const note = changeNote(
      'scim-group.update',
      id,
      null,
      { ...noteOf(before), removed_members: [], added_members: [] },
      { ...noteOf(after), removed_members: listed(removed), added_members: listed(added) },
    );
    const members = { members: { group: after.id, add: added, remove: removed } };
    await scim.writeScim(before === after ? [members] : [{ group: after }, members], recordAudit(call, [note]));
  });
  // Again, for those whom another change moved before the membership was stored.
  await placeUsers(call, [...removed, ...followers], null);
}

/** The audit log has the first of many. */
function listed(users: readonly number[]): string[] {
  const shown = users.slice(0, bounds.listMembersMax).map((user) => formatId('scimuser', user));
  return users.length > shown.length ? [...shown, `and ${users.length - shown.length} more`] : shown;
}
