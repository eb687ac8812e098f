// Users of SCIM: created, listed, changed and removed by a directory.

import type { ScimUser } from '../accounts/accounts.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import {
  attributesJson,
  isSelected,
  type JsonMembers,
  patchUser,
  type ReadUser,
  readOperations,
  readUser,
  scimFault,
  userCondition,
  userJson,
} from '../scim/scim.ts';
import { findObject } from './admin-app.ts';
import { changeNote } from './changes.ts';
import type { ScimCall, ScimResources } from './scim-app.ts';
import { refuseForeignEmail, removeUser, storeUser } from './scim-people.ts';
import { loadScimMapping, placeOfUser } from './scim-places.ts';

export const userResources: ScimResources = {
  async list(call) {
    const { scim, query } = call;
    const filter = query.filter === null ? null : userCondition(query.filter);
    const total = await scim.countScimUsers(filter);
    const page = { filter, offset: query.offset, limit: query.count };
    const users = query.count === 0 ? [] : await scim.listScimUsers(page);
    return { rows: await shownUsers(call, users), total };
  },
  async create(call) {
    return shownUser(call, await call.changeInTurn(() => createUser(call)));
  },
  async show(call, id) {
    return shownUser(call, await findUser(call, id));
  },
  async replace(call, id) {
    const change = (before: ScimUser) => readUser(call.body, before);
    return shownUser(call, await call.changeInTurn(() => changeUser(call, id, change)));
  },
  async patch(call, id) {
    const operations = readOperations(call.body);
    const change = (before: ScimUser) => readUser(patchUser(attributesJson(before), operations), before);
    return shownUser(call, await call.changeInTurn(() => changeUser(call, id, change)));
  },
  async remove(call, id) {
    await call.changeInTurn(async () => {
      const user = await findUser(call, id);
      const note = changeNote('scim-user.delete', id, null, noteOf(user), null);
      await removeUser(call, user, note);
    });
  },
};

/** Throws object_not_found. */
function findUser({ scim }: ScimCall, id: string): Promise<ScimUser> {
  return findObject('scimuser', 'user', id, scim.getScimUser);
}

async function shownUsers({ scim, query, base }: ScimCall, users: readonly ScimUser[]): Promise<JsonMembers[]> {
  const ids = isSelected(query.selection, 'groups') ? users.map(({ id }) => id) : [];
  const memberships = Map.groupBy(await scim.listScimMemberships(ids), ({ user }) => user);
  return users.map((user) => {
    const groups = memberships.get(user.id)?.map(({ group }) => group) ?? [];
    return userJson(user, groups, base);
  });
}

async function shownUser(call: ScimCall, user: ScimUser): Promise<JsonMembers> {
  const [shown = {}] = await shownUsers(call, [user]);
  return shown;
}

/** As the audit log has it. */
function noteOf({ userName, externalId, active, email, displayName, personId }: ScimUser): JsonMembers {
  const person = personId === null ? null : formatId('person', personId);
  return { user_name: userName, external_id: externalId, active, email, display_name: displayName, person };
}

async function createUser(call: ScimCall): Promise<ScimUser> {
  const { scim, clock } = call;
  const read = readUser(call.body, null);
  if ((await scim.countScimUsers(null)) >= bounds.scimUsersMax)
    throw scimFault('tooMany', `There are ${bounds.scimUsersMax} users, which is the most.`);
  const nowMs = clock.nowMs();
  const user: ScimUser = { id: newNumber(), ...read, personId: null, createdAtMs: nowMs, updatedAtMs: nowMs };
  await refuseTaken(call, user);
  await refuseForeignEmail(call, user);
  const place = await placeOfUser(call, user.id, await loadScimMapping(call));
  const note = changeNote('scim-user.create', formatId('scimuser', user.id), null, null, noteOf(user));
  return storeUser(call, user, place, note);
}

async function changeUser(call: ScimCall, id: string, change: (before: ScimUser) => ReadUser): Promise<ScimUser> {
  const before = await findUser(call, id);
  const changed: ScimUser = { ...before, ...change(before) };
  const place = await placeOfUser(call, before.id, await loadScimMapping(call));
  const isSame = JSON.stringify(attributesJson(before)) === JSON.stringify(attributesJson(changed));
  if (isSame) return storeUser(call, before, place, null);
  await refuseTaken(call, changed);
  if (changed.email !== before.email) await refuseForeignEmail(call, changed);
  const after = { ...changed, updatedAtMs: call.clock.nowMs() };
  return storeUser(call, after, place, changeNote('scim-user.update', id, null, noteOf(before), noteOf(after)));
}

/** Throws conflict if another user has the name or the address. */
async function refuseTaken({ scim }: ScimCall, { id, userName, email }: ScimUser): Promise<void> {
  const page = { offset: 0, limit: 1 };
  for (const [name, filter] of [
    ['userName', { member: 'userName' as const, equals: userName.toLowerCase() }],
    ['emails', { member: 'email' as const, equals: email }],
  ] as const) {
    const [found] = await scim.listScimUsers({ filter, ...page });
    if (found !== undefined && found.id !== id)
      throw scimFault('uniqueness', `${name}: the user "${formatId('scimuser', found.id)}" has the same.`, 'conflict');
  }
}
