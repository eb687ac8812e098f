// Groups of a company's directory, and the account and role that each gives. Only operators map them: nobody in an account can give
// themselves another one by the name of a group.

import { z } from '@hono/zod-openapi';
import { type DirectoryGroup, EVERYONE, type Role, SCIM_SOURCE } from '../accounts/accounts.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { accountForNew } from './accounts.ts';
import { findObject, invalidMember } from './admin-app.ts';
import { changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import { installation, operator } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { accountField, accountShown, actorShown, idField, nameField, timeShown } from './fields.ts';
import { after, answerPage } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch, post } from './route.ts';
import { placeMapped } from './scim-places.ts';
import { roleField } from './tokens.ts';

const SOURCE_WORDS = 'must be "oidc", "oidc-2" to "oidc-9", or "scim"';
const sourceField = z
  .string({ error: SOURCE_WORDS })
  .regex(/^(?:oidc(?:-[2-9])?|scim)$/, SOURCE_WORDS)
  .openapi({ examples: ['oidc'] });

export const directoryGroupSchema = z
  .object({
    id: idField('dgrp'),
    name: z.string(),
    source: z
      .string()
      .nullable()
      .describe('The only issuer whose groups count, by its number in the settings, or scim; null: any.'),
    role: roleField,
    account: accountShown.nullable().describe('null: the whole installation.'),
    priority: z.int(),
    status: z.enum(['enabled', 'disabled']),
    made_by: actorShown,
    created_at: timeShown,
  })
  .openapi('DirectoryGroup');

const encodeGroup = encoderOf(directoryGroupSchema);

const priorityField = z
  .int({ error: 'must be a whole number' })
  .min(1, 'must be at least 1')
  .max(bounds.directoryPriorityMax, `must be at most ${bounds.directoryPriorityMax}`)
  .describe('A person in groups of several accounts gets the account of the lowest number.');
const changeable = {
  name: nameField.describe(
    'The name as the claims of the issuer, or SCIM, have it, compared exactly. "*": every person of the directory who is in no other group here.',
  ),
  source: sourceField
    .nullable()
    .describe('Only groups of this issuer count, or of scim; null: any. Required for the roles operator and viewer.'),
  role: roleField,
  account: accountField.nullable().describe('Required for the roles owner and member.'),
};
const createBody = z.strictObject({
  ...changeable,
  source: changeable.source.optional(),
  account: changeable.account.optional(),
  priority: priorityField.default(bounds.directoryPriority),
});
const changeBody = z
  .strictObject({
    ...changeable,
    priority: priorityField,
    status: z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' }),
  })
  .partial();
const params = z.object({ id: idField('dgrp') });

const TAKEN = 'Another directory group has this name and source';

export const directoryGroupRoutes: AdminRoute[] = [
  post('/directory-groups', 'directory-group-create', 'Give a group of the directory an account and role', operator, {
    body: createBody,
    isCreation: true,
    conflict: `${TAKEN}, or there are too many`,
    answer: [directoryGroupSchema, 'The directory group'],
    links: ['directory-group-show', 'directory-group-change'],
    async handle(call) {
      const created = await createOnce(call, (remember) => storeGroup(call, remember));
      const group = await findGroup(call, created.object);
      await placeMapped(call, [group.name]);
      return encodeGroup(group);
    },
  }),
  list('/directory-groups', 'directory-group-list', 'List directory groups', installation, {
    page: [directoryGroupSchema, 'Directory groups, oldest first'],
    async handle(call) {
      const rows = await call.directoryGroups.listDirectoryGroups({ after: after(call), limit: call.query.limit });
      return answerPage(call, rows, encodeGroup, ({ id }) => id);
    },
  }),
  get('/directory-groups/{id}', 'directory-group-show', 'Retrieve a directory group', installation, {
    params,
    answer: [directoryGroupSchema, 'The directory group'],
    handle: async (call) => encodeGroup(await findGroup(call, call.params.id)),
  }),
  patch('/directory-groups/{id}', 'directory-group-change', 'Update a directory group', operator, {
    params,
    body: changeBody,
    conflict: TAKEN,
    answer: [directoryGroupSchema, 'The updated directory group'],
    async handle(call) {
      const before = await findGroup(call, call.params.id);
      const group = await call.changeInTurn(() => storeChange(call, call.params.id));
      await placeMapped(call, [before.name, group.name]);
      return encodeGroup(group);
    },
  }),
];

