// Users, groups and memberships of SCIM: lookups, pages, filters, and values that must be unique.

import { expect, test } from 'bun:test';
import type { ScimGroup, ScimUser } from '../../../src/accounts/accounts.ts';
import { failureOf, type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

const user = (id: number, members: Partial<ScimUser> = {}): ScimUser => ({
  id,
  userName: `User ${id}`,
  externalId: `external ${id}`,
  active: true,
  displayName: null,
  name: { formatted: null, familyName: 'Lovelace', givenName: null },
  emails: [{ value: `${id}@Example.com`, type: 'work', primary: null }],
  email: `${id}@example.com`,
  personId: null,
  createdAtMs: START_MS + id,
  updatedAtMs: START_MS,
  ...members,
});

const group = (id: number, members: Partial<ScimGroup> = {}): ScimGroup => ({
  id,
  displayName: `Group ${id}`,
  externalId: null,
  createdAtMs: START_MS + id,
  updatedAtMs: START_MS,
  ...members,
});

export function scimConformance(open: OpenStores): void {
  readsConformance(open);
  changesConformance(open);
}

function readsConformance(open: OpenStores): void {
  test('users and groups of SCIM by each filter, in pages, with their memberships', async () => {
    await using bench = await openWorkbench(open, 0);
    const { scim } = bench.stores;
    const users = [user(3), user(1, { personId: 7 }), user(2)];
    await scim.writeScim(
      [...users.map((one) => ({ user: one })), { group: group(9) }, { group: group(8) }],
      noAuditContext,
    );
    const members = { members: { group: 9, add: [1, 3], remove: [] } };
    await scim.writeScim([members, members, { members: { group: 8, add: [1], remove: [2] } }], noAuditContext);
    expect([await scim.getScimUser(1), await scim.getScimUser(9)]).toEqual([user(1, { personId: 7 }), null]);
    expect([await scim.getScimGroup(9), await scim.getScimGroup(1)]).toEqual([group(9), null]);
    const usersOf = async (filter: Parameters<typeof scim.countScimUsers>[0], offset = 0, limit = 9) =>
      (await scim.listScimUsers({ filter, offset, limit })).map(({ id }) => id);
    expect([await usersOf(null), await usersOf(null, 1, 1), await usersOf('nothing')]).toEqual([[1, 2, 3], [2], []]);
    expect(await usersOf({ member: 'userName', equals: 'user 2' })).toEqual([2]);
    expect(await usersOf({ member: 'externalId', equals: 'external 2' })).toEqual([2]);
    expect(await usersOf({ member: 'email', equals: '2@example.com' })).toEqual([2]);
    expect(await usersOf({ member: 'person', equals: 7 })).toEqual([1]);
    expect(await usersOf({ member: 'group', equals: 9 })).toEqual([1, 3]);
    const [one, two] = [
      { member: 'id' as const, equals: 1 },
      { member: 'id' as const, equals: 2 },
    ];
    expect([await usersOf({ some: [one, two] }), await usersOf({ every: [one, two] })]).toEqual([[1, 2], []]);
    expect([await scim.countScimUsers(null), await scim.countScimUsers({ some: [one, two] })]).toEqual([3, 2]);
    const groupsOf = async (filter: Parameters<typeof scim.countScimGroups>[0]) =>
      (await scim.listScimGroups({ filter, offset: 0, limit: 9 })).map(({ id }) => id);
    expect([await groupsOf(null), await groupsOf({ member: 'user', equals: 3 })]).toEqual([[8, 9], [9]]);
    expect(await groupsOf({ member: 'displayName', equals: 'group 8' })).toEqual([8]);
    const pairs = [
      { group: 8, user: 1 },
      { group: 9, user: 1 },
      { group: 9, user: 3 },
    ];
    expect([await scim.listScimMembers([9, 8], 9), await scim.listScimMembers([9], 1)]).toEqual([
      pairs,
      pairs.slice(1, 2),
    ]);
    expect(await scim.listScimMemberships([1, 2])).toEqual([
      { user: 1, group: group(8) },
      { user: 1, group: group(9) },
    ]);
    expect(await scim.countScimMembers(9)).toBe(2);
  });
}

function changesConformance(open: OpenStores): void {
  test('a removed user or group of SCIM without its memberships, and values that another one has', async () => {
    await using bench = await openWorkbench(open, 0);
    const { scim } = bench.stores;
    await scim.writeScim(
      [{ user: user(1) }, { user: user(2) }, { group: group(9) }, { group: group(8) }],
      noAuditContext,
    );
    for (const id of [9, 8])
      await scim.writeScim([{ members: { group: id, add: [1, 2], remove: [] } }], noAuditContext);
    const changed = user(1, { userName: 'Other', email: 'other@example.com', updatedAtMs: START_MS + 1 });
    await scim.writeScim([{ user: changed }, { removedUser: 2 }, { removedGroup: 8 }], noAuditContext);
    expect([await scim.getScimUser(1), await scim.getScimUser(2), await scim.getScimGroup(8)]).toEqual([
      changed,
      null,
      null,
    ]);
    expect(await scim.listScimMembers([9, 8], 9)).toEqual([{ group: 9, user: 1 }]);
    for (const change of [
      { user: user(3, { userName: 'OTHER' }) },
      { user: user(3, { email: 'other@example.com' }) },
      { group: group(3, { displayName: 'GROUP 9' }) },
    ])
      expect(await failureOf(scim.writeScim([change], noAuditContext))).not.toBeNull();
    expect([await scim.countScimUsers(null), await scim.countScimGroups(null)]).toEqual([1, 1]);
  });
}
