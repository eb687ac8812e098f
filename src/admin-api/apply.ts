// Apply: makes the catalogue match a document, whole or not at all. What would change is decided
// by the catalogue's plan; here it is checked against what the plan cannot know, and stored.

import { z } from '@hono/zod-openapi';
import type { Trail } from '../audit/audit.ts';
import { parseId } from '../base/ids.ts';
import { type Fault, findPrivateProviders, type Plan, planApply } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { type AdminApp, invalidRequest } from './admin-app.ts';
import { jsonAnswer, jsonBody } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies, AdminMove } from './dependencies.ts';
import { operator } from './principal.ts';
import { rememberLookups } from './remember-lookups.ts';
import { type ChangeNote, leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const applyBody = z.strictObject({
  document: z
    .custom<object>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'must be an object: the file that apply takes, as JSON',
    )
    .openapi({ type: 'object' }),
  dry_run: z.boolean().default(false),
  prune: z.boolean().default(false),
  remove: z
    .array(
      z.strictObject({
        kind: z.enum(['provider', 'model', 'group'], { error: 'must be provider, model or group' }),
        name: z.string({ error: 'must be a name' }),
      }),
    )
    .max(bounds.pageItemsMax)
    .default([])
    .openapi({ description: 'What is removed by its name, whoever made it.' }),
});
export const changeSchema = z
  .object({
    action: z.enum(['create', 'update', 'delete']),
    kind: z.enum(['provider', 'model', 'group', 'settings']),
    name: z.string(),
    fields: z.array(z.string()).optional(),
  })
  .openapi('Change');

const applyDocument = defineRoute({
  operationId: 'catalogue-apply',
  summary: 'Make the catalogue match a document',
  roles: operator,
  method: 'post',
  path: '/api/v1/apply',
  request: { body: jsonBody(applyBody) },
  responses: {
    200: jsonAnswer(z.object({ changes: z.array(changeSchema), dry_run: z.boolean() }), 'What changed, or would'),
  },
});

export function addApply(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  app.openapi(applyDocument, async (context) => {
    const { dry_run: isDry, ...asked } = context.req.valid('json');
    const lookup = rememberLookups(dependencies.lookup);
    // Asked ahead of the turn: every other change, a revocation too, would wait for a slow name service.
    await planChecked({ ...dependencies, lookup }, asked);
    const { changes } = await takeTurn(context, async () => {
      const plan = await planChecked({ ...dependencies, lookup }, asked);
      using move = openAdminPort(dependencies, plan);
      if (isDry || plan.changes.length === 0) return plan;
      const trail = leaveTrail(dependencies, context, await changeNotes(dependencies, plan));
      await dependencies.catalog.save(plan.put, plan.remove, goingByAccounts(trail, plan));
      move?.keep();
      return plan;
    });
    return context.json({ changes, dry_run: isDry }, 200);
  });
}

/** A group is removed because nobody is in it: then accounts that change outpace the plan too. */
function goingByAccounts(trail: Trail, { questions }: Plan): Trail {
  if (trail.since == null || questions.removedGroups.length === 0) return trail;
  return { ...trail, since: { ...trail.since, account: 'any' } };
}

/** The port that the plan has the admin API move to, opened to see that it can be; null when it stays. Throws invalid_request. */
function openAdminPort({ moveAdmin }: AdminDependencies, { put, remove }: Plan): AdminMove | null {
  const settings = put.find(({ kind }) => kind === 'settings')?.document;
  if (settings === undefined && !remove.some(({ kind }) => kind === 'settings')) return null;
  const wanted = settings?.['admin_listen'];
  try {
    return moveAdmin(typeof wanted === 'string' ? wanted : null);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw invalidRequest([{ path: ['settings', 'admin_listen'], message }]);
  }
}

/** One note for each object of the catalogue that the plan changes. */
async function changeNotes({ catalog }: AdminDependencies, plan: Plan): Promise<ChangeNote[]> {
  const standing = new Map((await catalog.documents()).map((one) => [`${one.kind} ${one.name}`, one.document]));
  const wanted = new Map(plan.put.map((one) => [`${one.kind} ${one.name}`, one.document]));
  return plan.changes.map(({ action, kind, name }) => {
    const object = `${kind} ${name}`;
    const before = standing.get(object) ?? null;
    return { action: `${kind}.${action}`, object, account: null, before, after: wanted.get(object) ?? null };
  });
}

/** The plan of a document without a fault. Throws invalid_request with all of them. */
async function planChecked(
  dependencies: AdminDependencies,
  { document, prune, remove }: Omit<z.output<typeof applyBody>, 'dry_run'>,
): Promise<Plan> {
  const { catalog, vault, clock, providerKinds } = dependencies;
  const plan = planApply(await catalog.documents(), document, {
    prune,
    remove,
    origin: 'file',
    kinds: providerKinds,
    nowMs: clock.nowMs(),
    seal: (text, context) => vault.seal(text, context),
    unseal: (sealed, context) => vault.open(sealed, context),
  });
  const faults = [
    ...plan.faults,
    ...(await findPrivateProviders(plan.questions.providers, dependencies.lookup)),
    ...(await findUsedGroups(dependencies, plan.questions.removedGroups)),
    ...(await findMissingAccounts(dependencies, plan.questions.accounts)),
  ];
  if (faults.length > 0) throw invalidRequest(faults);
  return plan;
}

/** A group that an account is in stays: its keys would be refused every model. Only a plan that removes groups asks. */
async function findUsedGroups({ accounts }: AdminDependencies, removedGroups: readonly string[]): Promise<Fault[]> {
  const removed = new Set(removedGroups);
  const users = new Map<string, string>();
  let after: number | null = null;
  while (removed.size > users.size) {
    const page = await accounts.listAccounts({ after, limit: bounds.pageItemsMax });
    for (const account of page)
      for (const group of account.groups) if (removed.has(group) && !users.has(group)) users.set(group, account.name);
    if (page.length < bounds.pageItemsMax) break;
    after = page.at(-1)?.id ?? null;
  }
  return [...users].map(([group, account]) => ({
    path: ['groups'],
    message: `the group "${group}" would be removed, but the account "${account}" is in it`,
  }));
}

/** Each account is asked for once, however many credentials are for it. */
async function findMissingAccounts(
  { accounts }: AdminDependencies,
  asked: Plan['questions']['accounts'],
): Promise<Fault[]> {
  const missing = new Set<string>();
  for (const id of new Set(asked.map((one) => one.id))) {
    const number = parseId('acct', id);
    if (number === null || (await accounts.getAccount(number)) === null) missing.add(id);
  }
  return asked.flatMap(({ id, path }) => (missing.has(id) ? [{ path, message: `there is no account "${id}"` }] : []));
}
