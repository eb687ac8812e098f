// Rows of users, groups and memberships that a directory writes by SCIM: their statements and their reads, the same for both databases.

import type {
  ScimChange,
  ScimFilter,
  ScimGroup,
  ScimGroupMember,
  ScimPage,
  ScimStore,
  ScimUser,
  ScimUserMember,
} from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { prepareCount, prepareOne, readPage } from './readable-rows.ts';
import { Bindings, type SqlReader } from './sql-reader.ts';
import { documents, readStored, type StoredDocument } from './stored-documents.ts';

/** A change of what the directory wrote. */
export interface ScimRow {
  table: 'scim';
  scim: ScimChange;
}

export type ScimReads = Omit<ScimStore, 'writeScim' | 'scimRows'>;

export function scimStatements({ scim: change }: ScimRow): CoCommittedStatement[] {
  if ('user' in change) return [putUser(change.user)];
  if ('group' in change) return [putGroup(change.group)];
  if ('removedUser' in change) return removed('user', change.removedUser);
  if ('removedGroup' in change) return removed('group', change.removedGroup);
  const { group, add, remove } = change.members;
  return [
    ...inParts(remove, (users) => removeMembers(group, users)),
    ...inParts(add, (users) => addMembers(group, users)),
  ];
}

function putUser(user: ScimUser): CoCommittedStatement {
  const { id, userName, email, externalId, personId, createdAtMs } = user;
  return {
    text: `INSERT INTO scim_users (id, user_name, email, external_id, person_id, created_at_ms, document)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (id) DO UPDATE SET user_name = excluded.user_name, email = excluded.email, external_id = excluded.external_id,
         person_id = excluded.person_id, document = excluded.document`,
    values: [id, userName.toLowerCase(), email, externalId, personId, createdAtMs, JSON.stringify(user)],
  };
}

function putGroup(group: ScimGroup): CoCommittedStatement {
  const { id, displayName, externalId, createdAtMs } = group;
  return {
    text: `INSERT INTO scim_groups (id, display_name, external_id, created_at_ms, document) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET display_name = excluded.display_name, external_id = excluded.external_id,
         document = excluded.document`,
    values: [id, displayName.toLowerCase(), externalId, createdAtMs, JSON.stringify(group)],
  };
}

function removed(what: 'user' | 'group', id: number): CoCommittedStatement[] {
  return [
    { text: `DELETE FROM scim_members WHERE ${what}_id = $1`, values: [id] },
    { text: `DELETE FROM scim_${what}s WHERE id = $1`, values: [id] },
  ];
}

function inParts(users: readonly number[], write: (users: readonly number[]) => CoCommittedStatement) {
  const parts: CoCommittedStatement[] = [];
  for (let at = 0; at < users.length; at += bounds.scimRowsAtOnce)
    parts.push(write(users.slice(at, at + bounds.scimRowsAtOnce)));
  return parts;
}

function addMembers(group: number, users: readonly number[]): CoCommittedStatement {
  const rows = users.map((_, at) => `(CAST($1 AS bigint), CAST($${at + 2} AS bigint))`);
  const text = `INSERT INTO scim_members (group_id, user_id) VALUES ${rows.join(', ')} ON CONFLICT DO NOTHING`;
  return { text, values: [group, ...users] };
}

function removeMembers(group: number, users: readonly number[]): CoCommittedStatement {
  const places = users.map((_, at) => `$${at + 2}`);
  const text = `DELETE FROM scim_members WHERE group_id = $1 AND user_id IN (${places.join(', ')})`;
  return { text, values: [group, ...users] };
}

const userColumns: Readonly<Record<ScimUserMember, string>> = {
  id: 'r.id = ?',
  userName: 'r.user_name = ?',
  externalId: 'r.external_id = ?',
  email: 'r.email = ?',
  person: 'r.person_id = ?',
  group: 'EXISTS (SELECT 1 FROM scim_members m WHERE m.user_id = r.id AND m.group_id = ?)',
};
const groupColumns: Readonly<Record<ScimGroupMember, string>> = {
  id: 'r.id = ?',
  displayName: 'r.display_name = ?',
  externalId: 'r.external_id = ?',
  user: 'EXISTS (SELECT 1 FROM scim_members m WHERE m.group_id = r.id AND m.user_id = ?)',
};

