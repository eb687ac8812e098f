// Saved views: a page of the console with its filters, time range and grouping, under a name. A view is of the person who saved it, also
// through a token of theirs; people of the same account, or of the installation, see it if it is shared. Only its person and operators
// change it.

import { z } from '@hono/zod-openapi';
import type { SavedView, ViewOwner } from '../accounts/accounts.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { findObject } from './admin-app.ts';
import { changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import { everyone, type Principal } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { idField, nameField, timeShown } from './fields.ts';
import { after, answerPage } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, list, patch, post } from './route.ts';

export const savedViewSchema = z
  .object({
    id: idField('view'),
    page: z.string().describe('A path of the console.'),
    name: z.string(),
    search: z.string().describe('The parameters of the address of the page, as in a URL.'),
    is_shared: z
      .boolean()
      .describe('Whether people of the same account, or of the installation, see it, too; else only who saved it.'),
    is_own: z.boolean().describe('Whether it is yours.'),
    created_at: timeShown,
  })
  .openapi('SavedView');

const encode = encoderOf(savedViewSchema);

const PAGE_WORDS = `must be a path of the console, such as "/usage", with at most ${bounds.viewPageCharactersMax} characters`;
const SEARCH_WORDS = `must be parameters as in a URL, such as "range=7d", with at most ${bounds.viewSearchCharactersMax} characters`;
const members = {
  page: z
    .string({ error: PAGE_WORDS })
    .regex(/^(?:\/[A-Za-z0-9_-]+)+$/, PAGE_WORDS)
    .max(bounds.viewPageCharactersMax, PAGE_WORDS),
  name: nameField,
  search: z
    .string({ error: SEARCH_WORDS })
    .regex(new RegExp(`^[!-~]{0,${bounds.viewSearchCharactersMax}}$`), SEARCH_WORDS),
  is_shared: z.boolean({ error: 'must be true or false' }),
};
const createBody = z.strictObject({ ...members, is_shared: members.is_shared.default(false) });
const changeBody = z
  .strictObject({ name: members.name, search: members.search, is_shared: members.is_shared })
  .partial();
const params = z.object({ id: idField('view') });

export const savedViewRoutes: AdminRoute[] = [
  list('/views', 'view-list', 'List saved views', everyone, {
    page: [savedViewSchema, 'Your views, and those that others of your account, or of the installation, share'],
    async handle(call) {
      const page = { ...ownerOf(call.principal), after: after(call), limit: call.query.limit };
      const rows = await call.savedViews.listSavedViews(page);
      return answerPage(
        call,
        rows,
        (view) => viewJson(call, view),
        ({ id }) => id,
      );
    },
  }),
  post('/views', 'view-create', 'Save a view', everyone, {
    body: createBody,
    isCreation: true,
    conflict: `You have ${bounds.viewsPerOwnerMax} views`,
    notFound: 'The view that this idempotency key saved has been deleted',
    answer: [savedViewSchema, 'The view'],
    links: ['view-change', 'view-delete'],
    async handle(call) {
      const { object } = await createOnce(call, (remember) => storeView(call, remember));
      return viewJson(call, await findView(call, object));
    },
  }),
  patch('/views/{id}', 'view-change', 'Update a saved view', everyone, {
    params,
    body: changeBody,
    answer: [savedViewSchema, 'The updated view'],
    handle: (call) => call.changeInTurn(() => storeChange(call, call.params.id)),
  }),
  post('/views/{id}/delete', 'view-delete', 'Delete a saved view', everyone, {
    params,
    body: z.strictObject({}),
    answer: [savedViewSchema, 'The deleted view'],
    handle: (call) => call.changeInTurn(() => deleteView(call, call.params.id)),
  }),
];

/** A person has the same views in each session and with each of their tokens. */
function ownerOf({ id, accountId, personId = null }: Principal): ViewOwner {
  return { accountId, owner: personId === null ? id : formatId('person', personId) };
}

function isOwn({ principal }: Call, view: SavedView): boolean {
  const { accountId, owner } = ownerOf(principal);
  return view.accountId === accountId && view.owner === owner;
}

function viewJson(call: Call, view: SavedView): z.infer<typeof savedViewSchema> {
  return encode({ ...view, isOwn: isOwn(call, view) });
}

/** Finds a view to change. Throws object_not_found. */
function findView(call: Call, id: string): Promise<SavedView> {
  const mayChange = (view: SavedView) => call.principal.role === 'operator' || isOwn(call, view);
  return findObject('view', 'saved view', id, call.savedViews.getSavedView, mayChange);
}

async function storeView(call: CallWith<typeof createBody>, remember: Remember): Promise<Made> {
  const { is_shared: isShared, ...given } = call.body;
  const owner = ownerOf(call.principal);
  if ((await call.savedViews.countSavedViews(owner)) >= bounds.viewsPerOwnerMax)
    throw new TurnpikeError('conflict', `You have ${bounds.viewsPerOwnerMax} saved views: delete one first.`);
  const view: SavedView = { id: newNumber(), ...owner, ...given, isShared, createdAtMs: call.clock.nowMs() };
  const object = formatId('view', view.id);
  const note = changeNote('view.create', object, view.accountId, null, viewJson(call, view));
  await call.savedViews.putSavedView(view, recordAudit(call, [note], remember(object, null)));
  return { object, secret: null };
}

async function storeChange(call: CallWith<typeof changeBody>, id: string): Promise<z.infer<typeof savedViewSchema>> {
  const before = await findView(call, id);
  const { name = before.name, search = before.search, is_shared: isShared = before.isShared } = call.body;
  const view: SavedView = { ...before, name, search, isShared };
  const [was, is] = [viewJson(call, before), viewJson(call, view)];
  await call.savedViews.putSavedView(view, recordAudit(call, [changeNote('view.update', id, view.accountId, was, is)]));
  return is;
}

async function deleteView(call: Call, id: string): Promise<z.infer<typeof savedViewSchema>> {
  const view = await findView(call, id);
  const shown = viewJson(call, view);
  await call.savedViews.deleteSavedView(
    view.id,
    recordAudit(call, [changeNote('view.delete', id, view.accountId, shown, null)]),
  );
  return shown;
}