/** All directory groups. Bounded by `directoryGroupsMax`. */
export function loadDirectoryGroups({ directoryGroups }: Pick<Call, 'directoryGroups'>): Promise<DirectoryGroup[]> {
  return directoryGroups.listDirectoryGroups({ after: null, limit: bounds.directoryGroupsMax });
}

/** Throws object_not_found. */
function findGroup({ directoryGroups }: Call, id: string): Promise<DirectoryGroup> {
  return findObject('dgrp', 'directory group', id, directoryGroups.getDirectoryGroup);
}

async function storeGroup(call: CallWith<typeof createBody>, remember: Remember): Promise<Made> {
  const { name, source = null, role, account = null, priority } = call.body;
  if ((await call.directoryGroups.countDirectoryGroups()) >= bounds.directoryGroupsMax)
    throw new TurnpikeError('conflict', `There are ${bounds.directoryGroupsMax} directory groups: change one instead.`);
  const accountId = await accountOf(call, name, source, role, account);
  await refuseTaken(call, null, name, source);
  const made = { status: 'enabled' as const, madeBy: call.principal.id, createdAtMs: call.clock.nowMs() };
  const group: DirectoryGroup = { id: newNumber(), name, source, accountId, role, priority, ...made };
  const object = formatId('dgrp', group.id);
  const note = changeNote('directory-group.create', object, null, null, encodeGroup(group));
  await call.directoryGroups.saveDirectoryGroup(group, recordAudit(call, [note], remember(object, null)));
  return { object, secret: null };
}

async function storeChange(call: CallWith<typeof changeBody>, id: string): Promise<DirectoryGroup> {
  const before = await findGroup(call, id);
  const { name = before.name, source = before.source, role = before.role } = call.body;
  const { priority = before.priority, status = before.status, account = accountText(before.accountId) } = call.body;
  const accountId = await accountOf(call, name, source, role, account);
  await refuseTaken(call, before.id, name, source);
  const group: DirectoryGroup = { ...before, name, source, role, accountId, priority, status };
  const note = changeNote('directory-group.update', id, null, encodeGroup(before), encodeGroup(group));
  await call.directoryGroups.saveDirectoryGroup(group, recordAudit(call, [note]));
  return group;
}

function accountText(accountId: number | null): string | null {
  return accountId === null ? null : formatId('acct', accountId);
}

/** The account that the group gives; null: the installation. Throws invalid_request. */
async function accountOf(
  call: Call,
  name: string,
  source: string | null,
  role: Role,
  account: string | null,
): Promise<number | null> {
  const isOfInstallation = role === 'operator' || role === 'viewer';
  if (name === EVERYONE && role !== 'member') throw invalidMember('role', 'must be member for the group "*"');
  if (!isOfInstallation)
    return (await accountForNew(call, account ?? undefined, `is required for the role ${role}`)).id;
  if (account !== null)
    throw invalidMember('account', `must be absent: the role ${role} is for the whole installation`);
  if (source === null)
    throw invalidMember('source', `is required for the role ${role}: name the issuer, such as oidc, or ${SCIM_SOURCE}`);
  return null;
}

/** Throws conflict if another group has the name and source. */
async function refuseTaken(call: Call, id: number | null, name: string, source: string | null): Promise<void> {
  const found = await call.directoryGroups.findDirectoryGroup(name, source);
  if (found === null || found.id === id) return;
  const words = `name: the directory group "${formatId('dgrp', found.id)}" has this name and source: change that one.`;
  throw new TurnpikeError('conflict', words);
}