/** The condition of a filter on rows `r`. */
function conditionText<Member extends string>(
  filter: ScimFilter<Member> | null,
  columns: Readonly<Record<Member, string>>,
  bindings: Bindings,
): string {
  if (filter === null) return '1 = 1';
  if (filter === 'nothing') return '1 = 0';
  if ('member' in filter) return columns[filter.member].replace('?', bindings.add(filter.equals));
  const [of, joint] = 'every' in filter ? [filter.every, ' AND '] : [filter.some, ' OR '];
  return `(${of.map((one) => conditionText(one, columns, bindings)).join(joint)})`;
}

export function scimReads(on: SqlReader): ScimReads {
  const user = prepareOne(on, 'SELECT document FROM scim_users WHERE id = $1', readWith(documents.scimUser));
  const group = prepareOne(on, 'SELECT document FROM scim_groups WHERE id = $1', readWith(documents.scimGroup));
  return {
    getScimUser: user,
    getScimGroup: group,
    listScimUsers: (page) => listRows(on, 'scim_users', documents.scimUser, userColumns, page),
    countScimUsers: (filter) => countRows(on, 'scim_users', userColumns, filter),
    listScimGroups: (page) => listRows(on, 'scim_groups', documents.scimGroup, groupColumns, page),
    countScimGroups: (filter) => countRows(on, 'scim_groups', groupColumns, filter),
    listScimMembers: (groups, limit) => listMembers(on, groups, limit),
    listScimMemberships: (users) => listMemberships(on, users),
    countScimMembers: prepareCount(on, 'scim_members', 'group_id = $1'),
  };
}

interface DocumentRow {
  document: string;
}

function readWith<Value>(stored: StoredDocument<Value>) {
  return ({ document }: DocumentRow) => readStored(stored, document);
}

function listRows<Value, Member extends string>(
  on: SqlReader,
  table: 'scim_users' | 'scim_groups',
  stored: StoredDocument<Value>,
  columns: Readonly<Record<Member, string>>,
  { filter, offset, limit }: ScimPage<Member>,
): Promise<Value[]> {
  const bindings = new Bindings();
  const where = conditionText(filter, columns, bindings);
  const text = `SELECT ${on.number('r.id')} AS id, r.document FROM ${table} r WHERE ${where}
     ORDER BY r.created_at_ms, r.id LIMIT ${bindings.add(limit)}`;
  return readPage(
    on,
    limit,
    (skipped) => {
      const values = [...bindings.values, offset + skipped];
      return on.read<DocumentRow & { id: number }>(`${text} OFFSET $${values.length}`, ...values);
    },
    ({ id }) => id,
    readWith(stored),
  );
}

async function countRows<Member extends string>(
  on: SqlReader,
  table: 'scim_users' | 'scim_groups',
  columns: Readonly<Record<Member, string>>,
  filter: ScimFilter<Member> | null,
): Promise<number> {
  const bindings = new Bindings();
  const where = conditionText(filter, columns, bindings);
  const text = `SELECT ${on.number('count(*)')} AS count FROM ${table} r WHERE ${where}`;
  const [row] = await on.read<{ count: number }>(text, ...bindings.values);
  return row?.count ?? 0;
}

async function listMembers(on: SqlReader, groups: readonly number[], limit: number) {
  if (groups.length === 0) return [];
  const bindings = new Bindings();
  const places = groups.map((group) => bindings.add(group));
  const text = `SELECT ${on.number('m.group_id')} AS "group", ${on.number('m.user_id')} AS "user" FROM scim_members m
     WHERE m.group_id IN (${places.join(', ')}) ORDER BY m.group_id, m.user_id LIMIT ${bindings.add(limit)}`;
  return on.read<{ group: number; user: number }>(text, ...bindings.values);
}

async function listMemberships(on: SqlReader, users: readonly number[]) {
  if (users.length === 0) return [];
  const bindings = new Bindings();
  const places = users.map((user) => bindings.add(user));
  const text = `SELECT ${on.number('m.user_id')} AS "user", g.document FROM scim_members m JOIN scim_groups g ON g.id = m.group_id
     WHERE m.user_id IN (${places.join(', ')}) ORDER BY m.user_id, m.group_id LIMIT ${bindings.add(MEMBERSHIPS_MAX)}`;
  const rows = await on.read<DocumentRow & { user: number }>(text, ...bindings.values);
  return rows.map(({ user, document }) => ({ user, group: readStored(documents.scimGroup, document) }));
}

const MEMBERSHIPS_MAX = bounds.scimGroupsMax * bounds.scimPageMax;
